/* data_command.c - the command "werkbank data": show and why; dispatch (see data_command.h) */
#include "data/data_command.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/text/clean.h"
#include "data/source/corpus.h"
#include "data/origin.h"
#include "data/subword/pipeline.h"
#include "data/shard/shard.h"
#include "share/base/file.h"
#include "share/base/json.h"
#include "share/base/mem.h"
#include "share/base/text.h"

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

static int query_open_corpus(struct corpus_query *a, struct err *e)
{
	char *recipe = file_path(e, "%s/recipe.ini", a->folder);
	char *path = recipe ? file_path(e, "%s/train.shard", a->folder) : NULL;
	int rc = path ? conf_load_recipe(a->c, recipe, e) : e->code;
	size_t room;

	if (!rc)
		rc = origins_load(&a->origins, a->folder, e);
	if (!rc && !(a->tools = pipeline_open(a->folder, a->c, e)))
		rc = e->code;
	if (!rc && !(a->shard = shard_open(path, e)))
		rc = e->code;
	if (!rc && shard_pairs(a->shard) != a->origins.kept)
		rc = err_set(e, ERR_DATA,
			     "%s: holds %lld pairs, but stats.json counts %lld kept ones: prepare "
			     "the corpus again with --force",
			     path, (long long)shard_pairs(a->shard), (long long)a->origins.kept);
	free(recipe);
	free(path);
	if (rc)
		return rc;
	room = (size_t)shard_longest(a->shard);
	a->ids[0] = mem_alloc(room, sizeof(int32_t), e);
	a->ids[1] = a->ids[0] ? mem_alloc(room, sizeof(int32_t), e) : NULL;
	return a->ids[1] ? 0 : e->code;
}

/* Load ids and detokenised text of a pair of the shard into a->ids and a->text. */
static int load_pair(struct corpus_query *a, int64_t pair, struct err *e)
{
	int side;

	assert(pair >= 0 && pair < shard_pairs(a->shard));
	shard_lengths(a->shard, pair, &a->n[0], &a->n[1]);
	shard_read(a->shard, pair, a->ids[0], a->ids[1]);
	for (side = 0; side < 2; side++) {
		buf_clear(&a->text[side]);
		if (pipeline_decode(a->tools, (enum pipeline_side)side, a->ids[side],
				    (size_t)a->n[side], &a->text[side], e))
			return e->code;
	}
	return 0;
}

static const char *const side_names[] = { "source", "target" };

/* ---- show ---- */

static void show_side(const struct corpus_query *a, int side)
{
	const struct vocab *v = pipeline_vocab(a->tools);
	int32_t i;

	printf("  %s  %s\n         ", side_names[side], buf_text(&a->text[side]));
	for (i = 0; i < a->n[side]; i++)
		printf(" %s", vocab_piece(v, a->ids[side][i]));
	printf("\n         ");
	for (i = 0; i < a->n[side]; i++)
		printf(" %d", (int)a->ids[side][i]);
	putchar('\n');
}

static void show_side_json(struct corpus_query *a, int side)
{
	const struct vocab *v = pipeline_vocab(a->tools);
	struct json_writer *w = &a->writer;
	int32_t i;

	json_key(w, side_names[side]);
	json_open(w, '{');
	json_put_strn(w, "text", buf_text(&a->text[side]), a->text[side].len);
	json_key(w, "pieces");
	json_open(w, '[');
	for (i = 0; i < a->n[side]; i++)
		json_str(w, vocab_piece(v, a->ids[side][i]));
	json_close(w, ']');
	json_key(w, "ids");
	json_open(w, '[');
	for (i = 0; i < a->n[side]; i++)
		json_int(w, a->ids[side][i]);
	json_close(w, ']');
	json_close(w, '}');
}

static void query_begin_json(struct corpus_query *a, const struct origin *from)
{
	struct json_writer *w = &a->writer;

	json_open(w, '{');
	json_put_str(w, "file", a->origins.texts[from->text].name);
	json_put_int(w, "line", from->line);
}

static int show_pair(struct corpus_query *a, int64_t pair, struct err *e)
{
	struct origin from = origin_at_position(&a->origins, pair);
	int side;

	if (load_pair(a, pair, e))
		return e->code;
	if (a->c->json) {
		query_begin_json(a, &from);
		json_put_int(&a->writer, "pair", pair);
	} else {
		printf("pair %lld of train.shard: %s:%lld\n", (long long)pair,
		       a->origins.texts[from.text].name, (long long)from.line);
	}
	for (side = 0; side < 2; side++)
		if (a->c->json)
			show_side_json(a, side);
		else
			show_side(a, side);
	if (a->c->json)
		json_close(&a->writer, '}');
	return 0;
}

static int parse_count(const char *what, const char *text, int64_t low, int64_t *value,
		       struct err *e)
{
	if (text_to_int(text, value) && *value >= low)
		return 0;
	return err_set(e, ERR_USAGE, "%s must be a whole number of at least %lld, not '%s'", what,
		       (long long)low, text);
}

static int query_show(struct corpus_query *a, struct err *e)
{
	int64_t first, count = 1, pairs = a->origins.kept;

	if (a->c->n_arguments < 3)
		return err_set(e, ERR_USAGE,
			       "data show needs CORPUS and N, the index of a pair from 0");
	if (parse_count("N", a->c->arguments[2], 0, &first, e) ||
	    (a->c->n_arguments > 3 && parse_count("COUNT", a->c->arguments[3], 1, &count, e)))
		return e->code;
	if (first >= pairs)
		return err_set(e, ERR_USAGE,
			       "train.shard has no pair %lld: it holds pairs 0 to %lld",
			       (long long)first, (long long)pairs - 1);
	count = MIN(count, pairs - first);
	if (a->c->json) {
		json_open(&a->writer, '{');
		json_key(&a->writer, "pairs");
		json_open(&a->writer, '[');
	}
	for (; count > 0; count--)
		if (show_pair(a, first++, e))
			return e->code;
	if (a->c->json) {
		json_close(&a->writer, ']');
		json_close(&a->writer, '}');
	}
	return 0;
}

/* ---- why ---- */

static void query_print_text(struct corpus_query *a, const struct buf *source,
			     const struct buf *target)
{
	const struct buf *const text[] = { source, target };
	int side;

	for (side = 0; side < 2; side++)
		if (a->c->json) {
			json_key(&a->writer, side_names[side]);
			json_strn(&a->writer, buf_text(text[side]), text[side]->len);
		} else {
			printf("  %s  %s\n", side_names[side], buf_text(text[side]));
		}
}

static int why_kept(struct corpus_query *a, const struct origin *from, int64_t pair, struct err *e)
{
	if (load_pair(a, pair, e))
		return e->code;
	if (a->c->json) {
		query_begin_json(a, from);
		json_put_bool(&a->writer, "kept", true);
		json_put_int(&a->writer, "pair", pair);
	} else {
		printf("%s:%lld: kept, as pair %lld of train.shard\n",
		       a->origins.texts[from->text].name, (long long)from->line, (long long)pair);
	}
	query_print_text(a, &a->text[0], &a->text[1]);
	return 0;
}

static int why_dropped(struct corpus_query *a, const struct origin *from, struct err *e)
{
	struct origin_row row;
	const char *rule, *meaning;

	if (origin_read_row(&a->origins, a->folder, *from, &row, e)) {
		origin_row_free(&row);
		return e->code;
	}
	rule = buf_text(&row.rule);
	meaning = clean_rule_meaning(clean_rule_find(rule));
	if (a->c->json) {
		query_begin_json(a, from);
		json_put_bool(&a->writer, "kept", false);
		json_put_str(&a->writer, "rule", rule);
		json_put_str(&a->writer, "meaning", meaning);
	} else {
		printf("%s:%lld: dropped by the rule '%s': %s\n", a->origins.texts[from->text].name,
		       (long long)from->line, rule, meaning);
	}
	query_print_text(a, &row.source, &row.target);
	origin_row_free(&row);
	return 0;
}

static int query_why(struct corpus_query *a, struct err *e)
{
	struct origin from;
	int64_t pair;
	int rc;

	if (a->c->n_arguments != 3)
		return err_set(e, ERR_USAGE, "data why needs CORPUS and FILE:LINE");
	if (origin_parse(&a->origins, a->c->arguments[2], &from, e))
		return e->code;
	pair = origin_find_position(&a->origins, from);
	rc = pair < 0 ? why_dropped(a, &from, e) : why_kept(a, &from, pair, e);
	if (!rc && a->c->json)
		json_close(&a->writer, '}');
	return rc;
}

/* ---- the command ---- */

static int query_stats(struct corpus_query *a, struct err *e)
{
	if (a->c->n_arguments != 2)
		return err_set(e, ERR_USAGE, "data stats needs CORPUS and nothing else");
	return data_print_stats(a->folder, a->c->json, e);
}

static int query_dropped(struct corpus_query *a, struct err *e)
{
	return data_print_dropped(a->c, a->folder, e);
}

static int query_vocabulary(struct corpus_query *a, struct err *e)
{
	return data_print_vocabulary(a->c, a->folder, e);
}

static int query_split(struct corpus_query *a, struct err *e)
{
	return data_print_split(a->c, a->folder, e);
}

static const struct {
	const char *name;
	int (*answer)(struct corpus_query *a, struct err *e);
	bool needs_corpus; /* query_open_corpus() first */
} questions[] = {
	/* clang-format off */
	{ "stats", query_stats, false },
	{ "dropped", query_dropped, false },
	{ "vocab", query_vocabulary, false },
	{ "split", query_split, false },
	{ "show", query_show, true },
	{ "why", query_why, true },
	/* clang-format on */
};

/* Set a->folder to the corpus of that name. It must be prepared, by this version of the format. */
static int query_find_corpus(struct corpus_query *a, const char *name, struct err *e)
{
	char *manifest;
	int rc;

	if (conf_set(a->c, "corpus", name, "command line", e))
		return e->code;
	a->folder = corpus_folder(a->c, e);
	manifest = a->folder ? file_path(e, "%s/manifest.json", a->folder) : NULL;
	rc = manifest ? 0 : e->code;
	if (!rc && !file_exists(manifest))
		rc = err_set(e, ERR_NOINPUT,
			     "%s: there is no prepared corpus; 'werkbank data list' lists them",
			     a->folder);
	free(manifest);
	manifest = rc ? NULL : file_path(e, "%s/stats.json", a->folder);
	if (manifest && !file_exists(manifest))
		rc = err_set(e, ERR_NOINPUT,
			     "%s: the file is missing: prepare the corpus again with this version",
			     manifest);
	free(manifest);
	return rc;
}

static int query_print_json(struct corpus_query *a, struct err *e)
{
	buf_add_char(&a->json, '\n');
	if (buf_check(&a->json, e))
		return e->code;
	fwrite(a->json.data, 1, a->json.len, stdout);
	return 0;
}

static void query_close_corpus(struct corpus_query *a)
{
	origins_free(&a->origins);
	pipeline_close(a->tools);
	shard_close(a->shard);
	free(a->ids[0]);
	free(a->ids[1]);
	buf_free(&a->text[0]);
	buf_free(&a->text[1]);
	buf_free(&a->json);
	free(a->folder);
}

int data_command_run(struct conf *c, struct err *e)
{
	struct corpus_query a = { .c = c, .writer.out = &a.json };
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
	rc = query_find_corpus(&a, c->arguments[1], e);
	if (!rc && questions[i].needs_corpus)
		rc = query_open_corpus(&a, e);
	if (!rc)
		rc = questions[i].answer(&a, e);
	if (!rc && a.json.len)
		rc = query_print_json(&a, e);
	if (!rc)
		rc = file_flush_stdout(e);
	query_close_corpus(&a);
	return rc;
}
