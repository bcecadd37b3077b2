/* app_text.c - screens as text, without a terminal; see app_internal.h. */
#include "tui/app/app_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "tui/context/jobs.h"

#define MAX_SIDE 1000 /* largest rows and columns of --dump */
#define WAIT_S	 60   /* timeout of <Wait> in --keys */

static int parse_dump(const char *text, int *rows, int *cols, struct err *e)
{
	char first[16];
	const char *times = strpbrk(text, "xX");
	int64_t r, k;

	if (times && (size_t)(times - text) < sizeof(first)) {
		memcpy(first, text, (size_t)(times - text));
		first[times - text] = 0;
		if (text_to_int(first, &r) && text_to_int(times + 1, &k) && r >= 1 && k >= 1 &&
		    r <= MAX_SIDE && k <= MAX_SIDE) {
			*rows = (int)r;
			*cols = (int)k;
			return 0;
		}
	}
	return err_set(
		e, ERR_USAGE,
		"--dump: \"%.50s\" is not ROWSxCOLUMNS, for example 24x80, each from 1 to %d", text,
		MAX_SIDE);
}

/* Update until no job runs and no view wants another call. */
static void wait_until_idle(struct app *a)
{
	double end = clock_mono_s() + WAIT_S;

	while (clock_mono_s() < end) {
		unsigned reaction = app_update(a);

		if (reaction & REACT_AGAIN)
			continue;
		if (!(reaction & REACT_SOON) && !jobs_running(a->context.jobs))
			return;
		usleep(20000);
	}
}

/* Press the keys of --keys. Drawing in between clamps scroll positions, as on a terminal. */
static int press_named_keys(struct app *a, const char *keys, struct err *e)
{
	while (*keys) {
		int key = keys_next(&keys);
		unsigned reaction;

		if (key < 0)
			return err_set(e, ERR_USAGE,
				       "--keys: unknown key at \"%.50s\"; a key is "
				       "a character, <Tab>, <Down>, <Ctrl-L>, and < itself is <lt>",
				       keys);
		if (key == KEY_NAME_WAIT)
			wait_until_idle(a);
		reaction = key == KEY_NAME_WAIT ? REACT_NOTHING : app_key(a, key);
		if (reaction & REACT_QUIT)
			break;
		while (app_update(a) & REACT_AGAIN)
			;
		app_draw(a);
	}
	return 0;
}

int app_run_as_text(struct app *a, const struct conf *c, struct err *e)
{
	struct buf out = { 0 };
	int rows = 0, cols = 0, status;

	if (parse_dump(c->dump, &rows, &cols, e) || grid_resize(&a->grid, rows, cols, e))
		return e->code;
	while (app_update(a) & REACT_AGAIN)
		;
	app_draw(a);
	/* now the views know the size of the screen, and may have more to read */
	while (app_update(a) & REACT_AGAIN)
		;
	if (c->keys && press_named_keys(a, c->keys, e))
		return e->code;
	app_draw(a);
	grid_dump(&a->grid, &out);
	status = file_put_stdout(&out, e);
	buf_free(&out);
	return status;
}
