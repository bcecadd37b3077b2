/*
 * weight_rules.h - the rows of weight_map.def and ct2.def as tables: import (weight_load.c) and export (weight_store.c)
 * read the same rows.
 */
#ifndef WERKBANK_EVAL_WEIGHTS_WEIGHT_RULES_H
#define WERKBANK_EVAL_WEIGHTS_WEIGHT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/weights/weight_map.h"

enum rule_group { RULE_model, RULE_encoder, RULE_decoder };

/* See weight_map.def. The last four: norms, which have one of these names. */
enum rule_kind {
	RULE_required,
	RULE_bias,
	RULE_optional,
	RULE_zero,
	RULE_drop,
	RULE_ln_post,
	RULE_ln_pre,
	RULE_rms_post,
	RULE_rms_pre
};

struct weight_rule {
	enum tensor_naming scheme;
	enum rule_group group;
	enum rule_kind kind;
	const char *foreign_name;
	int of, from, rows; /* in units of d_model; see weight_map.def */
	const char *own_name;
	int to;
	int half; /* with gated_ffn 1: first half of the own rows, 2: second half; 0: all rows */
};

/* A tensor with a row, or an element, for each token. */
struct weight_table_rule {
	enum tensor_naming scheme;
	const char *foreign_name, *own_name;
	enum {
		TABLE_any,
		TABLE_shared,
		TABLE_target,
		TABLE_import
	} when; /* see WEIGHT_EMBEDDING */
};

/* Row number i; NULL past the end. */
const struct weight_rule *weight_rule_at(size_t i);
const struct weight_table_rule *weight_table_at(size_t i);

/* Has a model of this shape a tensor by this rule? false also for zero and drop. */
bool weight_rule_applies(const struct weight_rule *r, const struct model_shape *s);
/* How often the rule holds: once, or once for each layer of its stack. */
int32_t weight_rule_layers(const struct weight_rule *r, const struct model_shape *s);
/* Is the own tensor that of the keys and values of all decoder layers? Rows of layer i begin at 2 * i * d_model. */
bool weight_rule_is_memory(const struct weight_rule *r);
/* Does a table of this rule exist? shared: source and target have one table. */
bool weight_table_applies(const struct weight_table_rule *r, const struct model_shape *s);

#endif
