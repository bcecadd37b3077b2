/*
 * t_tui.c - the workbench without a terminal: cells, layout, numbers, series, plots, keys, run
 * history.
 */
#include "tests/test.h"

#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/workspace_names.h"
#include "tests/tui/played_workbench.h"
#include "tui/plot/plot.h"
#include "tui/plot/series.h"
#include "tui/run/run_history.h"
#include "tui/term/draw.h"
#include "tui/term/grid.h"
#include "tui/term/keys.h"
#include "tui/term/layout.h"
#include "tui/term/theme.h"

static struct err e;

/* Open a grid in a UTF-8 locale; false (test skipped) without such a locale. */
static bool open_grid(struct grid *g, enum grid_charset charset, int rows, int cols)
{
	*g = (struct grid){ .charset = charset };
	if (charset != GRID_ASCII && !setlocale(LC_CTYPE, "C.UTF-8")) {
		test_skip("this machine has no locale C.UTF-8");
		return false;
	}
	return check_int(grid_resize(g, rows, cols, &e), 0);
}

static void check_dump(const struct grid *g, const char *want)
{
	struct buf out = { 0 };

	grid_dump(g, &out);
	check_str(buf_text(&out), want);
	buf_free(&out);
}

/* ---- grid ---- */

TEST(tui_grid_clips)
{
	struct grid g;

	if (!open_grid(&g, GRID_ASCII, 2, 4))
		return;
	grid_text(&g, 0, 2, 100, STYLE_NORMAL, "long text");
	grid_text(&g, 9, 0, 100, STYLE_NORMAL, "below");
	grid_text(&g, -1, 0, 100, STYLE_NORMAL, "above");
	grid_text(&g, 1, -2, 100, STYLE_NORMAL, "abcd");
	check_dump(&g, "  lo\ncd\n");
	check_int(grid_text(&g, 1, 0, 3, STYLE_NORMAL, "wxyz"), 3);
	check_dump(&g, "  lo\nwxy\n");
	check(!grid_at(&g, 2, 0) && !grid_at(&g, 0, 4) && !grid_at(&g, 0, -1));
	grid_free(&g);
}

TEST(tui_grid_clips_to_a_part)
{
	struct grid g;

	if (!open_grid(&g, GRID_FULL, 3, 6))
		return;
	g.clip.row = 1;
	g.clip.col = 1;
	g.clip.rows = 1;
	g.clip.cols = 3;
	for (int row = 0; row < 3; row++)
		grid_text(&g, row, 0, 6, STYLE_NORMAL, "abcdef");
	check_dump(&g, "\n bcd\n\n");
	grid_put(&g, 1, 3, STYLE_NORMAL, 0x65E5); /* its right half would lie outside */
	check_dump(&g, "\n bc\n\n");
	grid_put(&g, 1, 0, STYLE_NORMAL, 0x65E5); /* its left half does */
	check_dump(&g, "\n  c\n\n");
	g.clip.rows = 0;
	grid_put(&g, 0, 0, STYLE_NORMAL, 'x');
	check_dump(&g, "x\n  c\n\n");
	grid_free(&g);
}

TEST(tui_grid_wide_and_marks)
{
	struct grid g;

	if (!open_grid(&g, GRID_FULL, 1, 6))
		return;
	check_int(grid_text(&g, 0, 0, 6, STYLE_NORMAL, "日本語"), 6);
	check_dump(&g, "日本語\n");
	grid_put(&g, 0, 1, STYLE_NORMAL, 'x'); /* the right half of a pair: both halves go */
	check_dump(&g, " x本語\n");
	grid_put(&g, 0, 3, STYLE_NORMAL, 0x65E5); /* over a right and a left half */
	check_dump(&g, " x 日\n");
	grid_put(&g, 0, 5, STYLE_NORMAL, 0x65E5); /* no room for two columns */
	check_dump(&g, " x 日\n");
	grid_clear(&g);
	check_int(grid_text(&g, 0, 0, 6, STYLE_NORMAL, "a\xCC\x88\xCC\x81\xCC\x80z"),
		  2); /* two marks are kept */
	check_dump(&g, "a\xCC\x88\xCC\x81z\n");
	check_int(grid_text_width(&g, "Mädchen 日本"), 12);
	check_int(grid_text_fit(&g, "日本", 3, NULL), 3);
	grid_free(&g);
}

TEST(tui_grid_never_passes_control)
{
	static const enum grid_charset charsets[] = { GRID_ASCII, GRID_PLAIN, GRID_FULL };
	struct grid g;

	for (size_t k = 0; k < ARRAY_LEN(charsets); k++) {
		unsigned seed = 7;

		if (!open_grid(&g, charsets[k], 3, 40))
			return;
		for (int round = 0; round < 3000; round++) {
			struct buf out = { 0 };
			char text[60];

			for (size_t i = 0; i + 1 < sizeof(text); i++) {
				seed = seed * 1103515245 + 12345;
				text[i] = (char)(seed >> 16 & 0xFF);
				/* many escapes, C1 controls and broken UTF-8 sequences */
				if (seed >> 28 < 4)
					text[i] = "\x1B\xC2\x9B\xE2"[seed >> 28];
				text[i] += !text[i];
			}
			text[sizeof(text) - 1] = 0;
			grid_text(&g, round % 3, (int)(seed >> 8 & 63) - 10, 40, STYLE_NORMAL,
				  text);
			grid_dump(&g, &out);
			for (size_t i = 0; i < out.len; i++) {
				unsigned char c = (unsigned char)out.data[i];

				if ((c < 0x20 && c != '\n') || c == 0x7F ||
				    (c == 0xC2 && (unsigned char)out.data[i + 1] < 0xA0) ||
				    (charsets[k] == GRID_ASCII && c > 0x7E))
					test_fail(__FILE__, __LINE__,
						  "byte %02x came through in round %d", c, round);
			}
			buf_free(&out);
		}
		grid_clear(&g);
		grid_text(&g, 0, 0, 40, STYLE_NORMAL,
			  "a\x1B[31mb\xE2\x80\xAE"
			  "c\td\n"); /* ESC, U+202E */
		check_dump(&g, charsets[k] == GRID_ASCII ? "a?[31mbc d\n\n\n"
							 : "a\xEF\xBF\xBD[31mbc d\n\n\n");
		grid_free(&g);
	}
}

TEST(tui_grid_ascii_stands_in)
{
	struct grid g;

	if (!open_grid(&g, GRID_ASCII, 3, 12))
		return;
	draw_box(&g, (struct rect){ 0, 0, 3, 12 }, "x", true);
	grid_text(&g, 1, 1, 10, STYLE_NORMAL, "Mädchen …");
	check_dump(&g, "+> x ------+\n|M?dchen . |\n+----------+\n");
	grid_free(&g);
}

TEST(tui_says_which_rows_are_hidden)
{
	static const struct {
		int above, below;
		const char *foot;
	} cases[] = {
		{ 0, 0, "+----------------------+" },	{ -3, -1, "+----------------------+" },
		{ 0, 2, "+------- 2 more below -+" },	{ 3, -1, "+------- 3 more above -+" },
		{ 3, 12, "+--- 3 above, 12 below -+" },
	};
	struct grid g;

	if (!open_grid(&g, GRID_ASCII, 2, 26))
		return;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rect box = { 0, 0, 2, (int)strlen(cases[i].foot) };
		char want[100];

		grid_clear(&g);
		draw_box(&g, box, NULL, false);
		draw_hidden_rows(&g, box, cases[i].above, cases[i].below);
		snprintf(want, sizeof(want), "+%.*s+\n%s\n", box.cols - 2,
			 "--------------------------", cases[i].foot);
		check_dump(&g, want);
	}
	/* wrapped text ends with an ellipsis if it is cut, and without one otherwise */
	grid_clear(&g);
	check_int(
		draw_text_wrapped(&g, (struct span){ 0, 0, 5, STYLE_NORMAL }, 2, 0, "aa bb cc dd"),
		2);
	check_dump(&g, "aa bb\ncc dd\n");
	grid_clear(&g);
	check_int(draw_text_wrapped(&g, (struct span){ 0, 0, 5, STYLE_NORMAL }, 1, 0, "aa bb cc"),
		  2);
	check_dump(&g, "aa b.\n\n");
	grid_free(&g);
}

/* ---- numbers ---- */

TEST(tui_figures)
{
	static const struct {
		double v;
		const char *want;
	} values[] = {
		{ 0, "0.000" },	       { 1.4449, "1.445" },	{ 61.4237, "61.42" },
		{ 123.46, "123.5" },   { 250, "250" },		{ 9999, "9999" },
		{ 12345, "12.3k" },    { 60880896, "60.9M" },	{ 1583616, "1.58M" },
		{ 999999, "1.00M" },   { 0.000612, "6.12e-4" }, { 0.0028, "2.80e-3" },
		{ 0.25, "0.250" },     { -3.5, "-3.500" },	{ NAN, "-" },
		{ 1e30F, ">=1e30" },   { -1e30, "<=-1e30" },	{ INFINITY, "-" },
		{ 1e300, "1.00e300" },
	};
	char out[NUMBER_TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		check_str(format_value(out, values[i].v), values[i].want);
	check_str(format_count(out, 1234567), "1,234,567");
	check_str(format_count(out, INT64_MAX), "9,223,372,036,854,775,807");
	check_str(format_count(out, 0), "0");
	check_str(format_count(out, -1), "-");
	check_str(COUNT_TEXT(999999.5), "1,000,000");
	check_str(COUNT_TEXT(-3), "-");
	check_str(COUNT_TEXT(NAN), "-");
	check_str(COUNT_TEXT(1e300), "-");
	check_str(format_fixed(out, 70.256, 2), "70.26");
	check_str(format_fixed(out, -1e300, 2), "-1.00e300");
	check_str(format_perplexity(out, 2.5), "12.18");
	check_str(format_perplexity(out, 376), "1.97e163");
	check_str(format_perplexity(out, 1000), ">1e308");
	check_str(format_perplexity(out, NAN), "-");
	check_str(format_bytes(out, 19021456), "19.0 MB");
	check_str(format_bytes(out, 512), "512 B");
	check_str(format_bytes(out, -1), "-");
	check_str(format_bytes(out, 1e300), "-");
	check_str(format_duration(out, 151), "2:31");
	check_str(format_duration(out, 3751), "1:02:31");
	check_str(format_duration(out, 273600), "3d 04:00");
	check_str(format_duration(out, NAN), "-");
	check_str(format_duration(out, -5), "-");
}

TEST(tui_figures_ticks)
{
	char out[NUMBER_TEXT_BYTES];

	check_near(round_tick_step(10, 5), 2, 1e-12);
	check_near(round_tick_step(61, 3), 25, 1e-12);
	check_near(round_tick_step(0.007, 3), 0.0025, 1e-12);
	check_near(round_tick_step(1e30, 4), 2.5e29, 1e16);
	check_str(format_tick(out, 1500, 500, 2000), "1,500");
	check_str(format_tick(out, 12500, 2500, 50000), "12.5k");
	check_str(format_tick(out, 0.0025, 0.0025, 0.0075), "2.5e-3");
	check_str(format_tick(out, 0.005, 0.0025, 0.0075), "5.0e-3");
	check_str(format_tick(out, 0, 0.0025, 0.0075), "0");
	check_str(format_tick(out, -2.5, 2.5, 5), "-2.5");
	check_str(format_tick(out, NAN, 1, 1), "-");
}

/* ---- series ---- */

TEST(tui_series_halves_and_keeps_extremes)
{
	struct series s;
	double samples = 0, sum = 0;
	float low = INFINITY, high = -INFINITY;

	series_init(&s);
	check(isnan(s.value));
	for (int i = 1; i <= 300000; i++) {
		double y = i == 123456 ? 1000 : i == 200001 ? -1000 : sin(i * 0.001);

		check_int(series_add(&s, i, y, &e), 0);
		sum += y;
	}
	check(s.n <= SERIES_POINTS && s.n > SERIES_POINTS / 2);
	check_near(s.points[0].first, 1, 0);
	check_near(s.points[s.n - 1].last, 300000, 0);
	for (size_t i = 0; i < s.n; i++) {
		samples += s.points[i].samples;
		sum -= s.points[i].sum;
		low = MIN(low, s.points[i].low);
		high = MAX(high, s.points[i].high);
		check(!i || s.points[i].first > s.points[i - 1].last);
	}
	check_near(samples, 300000, 0);
	check_near(sum, 0, 1e-6);
	check_near((double)low, -1000, 0);
	check_near((double)high, 1000, 0);
	check_near(s.value, sin(300), 1e-12);
	series_free(&s);
}

TEST(tui_series_gaps_and_cuts)
{
	char text[NUMBER_TEXT_BYTES];
	struct series s;

	series_init(&s);
	for (int i = 1; i <= 10; i++)
		series_add(&s, i, i == 5 ? NAN : i, &e);
	check_int(s.n, 10);
	check(s.points[4].n == 0 && isnan(series_mean(&s.points[4])));
	series_add(&s, 4, 4, &e); /* backwards: ignored */
	series_add(&s, NAN, 4, &e);
	check_int(s.n, 10);
	series_truncate(&s, 6);
	check_int(s.n, 5);
	check_near(s.value, 4, 0); /* the gap at 5 is not a value */
	series_add(&s, 6, -INFINITY, &e);
	check_near(s.value, -1e30, 1e16);
	check_str(format_value(text, s.value), "<=-1e30"); /* the cut is visible */
	series_truncate(&s, 0);
	check(s.n == 0 && isnan(s.value));
	series_free(&s);
}

/* ---- plot ---- */

/* Dots in a column of cells. */
static int inked(const struct grid *g, int col)
{
	int n = 0;

	for (int row = 1; row < g->rows - 1; row++)
		n += grid_at(g, row, col)->ch != ' ';
	return n;
}

TEST(tui_plot_gaps_and_edges)
{
	struct series s;
	struct plot_line line = { .series = &s, .pen = PLOT_LINE, .style = STYLE_FIRST };
	struct plot p = { .lines = &line, .n = 1, .x_end = 100, .cursor = NAN };
	struct rect box = { 0, 0, 12, 60 };
	struct grid g;

	if (!open_grid(&g, GRID_FULL, 12, 60))
		return;
	series_init(&s);
	for (int i = 0; i <= 100; i++)
		series_add(&s, i, i >= 40 && i < 60 ? NAN : i, &e);
	draw_box(&g, box, "t", false);
	plot_draw(&g, box, &p);
	check(inked(&g, 10) >= 1 && inked(&g, 55) >= 1);
	check_int(inked(&g, 32), 1); /* the middle of the gap: its mark, no line */
	check_int(grid_at(&g, 10, 32)->ch, 0xD7);
	check_int(grid_at(&g, 0, 59)->ch, 0x256E);
	for (int row = 1; row < 11; row++)
		check_int(grid_at(&g, row, 59)->ch, 0x2502);
	grid_free(&g);
	series_free(&s);
}

TEST(tui_plot_survives_everything)
{
	static const double values[] = { 0, 1, -1, 1e300, -1e300, NAN, INFINITY, 1e-300, 3, 3, 3 };
	static const double ends[] = { 0, NAN, 1, 1e-9, 50, 1e12, INFINITY };
	struct series s[2];
	struct plot_line lines[] = {
		{ .series = &s[0], .pen = PLOT_LINE, .style = STYLE_FIRST },
		{ .series = &s[1], .pen = PLOT_MARKED, .style = STYLE_SECOND }
	};
	struct grid g;

	if (!open_grid(&g, GRID_FULL, 40, 100))
		return;
	series_init(&s[0]);
	series_init(&s[1]);
	for (size_t n = 0; n <= ARRAY_LEN(values); n++) {
		for (int rows = 0; rows < 12; rows++)
			for (int cols = 0; cols < 60; cols += 3)
				for (size_t k = 0; k < ARRAY_LEN(ends); k++) {
					struct plot p = {
						lines,		 2,
						ends[k],	 k % 2 ? 7 : NAN,
						k % 2,		 .smooth = (double)(n % 3) * 0.3,
						.log_x = n % 2,	 .log_y = cols % 2,
						.trim = rows % 2
					};
					struct rect box = { 3, 5, rows, cols };

					plot_draw(&g, box, &p);
				}
		for (int row = 0; row < g.rows; row++)
			for (int col = 0; col < g.cols; col++)
				if ((row < 3 || row >= 15 || col < 5 || col >= 65) &&
				    grid_at(&g, row, col)->ch != ' ')
					test_fail(__FILE__, __LINE__, "drawn outside, at %d,%d",
						  row, col);
		if (n < ARRAY_LEN(values)) {
			series_add(&s[0], (double)n, values[n], &e);
			series_add(&s[1], (double)n * 1e11, values[ARRAY_LEN(values) - 1 - n], &e);
		}
	}
	series_free(&s[0]);
	series_free(&s[1]);
	grid_free(&g);
}

TEST(tui_plot_axis_is_compressed_in_steps)
{
	int changes = 0;
	double before = 0;

	for (double step = 1; step < 1e6; step *= 1.01) {
		double end = plot_x_end(step, 0);

		check(end >= step && (step < 10 || end <= step * 1.51));
		changes += end != before;
		before = end;
	}
	check(changes < 50);
	check_near(plot_x_end(1500, 0), 1500, 0);
	check_near(plot_x_end(1501, 0), 2000, 0);
	check_near(plot_x_end(1501, 1800), 1800, 0); /* never beyond the end of the run */
	check_near(plot_x_end(1501, 90), 2000, 0);   /* a run beyond its planned end */
	check_near(plot_x_end(NAN, 0), 10, 0);
}

/* ---- keys, theme ---- */

TEST(tui_keys)
{
	const char *p = "a<Down><lt><Ctrl-L>ü<nonsense>";

	check_int(keys_next(&p), 'a');
	check_int(keys_next(&p), KEY_NAME_DOWN);
	check_int(keys_next(&p), '<');
	check_int(keys_next(&p), 12);
	check_int(keys_next(&p), 0xFC);
	check_int(keys_next(&p), -1);
	check_str(p, "<nonsense>");
	check_int(keys_action(NULL, 'q', NULL), ACTION_QUIT);
	check_int(keys_action(NULL, '?', NULL), ACTION_HELP);
	check_int(keys_action(NULL, '~', NULL), ACTION_NONE);
}

TEST(tui_keys_every_action_has_its_own)
{
	for (int a = 1; a < ACTION_COUNT; a++) {
		const char *group = action_infos[a].group;
		const char *own = keys_group_is_common(group) ? NULL : group;
		char text[64];
		int n = 0;

		for (const char *p = action_infos[a].keys; *p;) {
			int key;

			if (*p == ' ') {
				p++;
				continue;
			}
			key = keys_next(&p);
			if (!check(key > 0))
				break;
			check_int(keys_action(NULL, key, own), a);
			n++;
		}
		check(n > 0 && action_infos[a].help[0]);
		keys_describe(NULL, (enum action)a, text, sizeof(text));
		check(!strchr(text, '<') && text[0]);
	}
}

/* The grammar of first keys that actions.def describes. */
TEST(tui_keys_upper_case_acts)
{
	static const enum action acting[] = {
		ACTION_COPY,
		ACTION_EXPORT,
		ACTION_PLOT_PICTURE,
		ACTION_SAVE,
		ACTION_EVALUATE,
		ACTION_STOP,
		ACTION_HOME_PREPARE,
		ACTION_HOME_TRAIN,
		ACTION_FORM_RUN,
		ACTION_COPY_TRANSLATION,
		ACTION_EXPORT_TRANSLATIONS,
		ACTION_TRANSLATE_FILE,
		ACTION_DOCUMENT,
		ACTION_DOCUMENT_ACCEPT,
	};
	const char *const without_plots[] = {
		"home", "data", "samples", "log", "settings", "form"
	};

	for (int a = 1; a < ACTION_COUNT; a++) {
		const struct action_info *info = &action_infos[a];
		const char key = *info->keys, *const group = info->group;
		bool acts = false, upper = key >= 'A' && key <= 'Z', has_plots = true;
		enum action common = keys_action(NULL, key, NULL);

		for (size_t i = 0; i < ARRAY_LEN(acting); i++)
			acts |= acting[i] == (enum action)a;
		for (size_t i = 0; i < ARRAY_LEN(without_plots); i++)
			has_plots &= strcmp(group, without_plots[i]) != 0;
		if (acts || !upper)
			check_int(acts, upper);
		else
			check(strchr("GNU", key) || !strcmp(group, "translate"));
		if (keys_group_is_common(group) || !strcmp(group, "translate") || key == '<' ||
		    (!has_plots &&
		     !strcmp(action_infos[common].group ? action_infos[common].group : "",
			     "Plots")))
			continue;
		check_int(common, ACTION_NONE);
	}
}

TEST(tui_theme_colours)
{
	bool bad;

	check(theme_wants_colour(NULL, NULL, &bad) && !bad);
	check(!theme_wants_colour("auto", "1", &bad) && !bad);
	check(theme_wants_colour("auto", "", &bad) && !bad);
	check(theme_wants_colour("always", "1", &bad) && !bad);
	check(!theme_wants_colour("never", NULL, &bad) && !bad);
	theme_wants_colour("blue", NULL, &bad);
	check(bad);
}

/* ---- history ---- */

/* An empty run "r" in the workspace, which is the test's folder. */
static struct run_history *open_empty_run(void)
{
	struct run_history *h;

	append_run_file("r", "notes", ""); /* makes the folder */
	h = history_open(test_folder(), "r", &e);
	check(h != NULL);
	return h;
}

TEST(tui_history_follows)
{
	struct run_history *h = open_empty_run();

	if (!h)
		return;
	read_whole_history(h, 100);
	check(h->step == -1 && isnan(history_elapsed(h, 100)) && h->state == RUN_UNKNOWN);
	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'start','t':100,'attempt':1,'parameters':1000,"
			"'options':{'steps':'400'}}\n"
			"{'v':1,'kind':'train','t':110,'step':100,'loss':5.5,'lr':0.001,"
			"'target_tps':900}\n"
			"{'v':1,'kind':'train','t':120,'step':200,'loss':null,'nonfinite':'loss'");
	read_whole_history(h, 121);
	check_int(h->step, 100); /* the cut line is not complete yet */
	check_near(h->loss.value, 5.5, 0);
	append_run_file("r", "journal.jsonl",
			"}\nnot json\n"
			"{'v':1,'kind':'eval','t':125,'step':200,'bleu':12.5,'dev_nll':3."
			"25,'best':true}\n");
	append_run_file("r", "samples.jsonl",
			"{'v':1,'kind':'sample','step':200,'id':0,'source':'a',"
			"'reference':'b','hypothesis':'c'}\n"
			"{'v':1,'kind':'sample','step':300,'id':0,'source':'a',"
			"'reference':'b','hypothesis':'d'}\n");
	read_whole_history(h, 126);
	check_int(h->step, 200);
	check_int(h->loss.n, 2);
	check(h->loss.points[1].n == 0); /* the gap */
	check_near(h->best_bleu, 12.5, 0);
	check_int(h->bad_lines, 1);
	check_int(h->n_samples, 1);
	check_str(h->samples[0].hypothesis, "d");
	check_near(history_elapsed(h, 126), 25, 1e-9);
	check_int(h->plan.steps, 400);
	history_free(h);
}

TEST(tui_history_resumed_run)
{
	struct run_history *h = open_empty_run();

	if (!h)
		return;
	append_run_file(
		"r", "journal.jsonl",
		"{'v':1,'kind':'start','t':1000,'attempt':1}\n"
		"{'v':1,'kind':'train','t':1010,'step':10,'loss':5}\n"
		"{'v':1,'kind':'eval','t':1011,'step':10,'bleu':10,'dev_nll':4,'best':true}\n"
		"{'v':1,'kind':'train','t':1020,'step':20,'loss':4}\n"
		"{'v':1,'kind':'eval','t':1021,'step':20,'bleu':30,'dev_nll':3,'best':true}\n"
		"{'v':1,'kind':'start','t':5000,'attempt':2,'step':10}\n"
		"{'v':1,'kind':'train','t':5010,'step':15,'loss':4.5}\n");
	read_whole_history(h, 5010);
	check_int(h->loss.n, 2);
	check_near(h->loss.value, 4.5, 0);
	check_int(h->bleu.n, 1);
	check_near(h->best_bleu, 10, 0);
	check_int(h->best_step, 10);
	check_int(h->step, 15);
	check_near(history_elapsed(h, 5010), 21 + 10, 1e-9); /* the pause does not count */
	check_int(h->state, RUN_UNKNOWN);
	/* killed: steps since the checkpoint are repeated, and max_minutes does not count them */
	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'start','t':5011,'step':10,'trained_s':11.5}\n");
	read_whole_history(h, 5011);
	check_near(history_elapsed(h, 5020), 11.5, 1e-9);
	append_run_file("r", "journal.jsonl",
			"{'v':1,'kind':'stop','t':5011,'reason':'asked','exit':75}\n");
	read_whole_history(h, 5011);
	check_int(h->state, RUN_STOPPED); /* without state.json, the stop record counts */
	history_free(h);
}

TEST(tui_history_state_and_lock)
{
	struct run_history *h;
	int fd;

	put_run_file("r", "state.json",
		     "{'v':1,'state':'running','pid':1,'attempt':3,'host':'bench'}");
	append_run_file("r", "console.log", "[0 bench] starting\n[0 bench] killed\n");
	fd = lock_run("r");
	h = history_open(test_folder(), "r", &e);
	if (check(h != NULL)) {
		read_whole_history(h, 100);
		check_int(h->state, RUN_RUNNING);
		check_int(h->attempt, 3);
		close(fd);
		read_whole_history(h, 101); /* tested every two seconds only */
		check_int(h->state, RUN_RUNNING);
		read_whole_history(h, 103);
		check_int(h->state, RUN_LOST);
		check_int(h->n_lines, 2); /* the end of console.log */
		check_str(history_line(h, 1)->text, "[0 bench] killed");
		put_run_file("r", "state.json", "{'v':1,'state':'failed','exit':137}");
		read_whole_history(h, 103.5);
		check_int(h->state, RUN_FAILED);
		check_int(h->exit_status, 137);
		put_run_file("r", "state.json", "{'v':1,");
		check_int(history_update(h, 104, 1, &e), ERR_DATA);
		check(strstr(e.text, "state.json") != NULL);
		check_int(h->state, RUN_FAILED); /* the old state stays */
	}
	history_free(h);
}

TEST(tui_history_hostile)
{
	static const char *const records[] = {
		"{}",
		"[]",
		"{\"kind\":7}",
		"{\"kind\":\"train\"}",
		"{\"kind\":\"train\",\"step\":-5,\"loss\":1}",
		"{\"kind\":\"train\",\"step\":9223372036854775807,\"loss\":1e308}",
		"{\"kind\":\"train\",\"step\":1e300,\"loss\":1}",
		"{\"kind\":\"train\",\"step\":3,\"loss\":\"x\",\"lr\":{},\"epoch\":[]}",
		"{\"kind\":\"start\",\"t\":1e300,\"ranks\":-9223372036854775808,\"parameters\":"
		"1e99,\"host\":[1],\"attempt\":-7}",
		"{\"kind\":\"start\",\"t\":5,\"host\":\"\\u001b]0;x\\u0007 a host whose name goes "
		"on and on and on and on and on and on and on and on "
		"\\u00fc\\u00fc\\u00fc\\u00fc\\u00fc\\u00fc\\u00fc\\u00fc\\u00fc\\u00fc\"}",
		"{\"kind\":\"eval\",\"step\":4,\"bleu\":-1e308,\"dev_nll\":1e308,\"seconds\":"
		"1e308}",
		"{\"kind\":\"eval\",\"step\":2,\"bleu\":null}",
		"{\"kind\":\"save\",\"step\":4,\"bytes\":-1,\"path\":5}",
		"{\"kind\":\"event\",\"level\":\"worst\",\"text\":\"\\u001b[2J\"}",
		"{\"kind\":\"stop\",\"exit\":-4}",
		"{\"kind\":\"stop\",\"reason\":\"failed\",\"exit\":9223372036854775807}",
	};
	struct run_history *h = open_empty_run();

	if (!h)
		return;
	for (size_t round = 0; round < 200; round++)
		for (size_t i = 0; i < ARRAY_LEN(records); i++) {
			struct json *r = json_parse(records[i], strlen(records[i]), &e);

			check(r != NULL);
			check_int(history_add_record(h, r, &e), 0);
			json_free(r);
		}
	check_int(h->n_lines, HISTORY_LINES);
	check(strlen(h->host) < sizeof(h->host));
	check_int(h->loss.n, 0); /* the repeated evaluation at step 2 removes step 3 */
	check_int(h->step, 4);
	history_free(h);
}

TEST(tui_history_finds_runs)
{
	const char *w = test_folder();
	char *newest;

	append_run_file("r", "journal.jsonl", "");
	newest = workspace_newest_run(w, &e);
	check_str(newest, "r");
	free(newest);
	check(!history_open(w, "../r", &e) && e.code == ERR_USAGE);
	check(!history_open(w, "other", &e) && e.code == ERR_NOINPUT &&
	      strstr(e.text, "it has: r"));
	e.code = 1;
	check(!workspace_newest_run("/nonexistent", &e) && e.code == 0);
}
