/* weight_rules.c - the tables of weight_map.def and ct2.def; see weight_rules.h */
#include "eval/weights/weight_rules.h"

#include "share/base/text.h"
#include "share/base/util.h"

/* The member "of" of rules from ct2.def, by kind; a slice is the 2 * d_model rows of its layer. */
enum { OF_whole = 0, OF_slice = 2 };

static const struct weight_rule rules[] = {
#define WEIGHT_RULE(scheme, group, kind, foreign_name, of, from, rows, own_name, to)               \
	{                                                                                          \
		NAMING_##scheme,                                                                   \
		RULE_##group,                                                                      \
		RULE_##kind,                                                                       \
		foreign_name,                                                                      \
		of,                                                                                \
		from,                                                                              \
		rows,                                                                              \
		own_name,                                                                          \
		to,                                                                                \
		0                                                                                  \
	},
#define WEIGHT_GATE(scheme, group, kind, foreign_name, own_name, half)                             \
	{ NAMING_##scheme, RULE_##group, RULE_##kind, foreign_name, 0, 0, 0, own_name, 0, half },
#include "eval/weights/weight_map.def"
#define CT2_TENSOR(group, kind, foreign_name, own_name, half)                                      \
	{ NAMING_ctranslate2,                                                                      \
	  RULE_##group,                                                                            \
	  RULE_required,                                                                           \
	  foreign_name,                                                                            \
	  OF_##kind,                                                                               \
	  0,                                                                                       \
	  OF_##kind,                                                                               \
	  own_name,                                                                                \
	  0,                                                                                       \
	  half },
#include "eval/weights/ct2.def"
};

static const struct weight_table_rule tables[] = {
#define WEIGHT_EMBEDDING(scheme, when, foreign_name)                                               \
	{ NAMING_##scheme, foreign_name, "embed", TABLE_##when },
#define WEIGHT_TABLE(scheme, foreign_name, own_name)                                               \
	{ NAMING_##scheme, foreign_name, own_name, TABLE_any },
#include "eval/weights/weight_map.def"
#define CT2_TABLE(foreign_name, own_name) { NAMING_ctranslate2, foreign_name, own_name, TABLE_any },
#include "eval/weights/ct2.def"
};

const struct weight_rule *weight_rule_at(size_t i)
{
	return i < ARRAY_LEN(rules) ? &rules[i] : NULL;
}

const struct weight_table_rule *weight_table_at(size_t i)
{
	return i < ARRAY_LEN(tables) ? &tables[i] : NULL;
}

bool weight_rule_applies(const struct weight_rule *r, const struct model_shape *s)
{
	const bool is_pre = s->norm_place == NORM_PRE, is_rms = s->norm != 0;

	switch (r->kind) {
	case RULE_zero:
	case RULE_drop:
		return false;
	case RULE_ln_post:
		return !is_rms && !is_pre;
	case RULE_ln_pre:
		return !is_rms && is_pre;
	case RULE_rms_post:
		return is_rms && !is_pre;
	case RULE_rms_pre:
		return is_rms && is_pre;
	default:
		return r->half < 2 || s->gated_ffn;
	}
}

int32_t weight_rule_layers(const struct weight_rule *r, const struct model_shape *s)
{
	return r->group == RULE_encoder	  ? s->encoder_layers
	       : r->group == RULE_decoder ? s->decoder_layers
					  : 1;
}

bool weight_rule_is_memory(const struct weight_rule *r)
{
	return text_starts_with(r->own_name, "decoder.cross.kv");
}

bool weight_table_applies(const struct weight_table_rule *r, const struct model_shape *s)
{
	const bool is_shared = s->tied_embeddings == TIED_ALL || s->tied_embeddings == TIED_SOURCE;

	switch (r->when) {
	case TABLE_any:
		return true;
	case TABLE_shared:
		return is_shared;
	case TABLE_target:
		return !is_shared;
	case TABLE_import:
		break;
	}
	return false;
}
