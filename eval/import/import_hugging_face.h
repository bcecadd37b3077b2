/*
 * import_hugging_face.h - what the readers of Hugging Face's folders have in common
 *
 * config.json describes the architecture; each model_type has its reader: MarianMT in import_hugging_face.c; M2M100, NLLB
 * and mBART in import_multilingual.c. The names of their tensors are those of NAMING_layers.
 */
#ifndef WERKBANK_EVAL_IMPORT_IMPORT_HUGGING_FACE_H
#define WERKBANK_EVAL_IMPORT_IMPORT_HUGGING_FACE_H

#include "eval/import/import_format.h"

/* Weights beside a config.json with this model_type? NULL: with any. */
bool hf_recognise(const struct import_source *s, const char *type);
/* Reads a file of the folder. *root NULL: it is missing or damaged. The caller frees *root. */
int hf_read_json(const struct import_job *m, const char *name, struct json **root, struct err *e);
/* Lists the tensors and finds the embedding table. */
int hf_open(struct import_job *m, struct err *e);
/* Sets sizes, activation (default: the model type's), tables and the scale of embeddings from m->config. */
int hf_set_common(struct import_job *m, const char *activation, struct err *e);
/* A number of generation_config.json, which wins, or of m->config; -1: neither has it. */
int hf_generation_number(const struct import_job *m, const char *key, int64_t *number,
			 struct err *e);
/*
 * Sets the beam search that generation_config.json, else m->config, gives generate(). Refuses a damaged
 * generation_config.json, and facts that change translations but that [decode] cannot hold.
 */
int hf_set_search(struct import_job *m, struct err *e);

#endif
