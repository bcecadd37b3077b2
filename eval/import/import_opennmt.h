/*
 * import_opennmt.h - what the readers of OpenNMT-py and of its successor eole have in common
 *
 * Both have pre-norm Transformers whose encoder does not read </s>, products without or with biases, and a list of tokens
 * for each side. A reader fills struct opennmt_facts from the options that its program writes.
 */
#ifndef WERKBANK_EVAL_IMPORT_IMPORT_OPENNMT_H
#define WERKBANK_EVAL_IMPORT_IMPORT_OPENNMT_H

#include "eval/import/import_format.h"

struct opennmt_facts {
	int64_t encoder_layers, decoder_layers, heads, d_ff;
	const char *activation; /* "relu", "gated-silu" ...; "silu" has a gate in OpenNMT-py */
	const char *norm;	/* "standard" or "rms" */
	double epsilon;
	/* "SinusoidalInterleaved", "SinusoidalConcat", "Learned", "Rotary" or "none" */
	const char *positions;
	bool is_scaled;	    /* embeddings are multiplied by the root of d_model */
	bool is_paired;	    /* rotary positions turn neighbouring columns */
	bool has_one_table; /* source and target */
	bool has_tied_output;
	const char *start; /* the token that the decoder reads first */
	double alpha;	   /* exponent of the length in the beam search, by default */
};

/* A fact that Werkbank's models cannot have. */
int opennmt_refuse(const struct import_job *m, const char *key, const char *value,
		   const char *reason, struct err *e);
/* Sets the options of the architecture and m->t, of which scheme, table and prefix are found. */
int opennmt_set_architecture(struct import_job *m, const struct opennmt_facts *x, struct err *e);
/* A transform of the text, by its name: ERR_DATA if translations need it and Werkbank does not do it. */
int opennmt_check_transform(const struct import_job *m, const char *name, struct err *e);

#endif
