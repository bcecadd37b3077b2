/* corpus_details.c - reads the files of one corpus; see corpus_details.h. */
#include "tui/run/corpus_details.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/judge/corpus_judge.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "share/workspace/model_files.h"
#include "tui/run/record_fields.h"

#define JSON_LIMIT   (64u << 20)
#define VERDICTS_MAX 100  /* that are shown */
#define FACTS_STEP   1000 /* pairs, or words of the table, between readings of the clock */

static const struct {
	const char *name, *does;
} stages[DATA_N_STAGES] = {
	{ "read", "unpack, tokenise" },	     { "judge", "drop bad pairs" },
	{ "learn", "learn subwords" },	     { "encode", "split words" },
	{ "pack", "shuffle, write shards" }, { "ledger", "list dropped pairs" },
};

static void release_corpus(struct corpus_details *b)
{
	json_free(b->stats);
	drop_rows_free(b->ledger);
	pair_facts_free(b->facts);
	pair_texts_free(b->texts);
	vocab_close(b->vocab);
	piece_tracer_close(b->tracer);
	b->stats = NULL;
	b->ledger = NULL;
	b->facts = NULL;
	b->texts = NULL;
	b->facts_are_read = b->texts_are_read = false;
	b->facts_trouble[0] = 0;
	b->vocab = NULL;
	b->tracer = NULL;
	memset(b->trouble, 0, sizeof(b->trouble));
	b->seen = NAN;
}

void corpus_details_close(struct corpus_details *b)
{
	release_corpus(b);
	free(b->folder);
	*b = (struct corpus_details){ .seen = NAN };
}

int corpus_details_choose(struct corpus_details *b, const char *workspace, const char *name,
			  struct err *e)
{
	char *folder = file_path(e, "%s/corpora/%s", workspace, name);

	if (!folder)
		return e->code;
	corpus_details_close(b);
	b->folder = folder;
	snprintf(b->name, sizeof(b->name), "%s", name);
	for (int i = 0; i < DATA_N_STAGES; i++)
		b->stages[i] = (struct data_stage){ .name = stages[i].name,
						    .does = stages[i].does,
						    .seconds = NAN,
						    .in = -1,
						    .out = -1,
						    .bytes = -1 };
	return 0;
}

static struct json *read_corpus_json(const struct corpus_details *b, const char *name)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/%s", b->folder, name);
	struct json *root = path ? record_read_file(path, JSON_LIMIT) : NULL;

	free(path);
	return root;
}

static void read_stage_record(struct data_stage *s, const struct json *record)
{
	s->seconds = json_number(json_get(record, "seconds"), NAN);
	s->in = json_integer(json_get(record, "pairs_in"), -1);
	s->out = json_integer(json_get(record, "pairs_out"), -1);
	s->bytes = json_integer(json_get(record, "bytes"), -1);
	s->is_reused = json_boolean(json_get(record, "kept"), false);
}

/* A finished corpus: manifest.json has all stages. */
static void apply_manifest(struct corpus_details *b)
{
	struct json *root = read_corpus_json(b, "manifest.json");
	const struct json *list = json_get(root, "stages");

	for (size_t i = 0; i < json_len(list); i++)
		for (int k = 0; k < DATA_N_STAGES; k++)
			if (!strcmp(json_text(json_get(json_at(list, i), "name"), ""),
				    b->stages[k].name))
				read_stage_record(&b->stages[k], json_at(list, i));
	for (int k = 0; k < DATA_N_STAGES; k++)
		b->stages[k].state = STAGE_DONE;
	json_free(root);
}

/* An unfinished corpus: earlier stages left their records in work/. */
static void apply_progress(struct corpus_details *b)
{
	const struct prep_progress *p = &b->corpus.progress;
	int at = -1; /* -1: still fetching, or unknown */

	for (int k = 0; k < DATA_N_STAGES; k++)
		if (!strcmp(p->stage, b->stages[k].name))
			at = k;
	for (int k = 0; k < DATA_N_STAGES; k++) {
		struct data_stage *s = &b->stages[k];
		enum stage_state state = k < at	    ? STAGE_DONE
					 : k > at   ? STAGE_WAITING
					 : p->alive ? STAGE_RUNNING
						    : STAGE_ENDED;

		if (state == STAGE_DONE && s->state != STAGE_DONE) {
			char name[40];
			struct json *record;

			snprintf(name, sizeof(name), "work/%s.json", s->name);
			record = read_corpus_json(b, name);
			read_stage_record(s, record);
			json_free(record);
		}
		s->state = state;
	}
}

bool corpus_details_update(struct corpus_details *b, const struct indexed_corpus *corpus)
{
	bool changed = memcmp(&b->corpus, corpus, sizeof(*corpus)) != 0;

	b->corpus = *corpus;
	if (!changed)
		return false;
	if (corpus->state == CORPUS_READY && corpus->changed != b->seen) {
		release_corpus(b);
		b->seen = corpus->changed;
		apply_manifest(b);
		b->stats = read_corpus_json(b, "stats.json");
	} else if (corpus->state != CORPUS_READY) {
		if (isfinite(b->seen))
			release_corpus(b);
		apply_progress(b);
	}
	return true;
}

static void open_pair_facts(struct corpus_details *b)
{
	struct err e = { 0 };

	if (b->facts || *b->facts_trouble)
		return;
	b->facts = pair_facts_open(b->folder, &e);
	if (!b->facts)
		snprintf(b->facts_trouble, sizeof(b->facts_trouble), "%.190s", e.text);
}

/* The vocabulary of both sides, or of the target. */
static void open_shown_vocabulary(struct corpus_details *b, struct err *e)
{
	char *path = file_path(e, "%s/" VOCABULARY_FILE, b->folder);

	if (path && !file_exists(path)) {
		free(path);
		path = file_path(e, "%s/" TARGET_VOCABULARY_FILE, b->folder);
	}
	if (path)
		b->vocab = vocab_open(path, e);
	free(path);
}

void corpus_details_open(struct corpus_details *b, enum data_pane pane)
{
	struct err e = { 0 };
	char *path = NULL;

	if (!b->folder || b->corpus.state != CORPUS_READY || b->trouble[pane][0])
		return;
	if (pane == DATA_DROPPED && !b->ledger) {
		if ((path = file_path(&e, "%s/ledger.tsv", b->folder)))
			b->ledger = drop_rows_open(path, &e);
		open_pair_facts(b);
	} else if (pane == DATA_PAIRS || pane == DATA_RULES || pane == DATA_REPEATS) {
		open_pair_facts(b);
	} else if (pane == DATA_VOCABULARY && !b->vocab) {
		open_shown_vocabulary(b, &e);
	} else if (pane == DATA_SPLIT && !b->tracer) {
		b->tracer = piece_tracer_open(b->folder, &e);
	}
	free(path);
	if (e.code)
		snprintf(b->trouble[pane], sizeof(b->trouble[pane]), "%.190s", e.text);
}

/* ---- facts of pairs ---- */

bool corpus_details_is_reading(const struct corpus_details *b)
{
	return (b->facts && !b->facts_are_read) || (b->texts && !b->texts_are_read);
}

static int read_facts_step(struct corpus_details *b, struct err *e)
{
	int got;

	if (b->facts && !b->facts_are_read) {
		got = pair_facts_read(b->facts, FACTS_STEP, e);
		b->facts_are_read = got <= 0;
	} else {
		got = pair_texts_read(b->texts, FACTS_STEP, e);
		b->texts_are_read = got <= 0;
	}
	return got;
}

bool corpus_details_read_facts(struct corpus_details *b, double budget_s)
{
	double end = clock_mono_s() + budget_s;
	struct err e = { 0 };

	if (!corpus_details_is_reading(b))
		return false;
	while (corpus_details_is_reading(b) && clock_mono_s() < end)
		if (read_facts_step(b, &e) < 0)
			snprintf(b->facts_trouble, sizeof(b->facts_trouble), "%.190s", e.text);
	return true;
}

void corpus_details_want_texts(struct corpus_details *b, const struct pair_place *places, size_t n)
{
	struct err e = { 0 };

	if (!b->texts && !*b->facts_trouble)
		b->texts = pair_texts_open(b->folder, &e);
	if (!b->texts || pair_texts_want(b->texts, places, n, &e))
		return;
	b->texts_are_read = false;
}

int corpus_details_n_verdicts(const struct corpus_details *b)
{
	return (int)MIN(json_len(json_get(b->stats, "verdicts")), (size_t)VERDICTS_MAX);
}

bool corpus_details_describe_verdict(const struct corpus_details *b, int i, struct buf *out)
{
	const struct json *v = json_at(json_get(b->stats, "verdicts"), (size_t)i);

	corpus_verdict_describe(v, out);
	return !strcmp(json_text(json_get(v, "confidence"), ""), "clear");
}
