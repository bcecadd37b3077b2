/*
 * engine.h - a loaded model or ensemble with its text pipeline and decoder.
 *
 *	struct engine g;
 *	if (engine_open(&g, c, ENGINE_TRANSLATE, e)) ...
 *	engine_translate(&g, &options, lines, n, translations, e);
 *	engine_translations_free(translations, n);
 *	engine_close(&g);
 */
#ifndef WERKBANK_EVAL_TRANSLATE_ENGINE_H
#define WERKBANK_EVAL_TRANSLATE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "data/pipeline/pipeline.h"
#include "eval/decode/decode.h"
#include "share/base/err.h"
#include "share/conf/conf.h"
#include "train/ckpt/ckpt.h"
#include "train/model/model.h"

/* One of the models that translate together. */
struct engine_model {
	char *folder;		     /* owned */
	struct safetensors *weights; /* owned; NULL: the model has copied its weights */
	struct model *model;	     /* owned */
	struct ckpt_check *check;    /* owned: hash check of the folder; NULL: it has ended */
};

/* Where words begin and end, by the tokens of a side: see struct decode_options. One of both is NULL. */
struct word_marks {
	bool *joins_next;  /* (real vocabulary) owned, BPE */
	bool *starts_word; /* (real vocabulary) owned, SentencePiece */
};

struct engine {
	struct conf *conf;			       /* borrowed */
	struct engine_model models[DECODE_MAX_MODELS]; /* (n_models); several: an ensemble */
	int32_t n_models;
	struct ckpt_state state;   /* of the first model */
	struct pipeline *pipeline; /* owned */
	struct word_marks words[N_SIDES];
	struct shortlist *shortlist; /* owned; NULL: none */
	struct decoder *decoder;     /* owned */
	struct err fault;	     /* result of the ended hash checks */
	int32_t capacity;	     /* tokens of a batch, including </s> */
};

enum engine_use {
	ENGINE_TRANSLATE, /* translation only */
	ENGINE_EVALUATE,  /* translation and model_evaluate(): more memory */
	ENGINE_SCORE,	  /* model_log_probs() of batches of decode_tokens tokens a side */
	ENGINE_AS_TRAINED /* the same; threads, precision and backend come from the recipe */
};

/*
 * Opens the model that c names (--model, or --run and --checkpoint). A list of checkpoints
 * (--checkpoint A,B) and --ensemble open several models of one vocabulary. The model's recipe is
 * loaded into c, but options of the command line and the environment stay. Threads, precision and
 * backend are this machine's defaults, except with ENGINE_AS_TRAINED. ERR_NOINPUT: no such model;
 * ERR_DATA: a damaged checkpoint, or a vocabulary that does not match the weights. Call
 * engine_close() after a failure too.
 *
 * Weights are mapped, and unmapped once they are packed. Meanwhile a thread verifies their
 * SHA256SUMS. engine_translate() waits for this check and fails with ERR_DATA if a file is damaged.
 */
int engine_open(struct engine *g, struct conf *c, enum engine_use use, struct err *e);
/* Has a source line text beside its tag? */
bool engine_has_text(const struct engine *g, const char *text, size_t n);
/* Waits for the check; for callers that use g->model without engine_translate(). */
int engine_check(struct engine *g, struct err *e);
void engine_close(struct engine *g);
/* Whether the backend that c asks for is a GPU of this machine. */
bool engine_uses_gpu(const struct conf *c);
/* The number format of matrix products: "fp32", "bf16" or "int8". */
const char *engine_precision(const struct conf *c);
/*
 * Resolve precision = auto in c, after its recipe is loaded: with as_trained the format of the training, if
 * the state knows it, else the faster one here.
 */
int engine_choose_format(struct conf *c, const struct ckpt_state *s, bool as_trained,
			 struct err *e);

/* A line of text and the constraints of its translation. */
struct engine_line {
	const char *text; /* (n) borrowed; well-formed UTF-8 without line end */
	size_t n;
	const char *prefix; /* (n_prefix) borrowed: the translation begins with it; NULL: none */
	size_t n_prefix;
	bool is_whole;	 /* the prefix is the whole translation, which only gets its alignment */
	const char *tag; /* (n_tag) borrowed: the model reads it before the text; NULL: none */
	size_t n_tag;
	const struct decode_phrase *phrases; /* (n_phrases) borrowed: the translation has them */
	int32_t n_phrases;
	uint64_t number; /* selects the random numbers of sampling */
};

struct engine_translation {
	struct decode_result result; /* token ids */
	char **texts;		     /* (result.n) owned: the hypotheses as raw text */
	int32_t *source;	     /* (n_source) owned: token ids of the line */
	int32_t n_source;
	/* tokens at the start of source that engine_line.tag gave, or the first token */
	int32_t n_tag;
	bool *is_added_tag; /* (n_source) owned: tokens of tags that the line lacks; NULL: none */
};

/*
 * Translates n lines into translations[0 .. n), which the caller frees with
 * engine_translations_free(). After a failure nothing is left to free.
 */
int engine_translate(struct engine *g, const struct decode_options *o,
		     const struct engine_line *lines, size_t n,
		     struct engine_translation *translations, struct err *e);
void engine_translations_free(struct engine_translation *translations, size_t n);

/* ---- for callers that run the decoder themselves (serve_stream.c) ---- */

/* Sets what the model adds to options of decoding: word marks and the shortlist. */
void engine_complete_options(const struct engine *g, struct decode_options *o);
/* Sets the source tokens of t. After a failure, too, engine_translations_free() frees them. */
int engine_encode_line(struct engine *g, const struct engine_line *line,
		       struct engine_translation *t, struct err *e);
/* The constraint of a line, which borrows from the line and owns *prefix. */
int engine_constrain_line(struct engine *g, const struct engine_line *line,
			  struct decode_constraint *constraint, int32_t **prefix, struct err *e);
/* Sets the texts of t from its result. */
int engine_write_texts(struct engine *g, const struct engine_line *line,
		       struct engine_translation *t, struct err *e);

/*
 * The raw text of n target tokens, in the language of the line that was translated last. The caller frees it; NULL:
 * failure.
 */
char *engine_text_of(const struct engine *g, const int32_t *tokens, int32_t n, struct err *e);

/* Does the word of token i of these n tokens continue in token i + 1? */
bool engine_word_continues(const struct engine *g, enum pipeline_side side, const int32_t *tokens,
			   int32_t n, int32_t i);
/* Is source token i one that the line lacks: the first token of the side, or of a tag? */
bool engine_is_added(const struct engine *g, const struct engine_translation *t, int32_t i);

/*
 * Appends the word alignment of a hypothesis, "0-0 1-2 ...": source word - target word, numbered
 * from 0, by rising target word, each pair once. The hypothesis must have alignments.
 */
void engine_word_alignment(const struct engine *g, const struct engine_translation *t,
			   int32_t hypothesis, struct buf *out);

#endif
