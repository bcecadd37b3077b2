/* prep_pieces.c - see prep.h: BPE learned and applied, the vocabulary */
#include <stdlib.h>
#include <string.h>

#include "data/bpe.h"
#include "data/parallel.h"
#include "data/prep_internal.h"
#include "data/vocab.h"

/* ---- learn ---- */

static int count_words(struct prep *p, struct bpe_learner *l, bool target, struct err *e)
{
	char *path = prep_side_path(p, p->work, "train", target, e);
	struct lines in;
	int got;

	if (!path)
		return e->code;
	got = lines_open(&in, path, e);
	free(path);
	if (got)
		return got;
	while ((got = lines_next(&in, e)) > 0) {
		if (bpe_learner_add_line(l, in.text, in.len, e)) {
			got = e->code;
			break;
		}
		progress_at(&p->progress, in.number + (target ? p->pairs[SET_TRAIN] : 0));
	}
	lines_close(&in);
	return got;
}

int prep_learn(struct prep *p, struct err *e)
{
	struct bpe_learner *l = bpe_learner_new(e);
	struct outfile out = { 0 };
	char *path = l ? file_path(e, "%s/bpe.codes", p->folder) : NULL;
	int rc = path ? 0 : e->code;

	progress_begin(&p->progress, "learn", 2 * p->pairs[SET_TRAIN], "lines");
	if (!rc)
		rc = count_words(p, l, false, e);
	if (!rc)
		rc = count_words(p, l, true, e);
	if (!rc)
		rc = outfile_open(&out, path, e);
	if (!rc)
		rc = bpe_learn(l, p->c->merges, p->c->min_frequency, out.stream, &p->merges, e);
	if (!rc)
		rc = outfile_commit(&out, e);
	if (!rc)
		progress_end(&p->progress, "%lld of %lld merges", (long long)p->merges,
			     (long long)p->c->merges);
	outfile_abandon(&out);
	bpe_learner_free(l);
	free(path);
	return rc;
}

/* ---- apply ---- */

struct applying {
	struct prep *p;
	struct bpe *bpe;
	struct vocab_counter *counter;
	struct parallel in;
	bool is_open;
	FILE *origins;
	struct outputs out;
	struct buf source, target;
	int64_t kept;
};

static int64_t count_pieces(const struct buf *b)
{
	const char *s = buf_text(b);
	int64_t n = 0;

	for (; *s; s++)
		n += *s != ' ' && (s[1] == ' ' || !s[1]);
	return n;
}

static int add_to_vocabulary(struct vocab_counter *counter, const struct buf *b, struct err *e)
{
	const char *s = buf_text(b);
	size_t n;

	for (;;) {
		s += strspn(s, " ");
		n = strcspn(s, " ");
		if (!n)
			return 0;
		if (vocab_count(counter, s, n, 1, e))
			return e->code;
		s += n;
	}
}

static int apply_line(struct applying *a, struct err *e)
{
	struct prep *p = a->p;
	int64_t origin[2];

	if (fread(origin, sizeof(origin), 1, a->origins) != 1)
		return err_set(e, ERR_INTERNAL, "%s/train.origins: ends too early", p->work);
	buf_clear(&a->source);
	buf_clear(&a->target);
	if (bpe_apply_line(a->bpe, a->in.source.text, a->in.source.len, &a->source, e) ||
	    bpe_apply_line(a->bpe, a->in.target.text, a->in.target.len, &a->target, e) ||
	    buf_check(&a->source, e) || buf_check(&a->target, e))
		return e->code;
	if (MAX(count_pieces(&a->source), count_pieces(&a->target)) > p->c->max_tokens)
		return ledger_drop(p->ledger,
				   &(struct ledger_line){
					   .file = p->sources.pairs[origin[0]].name,
					   .line = origin[1], .rule = CLEAN_TOKENS,
					   .source = a->in.source.text,
					   .n_source = a->in.source.len,
					   .target = a->in.target.text,
					   .n_target = a->in.target.len },
				   e);
	a->kept++;
	if (add_to_vocabulary(a->counter, &a->source, e) ||
	    add_to_vocabulary(a->counter, &a->target, e))
		return e->code;
	return outputs_put(&a->out, buf_text(&a->source), a->source.len, buf_text(&a->target),
			   a->target.len, e);
}

/* Texts and codes to read, pieces to write: paths are made, used and freed here. */
static int open_applying(struct applying *a, struct err *e)
{
	struct prep *p = a->p;
	char *codes = file_path(e, "%s/bpe.codes", p->folder);
	char *origins = codes ? file_path(e, "%s/train.origins", p->work) : NULL;
	char *pieces[2] = { 0 };
	int rc = -1;

	if (origins)
		pieces[0] = prep_side_path(p, p->work, "train.pieces", false, e);
	if (pieces[0])
		pieces[1] = prep_side_path(p, p->work, "train.pieces", true, e);
	if (!pieces[1] || !(a->bpe = bpe_open(codes, e)) || !(a->counter = vocab_counter_new(e)))
		goto out;
	a->origins = fopen(origins, "rbe");
	if (!a->origins)
		err_set_errno(e, ERR_IO, "%s: cannot be read", origins);
	else if (!outputs_open(&a->out, pieces[0], pieces[1], e))
		rc = 0;
out:
	free(codes);
	free(origins);
	free(pieces[0]);
	free(pieces[1]);
	return rc ? e->code : 0;
}

static int apply_all(struct applying *a, const char *source, const char *target, struct err *e)
{
	int got = parallel_open(&a->in, source, target, false, e);

	if (got)
		return got;
	while ((got = parallel_next(&a->in, e)) > 0) {
		if (apply_line(a, e)) {
			got = e->code;
			break;
		}
		progress_at(&a->p->progress, a->in.number);
	}
	parallel_close(&a->in);
	return got;
}

/* The ledger is complete now: keep its counts, put it in place. */
static int close_ledger(struct prep *p, struct err *e)
{
	struct ledger *l = p->ledger;
	int rule;

	for (rule = CLEAN_KEEP + 1; rule < CLEAN_N_RULES; rule++)
		p->dropped[rule] = ledger_count(l, (enum clean_rule)rule);
	p->ledger = NULL;
	return ledger_finish(l, e);
}

static int write_vocabulary(const struct prep *p, const struct applying *a, struct err *e)
{
	char *path = file_path(e, "%s/vocab.tsv", p->folder);
	int rc = path ? vocab_write(a->counter, path, e) : e->code;

	free(path);
	return rc;
}

static int finish_applying(struct applying *a, struct err *e)
{
	struct prep *p = a->p;

	p->pairs[SET_TRAIN] = a->kept;
	if (!a->kept)
		return err_set(e, ERR_DATA,
			       "no training pair has at most %lld tokens a side: raise max_tokens",
			       (long long)p->c->max_tokens);
	if (outputs_commit(&a->out, e) || close_ledger(p, e) || write_vocabulary(p, a, e))
		return e->code;
	progress_end(&p->progress, "%lld pairs, %lld over-long ones dropped", (long long)a->kept,
		     (long long)p->dropped[CLEAN_TOKENS]);
	return 0;
}

int prep_apply(struct prep *p, struct err *e)
{
	struct applying a = { .p = p };
	char *source = prep_side_path(p, p->work, "train", false, e);
	char *target = source ? prep_side_path(p, p->work, "train", true, e) : NULL;
	int rc = target ? open_applying(&a, e) : e->code;

	progress_begin(&p->progress, "apply", p->pairs[SET_TRAIN], "pairs");
	if (!rc)
		rc = apply_all(&a, source, target, e);
	if (!rc)
		rc = finish_applying(&a, e);
	outputs_abandon(&a.out);
	bpe_close(a.bpe);
	vocab_counter_free(a.counter);
	if (a.origins)
		fclose(a.origins);
	buf_free(&a.source);
	buf_free(&a.target);
	free(source);
	free(target);
	return rc;
}
