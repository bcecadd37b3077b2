/* log_lines.c - draws lines of the log; see log_lines.h. */
#include "tui/run/log_lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "share/base/util.h"

static const struct {
	const char *word;
	enum style style;
} kinds[] = {
	[LINE_START] = { "start", STYLE_NORMAL },  [LINE_EVAL] = { "eval", STYLE_NORMAL },
	[LINE_BEST] = { "best", STYLE_GOOD },	   [LINE_SAVE] = { "saved", STYLE_DIM },
	[LINE_INFO] = { "info", STYLE_NORMAL },	   [LINE_WARNING] = { "warning", STYLE_WARN },
	[LINE_ERROR] = { "error", STYLE_BAD },	   [LINE_STOP] = { "stop", STYLE_NORMAL },
	[LINE_CONSOLE] = { "console", STYLE_DIM },
};

const char *log_kind_name(enum history_kind kind)
{
	return kinds[kind].word;
}

enum style log_style(enum history_kind kind)
{
	return kinds[kind].style;
}

static const char *write_utc(char out[NUMBER_TEXT_BYTES], double t, bool has_year)
{
	bool is_known = t >= 0 && t < 1e11; /* NaN: unknown */
	time_t seconds = is_known ? (time_t)t : 0;
	struct tm tm;

	if (!is_known || !gmtime_r(&seconds, &tm) ||
	    !strftime(out, NUMBER_TEXT_BYTES, has_year ? "%Y-%m-%d %H:%M:%S" : "%m-%d %H:%M:%S",
		      &tm))
		return format_value(out, NAN);
	return out;
}

const char *log_clock(char out[NUMBER_TEXT_BYTES], double t)
{
	return write_utc(out, t, false);
}

const char *log_date(char out[NUMBER_TEXT_BYTES], double t)
{
	return write_utc(out, t, true);
}

/* Draw the text, then the matches of find over it, marked. */
static void draw_found_text(struct grid *g, struct span at, const char *text, int left,
			    const struct text_filter *find)
{
	const char *found = text;
	size_t n = 0;

	draw_text_from(g, at, text, left);
	for (int i = 0; i < 16 && find && (found = text_filter_find(find, found, &n));
	     i++, found += n) {
		char before[HISTORY_TEXT];
		struct span here = at;

		snprintf(before, sizeof(before), "%.*s", (int)(found - text), text);
		here.col += grid_text_width(g, before) - left;
		here.width = at.col + at.width - here.col;
		here.style = STYLE_MARK;
		if (here.col >= at.col && here.width > 0)
			grid_text_part(g, here, found, n, 0);
	}
}

void log_draw_row(struct grid *g, struct rect r, const struct log_row *row)
{
	const struct history_line *l = row->line;
	enum style style = kinds[l->kind].style;
	char text[NUMBER_TEXT_BYTES];
	int at = r.col + 1;

	if (row->selected)
		grid_put(g, r.row, r.col, STYLE_FOCUS, 0x25B8);
	if (l->kind != LINE_CONSOLE || isfinite(l->t)) {
		if (isfinite(row->first_t))
			draw_text_right(g, r.row, at + 8, 9, STYLE_DIM,
					format_duration(text, l->t - row->first_t));
		else
			draw_text(g, r.row, at, 14, STYLE_DIM, log_clock(text, l->t));
	}
	at = r.col + (isfinite(row->first_t) ? 11 : 16);
	if (l->step >= 0)
		draw_text_right(g, r.row, at + 9, 10, STYLE_DIM, format_count(text, l->step));
	at += 12;
	draw_text(g, r.row, at, MIN(7, r.col + r.cols - at), row->selected ? STYLE_SELECTED : style,
		  kinds[l->kind].word);
	at += 9;
	if (style != STYLE_DIM)
		style = STYLE_NORMAL;
	draw_found_text(g, (struct span){ r.row, at, r.col + r.cols - 1 - at, style }, l->text,
			row->left, row->find);
}
