/* shortlist_command.c - the command "werkbank shortlist": learn candidates (see shard/shortlist.h) */
#include "data/shortlist_command.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/shard/shortlist.h"
#include "data/source/corpus.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"

/* Coverage of the target side of a held-out shard. */
struct shortlist_coverage {
	const struct shortlist *list; /* borrowed */
	const struct shard *shard;    /* borrowed */
	int32_t *source, *target;     /* owned: ids of the current pair */
	int64_t *allowed;  /* [vocabulary] owned: last pair (from 1) that allows the token */
	double tokens;	   /* target tokens of all pairs */
	double covered;	   /* those of them that the shortlist allows */
	double candidates; /* allowed tokens of a pair, summed over the pairs */
};

static void coverage_allow_tokens(struct shortlist_coverage *x, const int32_t *ids, int32_t n,
				  int64_t pair)
{
	for (int32_t i = 0; i < n; i++) {
		assert(ids[i] >= 0 && ids[i] < shard_vocabulary(x->shard));
		x->candidates += x->allowed[ids[i]] != pair;
		x->allowed[ids[i]] = pair;
	}
}

static void coverage_count_pair(struct shortlist_coverage *x, int64_t i)
{
	int32_t n_source, n_target, n;
	const int32_t *ids = shortlist_frequent(x->list, &n);

	shard_lengths(x->shard, i, &n_source, &n_target);
	shard_read(x->shard, i, x->source, x->target);
	coverage_allow_tokens(x, ids, n, i + 1);
	for (int32_t k = 0; k < n_source; k++) {
		ids = shortlist_of_token(x->list, x->source[k], &n);
		coverage_allow_tokens(x, ids, n, i + 1);
	}
	for (int32_t k = 0; k < n_target; k++)
		x->covered += x->allowed[x->target[k]] == i + 1;
	x->tokens += n_target;
}

static int coverage_measure(struct shortlist_coverage *x, struct err *e)
{
	const size_t longest = (size_t)shard_longest(x->shard) + 1;

	x->source = mem_alloc(longest, sizeof(*x->source), e);
	x->target = mem_alloc(longest, sizeof(*x->target), e);
	x->allowed = mem_alloc((size_t)shard_vocabulary(x->shard), sizeof(*x->allowed), e);
	if (!x->source || !x->target || !x->allowed)
		return e->code;
	for (int64_t i = 0; i < shard_pairs(x->shard); i++)
		coverage_count_pair(x, i);
	return 0;
}

/* Print the coverage on the development set, if the corpus has one. */
static int print_coverage(const char *folder, const struct shortlist *list, struct err *e)
{
	char *path = file_path(e, "%s/dev.shard", folder);
	struct shortlist_coverage x = { .list = list };
	struct shard *dev = NULL;
	int rc = path ? 0 : e->code;

	if (!rc && file_exists(path)) {
		x.shard = dev = shard_open(path, e);
		rc = dev ? coverage_measure(&x, e) : e->code;
		if (!rc && shard_pairs(dev) > 0 && x.tokens > 0)
			fprintf(stderr,
				"the shortlist covers %.2f %% of the target tokens of the "
				"development set, with %.0f candidates of %d a sentence\n",
				100 * x.covered / x.tokens, x.candidates / (double)shard_pairs(dev),
				shard_vocabulary(dev));
	}
	free(x.source);
	free(x.target);
	free(x.allowed);
	if (dev)
		shard_close(dev);
	free(path);
	return rc;
}

static int shortlist_learn_corpus(const struct conf *c, const char *folder, const char *path,
				  struct err *e)
{
	const struct shortlist_options options = { .each = (int32_t)c->candidates,
						   .frequent = (int32_t)c->frequent,
						   .pairs = c->pairs,
						   .rounds = (int32_t)c->rounds };
	const double began = clock_mono_s();
	char *from = file_path(e, "%s/train.shard", folder);
	struct shard *s = from && file_exists(from) ? shard_open(from, e) : NULL;
	struct shortlist *list = NULL;
	int rc;

	if (from && !file_exists(from))
		err_set(e, ERR_NOINPUT,
			"%s: there is no prepared corpus; 'werkbank data list' lists them", folder);
	rc = s ? shortlist_learn(s, &options, path, e) : e->code;
	if (!rc) {
		list = shortlist_open(path, shard_vocabulary(s), shard_vocabulary_id(s), e);
		rc = list ? 0 : e->code;
	}
	if (!rc && !c->quiet) {
		fprintf(stderr, "%s: %lld bytes, from %lld pair%s in %.1f s\n", path,
			(long long)file_size(path), (long long)MIN(options.pairs, shard_pairs(s)),
			text_plural(MIN(options.pairs, shard_pairs(s))), clock_mono_s() - began);
		rc = print_coverage(folder, list, e);
	}
	shortlist_close(list);
	if (s)
		shard_close(s);
	free(from);
	return rc;
}

int shortlist_command_run(struct conf *c, struct err *e)
{
	char *folder, *path = NULL;
	int rc;

	if (c->n_arguments != 1)
		return err_set(e, ERR_USAGE, "shortlist needs one argument: the CORPUS");
	if (conf_set(c, "corpus", c->arguments[0], "command line", e))
		return e->code;
	folder = corpus_folder(c, e);
	if (folder)
		path = c->output ? mem_strdup(c->output, e)
				 : file_path(e, "%s/" SHORTLIST_FILE, folder);
	rc = path ? shortlist_learn_corpus(c, folder, path, e) : e->code;
	free(path);
	free(folder);
	return rc;
}
