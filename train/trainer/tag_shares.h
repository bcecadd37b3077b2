/*
 * tag_shares.h - the option pair_temperature: from the recipe to the loader, and what journal and console say of it
 *
 * data/shard/tag_mix.h says how tags are sampled.
 */
#ifndef WERKBANK_TRAIN_TRAINER_TAG_SHARES_H
#define WERKBANK_TRAIN_TRAINER_TAG_SHARES_H

#include "data/shard/tag_mix.h"
#include "data/words/vocab.h"
#include "share/base/buf.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/format/json.h"

/* Fill *o from train_tags and pair_temperature; v: of the source, to which tags belong. o->tags is owned by the caller. ERR_NOMEM. */
int tag_shares_options(struct tag_mix_options *o, const struct conf *c, const struct vocab *v,
		       struct err *e);

/* The member "tags" of an open object: tag, pairs, share, passes of each group. m NULL: nothing. */
void tag_shares_put_json(const struct tag_mix *m, const struct vocab *v, struct json_writer *w);

/* Append a sentence for each group, in one line. */
void tag_shares_describe(const struct tag_mix *m, const struct vocab *v, struct buf *out);

/* Target tokens of an epoch, with </s>, on average. */
double tag_shares_target_tokens(const struct tag_mix *m);

#endif
