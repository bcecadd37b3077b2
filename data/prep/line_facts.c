/* line_facts.c - see line_facts.h */
#include "data/prep/line_facts.h"

#include <stdlib.h>

#include "data/pipeline/pipeline.h"
#include "data/shard/shard.h"
#include "data/text/sentences.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"

#define SAMPLED_LINES 3000 /* a share of 3 in 10 is known to 2 in 100 then */

struct line_sample {
	struct shard *shard;		    /* owned */
	struct pipeline *pipeline;	    /* owned */
	struct sentence_splitter *splitter; /* owned */
	int32_t *source, *target;	    /* owned: ids of one pair */
	struct buf text;
};

static int open_sample(struct line_sample *s, const char *folder, const struct conf *c,
		       struct err *e)
{
	char *path = file_path(e, "%s/train.shard", folder);
	size_t longest;

	s->shard = path ? shard_open(path, e) : NULL;
	free(path);
	s->pipeline = s->shard ? pipeline_open(folder, c, e) : NULL;
	s->splitter = s->pipeline ? sentence_splitter_new(c->source_language, e) : NULL;
	if (!s->splitter)
		return e->code;
	longest = (size_t)shard_longest(s->shard) + 1;
	s->source = mem_alloc(longest, sizeof(*s->source), e);
	s->target = s->source ? mem_alloc(longest, sizeof(*s->target), e) : NULL;
	return s->target ? 0 : e->code;
}

static void close_sample(struct line_sample *s)
{
	shard_close(s->shard);
	pipeline_close(s->pipeline);
	sentence_splitter_free(s->splitter);
	free(s->source);
	free(s->target);
	buf_free(&s->text);
}

/* Has the source line of pair i several sentences? */
static int count_sentences(struct line_sample *s, int64_t i, size_t *sentences, struct err *e)
{
	const struct sentence_range *ranges;
	int32_t n_source, n_target;

	shard_lengths(s->shard, i, &n_source, &n_target);
	shard_read(s->shard, i, s->source, s->target);
	buf_clear(&s->text);
	if (pipeline_decode(s->pipeline, SIDE_SOURCE, s->source, (size_t)n_source, &s->text, e))
		return e->code;
	return sentences_find(s->splitter, buf_text(&s->text), s->text.len, &ranges, sentences, e);
}

int line_facts_read(struct line_facts *f, const char *folder, const struct conf *c, struct err *e)
{
	struct line_sample s = { .shard = NULL };
	int rc = open_sample(&s, folder, c, e);
	const int64_t pairs = rc ? 0 : shard_pairs(s.shard);
	const int64_t sampled = MIN(pairs, SAMPLED_LINES);
	int64_t several = 0;

	*f = (struct line_facts){ .sampled = sampled };
	for (int64_t i = 0; i < pairs; i++) {
		int32_t n_source, n_target;

		shard_lengths(s.shard, i, &n_source, &n_target);
		f->longest = MAX(f->longest, n_source);
	}
	for (int64_t k = 0; k < sampled && !rc; k++) {
		size_t sentences = 0;

		rc = count_sentences(&s, k * pairs / sampled, &sentences, e);
		several += sentences > 1;
	}
	f->several = sampled ? (double)several / (double)sampled : 0;
	close_sample(&s);
	return rc;
}
