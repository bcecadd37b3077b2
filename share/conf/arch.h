/*
 * arch.h - the facts of a model's architecture as rows, see arch.def; and the format of state.json.
 */
#ifndef WERKBANK_SHARE_CONF_ARCH_H
#define WERKBANK_SHARE_CONF_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/activation.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/format/format_version.h"
#include "share/format/json.h"

#define ARCH_MAX_LAYERS	   64	/* of one stack; also the upper limit of the options */
#define ARCH_MAX_POSITIONS 4096 /* tokens of a sentence, op attention */

/* The choices of facts that code asks for, in the order of options.def. */
enum arch_norm_place { NORM_PRE, NORM_POST };
enum arch_yes { ARCH_YES, ARCH_NO }; /* final_norm, ffn_bias */
enum arch_embedding_scale { SCALE_SQRT, SCALE_ONE };
enum arch_tied { TIED_ALL, TIED_OUTPUT, TIED_SOURCE, TIED_NONE };
enum arch_positions {
	POSITIONS_SINUSOID,
	POSITIONS_SINUSOID_2K,
	POSITIONS_SINUSOID_PAIRS,
	POSITIONS_LEARNED,
	POSITIONS_ROTARY,
	POSITIONS_NONE
};
enum arch_decoder_self { DECODER_ATTENTION, DECODER_SSRU };
enum arch_decoder_start { DECODER_START, DECODER_END, DECODER_ZERO };

/* The values of all rows of arch.def; train/model/model.h calls it the shape of a model. */
struct model_shape {
#define ARCH(name, from, form, low, high) int32_t name;
#include "share/conf/arch.def"
};

struct arch_row {
	const char *name; /* static */
	bool is_option;	  /* an option of [model] sets it */
	size_t offset;	  /* of the int32_t in struct model_shape */
};

/* Row number i of arch.def; NULL past the end. */
const struct arch_row *arch_at(size_t i);

/* A fact as text, as its option takes it. Returns out. */
#define ARCH_TEXT_MAX 32
const char *arch_text(const struct model_shape *s, const struct arch_row *row,
		      char out[ARCH_TEXT_MAX]);

/* norm_epsilon as a number. */
double arch_norm_epsilon(const struct model_shape *s);

/* The first row in which two shapes differ; NULL: they are equal. */
const struct arch_row *arch_difference(const struct model_shape *a, const struct model_shape *b);

/* Does a state.json say this fact of the shape? Else it is the usual one. */
bool arch_is_written(const struct model_shape *s, const struct arch_row *row);

/*
 * Set the rows that are options to the values of c, whose size is applied (conf_apply_size()). A number
 * that says what another one says already becomes 0, so that equal models have equal shapes.
 */
void arch_set_options(struct model_shape *s, const struct conf *c);

/* The version of checkpoints and model folders, "v" of their state.json. */
extern const struct file_format arch_checkpoint_format;

/* Add the version and the member "shape" to state.json. */
void arch_put_shape(struct json_writer *w, const struct model_shape *s);

/*
 * Read them. root: state.json; path: for messages. ERR_CONFIG: a newer program wrote it
 * (format_version.h), or a choice is not known. ERR_DATA: a value is missing or out of range.
 */
int arch_read_shape(struct model_shape *s, const struct json *root, const char *path,
		    struct err *e);

#endif
