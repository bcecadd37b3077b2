/* corpus_details.c - see corpus_details.h */
#include "tui/run/corpus_details.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/util.h"

#define JSON_LIMIT (64u << 20)

static const struct { const char *name, *does; } stages[DATA_N_STAGES] = {
	{ "read", "unpack, tokenise" },	 { "judge", "drop bad pairs" },
	{ "learn", "learn pieces" },	 { "encode", "split all words" },
	{ "pack", "shuffle, write shards" }, { "ledger", "say what was dropped" },
};

static void let_go(struct data_book *b)
{
	json_free(b->stats);
	ledger_rows_free(b->ledger);
	vocab_close(b->vocab);
	splitter_close(b->splitter);
	b->stats = NULL;
	b->ledger = NULL;
	b->vocab = NULL;
	b->splitter = NULL;
	memset(b->trouble, 0, sizeof(b->trouble));
	b->seen = NAN;
}

void data_book_close(struct data_book *b)
{
	let_go(b);
	free(b->folder);
	*b = (struct data_book){ .seen = NAN };
}

int data_book_choose(struct data_book *b, const char *workspace, const char *name, struct err *e)
{
	char *folder = file_path(e, "%s/corpora/%s", workspace, name);

	if (!folder)
		return e->code;
	data_book_close(b);
	b->folder = folder;
	snprintf(b->name, sizeof(b->name), "%s", name);
	for (int i = 0; i < DATA_N_STAGES; i++)
		b->stages[i] = (struct data_stage){ .name = stages[i].name,
			.does = stages[i].does, .seconds = NAN, .in = -1, .out = -1, .bytes = -1 };
	return 0;
}

static struct json *read_json(const struct data_book *b, const char *name)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/%s", b->folder, name);
	struct json *root = NULL;
	struct buf text = { 0 };

	if (path && file_exists(path) && !file_read_all(path, JSON_LIMIT, &text, &ignored))
		root = json_parse(buf_text(&text), text.len, &ignored);
	buf_free(&text);
	free(path);
	return root;
}

static void take_stage(struct data_stage *s, const struct json *record)
{
	s->seconds = json_number(json_get(record, "seconds"), NAN);
	s->in = json_integer(json_get(record, "pairs_in"), -1);
	s->out = json_integer(json_get(record, "pairs_out"), -1);
	s->bytes = json_integer(json_get(record, "bytes"), -1);
	s->kept = json_truth(json_get(record, "kept"), false);
}

/* Of a corpus that is ready: manifest.json has all of them. */
static void take_manifest(struct data_book *b)
{
	struct json *root = read_json(b, "manifest.json");
	const struct json *list = json_get(root, "stages");

	for (size_t i = 0; i < json_len(list); i++)
		for (int k = 0; k < DATA_N_STAGES; k++)
			if (!strcmp(json_text(json_get(json_at(list, i), "name"), ""),
				    b->stages[k].name))
				take_stage(&b->stages[k], json_at(list, i));
	for (int k = 0; k < DATA_N_STAGES; k++)
		b->stages[k].state = STAGE_DONE;
	json_free(root);
}

/* Of one that is not: the stages before the one at hand have left their records. */
static void take_progress(struct data_book *b)
{
	const struct prep_progress *p = &b->corpus.progress;
	int at = -1;	/* -1: fetching, or nothing known */

	for (int k = 0; k < DATA_N_STAGES; k++)
		if (!strcmp(p->stage, b->stages[k].name))
			at = k;
	for (int k = 0; k < DATA_N_STAGES; k++) {
		struct data_stage *s = &b->stages[k];
		enum stage_state state = k < at ? STAGE_DONE : k > at ? STAGE_WAITING :
			p->alive ? STAGE_RUNNING : STAGE_ENDED;

		if (state == STAGE_DONE && s->state != STAGE_DONE) {
			char name[40];
			struct json *record;

			snprintf(name, sizeof(name), "work/%s.json", s->name);
			record = read_json(b, name);
			take_stage(s, record);
			json_free(record);
		}
		s->state = state;
	}
}

bool data_book_update(struct data_book *b, const struct place_corpus *corpus)
{
	bool changed = memcmp(&b->corpus, corpus, sizeof(*corpus)) != 0;

	b->corpus = *corpus;
	if (!changed)
		return false;
	if (corpus->state == CORPUS_READY && corpus->changed != b->seen) {
		let_go(b);
		b->seen = corpus->changed;
		take_manifest(b);
		b->stats = read_json(b, "stats.json");
	} else if (corpus->state != CORPUS_READY) {
		if (isfinite(b->seen))
			let_go(b);
		take_progress(b);
	}
	return true;
}

void data_book_open(struct data_book *b, enum data_pane pane)
{
	struct err e = { 0 };
	char *path = NULL;

	if (!b->folder || b->corpus.state != CORPUS_READY || b->trouble[pane][0])
		return;
	if (pane == DATA_DROPPED && !b->ledger) {
		if ((path = file_path(&e, "%s/ledger.tsv", b->folder)))
			b->ledger = ledger_rows_open(path, &e);
	} else if (pane == DATA_VOCABULARY && !b->vocab) {
		if ((path = file_path(&e, "%s/vocab.tsv", b->folder)))
			b->vocab = vocab_open(path, &e);
	} else if (pane == DATA_SPLIT && !b->splitter) {
		b->splitter = splitter_open(b->folder, &e);
	}
	free(path);
	if (e.code)
		snprintf(b->trouble[pane], sizeof(b->trouble[pane]), "%.190s", e.text);
}
