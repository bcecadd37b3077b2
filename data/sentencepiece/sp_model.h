/*
 * sp_model.h - reads and writes SentencePiece model files: ModelProto of sentencepiece_model.proto.
 *
 *	1 pieces (many)		1 piece, 2 score, 3 type
 *	2 trainer_spec		3 model_type, 4 vocab_size, 10 character_coverage,
 *				24 treat_whitespace_as_suffix, 35 byte_fallback,
 *				40 to 43 ids of <unk> <s> </s> <pad>, 44 unk_surface
 *	3 normalizer_spec	1 name, 2 precompiled_charsmap, 3 add_dummy_prefix,
 *	5 denormalizer_spec	4 remove_extra_whitespaces, 5 escape_whitespaces
 *
 * Other fields are skipped. Word and character models are refused.
 */
#ifndef WERKBANK_DATA_SENTENCEPIECE_SP_MODEL_H
#define WERKBANK_DATA_SENTENCEPIECE_SP_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "data/sentencepiece/sp_normalize.h"
#include "data/words/intern.h"
#include "share/base/buf.h"
#include "share/base/err.h"

enum sp_type { SP_NORMAL = 1, SP_UNKNOWN, SP_CONTROL, SP_USER_DEFINED, SP_UNUSED, SP_BYTE };

struct sp_model {
	struct intern pieces; /* by id */
	struct sp_entry {
		float score;  /* finite */
		uint8_t type; /* enum sp_type */
	} * entries;	      /* owned: (pieces.n) */
	size_t cap_entries;
	bool is_unigram;	    /* else BPE: scores are the order of merges */
	int32_t unknown;	    /* id of the one piece of type SP_UNKNOWN */
	bool has_bytes;		    /* byte_fallback: unknown text becomes <0x00> … <0xFF> */
	int32_t bytes[256];	    /* ids of <0x00> … <0xFF>; -1: none */
	struct buf unknown_surface; /* text of <unk> */
	struct sp_normalizer normalizer, denormalizer;
	bool has_denormalizer;
};

/* Fill *m from n bytes; after a failure there is nothing to free. name: for messages. */
int sp_model_read(struct sp_model *m, const void *bytes, size_t n, const char *name, struct err *e);
/* Append a piece. ERR_DATA: it exists already. */
int sp_model_add(struct sp_model *m, const char *piece, size_t n, float score, enum sp_type type,
		 struct err *e);

/* Build the table of the user-defined symbols of m, which charsmap_match() reads. *to is empty before. */
int sp_model_symbols(const struct sp_model *m, struct charsmap *to, struct err *e);

/*
 * Append the bytes of a model with the pieces of m, of which the first four are <pad> </s> <s>
 * <unk>. rules: normalisation, bytes as in sp_charsmap.h, called rules_name. Blanks are treated
 * by default.
 */
int sp_model_write(const struct sp_model *m, const char *rules_name, const struct buf *rules,
		   struct buf *out, struct err *e);
/* Append the vocabulary: lines "PIECE<TAB>SCORE". */
int sp_model_write_vocabulary(const struct sp_model *m, struct buf *out, struct err *e);
void sp_model_free(struct sp_model *m);

#endif
