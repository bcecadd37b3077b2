/* prep_text.c - see prep.h: the stages before BPE: held-out sets, cleaning */
#include <stdlib.h>
#include <string.h>

#include "data/parallel.h"
#include "data/pipeline.h"
#include "data/prep_internal.h"
#include "share/base/hash.h"
#include "share/base/mem.h"

/* One key for both sides of a pair. */
static uint64_t pair_key(const struct parallel *in)
{
	return hash_bytes(in->source.text, in->source.len) * 0x9E3779B97F4A7C15u +
	       hash_bytes(in->target.text, in->target.len);
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* ---- held-out sets ---- */

static int copy_pair(struct prep *p, enum corpus_set set, const struct source_pair *s,
		     struct outputs *out, struct err *e)
{
	struct held_out *h = &p->held_out[set];
	struct parallel in;
	int got;

	if (parallel_open(&in, s->source, s->target, p->c->repair, e))
		return e->code;
	while ((got = parallel_next(&in, e)) > 0) {
		if (mem_grow(&h->keys, &h->cap, h->n + 1, sizeof(*h->keys), e) ||
		    outputs_put(out, in.source.text, in.source.len, in.target.text, in.target.len,
				e)) {
			got = e->code;
			break;
		}
		h->keys[h->n++] = pair_key(&in);
	}
	if (!got && !in.number)
		got = err_set(e, ERR_DATA, "%s: is empty: a %s set needs at least one sentence",
			      s->source, corpus_set_name(set));
	parallel_close(&in);
	return got;
}

static int hold_out(struct prep *p, enum corpus_set set, struct err *e)
{
	const char *name = corpus_set_name(set);
	char *source = prep_side_path(p, p->folder, name, false, e);
	char *target = source ? prep_side_path(p, p->folder, name, true, e) : NULL;
	struct outputs out = { 0 };
	size_t i;
	int rc = target ? outputs_open(&out, source, target, e) : e->code;

	for (i = 0; !rc && i < p->sources.n; i++)
		if (p->sources.pairs[i].set == set)
			rc = copy_pair(p, set, &p->sources.pairs[i], &out, e);
	/*
	 * a set that the recipe does not have leaves no files, also none of an earlier preparation
	 */
	if (!rc && p->held_out[set].n)
		rc = outputs_commit(&out, e);
	else if (!rc) {
		remove(source);
		remove(target);
	}
	outputs_abandon(&out);
	if (p->held_out[set].n)
		qsort(p->held_out[set].keys, p->held_out[set].n, sizeof(*p->held_out[set].keys),
		      compare_keys);
	free(source);
	free(target);
	return rc;
}

int prep_hold_out(struct prep *p, struct err *e)
{
	if (!strcmp(p->c->source_language, p->c->target_language))
		return err_set(e, ERR_CONFIG, "source_language and target_language are both %s",
			       p->c->source_language);
	progress_begin(&p->progress, "hold out", 0, "pairs");
	if (hold_out(p, SET_DEV, e) || hold_out(p, SET_TEST, e))
		return e->code;
	progress_end(&p->progress, "%zu dev and %zu test pairs", p->held_out[SET_DEV].n,
		     p->held_out[SET_TEST].n);
	return 0;
}

static void count_held_out(struct prep *p, uint64_t key)
{
	enum corpus_set set;

	for (set = SET_DEV; set < N_SETS; set++)
		if (p->held_out[set].n && bsearch(&key, p->held_out[set].keys, p->held_out[set].n,
						  sizeof(key), compare_keys))
			p->held_out[set].in_train++;
}

/* ---- cleaning ---- */

struct cleaning {
	struct prep *p;
	struct pipeline *tools;
	struct clean_options options;
	struct outputs out;
	struct outfile origins; /* of each kept pair: number of its source, line, two int64 */
	struct buf source, target, clean_source, clean_target;
};

static int clean_line(struct cleaning *k, const struct parallel *in, int64_t source, struct err *e)
{
	struct prep *p = k->p;
	int64_t origin[2] = { source, in->number };
	enum clean_rule rule;

	buf_clear(&k->source);
	buf_clear(&k->target);
	if (pipeline_tokenize(k->tools, SIDE_SOURCE, in->source.text, in->source.len, &k->source,
			      e) ||
	    pipeline_tokenize(k->tools, SIDE_TARGET, in->target.text, in->target.len, &k->target,
			      e))
		return e->code;
	if (!p->read++)
		k->options.factored = clean_is_factored(buf_text(&k->source), k->source.len,
							buf_text(&k->target), k->target.len);
	rule = clean_pair(&k->options, buf_text(&k->source), k->source.len, buf_text(&k->target),
			  k->target.len, &k->clean_source, &k->clean_target);
	if (rule)
		return ledger_drop(p->ledger,
				   &(struct ledger_line){
					   .file = p->sources.pairs[source].name,
					   .line = in->number, .rule = rule,
					   .source = buf_text(&k->clean_source),
					   .n_source = k->clean_source.len,
					   .target = buf_text(&k->clean_target),
					   .n_target = k->clean_target.len },
				   e);
	count_held_out(p, pair_key(in));
	p->pairs[SET_TRAIN]++;
	if (fwrite(origin, sizeof(origin), 1, k->origins.stream) != 1)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", k->origins.path);
	return outputs_put(&k->out, buf_text(&k->clean_source), k->clean_source.len,
			   buf_text(&k->clean_target), k->clean_target.len, e);
}

static int clean_source(struct cleaning *k, int64_t source, struct err *e)
{
	const struct source_pair *s = &k->p->sources.pairs[source];
	struct parallel in;
	int got;

	if (parallel_open(&in, s->source, s->target, k->p->c->repair, e))
		return e->code;
	while ((got = parallel_next(&in, e)) > 0) {
		if (clean_line(k, &in, source, e)) {
			got = e->code;
			break;
		}
		progress_at(&k->p->progress, k->p->read);
	}
	parallel_close(&in);
	return got;
}

static int open_cleaning(struct cleaning *k, struct err *e)
{
	struct prep *p = k->p;
	char *source = prep_side_path(p, p->work, "train", false, e);
	char *target = source ? prep_side_path(p, p->work, "train", true, e) : NULL;
	char *origins = target ? file_path(e, "%s/train.origins", p->work) : NULL;
	char *ledger = origins ? file_path(e, "%s/ledger.tsv", p->folder) : NULL;
	int rc = -1;

	if (ledger && (k->tools = pipeline_open(NULL, p->c, e)) &&
	    (p->ledger = ledger_create(ledger, e)) && !outputs_open(&k->out, source, target, e) &&
	    !outfile_open(&k->origins, origins, e))
		rc = 0;
	free(source);
	free(target);
	free(origins);
	free(ledger);
	return rc ? e->code : 0;
}

static int check_some_left(const struct prep *p, struct err *e)
{
	const char *first = p->sources.pairs[0].name;
	size_t i;

	for (i = 0; i < p->sources.n; i++)
		if (p->sources.pairs[i].set == SET_TRAIN) {
			first = p->sources.pairs[i].name;
			break;
		}
	if (!p->read)
		return err_set(e, ERR_DATA, "%s: the training text is empty", first);
	if (!p->pairs[SET_TRAIN])
		return err_set(
			e, ERR_DATA,
			"%s: none of %lld training pairs is left after cleaning: see min_words, "
			"max_words, max_ratio",
			first, (long long)p->read);
	return 0;
}

static void warn_held_out(struct prep *p)
{
	enum corpus_set set;

	for (set = SET_DEV; set < N_SETS; set++)
		if (p->held_out[set].in_train)
			progress_note(&p->progress,
				      "note: %lld training pairs are equal to one of the %s set: "
				      "its score "
				      "will flatter",
				      (long long)p->held_out[set].in_train, corpus_set_name(set));
}

int prep_clean(struct prep *p, struct err *e)
{
	struct cleaning k = { .p = p };
	size_t i;
	int rc;

	k.options = (struct clean_options){.min_words = p->c->min_words,
					   .max_words = p->c->max_words,
					   .max_word_chars = p->c->max_word_chars,
					   .max_ratio = p->c->max_ratio};
	progress_begin(&p->progress, "clean", 0, "pairs");
	rc = open_cleaning(&k, e);
	for (i = 0; !rc && i < p->sources.n; i++)
		if (p->sources.pairs[i].set == SET_TRAIN)
			rc = clean_source(&k, (int64_t)i, e);
	if (!rc)
		rc = check_some_left(p, e);
	if (!rc)
		rc = outputs_commit(&k.out, e);
	if (!rc)
		rc = outfile_commit(&k.origins, e);
	if (!rc) {
		progress_end(&p->progress, "%lld of %lld pairs kept",
			     (long long)p->pairs[SET_TRAIN], (long long)p->read);
		warn_held_out(p);
	}
	outputs_abandon(&k.out);
	outfile_abandon(&k.origins);
	pipeline_close(k.tools);
	buf_free(&k.source);
	buf_free(&k.target);
	buf_free(&k.clean_source);
	buf_free(&k.clean_target);
	return rc;
}
