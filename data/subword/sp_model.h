/*
 * sp_model.h - SentencePiece's model files (the message ModelProto of sentencepiece_model.proto).
 *
 *	1 pieces (many)		1 piece, 2 score, 3 type
 *	2 trainer_spec		3 model_type, 4 vocab_size, 10 character_coverage,
 *				24 treat_whitespace_as_suffix, 35 byte_fallback,
 *				40 to 43 ids of <unk> <s> </s> <pad>, 44 unk_surface
 *	3 normalizer_spec	1 name, 2 precompiled_charsmap, 3 add_dummy_prefix,
 *	5 denormalizer_spec	4 remove_extra_whitespaces, 5 escape_whitespaces
 *
 * Other fields are passed over. Only BPE models are read.
 */
#ifndef WERKBANK_DATA_SUBWORD_SP_MODEL_H
#define WERKBANK_DATA_SUBWORD_SP_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "data/words/intern.h"
#include "data/subword/sp_normalize.h"
#include "share/base/buf.h"
#include "share/base/err.h"

enum sp_type { SP_NORMAL = 1, SP_UNKNOWN, SP_CONTROL, SP_USER_DEFINED, SP_UNUSED, SP_BYTE };

struct sp_model {
	struct intern pieces; /* number: id */
	struct sp_entry {
		float score;  /* finite */
		uint8_t type; /* enum sp_type */
	} * entries;	      /* owned: (pieces.n) */
	size_t cap_entries;
	int32_t unknown;	    /* id of the one piece of type SP_UNKNOWN */
	bool has_bytes;		    /* byte_fallback: unknown is <0x00> … <0xFF> */
	int32_t bytes[256];	    /* their ids */
	struct buf unknown_surface; /* what <unk> becomes in text */
	struct sp_normalizer normalizer, denormalizer;
	bool has_denormalizer;
};

/* Zeroed before; after a failure there is nothing to free. name: for messages. */
int sp_model_read(struct sp_model *m, const void *bytes, size_t n, const char *name, struct err *e);
int sp_model_add(struct sp_model *m, const char *piece, size_t n, float score, enum sp_type type,
		 struct err *e);

/*
 * Append a model of m's pieces, the first four <pad> </s> <s> <unk>, whose text is normalised by
 * these rules (bytes as in sp_charsmap.h, called rules_name) and with blanks as usual.
 */
int sp_model_write(const struct sp_model *m, const char *rules_name, const struct buf *rules,
		   struct buf *out, struct err *e);
/* Append its vocabulary: "PIECE<TAB>SCORE" lines. */
int sp_model_write_vocabulary(const struct sp_model *m, struct buf *out, struct err *e);
void sp_model_free(struct sp_model *m);

#endif
