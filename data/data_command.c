/* data_command.c - the command "werkbank data": show and why; dispatch (see data_command.h) */
#include "data/data_command.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/inspect/origin.h"
#include "data/pipeline/pipeline.h"
#include "data/shard/shard.h"
#include "data/source/corpus.h"
#include "data/text/clean.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/format/json.h"

/* A query and the corpus it is about. */
struct corpus_query {
	struct conf *c;
	char *folder; /* owned */
	struct origins origins;
	struct pipeline *tools; /* owned */
	struct shard *shard;	/* owned: train.shard */
	int32_t *ids[2];	/* owned: source and target ids of the current pair */
	int32_t n[2];
	struct buf text[2]; /* detokenised source and target of the current pair */
	struct buf json;    /* the answer, empty without --json */
	struct json_writer writer;
};

static int query_open_corpus(struct corpus_query *q, struct err *e)
{
	char *recipe = file_path(e, "%s/recipe.ini", q->folder);
	char *path = recipe ? file_path(e, "%s/train.shard", q->folder) : NULL;
	int rc = path ? conf_load_recipe(q->c, recipe, e) : e->code;
	size_t room;

	if (!rc)
		rc = origins_load(&q->origins, q->folder, e);
	if (!rc && !(q->tools = pipeline_open(q->folder, q->c, e)))
		rc = e->code;
	if (!rc && !(q->shard = shard_open(path, e)))
		rc = e->code;
	if (!rc && shard_pairs(q->shard) != q->origins.kept)
		rc = err_set(e, ERR_DATA,
			     "%s: holds %lld pairs, but stats.json counts %lld kept ones: prepare "
			     "the corpus again with --force",
			     path, (long long)shard_pairs(q->shard), (long long)q->origins.kept);
	free(recipe);
	free(path);
	if (rc)
		return rc;
	room = (size_t)shard_longest(q->shard);
	q->ids[0] = mem_alloc(room, sizeof(int32_t), e);
	q->ids[1] = q->ids[0] ? mem_alloc(room, sizeof(int32_t), e) : NULL;
	return q->ids[1] ? 0 : e->code;
}

/* Load ids and detokenised text of a pair of the shard into a->ids and a->text. */
static int load_pair(struct corpus_query *q, int64_t pair, struct err *e)
{
	int side;

	assert(pair >= 0 && pair < shard_pairs(q->shard));
	shard_lengths(q->shard, pair, &q->n[0], &q->n[1]);
	shard_read(q->shard, pair, q->ids[0], q->ids[1]);
	for (side = 0; side < 2; side++) {
		buf_clear(&q->text[side]);
		if (pipeline_decode(q->tools, (enum pipeline_side)side, q->ids[side],
				    (size_t)q->n[side], &q->text[side], e))
			return e->code;
	}
	return 0;
}

static const char *const side_names[] = { "source", "target" };

/* ---- show ---- */

static void show_side(const struct corpus_query *q, int side)
{
	const struct vocab *v = pipeline_vocab(q->tools, (enum pipeline_side)side);
	int32_t i;

	printf("  %s  %s\n         ", side_names[side], buf_text(&q->text[side]));
	for (i = 0; i < q->n[side]; i++)
		printf(" %s", vocab_piece(v, q->ids[side][i]));
	printf("\n         ");
	for (i = 0; i < q->n[side]; i++)
		printf(" %d", (int)q->ids[side][i]);
	putchar('\n');
}

static void show_side_json(struct corpus_query *q, int side)
{
	const struct vocab *v = pipeline_vocab(q->tools, (enum pipeline_side)side);
	struct json_writer *w = &q->writer;
	int32_t i;

	json_put_open(w, side_names[side], '{');
	json_put_strn(w, "text", buf_text(&q->text[side]), q->text[side].len);
	json_put_open(w, "pieces", '[');
	for (i = 0; i < q->n[side]; i++)
		json_str(w, vocab_piece(v, q->ids[side][i]));
	json_close(w, ']');
	json_put_open(w, "ids", '[');
	for (i = 0; i < q->n[side]; i++)
		json_int(w, q->ids[side][i]);
	json_close(w, ']');
	json_close(w, '}');
}

static void query_begin_json(struct corpus_query *q, const struct origin *from)
{
	struct json_writer *w = &q->writer;

	json_open(w, '{');
	json_put_str(w, "file", q->origins.texts[from->text].name);
	json_put_int(w, "line", from->line);
}

static int show_pair(struct corpus_query *q, int64_t pair, struct err *e)
{
	struct origin from = origin_at_position(&q->origins, pair);
	int side;

	if (load_pair(q, pair, e))
		return e->code;
	if (q->c->json) {
		query_begin_json(q, &from);
		json_put_int(&q->writer, "pair", pair);
	} else {
		printf("pair %lld of train.shard: %s:%lld\n", (long long)pair,
		       q->origins.texts[from.text].name, (long long)from.line);
	}
	for (side = 0; side < 2; side++)
		if (q->c->json)
			show_side_json(q, side);
		else
			show_side(q, side);
	if (q->c->json)
		json_close(&q->writer, '}');
	return 0;
}

static int query_show(struct corpus_query *q, struct err *e)
{
	int64_t first, count = 1, pairs = q->origins.kept;

	if (q->c->n_arguments < 3)
		return err_set(e, ERR_USAGE,
			       "data show needs CORPUS and N, the index of a pair from 0");
	if (data_count_argument(q->c, 2, "N", 0, &first, e) ||
	    data_count_argument(q->c, 3, "COUNT", 1, &count, e))
		return e->code;
	if (first >= pairs)
		return err_set(e, ERR_USAGE,
			       "train.shard has no pair %lld: it holds pairs 0 to %lld",
			       (long long)first, (long long)pairs - 1);
	count = MIN(count, pairs - first);
	if (q->c->json) {
		json_open(&q->writer, '{');
		json_put_open(&q->writer, "pairs", '[');
	}
	for (; count > 0; count--)
		if (show_pair(q, first++, e))
			return e->code;
	if (q->c->json) {
		json_close(&q->writer, ']');
		json_close(&q->writer, '}');
	}
	return 0;
}

/* ---- why ---- */

static void query_print_text(struct corpus_query *q, const struct buf *source,
			     const struct buf *target)
{
	const struct buf *const text[] = { source, target };
	int side;

	for (side = 0; side < 2; side++)
		if (q->c->json) {
			json_key(&q->writer, side_names[side]);
			json_strn(&q->writer, buf_text(text[side]), text[side]->len);
		} else {
			printf("  %s  %s\n", side_names[side], buf_text(text[side]));
		}
}

static int why_kept(struct corpus_query *q, const struct origin *from, int64_t pair, struct err *e)
{
	if (load_pair(q, pair, e))
		return e->code;
	if (q->c->json) {
		query_begin_json(q, from);
		json_put_bool(&q->writer, "kept", true);
		json_put_int(&q->writer, "pair", pair);
	} else {
		printf("%s:%lld: kept, as pair %lld of train.shard\n",
		       q->origins.texts[from->text].name, (long long)from->line, (long long)pair);
	}
	query_print_text(q, &q->text[0], &q->text[1]);
	return 0;
}

static int why_dropped(struct corpus_query *q, const struct origin *from, struct err *e)
{
	struct origin_row row;
	const char *rule, *meaning;

	if (origin_read_row(&q->origins, q->folder, *from, &row, e)) {
		origin_row_free(&row);
		return e->code;
	}
	rule = buf_text(&row.rule);
	meaning = clean_rule_meaning(clean_rule_find(rule));
	if (q->c->json) {
		query_begin_json(q, from);
		json_put_bool(&q->writer, "kept", false);
		json_put_str(&q->writer, "rule", rule);
		json_put_str(&q->writer, "meaning", meaning);
	} else {
		printf("%s:%lld: dropped by the rule '%s': %s\n", q->origins.texts[from->text].name,
		       (long long)from->line, rule, meaning);
	}
	query_print_text(q, &row.source, &row.target);
	origin_row_free(&row);
	return 0;
}

static int query_why(struct corpus_query *q, struct err *e)
{
	struct origin from;
	int64_t pair;
	int rc;

	if (q->c->n_arguments != 3)
		return err_set(e, ERR_USAGE, "data why needs CORPUS and FILE:LINE");
	if (origin_parse(&q->origins, q->c->arguments[2], &from, e))
		return e->code;
	pair = origin_find_position(&q->origins, from);
	rc = pair < 0 ? why_dropped(q, &from, e) : why_kept(q, &from, pair, e);
	if (!rc && q->c->json)
		json_close(&q->writer, '}');
	return rc;
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int (*print)(struct conf *c, const char *folder, struct err *e);
	/* else, after query_open_corpus() */
	int (*answer)(struct corpus_query *q, struct err *e);
	bool accepts_unfinished; /* a corpus with stats.json, but without manifest.json */
} questions[] = {
	/* clang-format off */
	{ "stats", data_print_stats, NULL, true },
	{ "dropped", data_print_dropped, NULL, false },
	{ "vocab", data_print_vocabulary, NULL, false },
	{ "split", data_print_split, NULL, false },
	{ "show", NULL, query_show, false },
	{ "why", NULL, query_why, false },
	/* clang-format on */
};

/*
 * Set q->folder to the corpus of that name, which must be prepared by a version of the format that this
 * program reads. accepts_unfinished: a preparation that stopped after it wrote stats.json is enough.
 */
static int query_find_corpus(struct corpus_query *q, const char *name, bool accepts_unfinished,
			     struct err *e)
{
	struct json *manifest = NULL;
	char *stats = NULL;
	int rc;

	if (conf_set(q->c, "corpus", name, "command line", e))
		return e->code;
	q->folder = corpus_folder(q->c, e);
	rc = q->folder ? text_corpus_manifest(&manifest, q->folder, e) : e->code;
	if (!rc && !(stats = file_path(e, "%s/stats.json", q->folder)))
		rc = e->code;
	if (!rc && !manifest && !(accepts_unfinished && file_exists(stats)))
		rc = err_set(e, ERR_NOINPUT,
			     "%s: there is no prepared corpus; 'werkbank data list' lists them",
			     q->folder);
	else if (!rc && !file_exists(stats))
		rc = err_set(e, ERR_NOINPUT,
			     "%s: the file is missing: prepare the corpus again with this version",
			     stats);
	json_free(manifest);
	free(stats);
	return rc;
}

static void query_close_corpus(struct corpus_query *q)
{
	origins_free(&q->origins);
	pipeline_close(q->tools);
	shard_close(q->shard);
	free(q->ids[0]);
	free(q->ids[1]);
	buf_free(&q->text[0]);
	buf_free(&q->text[1]);
	buf_free(&q->json);
	free(q->folder);
}

int data_command_run(struct conf *c, struct err *e)
{
	struct corpus_query q = { .c = c, .writer.out = &q.json };
	size_t i;
	int rc;

	if (!strcmp(c->arguments[0], "list") && c->n_arguments == 1)
		return data_print_corpora(c, e);
	for (i = 0; i < ARRAY_LEN(questions); i++)
		if (!strcmp(questions[i].name, c->arguments[0]))
			break;
	if (i == ARRAY_LEN(questions))
		return err_set(
			e, ERR_USAGE,
			"unknown question '%s': data answers list, stats, show, why, dropped, "
			"vocab and split",
			c->arguments[0]);
	if (c->n_arguments < 2)
		return err_set(e, ERR_USAGE,
			       "data %s needs CORPUS; 'werkbank data list' lists the corpora",
			       c->arguments[0]);
	rc = query_find_corpus(&q, c->arguments[1], questions[i].accepts_unfinished, e);
	if (!rc && questions[i].print)
		rc = questions[i].print(c, q.folder, e);
	else if (!rc && !(rc = query_open_corpus(&q, e)))
		rc = questions[i].answer(&q, e);
	if (!rc && q.json.len) {
		buf_add_char(&q.json, '\n');
		rc = file_put_stdout(&q.json, e);
	}
	if (!rc)
		rc = file_flush_stdout(e);
	query_close_corpus(&q);
	return rc;
}
