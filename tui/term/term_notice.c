/* term_notice.c - title, progress and messages to the terminal's own window; see term.h. */
#include "tui/term/term_internal.h"

#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"

/* Text without control characters, which would end the sequence. */
static void add_plain_text(struct buf *out, const char *text)
{
	size_t n = utf8_valid_prefix(text, strlen(text));

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		/* C1 controls are two bytes in UTF-8, the first 0xC2 */
		bool is_c1 = c == 0xC2 && (unsigned char)text[i + 1] < 0xA0;

		if (is_c1)
			i++;
		else if (c >= 0x20 && c != 0x7F && c != ';')
			buf_add_char(out, (char)c);
	}
}

static void send_notice(struct terminal *t, const struct buf *out)
{
	if (!out->failed) {
		fputs(buf_text(out), t->out);
		fflush(t->out);
	}
}

void term_set_title(struct terminal *t, const char *title)
{
	struct buf out = { 0 };

	if (!t->is_xterm || !strcmp(t->title, title))
		return;
	snprintf(t->title, sizeof(t->title), "%s", title);
	buf_add_str(&out, "\033]2;");
	add_plain_text(&out, title);
	buf_add_str(&out, "\a");
	send_notice(t, &out);
	buf_free(&out);
}

void term_set_progress(struct terminal *t, int percent, bool failed)
{
	int shown = percent < 0 ? -1 : MIN(percent, 100) + (failed ? 1000 : 0);
	struct buf out = { 0 };

	if (!t->is_xterm || t->progress == shown)
		return;
	t->progress = shown;
	if (shown < 0)
		buf_add_str(&out, "\033]9;4;0\a");
	else
		buf_printf(&out, "\033]9;4;%d;%d\a", failed ? 2 : 1, MIN(percent, 100));
	send_notice(t, &out);
	buf_free(&out);
}

void term_send_toast(struct terminal *t, enum term_toast kind, const char *title, const char *text)
{
	struct buf out = { 0 };

	if (kind == TOAST_NONE || (kind != TOAST_BELL && !t->is_xterm))
		return;
	if (kind != TOAST_BELL) {
		buf_add_str(&out, kind == TOAST_OSC9 ? "\033]9;" : "\033]777;notify;");
		add_plain_text(&out, title);
		buf_add_str(&out, kind == TOAST_OSC9 ? ": " : ";");
		add_plain_text(&out, text);
	}
	buf_add_str(&out, "\a");
	send_notice(t, &out);
	buf_free(&out);
}

bool term_is_away(const struct terminal *t)
{
	return t->away;
}
