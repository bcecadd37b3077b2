/* vocabs.c - see vocabs.h */
#include "data/pipeline/vocabs.h"

#include <stdio.h>
#include <stdlib.h>

#include "share/base/file.h"

static struct vocab *open_vocab_of_side(const char *folder, const struct conf *c, int side,
					struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, text_vocabulary_file(c, side));
	struct vocab *v = path ? vocab_open(path, e) : NULL;

	free(path);
	return v;
}

int vocabs_open(struct vocabs *v, const char *folder, const struct conf *c, struct err *e)
{
	const bool is_one = text_vocabularies(c) == 1;

	*v = (struct vocabs){ .source = open_vocab_of_side(folder, c, 0, e) };
	v->target = is_one || !v->source ? v->source : open_vocab_of_side(folder, c, 1, e);
	if (!v->target)
		return e->code;
	snprintf(v->id, sizeof(v->id), "%s%s", vocab_sha256(v->source),
		 is_one ? "" : vocab_sha256(v->target));
	return 0;
}

int vocabs_read_merges(struct bpe_codes *codes, const char *folder, const struct conf *c, int side,
		       const struct vocab *v, struct err *e)
{
	char *path;
	int rc;

	if (text_segmentation(c, side) == SEGMENTATION_SENTENCEPIECE) {
		if (text_subword_models(c) != text_vocabularies(c))
			return err_set(e, ERR_UNAVAILABLE,
				       "%s: a merged vocabulary does not have the order of merges "
				       "of %s: prepare the corpus with vocabularies = separate",
				       folder, text_codes_file(c, side));
		return bpe_codes_of_vocab(codes, v, e);
	}
	path = file_path(e, "%s/%s", folder, text_codes_file(c, side));
	rc = path ? bpe_codes_read(codes, path, e) : e->code;
	free(path);
	return rc;
}

bool vocabs_are_separate(const struct vocabs *v)
{
	return v->source != v->target;
}

int32_t vocabs_own_source(const struct vocabs *v)
{
	return vocabs_are_separate(v) ? vocab_size(v->source) : 0;
}

int32_t vocabs_own_real_source(const struct vocabs *v)
{
	return vocabs_are_separate(v) ? vocab_real_size(v->source) : 0;
}

void vocabs_close(struct vocabs *v)
{
	if (vocabs_are_separate(v))
		vocab_close(v->target);
	vocab_close(v->source);
	*v = (struct vocabs){ 0 };
}
