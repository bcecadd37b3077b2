/*
 * weight_map.h - maps weights of another program to the parameters of a Werkbank model.
 *
 * Naming schemes: PyTorch's nn.Transformer, the layers of Hugging Face and fairseq, Marian (weight_map.def),
 * CTranslate2 (ct2.def) and Werkbank's own (train/model/params.def). weight_map.c finds tensors and sizes,
 * weight_load.c fills the parameters. Each parameter must get all of its values from the file, and each tensor of
 * the file must be mapped or have no effect: a tensor without a place is an error, since translations without it
 * would differ.
 *
 *	weight_map_open(&t, &file, e)		finds the naming scheme and the sizes
 *	weight_map_load(&t, &shape, &rows, model_param_arena(m), e)
 */
#ifndef WERKBANK_EVAL_WEIGHTS_WEIGHT_MAP_H
#define WERKBANK_EVAL_WEIGHTS_WEIGHT_MAP_H

#include "eval/weights/import_reader.h"
#include "train/model/model.h"

enum tensor_naming {
	NAMING_own,
	NAMING_ctranslate2,
	NAMING_pytorch,
	NAMING_layers,
	NAMING_marian,
	NAMING_openseq2seq,
	NAMING_opennmt,
	NAMING_eole
};

struct weight_map {
	struct import_reader *f; /* borrowed */
	enum tensor_naming scheme;
	char prefix[128];	     /* of all names of layers; "" if there is none */
	struct import_tensor *table; /* target embeddings, borrowed from f */
	/* heads: 0 if the file does not have it; vocabulary, real_vocabulary: rows of the table */
	struct model_shape shape;
};

/* The row of the file's table of each token id (real_vocabulary); owned. NULL: row = id. -1: the file has none. */
struct weight_rows {
	int32_t *target, *source; /* source: only of a vocabulary of its own */
};

/* The logit's bias of a token that the file does not have: its probability is 0 in float. */
#define WEIGHT_NO_TOKEN_BIAS (-100.0f)

/*
 * Borrows f. For schemes whose sizes the tensors show: own, ctranslate2, pytorch. ERR_DATA: an unknown naming
 * scheme or another architecture; the text names both.
 */
int weight_map_open(struct weight_map *t, struct import_reader *f, struct err *e);

/*
 * For schemes whose formats describe the architecture in a file: finds the prefix of the names, and the first of
 * `tables` (NULL at the end; NULL itself: the rows WEIGHT_EMBEDDING of the scheme) that the file has, as t->table.
 * ERR_DATA: the file has none of them.
 */
int weight_map_begin(struct weight_map *t, struct import_reader *f, enum tensor_naming scheme,
		     const char *const *tables, struct err *e);

/*
 * Fills a zeroed arena with the layout of shape, which equals t->shape except for the vocabularies. ERR_DATA: a
 * tensor is missing, has another shape, or has no place.
 */
int weight_map_load(struct weight_map *t, const struct model_shape *shape,
		    const struct weight_rows *rows, float *arena, struct err *e);

/* Writes the name of a tensor: the pattern, with the number of the layer for its %d, if it has one. */
void weight_layer_name(char *to, size_t size, const char *pattern, int32_t layer);
/* Werkbank's tensor of this name; NULL: params (n) has none. */
const struct model_param *weight_own_param(const struct model_param *params, size_t n,
					   const char *pattern, int32_t layer);
/* The file's tensor of a layer; its name is written to name. NULL: the file does not have it. */
struct import_tensor *weight_foreign_tensor(const struct weight_map *t, const char *pattern,
					    int32_t layer, char name[256]);
/* Does the tensor hold positions, by its name? */
bool weight_is_positions(const struct import_tensor *x);

/*
 * The kind of sinusoids in a table of positions (POSITIONS_SINUSOID, ..._2K, ..._PAIRS), of which row 0 belongs
 * to position number `offset`. *kind POSITIONS_LEARNED: none of them. ERR_DATA: numbers cannot be read.
 */
int weight_find_positions(const struct import_reader *f, const struct import_tensor *x,
			  int32_t offset, enum arch_positions *kind, struct err *e);

#endif
