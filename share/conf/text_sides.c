/* text_sides.c - see text_sides.h */
#include "share/conf/text_sides.h"

#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "share/workspace/model_files.h"

/* Choices of the options source_tokenize and source_segmentation. */
enum { SAME, SOURCE_TOKENIZE_YES, SOURCE_SEGMENTATION_FIRST = 1 };

#define N_HEX (HASH_SHA256_HEX - 1)

int text_subword_models(const struct conf *c)
{
	return c->vocabularies == VOCABULARIES_JOINT ? 1 : 2;
}

int text_vocabularies(const struct conf *c)
{
	return c->vocabularies == VOCABULARIES_SEPARATE ? 2 : 1;
}

const char *text_codes_file(const struct conf *c, int side)
{
	static const char *const names[][3] = {
		[SEGMENTATION_BPE] = { BPE_CODES_FILE, SOURCE_BPE_CODES_FILE,
				       TARGET_BPE_CODES_FILE },
		[SEGMENTATION_SENTENCEPIECE] = { SENTENCEPIECE_FILE, SOURCE_SENTENCEPIECE_FILE,
						 TARGET_SENTENCEPIECE_FILE },
		[SEGMENTATION_UNIGRAM] = { SENTENCEPIECE_FILE, SOURCE_SENTENCEPIECE_FILE,
					   TARGET_SENTENCEPIECE_FILE },
	};

	return names[text_segmentation(c, side)][text_subword_models(c) == 1 ? 0 : 1 + side];
}

const char *text_vocabulary_file(const struct conf *c, int side)
{
	static const char *const names[] = { SOURCE_VOCABULARY_FILE, TARGET_VOCABULARY_FILE };

	return text_vocabularies(c) == 1 ? VOCABULARY_FILE : names[side];
}

/* Do the options source_… hold for this side? */
static bool has_own_options(const struct conf *c, int side)
{
	return side == 0 && text_subword_models(c) > 1;
}

enum conf_segmentation text_segmentation(const struct conf *c, int side)
{
	const bool own = has_own_options(c, side) && c->source_segmentation != SAME;

	return (enum conf_segmentation)(own ? c->source_segmentation - SOURCE_SEGMENTATION_FIRST
					    : c->segmentation);
}

bool text_is_tokenized(const struct conf *c, int side)
{
	return has_own_options(c, side) && c->source_tokenize != SAME
		       ? c->source_tokenize == SOURCE_TOKENIZE_YES
		       : c->tokenize;
}

int64_t text_merges(const struct conf *c, int side)
{
	return has_own_options(c, side) && c->source_merges ? c->source_merges : c->merges;
}

int64_t text_vocabulary_size(const struct conf *c, int side)
{
	return has_own_options(c, side) && c->source_vocabulary_size ? c->source_vocabulary_size
								     : c->vocabulary_size;
}

int text_sides_check(const struct conf *c, struct err *e)
{
	const struct {
		const char *name;
		bool is_set;
	} options[] = { { "source_tokenize", c->source_tokenize != SAME },
			{ "source_segmentation", c->source_segmentation != SAME },
			{ "source_merges", c->source_merges != 0 },
			{ "source_vocabulary_size", c->source_vocabulary_size != 0 } };

	for (size_t i = 0; i < ARRAY_LEN(options) && c->vocabularies == VOCABULARIES_JOINT; i++)
		if (options[i].is_set)
			return err_set(e, ERR_CONFIG,
				       "%s is set, but both sides share one subword model: set "
				       "vocabularies to separate or merged, or leave %s out",
				       options[i].name, options[i].name);
	return 0;
}

int text_vocabulary_id(const struct conf *c, const char *folder, char id[TEXT_VOCABULARY_ID],
		       struct err *e)
{
	int rc = 0;

	for (int side = 0; !rc && side < text_vocabularies(c); side++) {
		char *path = file_path(e, "%s/%s", folder, text_vocabulary_file(c, side));

		rc = path ? hash_file_within(path, HASH_PIECES_LIMIT, id + side * N_HEX, e)
			  : e->code;
		free(path);
	}
	return rc;
}

bool text_is_vocabulary_id(const char *id)
{
	const size_t n = strlen(id);

	return n == N_HEX || n == 2 * N_HEX;
}
