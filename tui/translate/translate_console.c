/*
 * translate_console.c - requests, constraints, cursor and checkpoints of the console; see
 * translate_console.h.
 */
#include "tui/translate/translate_console.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/run/checkpoints.h"
#include "tui/translate/translate_command.h"
#include "tui/translate/translate_undo.h"

void console_free_terms(struct console_terms *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->terms[i]);
	t->n = 0;
}

static void close_side(struct console_side *s)
{
	service_free(s->service);
	service_free(s->next);
	free(s->run);
	*s = (struct console_side){ .step = -1, .next_step = -1, .failed_step = -1 };
}

int console_open(struct console *c, const char *workspace, struct err *e)
{
	c->follow = true;
	c->checked_at = -INFINITY;
	for (int i = 0; i < CONSOLE_SIDES; i++)
		close_side(&c->sides[i]);
	c->workspace = mem_strdup(workspace, e);
	return c->workspace ? 0 : e->code;
}

void console_close(struct console *c)
{
	console_undo_clear(c);
	edit_close(&c->input);
	edit_close(&c->revision.edit);
	for (int i = 0; i < CONSOLE_SIDES; i++)
		close_side(&c->sides[i]);
	translate_file_free(c->file);
	document_free(c->document);
	free(c->document_out);
	console_free_terms(&c->force);
	console_free_terms(&c->forbid);
	glossary_clear(&c->glossary);
	free(c->example);
	free(c->prefix);
	free(c->asked_text);
	free(c->workspace);
}

/* ---- services ---- */

struct service *console_start_service(const struct console *c, const char *run, int64_t step,
				      struct err *e)
{
	const struct translate_task task = {
		.workspace = c->workspace, .run = run, .step = step, .program = c->program
	};
	struct translate_command m;
	struct service *s;

	if (translate_command_make(&m, &task, e))
		return NULL;
	s = service_new(m.argv, e);
	free(m.program);
	return s;
}

int console_set_checkpoint(struct console *c, int side, const char *run, int64_t step,
			   struct err *e)
{
	struct console_side fresh = { .step = step, .next_step = -1, .failed_step = -1 };

	assert(side >= 0 && side < CONSOLE_SIDES);
	if (run) {
		if (!(fresh.run = mem_strdup(run, e)))
			return e->code;
		fresh.is_best = step >= 0 && step == checkpoints_link(c->workspace, run, "best");
		fresh.service = console_start_service(c, run, step, e);
		if (!fresh.service) {
			free(fresh.run);
			return e->code;
		}
	}
	close_side(&c->sides[side]);
	c->sides[side] = fresh;
	if (!run && c->side == side)
		c->side = 0;
	console_drop_revision(c);
	c->layer = c->head = 0; /* the model may have fewer of them */
	console_forget_drafts(c);
	if (side == 0)
		c->trouble[0] = 0;
	return c->asked_text ? console_ask(c, 0, e) : 0;
}

/* ---- settings of the search ---- */

int console_set_search(struct console *c, const char *words, double now, struct err *e)
{
	struct console_side *s = &c->sides[c->side];
	char name[16], number[32];
	double alpha = 0, value;
	bool sets_alpha = false;
	int beam = 0, used;

	while (sscanf(words, " %15s %31s%n", name, number, &used) == 2) {
		words += used;
		if (!text_to_real(number, &value))
			value = -1;
		if (!strcmp(name, "beam") && value >= 1 && value <= SERVICE_MAX_BEAM &&
		    value == floor(value)) {
			beam = (int)value;
		} else if (!strcmp(name, "alpha") && value >= 0 && value <= SERVICE_MAX_ALPHA) {
			sets_alpha = true;
			alpha = value;
		} else {
			return err_set(e, ERR_USAGE,
				       "%s %s: settings are \"beam N\" (1 to %d) and \"alpha X\" "
				       "(0 to %d)",
				       name, number, SERVICE_MAX_BEAM, SERVICE_MAX_ALPHA);
		}
	}
	if (words[strspn(words, " ")])
		return err_set(e, ERR_USAGE, "%.40s: a number is missing, as in \"beam 4\"", words);
	s->beam = beam;
	s->sets_alpha = sets_alpha;
	s->alpha = alpha;
	console_forget_drafts(c);
	return c->asked_text ? console_ask(c, now, e) : 0;
}

void console_describe_search(const struct console_side *s, char *out, size_t size)
{
	char beam[24] = "", alpha[24] = "";

	if (s->beam > 0)
		snprintf(beam, sizeof(beam), "beam %d", s->beam);
	if (s->sets_alpha)
		snprintf(alpha, sizeof(alpha), "alpha %g", s->alpha);
	snprintf(out, size, "%s%s%s", beam, *beam && *alpha ? " " : "", alpha);
}

/* ---- tokens ---- */

static const struct service_answer *answer_as(const struct console *c, int side, bool is_words)
{
	const struct service *s = c->sides[side].service;
	const struct service_answer *a = s ? service_answer(s, SLOT_TEXT) : NULL;

	return a && a->words && is_words ? a->words : a;
}

/* The shown translation as words, if is_words, or as pieces; NULL: none. */
static const struct service_translation *shown_as(const struct console *c, bool is_words)
{
	const struct service_answer *a = answer_as(c, c->side, is_words);

	return a && !a->error && (size_t)c->choice < a->n ? &a->translations[c->choice] : NULL;
}

/* The piece at the cursor; 0 without a translation. */
static size_t piece_at_cursor(const struct console *c)
{
	const struct service_translation *words = shown_as(c, true);

	return c->shows_pieces || !words ? (size_t)c->token : words->pieces[c->token];
}

/* The word at the cursor; 0 without a translation. */
static size_t word_at_cursor(const struct console *c)
{
	const struct service_translation *words = shown_as(c, true);

	return words ? service_word_of_piece(words, piece_at_cursor(c)) : 0;
}

void console_toggle_pieces(struct console *c, double now)
{
	const struct service_translation *words = shown_as(c, true);
	const size_t piece = piece_at_cursor(c);

	c->shows_pieces = !c->shows_pieces;
	if (words)
		console_move(c,
			     (int)(c->shows_pieces ? piece : service_word_of_piece(words, piece)),
			     now);
}

void console_text_before(const struct service_translation *words, size_t n, struct buf *out)
{
	size_t at = 0, i, bytes;

	for (i = 0; i < n; i++, at += bytes) {
		bytes = strlen(words->tokens[i]);
		while (words->text[at] == ' ')
			at++;
		if (strncmp(words->text + at, words->tokens[i], bytes) != 0)
			break;
	}
	if (i == n)
		buf_add(out, words->text, at);
	for (i = i == n ? n : 0; i < n; i++) {
		buf_add_str(out, i ? " " : "");
		buf_add_str(out, words->tokens[i]);
	}
}

/* ---- requests ---- */

void console_fill_request(const struct console *c, int side, struct service_request *r)
{
	*r = (struct service_request){
		.text = c->asked_text,
		.beam = c->sides[side].beam,
		.sets_alpha = c->sides[side].sets_alpha,
		.alpha = c->sides[side].alpha,
		.prefix = c->prefix,
		.force = (const char *const *)c->force.terms,
		.n_force = c->force.n,
		.forbid = (const char *const *)c->forbid.terms,
		.n_forbid = c->forbid.n,
		.glossary = &c->glossary,
		.attention = c->asked_map,
		.layer = c->layer,
		.head = c->head,
	};
}

static bool is_blank_text(const char *text)
{
	return !text[strspn(text, " ")];
}

static void forget_alternatives(struct console *c)
{
	c->wants_alternatives = false;
	c->other = 0;
	for (int i = 0; i < CONSOLE_SIDES; i++)
		if (c->sides[i].service)
			service_forget(c->sides[i].service, SLOT_ALTERNATIVES);
}

int console_ask(struct console *c, double when, struct err *e)
{
	struct service_request r;
	char *text = mem_strdup(edit_text(&c->input), e);

	if (!text)
		return e->code;
	free(c->asked_text);
	c->asked_text = text;
	c->asked_map = c->has_extra[EXTRA_MAP];
	forget_alternatives(c);
	for (int i = 0; i < CONSOLE_SIDES; i++) {
		if (!c->sides[i].service)
			continue;
		console_fill_request(c, i, &r);
		if (is_blank_text(text))
			service_forget(c->sides[i].service, SLOT_TEXT);
		else if (service_ask(c->sides[i].service, &r, when, e) < 0)
			return e->code;
	}
	return 0;
}

int console_text_changed(struct console *c, double now, struct err *e)
{
	if (c->asked_text && !strcmp(c->asked_text, edit_text(&c->input)))
		return 0;
	free(c->prefix);
	c->prefix = NULL;
	c->choice = c->token = 0;
	console_drop_revision(c);
	return console_ask(c, now + CONSOLE_DEBOUNCE_S, e);
}

int console_ask_alternatives(struct console *c, double now, struct err *e)
{
	const struct service_translation *t = console_shown_translation(c, c->side);
	struct service_request r;
	struct buf before = { 0 };
	int rc = 0;

	if (!t || console_is_outdated(c, c->side))
		return 0;
	console_fill_request(c, c->side, &r);
	r.slot = SLOT_ALTERNATIVES;
	r.n_best = 1;
	r.attention = false;
	r.alternatives = CONSOLE_ALTERNATIVES;
	r.at = (int)piece_at_cursor(c);
	/*
	 * "at" counts tokens of the best translation. For another translation, the prefix makes it
	 * the best one.
	 */
	if (c->choice > 0) {
		console_text_before(shown_as(c, true), word_at_cursor(c), &before);
		rc = buf_check(&before, e);
		r.prefix = buf_text(&before);
	}
	c->other = 0;
	if (!rc && service_ask(c->sides[c->side].service, &r, now, e) < 0)
		rc = e->code;
	c->wants_alternatives = !rc;
	buf_free(&before);
	return rc;
}

/* ---- cursor and constraints ---- */

void console_select_side(struct console *c, int side)
{
	assert(side >= 0 && side < CONSOLE_SIDES);
	if (side == c->side)
		return;
	forget_alternatives(c);
	console_drop_revision(c);
	c->side = side;
	c->choice = 0;
}

/* The cursor on the first token of sentence `part` of the shown translation. */
static void move_to_part(struct console *c, size_t part)
{
	const struct service_translation *t = console_shown_translation(c, c->side);

	c->token = t ? (int)t->parts[MIN(part, t->n_parts - 1)].first : 0;
}

/* The sentence at the cursor. */
static size_t part_at_cursor(const struct console *c)
{
	const struct service_translation *t = console_shown_translation(c, c->side);

	return t ? (size_t)(service_part_at(t, (size_t)c->token) - t->parts) : 0;
}

void console_move_part(struct console *c, int by, double now)
{
	const size_t part = part_at_cursor(c);

	move_to_part(c, by < 0 && part ? part - 1 : part + (by > 0));
	console_move(c, c->token, now);
}

void console_choose(struct console *c, int choice)
{
	const struct service_answer *a = console_answer(c, c->side);
	const size_t part = part_at_cursor(c);
	int n = a && !a->error ? (int)a->n : 1;

	choice = MAX(MIN(choice, n - 1), 0);
	if (choice == c->choice)
		return;
	console_drop_revision(c);
	c->choice = choice;
	move_to_part(c, part);
	forget_alternatives(c);
}

void console_move(struct console *c, int token, double now)
{
	const struct service_translation *t = console_shown_translation(c, c->side);
	struct err ignored;

	c->token = MAX(MIN(token, t ? (int)t->n : 0), 0);
	forget_alternatives(c);
	if (t && !c->extra_alone)
		console_ask_alternatives(c, now + CONSOLE_DEBOUNCE_S, &ignored);
}

int console_set_prefix(struct console *c, const char *prefix, double when, struct err *e)
{
	char *copy = NULL;

	if (!is_blank_text(prefix) && !(copy = mem_strdup(prefix, e)))
		return e->code;
	free(c->prefix);
	c->prefix = copy;
	c->choice = 0;
	return console_ask(c, when, e);
}

/* The same for another reason than edited words. */
static int replace_prefix(struct console *c, const char *prefix, double now, struct err *e)
{
	console_drop_revision(c);
	return console_set_prefix(c, prefix, now, e);
}

int console_use_alternative(struct console *c, double now, struct err *e)
{
	const struct service_answer *a = console_alternatives(c);
	const struct service_translation *words = shown_as(c, true);
	const struct service_alternative *x;

	if (!a || c->other < 0 || (size_t)c->other >= a->n_alternatives)
		return 0;
	x = &a->alternatives[c->other];
	if (!x->prefix)
		return err_set(e, ERR_PROTOCOL,
			       "this alternative cannot be used: the translator "
			       "sent no prefix for it");
	/* The cursor stays on the word, which may have fewer tokens now. */
	if (c->shows_pieces && words)
		c->token = (int)words->pieces[word_at_cursor(c)];
	return replace_prefix(c, x->prefix, now, e);
}

int console_fix_prefix(struct console *c, double now, struct err *e)
{
	const struct service_translation *words = shown_as(c, true);
	struct buf b = { 0 };
	int rc;

	if (words)
		console_text_before(words, word_at_cursor(c), &b);
	rc = buf_check(&b, e);
	if (!rc)
		rc = replace_prefix(c, buf_text(&b), now, e);
	buf_free(&b);
	return rc;
}

int console_clear_constraints(struct console *c, double now, struct err *e)
{
	console_free_terms(&c->force);
	console_free_terms(&c->forbid);
	return replace_prefix(c, "", now, e);
}

int console_add_term(struct console *c, struct console_terms *to, const char *term, double now,
		     struct err *e)
{
	if (is_blank_text(term))
		return 0;
	for (size_t i = 0; i < to->n; i++)
		if (!strcmp(to->terms[i], term))
			return err_set(e, ERR_USAGE, "\"%.100s\" is already in the list", term);
	if (to->n == CONSOLE_TERMS)
		return err_set(e, ERR_USAGE, "at most %d terms can be added", CONSOLE_TERMS);
	if (!(to->terms[to->n] = mem_strdup(term, e)))
		return e->code;
	to->n++;
	return console_ask(c, now, e);
}

int console_add_glossary(struct console *c, const char *text, double now, struct err *e)
{
	if (strstr(text, " = ") ? glossary_add(&c->glossary, text, e)
				: glossary_read(&c->glossary, text, e))
		return e->code;
	console_forget_drafts(c);
	return c->asked_text ? console_ask(c, now, e) : 0;
}

size_t console_find_terms(const struct console *c, size_t found[GLOSSARY_OF_A_TEXT])
{
	const char *text = c->asked_text ? c->asked_text : "";
	size_t n = glossary_find(&c->glossary, text, found), kept = 0;

	for (size_t i = 0; i < n; i++)
		if (glossary_has_words(text, c->glossary.terms[found[i]].source, true))
			found[kept++] = found[i];
	return kept;
}

/* ---- panes that need room ---- */

void console_toggle_extra(struct console *c, enum console_extra extra)
{
	enum console_pane pane = (enum console_pane)(CONSOLE_PANE_MAP + (int)extra);

	if (c->has_extra[extra] && c->focus == pane) {
		c->wanted[extra] = EXTRA_HIDDEN;
		c->focus = CONSOLE_WORDS;
		return;
	}
	c->wanted[extra] = EXTRA_SHOWN;
	c->focus = pane;
	/* one of them at most is in the place of words and lists */
	for (int i = 0; i < CONSOLE_EXTRAS; i++)
		if (i != (int)extra && c->wanted[i] == EXTRA_SHOWN)
			c->wanted[i] = EXTRA_IF_ROOM;
}

bool console_is_empty(const struct console *c)
{
	return !*edit_text(&c->input) && !c->document && !c->file && !c->sides[1].run &&
	       c->wanted[EXTRA_MAP] != EXTRA_SHOWN && c->wanted[EXTRA_TERMS] != EXTRA_SHOWN;
}

size_t console_earlier_count(const struct console *c)
{
	return c->input.n_history + (c->example && console_is_empty(c));
}

const char *console_earlier_at(const struct console *c, size_t i)
{
	const struct edit *d = &c->input;

	if (i >= console_earlier_count(c))
		return NULL;
	return i < d->n_history ? d->history[d->n_history - 1 - i] : c->example;
}

const char *console_earlier_sentence(const struct console *c)
{
	return console_earlier_at(c, c->earlier.at);
}

bool console_move_list(struct console *c, enum action action)
{
	size_t found[GLOSSARY_OF_A_TEXT];

	if (c->focus == CONSOLE_PANE_EARLIER)
		return list_widget_act(&c->earlier, action, console_earlier_count(c));
	return c->focus == CONSOLE_PANE_TERMS &&
	       list_widget_act(&c->terms, action, console_find_terms(c, found));
}

/* The smaller of both models: each layer and head exists in both. 0: no maps. */
static struct service_model map_model(const struct console *c)
{
	struct service_model m = { 0 };

	for (int i = 0; i < CONSOLE_SIDES; i++) {
		const struct service *s = c->sides[i].service;

		if (!s)
			continue;
		if (!m.heads || service_model(s)->heads < m.heads)
			m.heads = service_model(s)->heads;
		if (!m.decoder_layers || service_model(s)->decoder_layers < m.decoder_layers)
			m.decoder_layers = service_model(s)->decoder_layers;
	}
	return m;
}

int console_next_layer(struct console *c, double now, struct err *e)
{
	c->layer = c->layer < map_model(c).decoder_layers ? c->layer + 1 : 1;
	return c->asked_text ? console_ask(c, now, e) : 0;
}

int console_next_head(struct console *c, double now, struct err *e)
{
	c->head = c->head < map_model(c).heads ? c->head + 1 : 0;
	return c->asked_text ? console_ask(c, now, e) : 0;
}

/* ---- queries ---- */

const struct service_answer *console_answer(const struct console *c, int side)
{
	return answer_as(c, side, !c->shows_pieces);
}

const struct service_translation *console_shown_translation(const struct console *c, int side)
{
	const struct service_answer *a = console_answer(c, side);
	size_t choice = side == c->side ? (size_t)c->choice : 0;

	return a && !a->error && choice < a->n ? &a->translations[choice] : NULL;
}

const struct service_answer *console_alternatives(const struct console *c)
{
	const struct service *s = c->sides[c->side].service;

	if (!s || !c->wants_alternatives || service_waits(s, SLOT_ALTERNATIVES, NULL))
		return NULL;
	return service_answer(s, SLOT_ALTERNATIVES);
}

bool console_is_outdated(const struct console *c, int side)
{
	const struct service *s = c->sides[side].service;

	return s && service_waits(s, SLOT_TEXT, NULL);
}
