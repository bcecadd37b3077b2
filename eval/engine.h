/*
 * engine.h - a trained model, ready to translate: weights, text pipeline, decoder.
 *
 *	struct engine g;
 *	if (engine_open(&g, c, false, e)) ...
 *	engine_translate(&g, &options, lines, n, translations, e);
 *	engine_translations_free(translations, n);
 *	engine_close(&g);
 */
#ifndef WERKBANK_EVAL_ENGINE_H
#define WERKBANK_EVAL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "data/pipeline.h"
#include "eval/decode.h"
#include "share/base/conf.h"
#include "share/base/err.h"
#include "train/ckpt.h"
#include "train/model.h"

struct engine {
	struct conf     *conf;		/* borrowed */
	char            *folder;	/* owned: the model folder */
	struct ckpt_state state;
	struct pipeline *pipeline;	/* owned */
	struct model    *model;		/* owned */
	struct decoder  *decoder;	/* owned */
	int32_t          capacity;	/* tokens of a batch */
};

/*
 * Open the model that c names (--model, or --run and --checkpoint). The
 * model's recipe is loaded into c; what the command line or the environment
 * said stays. as_trained: take threads, precision and backend from the recipe
 * too; otherwise they are this machine's defaults. ERR_DATA: a corrupt or
 * foreign checkpoint, or a vocabulary that does not match the weights. Safe to
 * close after failure.
 */
int  engine_open(struct engine *g, struct conf *c, bool as_trained, struct err *e);
void engine_close(struct engine *g);

/* One line of text and what became of it. */
struct engine_line {
	const char *text;		/* borrowed; well-formed UTF-8, one line */
	size_t n;
};

struct engine_translation {
	struct decode_result result;	/* ids */
	char   **texts;			/* (result.n) owned: the hypotheses as raw text */
	int32_t *source;		/* (n_source) owned: ids of the line */
	int32_t  n_source;
};

/* Translate n lines. On failure translations hold nothing that must be freed. */
int engine_translate(struct engine *g, const struct decode_options *o,
		     const struct engine_line *lines, size_t n,
		     struct engine_translation *translations, struct err *e);
void engine_translations_free(struct engine_translation *translations, size_t n);

/*
 * Word alignments of a hypothesis with alignments: words are pieces joined
 * (a piece that ends in @@ goes on in the next). Appends "0-0 1-2 …", source
 * word - target word from 0, by rising target word, each pair once.
 */
void engine_word_alignment(const struct engine *g, const struct engine_translation *t,
			   int32_t hypothesis, struct buf *out);

#endif
