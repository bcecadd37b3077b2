/*
 * engine.h - a trained model, ready to translate: weights, text pipeline, decoder.
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

#include "data/subword/pipeline.h"
#include "eval/decode/decode.h"
#include "share/conf/conf.h"
#include "share/base/err.h"
#include "train/ckpt/ckpt.h"
#include "train/model/model.h"

/* A further model of an ensemble. */
struct engine_member {
	char *folder;		     /* owned */
	struct safetensors *weights; /* owned; NULL: the model has its own */
	struct model *model;	     /* owned */
	struct ckpt_check *check;    /* owned; NULL: done */
};

struct engine {
	struct conf *conf; /* borrowed */
	char *folder;	   /* owned: the model folder */
	struct ckpt_state state;
	struct pipeline *pipeline;   /* owned */
	struct safetensors *weights; /* owned: what the model reads; NULL: it has its own */
	struct model *model;	     /* owned */
	struct engine_member members[DECODE_MAX_MODELS - 1]; /* (n_members) */
	int32_t n_members;
	bool *joins_next;	     /* (real vocabulary) owned: see decode_options … */
	bool *starts_word;	     /* … NULL: not SentencePiece's */
	struct shortlist *shortlist; /* owned; NULL: none is wanted */
	struct decoder *decoder;     /* owned */
	struct ckpt_check *check;    /* owned: of the files in folder; NULL: done … */
	struct err fault;	     /* … with this result */
	int32_t capacity;	     /* tokens of a batch */
};

/* What an engine is for. */
enum engine_use {
	ENGINE_TRANSLATE, /* translating alone */
	ENGINE_EVALUATE,  /* model_evaluate() too: more memory */
	ENGINE_AS_TRAINED /* the same; threads, precision and backend as the recipe says */
};

/*
 * Open the model that c names (--model, or --run and --checkpoint), or several of one
 * vocabulary: --checkpoint has several of a run, separated by commas, --ensemble names more. The
 * model's recipe is loaded into c; what the command line or the environment
 * said stays. Threads, precision and backend are this machine's defaults, unless
 * as trained. ERR_DATA: a corrupt or foreign checkpoint, or a vocabulary that does
 * not match the weights. Safe to close after failure.
 *
 * Weights are mapped, and given back to the system once they are packed. Their
 * sum in SHA256SUMS is checked by a thread of its own meanwhile: engine_translate() gives nothing
 * out before that is done, and ERR_DATA when they are damaged.
 */
int engine_open(struct engine *g, struct conf *c, enum engine_use use, struct err *e);
/* Wait for that check; for those who use the model without engine_translate(). */
int engine_check(struct engine *g, struct err *e);
void engine_close(struct engine *g);

/* One line of text and what became of it. */
struct engine_line {
	const char *text; /* borrowed; well-formed UTF-8, one line */
	size_t n;
	const char *prefix; /* (n_prefix) borrowed: how it begins; NULL: any */
	size_t n_prefix;
	const struct decode_phrase *phrases; /* (n_phrases) borrowed: what must be in it */
	int32_t n_phrases;
	uint64_t number; /* for sampling: names its random numbers */
};

struct engine_translation {
	struct decode_result result; /* ids */
	char **texts;		     /* (result.n) owned: the hypotheses as raw text */
	int32_t *source;	     /* (n_source) owned: ids of the line */
	int32_t n_source;
};

/* Translate n lines. On failure translations hold nothing that must be freed. */
int engine_translate(struct engine *g, const struct decode_options *o,
		     const struct engine_line *lines, size_t n,
		     struct engine_translation *translations, struct err *e);
void engine_translations_free(struct engine_translation *translations, size_t n);

/* Does the word that token i of n ends or belongs to go on in the next token? */
bool engine_word_continues(const struct engine *g, const int32_t *tokens, int32_t n, int32_t i);

/*
 * Word alignments of a hypothesis with alignments: words are pieces joined
 * (see engine_word_continues()). Appends "0-0 1-2 …", source
 * word - target word from 0, by rising target word, each pair once.
 */
void engine_word_alignment(const struct engine *g, const struct engine_translation *t,
			   int32_t hypothesis, struct buf *out);

#endif
