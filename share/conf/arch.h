/*
 * arch.h - the facts of a model's architecture as rows, see arch.def; and the format of state.json.
 */
#ifndef WERKBANK_SHARE_CONF_ARCH_H
#define WERKBANK_SHARE_CONF_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/format/format_version.h"
#include "share/format/json.h"

#define ARCH_MAX_LAYERS 64 /* of one stack; also the upper limit of the options */

/* The values of all rows of arch.def; train/model/model.h calls it the shape of a model. */
struct model_shape {
#define ARCH(name, from, low, high) int32_t name;
#include "share/conf/arch.def"
};

struct arch_row {
	const char *name; /* static */
	bool is_option;	  /* an option of [model] sets it */
	size_t offset;	  /* of the int32_t in struct model_shape */
};

/* Row number i of arch.def; NULL past the end. */
const struct arch_row *arch_at(size_t i);

int32_t arch_value(const struct model_shape *s, const struct arch_row *row);

/* The first row in which two shapes differ; NULL: they are equal. */
const struct arch_row *arch_difference(const struct model_shape *a, const struct model_shape *b);

/* Set the rows that are options to the values of c, whose size is applied (conf_apply_size()). */
void arch_set_options(struct model_shape *s, const struct conf *c);

/* The version of checkpoints and model folders, "v" of their state.json. */
extern const struct file_format arch_checkpoint_format;

/* Add the version and the member "shape" to state.json. */
void arch_put_shape(struct json_writer *w, const struct model_shape *s);

/*
 * Read them. root: state.json; path: for messages. ERR_CONFIG: a newer program wrote it
 * (format_version.h). ERR_DATA: a value is missing or out of range.
 */
int arch_read_shape(struct model_shape *s, const struct json *root, const char *path,
		    struct err *e);

#endif
