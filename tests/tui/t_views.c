/* t_views.c - the panes of home, data, compare and samples at many sizes, with a corpus and runs. */
#include "tests/test.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tests/tui/played_workbench.h"
#include "tui/context/jobs.h"
#include "tui/context/next_steps.h"
#include "tui/context/run_requests.h"
#include "tui/context/view.h"
#include "tui/context/view_requests.h"
#include "tui/run/log_lines.h"
#include "tui/run/run_history.h"
#include "tui/views/compare_plot.h"
#include "tui/views/csv_export.h"
#include "tui/views/hosts_panes.h"
#include "tui/views/run_comparison.h"
#include "tui/views/run_panes.h"
#include "tui/views/sample_text.h"
#include "tui/views/views.h"

static struct err e;

static bool open_context(struct app_context *w)
{
	static const char *const of_corpus[] = { "manifest.json", "stats.json", "ledger.tsv",
						 "vocab.tsv",	  "bpe.codes",	"recipe.ini" };

	copy_recorded_run("first");
	copy_recorded_run("second");
	copy_golden_files("corpus", of_corpus, ARRAY_LEN(of_corpus), "corpora/tiny");
	if (!check_int(context_open(w, test_folder(), &e), 0))
		return false;
	w->now = 1750000210;
	w->front = true;
	return check_int(context_choose_run(w, "first", &e), 0);
}

/* An open view, and the context that it shows. */
struct shown_view {
	const struct view *view;
	void *state; /* owned */
	struct app_context w;
};

/* false: the test has failed. */
static bool show_view(struct shown_view *s, const struct view *v)
{
	*s = (struct shown_view){ .view = v, .state = calloc(1, v->state_size) };
	return check(s->state != NULL) && open_context(&s->w) &&
	       check_int(view_open(v, s->state, &s->w, &e), 0);
}

static void close_view(struct shown_view *s)
{
	view_close(s->view, s->state);
	free(s->state);
	context_close(&s->w);
}

/* The number of cells that are not empty; the grid's clip forbids cells outside body. */
static int cells_used(const struct grid *g)
{
	int n = 0;

	for (int i = 0; i < g->rows * g->cols; i++)
		n += g->cells[i].ch != ' ';
	return n;
}

/* Draw like the workbench: the view must stay inside body and draw something. */
static void draw_at(struct shown_view *s, int rows, int cols)
{
	struct grid g = { .charset = s->w.charset };
	struct rect body = { 1, 2, rows, cols };
	int used;

	if (grid_resize(&g, rows + 2, cols + 4, &e))
		return;
	g.clip = (struct grid_part){ body.row, body.col, rows, cols };
	view_draw(s->view, s->state, &g, body, &s->w);
	used = cells_used(&g);
	if (rows >= 5 && cols >= 12 && used < 6)
		test_fail(__FILE__, __LINE__, "%s at %d x %d draws %d cells", s->view->name, rows,
			  cols, used);
	grid_free(&g);
}

static unsigned act_in_view(struct shown_view *s, enum action action)
{
	return view_act(s->view, s->state, &s->w, action);
}

/* Update until nothing changes, and draw, as keys and the mouse mean the rows that are drawn. */
static void come_to_rest(struct shown_view *s)
{
	for (int i = 0; i < 50; i++, s->w.news = 0)
		if (!(view_update(s->view, s->state, &s->w) & REACT_AGAIN))
			break;
	draw_at(s, 40, 120);
}

/* News come while another tab is in front; then the user comes back. */
static void hide_and_return(struct shown_view *s, unsigned news)
{
	s->w.front = false;
	s->w.news = news;
	view_update(s->view, s->state, &s->w);
	s->w.front = true;
	s->w.news = 0;
	come_to_rest(s);
}

static void every_size_of(const struct view *v, const enum action *actions, const char *typed)
{
	struct shown_view s;

	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		test_skip("this machine has no locale C.UTF-8");
		return;
	}
	if (!show_view(&s, v))
		return;
	s.w.charset = GRID_FULL;
	read_whole_history(s.w.history, s.w.now);
	s.w.news = NEWS_RUN | NEWS_HISTORY;
	come_to_rest(&s);
	for (const enum action *a = actions; *a; a++) {
		act_in_view(&s, *a);
		come_to_rest(&s);
	}
	for (const char *p = typed; *p && v->key; p++)
		v->key(s.state, &s.w, *p);
	come_to_rest(&s);
	for (int rows = 1; rows <= 60; rows += rows < 20 ? 1 : 7)
		for (int cols = 1; cols <= 210; cols += cols < 30 ? 1 : 9)
			draw_at(&s, rows, cols);
	close_view(&s);
}

TEST(views_home_at_every_size)
{
	static const enum action actions[] = { ACTION_NEXT_PANE, ACTION_DOWN, ACTION_NEXT_PANE,
					       ACTION_END, ACTION_NONE };

	every_size_of(&view_home, actions, "");
}

TEST(views_data_at_every_size)
{
	static const enum action actions[] = { ACTION_NEXT_PANE, ACTION_NEXT_PANE, ACTION_NEXT_PANE,
					       ACTION_NONE };

	for (size_t first = 0; first < ARRAY_LEN(actions); first++)
		every_size_of(&view_data, actions + first,
			      first ? "" : "The old teachers, reading \"a book\".");
}

TEST(views_compare_at_every_size)
{
	static const enum action actions[] = { ACTION_DOWN, ACTION_COMPARE_METRIC,
					       ACTION_COMPARE_AXIS, ACTION_NEXT_PANE, ACTION_NONE };

	every_size_of(&view_compare, actions, "");
}

TEST(views_samples_at_every_size)
{
	static const enum action actions[] = { ACTION_END,   ACTION_SAMPLES_AGAINST,
					       ACTION_ORDER, ACTION_NEXT_PANE,
					       ACTION_UP,    ACTION_NONE };

	every_size_of(&view_samples, actions, "");
}

/* The letters of one style on the screen of samples. */
static void letters_of_style(struct shown_view *s, enum style style, char found[80])
{
	struct grid g = { .charset = GRID_ASCII };
	size_t n = 0;

	check_int(grid_resize(&g, 20, 70, &e), 0);
	view_draw(s->view, s->state, &g, (struct rect){ 0, 0, 20, 70 }, &s->w);
	for (int i = 0; i < g.rows * g.cols && n < 79; i++)
		if (g.cells[i].style == style && g.cells[i].ch != ' ')
			found[n++] = (char)g.cells[i].ch;
	found[n] = 0;
	grid_free(&g);
}

/* Words that the reference lacks are underlined, and new ones have a + too. */
TEST(views_samples_underline_errors)
{
	static const char lines[] =
		"{\"v\":1,\"kind\":\"sample\",\"step\":5,\"id\":0,\"source\":\"a b c\","
		"\"reference\":\"x y z\",\"hypothesis\":\"x q z\"}\n"
		"{\"v\":1,\"kind\":\"sample\",\"step\":10,\"id\":0,\"source\":\"a b c\","
		"\"reference\":\"x y z\",\"hypothesis\":\"x q y w\"}\n";
	char found[80];
	struct shown_view s;

	if (!show_view(&s, &view_samples))
		return;
	test_put_file("runs/first/samples.jsonl", lines);
	read_whole_history(s.w.history, s.w.now);
	come_to_rest(&s);
	letters_of_style(&s, STYLE_WRONG, found);
	check_str(found, "qqw");
	letters_of_style(&s, STYLE_ADDED, found);
	check_str(found, "+y");
	act_in_view(&s, ACTION_SAMPLES_AGAINST);
	letters_of_style(&s, STYLE_WRONG, found);
	check_str(found, "+q+q+w");
	act_in_view(&s, ACTION_SAMPLES_AGAINST);
	letters_of_style(&s, STYLE_WRONG, found);
	check_str(found, "");
	close_view(&s);
}

/* The underlined letters of a box of samples in Run, its lines cut or wrapped. */
static void wrong_letters(struct run_history *h, int rows, int left, char found[80])
{
	struct run_view_state s = { 0 };
	struct grid g = { .charset = GRID_ASCII };
	size_t n = 0;

	s.left[PANE_SAMPLES] = left;
	check_int(grid_resize(&g, rows, 60, &e), 0);
	run_draw_samples(&g, (struct rect){ 0, 0, rows, 60 }, h, &s);
	for (int i = 0; i < g.rows * g.cols && n < 79; i++)
		if (g.cells[i].style == STYLE_WRONG && g.cells[i].ch != ' ')
			found[n++] = (char)g.cells[i].ch;
	found[n] = 0;
	grid_free(&g);
}

TEST(run_samples_underline_errors)
{
	char source[] = "a b c", reference[] = "x y z", hypothesis[] = "x why y  no z";
	struct history_sample sample = {
		.step = 5, .source = source, .reference = reference, .hypothesis = hypothesis
	};
	struct run_history h = { .n_samples = 1 };
	char found[80];

	h.samples[0] = sample;
	wrong_letters(&h, 5, 0, found);
	check_str(found, "whyno");
	wrong_letters(&h, 12, 0, found);
	check_str(found, "whyno");
	wrong_letters(&h, 5, 4, found);
	check_str(found, "yno");
	wrong_letters(&h, 5, 10, found);
	check_str(found, "o");
}

/* A word that is wider than a line fills several lines, none of it is lost. */
TEST(sample_text_wraps_long_words)
{
	struct grid g = { .charset = GRID_ASCII };
	struct span at = { 0, 0, 4, STYLE_NORMAL };
	struct buf out = { 0 };

	check_int(grid_resize(&g, 4, 4, &e), 0);
	check_int(sample_text_wrapped(&g, at, 4, 0, "a bcdefghij k", (struct sample_marks){ 0 }),
		  4);
	grid_dump(&g, &out);
	check_str(buf_text(&out), "a\nbcde\nfghi\nj k\n");
	buf_free(&out);
	grid_free(&g);
}

/* The message or the question after an action of the run view. */
static const char *after_run_action(struct shown_view *s, enum action action)
{
	struct app_context *w = &s->w;

	*w->requests->message = 0;
	prompt_close(&w->requests->prompt);
	check(act_in_view(s, action) & REACT_UNKNOWN);
	run_request_ask(w, action, w->history->name, w->history->state == RUN_RUNNING,
			run_state_name(w->history->state));
	return w->requests->prompt.open ? w->requests->prompt.text : w->requests->message;
}

TEST(run_view_asks_only_live_runs)
{
	static const struct {
		enum action action;
		const char *command, *refused;
	} requests[] = {
		{ ACTION_SAVE, "werkbank save -C ", "it cannot be saved" },
		{ ACTION_EVALUATE, "werkbank evaluate -C ", "it cannot be evaluated" },
		{ ACTION_STOP, "werkbank stop -C ", "it cannot be stopped" },
	};
	struct shown_view s;

	if (!show_view(&s, &view_run))
		return;
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		enum action action = requests[i].action;

		s.w.history->state = RUN_RUNNING;
		check(strstr(after_run_action(&s, action), requests[i].command) != NULL);
		check_int((int)s.w.requests->prompt.kind, QUESTION_YES_NO);
		s.w.history->state = RUN_FINISHED;
		check(strstr(after_run_action(&s, action), "not being trained (finished)"));
		check(strstr(s.w.requests->message, requests[i].refused) != NULL);
		check(!s.w.requests->prompt.open);
		s.w.history->state = RUN_RUNNING;
		s.w.readonly = true;
		check(!strncmp(after_run_action(&s, action), "--readonly: ", 12));
		s.w.readonly = false;
	}
	close_view(&s);
	/* every request has a key of its own in the view */
	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		check_int(keys_action(NULL, (unsigned char)*action_infos[requests[i].action].keys,
				      "run"),
			  requests[i].action);
}

/* Whether the view draws the words in that many rows and columns. */
static bool view_shows_at(struct shown_view *s, int rows, int cols, const char *words)
{
	struct grid g = { .charset = GRID_ASCII };
	bool found;

	check_int(grid_resize(&g, rows, cols, &e), 0);
	view_draw(s->view, s->state, &g, (struct rect){ 0, 0, rows, cols }, &s->w);
	found = grid_shows(&g, words);
	grid_free(&g);
	return found;
}

static bool view_shows(struct shown_view *s, const char *words)
{
	return view_shows_at(s, 30, 120, words);
}

/* Records that came while another tab was in front are shown when the user comes back. */
TEST(compare_shows_what_came_while_hidden)
{
	static const char record[] = "{\"v\":1,\"kind\":\"train\",\"t\":1750000209,\"step\":2010,"
				     "\"loss\":8,\"nll\":7.654,\"lr\":0.001}\n";
	struct shown_view s;

	if (!show_view(&s, &view_compare))
		return;
	read_whole_history(s.w.history, s.w.now);
	s.w.news = NEWS_RUN | NEWS_HISTORY;
	come_to_rest(&s);
	check(!view_shows(&s, "7.654"));
	append_run_file("first", "journal.jsonl", record);
	check_int(history_update(s.w.history, s.w.now, 1, &e), HISTORY_CHANGED);
	hide_and_return(&s, NEWS_HISTORY);
	check(view_shows(&s, "7.654"));
	close_view(&s);
}

/* The options of a run without a recipe are unknown, not equal. */
TEST(compare_names_a_run_without_recipe)
{
	struct shown_view s;

	if (!show_view(&s, &view_compare))
		return;
	test_put_file("runs/bare/journal.jsonl",
		      "{\"v\":1,\"kind\":\"start\",\"t\":1750000000,\"step\":0}\n");
	check_int(context_choose_run(&s.w, "bare", &e), 0);
	s.w.news = NEWS_RUN | NEWS_HISTORY;
	come_to_rest(&s);
	check(view_shows(&s, "bare has no recipe"));
	close_view(&s);
}

/* A job that ended while another tab was in front changes what home suggests. */
TEST(home_suggests_after_a_job_that_ended_while_hidden)
{
	static const char *const argv[] = { "sh", "-c", "exec sleep 0.1", NULL };
	struct shown_view s;

	if (!show_view(&s, &view_home))
		return;
	check(jobs_start(s.w.jobs, "wait", argv, s.w.now, &e) > 0);
	s.w.news = NEWS_JOBS;
	come_to_rest(&s);
	check(!view_shows(&s, "Prepare the built-in corpus"));
	for (int i = 0; i < 1000 && jobs_running(s.w.jobs); i++) {
		jobs_update(s.w.jobs, s.w.now);
		usleep(10000);
	}
	hide_and_return(&s, NEWS_JOBS);
	check(view_shows(&s, "Prepare the built-in corpus"));
	close_view(&s);
}

/* The step of a command stays chosen behind the question whether to run it. */
TEST(home_step_stays_chosen_behind_its_question)
{
	static const char step[] = "> Prepare the built-in corpus";
	struct shown_view s;

	if (!show_view(&s, &view_home))
		return;
	come_to_rest(&s);
	for (int i = 0; i < NEXT_STEPS_MAX && !view_shows(&s, step); i++)
		act_in_view(&s, ACTION_DOWN);
	check(view_shows(&s, step));
	act_in_view(&s, ACTION_HOME_OPEN);
	check_int((int)s.w.requests->prompt.kind, QUESTION_YES_NO);
	s.w.news = NEWS_JOBS;
	come_to_rest(&s);
	check(view_shows(&s, step));
	close_view(&s);
}

/* Keys of a map that is not drawn say why. */
TEST(hosts_map_needs_a_gpu)
{
	static const enum action actions[] = { ACTION_HOSTS_METRIC, ACTION_HOSTS_TIME };
	struct shown_view s;

	if (!show_view(&s, &view_hosts))
		return;
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		*s.w.requests->message = 0;
		act_in_view(&s, actions[i]);
		check(strstr(s.w.requests->message, "no map: no host of this run") != NULL);
	}
	read_whole_history(s.w.history, s.w.now);
	for (size_t i = 0; i < s.w.history->fleet.n_hosts; i++)
		s.w.history->fleet.hosts[i].n_gpus = 1;
	*s.w.requests->message = 0;
	act_in_view(&s, ACTION_HOSTS_METRIC);
	check_int(!*s.w.requests->message, s.w.history->fleet.n_hosts > 0);
	close_view(&s);
}

/* A screen that has no room for the map beside the table shows the map alone after its keys. */
TEST(hosts_map_on_a_small_screen)
{
	static const char record[] =
		"{\"v\":1,\"kind\":\"host\",\"t\":1750000209,\"step\":2000,\"host\":\"one\","
		"\"cpu\":0.5,\"gpus\":[{\"index\":0,\"util\":0.75}]}\n";
	struct shown_view s;

	if (!show_view(&s, &view_hosts))
		return;
	append_run_file("first", "journal.jsonl", record);
	read_whole_history(s.w.history, s.w.now);
	check_int((int)s.w.history->fleet.n_hosts, 1);
	check(!view_shows_at(&s, 20, 80, "GPUs: "));
	act_in_view(&s, ACTION_HOSTS_METRIC);
	check(view_shows_at(&s, 20, 80, "GPUs: "));
	close_view(&s);
}

/* The form offers the recipe of the newest corpus, not the one of the built-in corpus. */
TEST(home_form_trains_on_the_newest_corpus)
{
	struct shown_view s;
	const struct wizard *z;

	if (!show_view(&s, &view_home))
		return;
	test_put_file("corpora/zz/recipe.ini", "");
	test_put_file("corpora/zz/progress.json", "{}");
	come_to_rest(&s);
	act_in_view(&s, ACTION_HOME_TRAIN);
	z = s.w.requests->wizard;
	if (check(z != NULL)) {
		check_str(z->rows[1].label, "run");
		check_str(z->rows[1].value, "tiny");
		check_str(z->rows[5].label, "corpus");
		check_str(z->rows[5].value, "tiny");
	}
	for (int i = 0; i < 4 && !*s.w.requests->message; i++) { /* come to zz */
		act_in_view(&s, ACTION_NEXT_PANE);
		act_in_view(&s, ACTION_END);
		act_in_view(&s, ACTION_HOME_TRAIN);
	}
	check_str(s.w.requests->message,
		  "the corpus zz is not finished; prepare it before training");
	close_view(&s);
}

/* A date in an exported log has its year. */
TEST(log_dates_have_years)
{
	char out[NUMBER_TEXT_BYTES];

	check_str(log_date(out, 1795445576.5), "2026-11-23 14:52:56");
	check_str(log_clock(out, 1795445576.5), "11-23 14:52:56");
	check_str(log_date(out, NAN), "-");
}

/* The wall time of an exported evaluation is that of its own record. */
TEST(csv_evaluations_have_their_own_time)
{
	struct app_context w;
	struct buf out = { 0 };

	test_put_file(
		"runs/late/journal.jsonl",
		"{\"v\":1,\"kind\":\"start\",\"t\":100,\"step\":0,\"run\":\"late\"}\n"
		"{\"v\":1,\"kind\":\"train\",\"t\":150,\"step\":20,\"loss\":3,\"nll\":2.5}\n"
		"{\"v\":1,\"kind\":\"eval\",\"t\":161,\"step\":20,\"bleu\":7.5,\"dev_nll\":2}\n");
	if (!open_context(&w))
		return;
	check_int(context_choose_run(&w, "late", &e), 0);
	read_whole_history(w.history, w.now);
	csv_put_series(w.history, &w.history->bleu, &out);
	check_str(buf_text(&out), "Wall time,Step,Value\n161,20,7.5\n");
	buf_clear(&out);
	csv_put_series(w.history, &w.history->nll, &out);
	check_str(buf_text(&out), "Wall time,Step,Value\n150,20,2.5\n");
	buf_free(&out);
	context_close(&w);
}

/* A filter that hides all sentences says so. */
TEST(samples_filter_without_a_match)
{
	struct shown_view s;

	if (!show_view(&s, &view_samples))
		return;
	read_whole_history(s.w.history, s.w.now);
	come_to_rest(&s);
	check(!view_shows(&s, "no sentence matches"));
	act_in_view(&s, ACTION_FIND);
	view_answer(s.view, s.state, &s.w, s.w.requests->prompt.id, "qqqqq");
	check(view_shows(&s, "no sentence matches"));
	close_view(&s);
}

/* Every curve of a noisy metric is smoothed, whatever its pen; a learning rate never is. */
TEST(compare_smooths_all_curves_alike)
{
	struct run_comparison b = { .metric = COMPARE_TRAIN_NLL };
	struct compared_run r = { .chosen = true };
	struct plot_viewport v;

	viewport_init(&v);
	series_init(&r.curve);
	for (int i = 0; i < 500; i++)
		check_int(series_add(&r.curve, i, i % 7, &e), 0);
	b.runs = &r;
	b.n = b.n_chosen = 1;
	for (size_t k = 0; k < OPTION_DIFF_MAX_RUNS; k++)
		b.group[k] = k;
	for (size_t k = 0; k < OPTION_DIFF_MAX_RUNS; k++) {
		struct plot_line line = { .series = &r.curve, .pen = compare_look_of(&b, k)->pen };

		check(plot_line_smoothing(&line, viewport_smoothing(&v)) > 0);
	}
	check(compare_is_smoothed(&b, &v));
	b.metric = COMPARE_RATE;
	check(!compare_is_smoothed(&b, &v));
	b.metric = COMPARE_BLEU;
	check(!compare_is_smoothed(&b, &v));
	series_free(&r.curve);
}

TEST(compare_clock_goes_between_samples)
{
	struct series s;

	series_init(&s);
	check(isnan(comparison_clock_at(&s, 3)));
	check_int(series_add(&s, 10, 100, &e), 0);
	check_int(series_add(&s, 20, 300, &e), 0);
	check_near(comparison_clock_at(&s, 5), 100, 1e-9);
	check_near(comparison_clock_at(&s, 10), 100, 1e-9);
	check_near(comparison_clock_at(&s, 15), 200, 1e-9);
	check_near(comparison_clock_at(&s, 20), 300, 1e-9);
	check_near(comparison_clock_at(&s, 99), 300, 1e-9);
	/* merged points: from their lowest to their highest value */
	for (int i = 0; i < 3 * SERIES_POINTS; i++)
		check_int(series_add(&s, 30 + 10 * i, 400 + 100 * i, &e), 0);
	check(s.samples_a_point > 1);
	check_near(comparison_clock_at(&s, 10030), 400 + 100 * 1000, 200);
	series_free(&s);
}

/* ---- headlines ---- */

/* Is this the headline of the BLEU pane with the cursor at x, or at the end (NAN)? */
static bool is_bleu_headline(struct app_context *w, double x, const char *want)
{
	struct run_view_state s = { .focus = PANE_LOSS };
	struct grid g = { .charset = GRID_ASCII };
	struct buf text = { 0 };
	bool same;

	viewport_init(&s.plots);
	s.plots.cursor = x;
	if (!check_int(grid_resize(&g, 12, 60, &e), 0))
		return false;
	run_draw_plot(&g, (struct rect){ 0, 0, 12, 60 }, PANE_BLEU, w->history, &s);
	grid_dump(&g, &text);
	same = strstr(buf_text(&text), want) != NULL;
	if (!same)
		printf("%s", buf_text(&text));
	buf_free(&text);
	grid_free(&g);
	return same;
}

/* The headline is the evaluation at the cursor and its change since the one before, of the raw values. */
TEST(views_run_headline_is_true)
{
	struct shown_view s;
	const struct series *bleu;
	char want[200], step[NUMBER_TEXT_BYTES];

	if (!show_view(&s, &view_run))
		return;
	read_whole_history(s.w.history, s.w.now);
	bleu = &s.w.history->bleu;
	check_int(bleu->n, 8);
	check(is_bleu_headline(&s.w, bleu->points[0].first, "| step 250  3.17      "));
	for (size_t i = 1; i < bleu->n; i++) {
		double now = series_mean(&bleu->points[i]),
		       change = now - series_mean(&bleu->points[i - 1]);

		snprintf(want, sizeof(want), "| step %s  %.2f  %c %.2f ",
			 format_count(step, (int64_t)bleu->points[i].first), now,
			 change > 0 ? '^' : 'v', fabs(change));
		check(is_bleu_headline(&s.w, bleu->points[i].first, want));
	}
	check(is_bleu_headline(&s.w, NAN, "| 70.26  ^ 2.82  * best 70.26  at 2,000 "));
	/* a change below the last decimal is not shown as zero, no change is not shown */
	check_int(series_add(&s.w.history->bleu, 2250, series_mean(&bleu->points[7]) - 0.001, &e),
		  0);
	check(is_bleu_headline(&s.w, NAN, "| 70.26  v <0.01 "));
	check_int(series_add(&s.w.history->bleu, 2500, s.w.history->bleu.value, &e), 0);
	check(is_bleu_headline(&s.w, NAN, "| 70.26  * best"));
	close_view(&s);
}

/* ---- maps of hosts ---- */

/* The cells of the map of hosts with this character, after a journal of 1,000 hosts of which one differs. */
static int map_cells(double usual, double odd, uint32_t sign, enum hosts_metric metric)
{
	struct hosts_view_state s = { .focus = HOSTS_HEAT, .metric = metric, .chosen = 1 };
	struct grid g = { .charset = GRID_ASCII };
	struct buf journal = { 0 };
	struct app_context w;
	char path[600];
	int found = 0;

	buf_printf(&journal, "{\"v\":1,\"kind\":\"start\",\"t\":1750000000,\"attempt\":1}\n");
	for (int i = 0; i < 1000; i++)
		buf_printf(
			&journal,
			"{\"v\":1,\"kind\":\"host\",\"t\":1750000001,\"step\":1,\"host\":\"n%03d\","
			"\"gpus\":[{\"util\":%g,\"sm_mhz\":1965,\"sm_max_mhz\":1980}]}\n",
			i, i == 617 ? odd : usual + i % 7 * 0.002);
	snprintf(path, sizeof(path), "%s/runs/map", test_folder());
	check_int(file_make_folders(path, &e), 0);
	snprintf(path, sizeof(path), "%s/runs/map/journal.jsonl", test_folder());
	check_int(file_write_buf(path, &journal, &e), 0);
	buf_free(&journal);
	if (!check_int(context_open(&w, test_folder(), &e), 0) ||
	    !check_int(context_choose_run(&w, "map", &e), 0))
		return -1;
	read_whole_history(w.history, w.now);
	check_int(w.history->fleet.n_hosts, 1000);
	if (check_int(grid_resize(&g, 14, 120, &e), 0))
		hosts_draw_heat(&g, (struct rect){ 0, 0, 14, 120 }, w.history, &s);
	for (int row = 1; row < 13; row++)
		for (int col = 14; col < 119; col++)
			found += grid_at(&g, row, col)->ch == sign;
	grid_free(&g);
	context_close(&w);
	return found;
}

/* Equal hosts are neutral, whatever their value; the odd one is seen, below or above. */
TEST(views_map_shows_the_odd_host)
{
	check_int(map_cells(0.95, 0.55, '=', METRIC_UTIL), 1);
	check_int(map_cells(0.95, 0.55, '.', METRIC_UTIL), 999);
	check_int(map_cells(0.30, 0.90, '#', METRIC_UTIL), 1);
	check_int(map_cells(0.30, 0.90, '.', METRIC_UTIL), 999);
	check_int(map_cells(0.95, 0.95, '.', METRIC_CLOCK), 1000);
}
