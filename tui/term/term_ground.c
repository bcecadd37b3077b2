/*
 * term_ground.c - asks the terminal for its background (OSC 11), so that the theme can suit it; see term.h.
 *
 * Nothing waits for the answer: it is read like a key. Terminals that do not answer are asked in vain.
 * Before an answer, COLORFGBG counts, which some terminals set.
 */
#include "tui/term/term_internal.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/text.h"

#define LATE_S	    0.3 /* an answer that has not come by then is not awaited at the end */
#define ESC_MS	    25
#define ESC_WAIT_MS 200 /* while an answer is on its way, parts of it may come apart */

/* "15;0" or "15;default;0": the last number is the background, of 16 colours. */
static enum theme_ground ground_of_variable(void)
{
	const char *value = getenv("COLORFGBG"), *last = value ? strrchr(value, ';') : NULL;
	int64_t colour;

	/* tmux and screen pass on what another terminal set */
	if (!last || getenv("TMUX") || getenv("STY") || !text_to_int(last + 1, &colour) ||
	    colour < 0 || colour > 15)
		return THEME_GROUND_UNKNOWN;
	return colour == 7 || colour > 8 ? THEME_GROUND_LIGHT : THEME_GROUND_DARK;
}

enum theme_ground term_ground(const struct terminal *t)
{
	return t->ground != THEME_GROUND_UNKNOWN ? t->ground : ground_of_variable();
}

void term_ask_ground(struct terminal *t)
{
	if (!t->is_xterm || !t->colours || t->ground_asked_at > 0)
		return;
	t->ground_asked_at = clock_mono_s();
	set_escdelay(ESC_WAIT_MS);
	fputs("\033]11;?\033\\", t->out);
	fflush(t->out);
}

int term_read_ground(struct terminal *t)
{
	char text[40] = "";
	enum theme_ground is;

	term_read_string(text, sizeof(text));
	set_escdelay(ESC_MS);
	is = theme_ground_of(text);
	if (is == THEME_GROUND_UNKNOWN || is == t->ground)
		return TERM_NOTHING;
	t->ground = is;
	return TERM_GROUND;
}

void term_drop_late_ground(struct terminal *t)
{
	const double left = t->ground_asked_at + LATE_S - clock_mono_s();
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	if (t->ground_asked_at > 0 && t->ground == THEME_GROUND_UNKNOWN && left > 0 &&
	    poll(&in, 1, (int)(1000 * left) + 1) > 0)
		tcflush(STDIN_FILENO, TCIFLUSH);
}
