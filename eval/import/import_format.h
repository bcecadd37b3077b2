/*
 * import_format.h - the formats of models that can be imported: one table, one module a format.
 *
 * import_find_format() finds the weights in a folder and the format that recognises them. An import then
 * calls, in this order (import_model.c):
 *
 *	open	may unpack files below job->staging; lists the tensors in job->f; decides naming, embedding table and architecture in job->t; sets the
 *		options of section [data] in job->c that follow from the files
 *	stage	writes the vocabularies and subword models to job->staging, and fills job->rows
 *
 * A fact of a file that would change translations and that Werkbank's models do not have is refused with a
 * sentence that names it.
 */
#ifndef WERKBANK_EVAL_IMPORT_IMPORT_FORMAT_H
#define WERKBANK_EVAL_IMPORT_IMPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "data/sentencepiece/sp.h"
#include "eval/import/import_vocabulary.h"
#include "eval/weights/weight_map.h"
#include "share/base/err.h"
#include "share/base/file.h"
#include "share/conf/conf.h"
#include "share/format/json.h"
#include "train/ckpt/ckpt.h"

/* What a format is recognised by. */
struct import_source {
	char *file;		    /* owned: the weights */
	char *folder;		    /* owned: the folder of the file */
	const unsigned char *bytes; /* (n) of the file; borrowed, valid while formats are tried */
	size_t n;
	struct json *config; /* owned: config.json of the folder; NULL: none, or it is damaged */
};

/* An import in progress. */
struct import_job {
	struct conf *c; /* borrowed; becomes the recipe of the model */
	const struct import_format *format;
	const char *file;   /* borrowed: the weights */
	const char *folder; /* borrowed: folder of the weights */
	char *pieces;	    /* owned: folder that is searched for vocab.tsv, bpe.codes ... */
	bool has_recipe;    /* recipe.ini of the folder, as an export writes it, is part of c */
	struct outfolder staging; /* files of the model besides weights; never committed */
	struct import_reader f;
	struct weight_map t;
	struct special_token_names special; /* point into config */
	struct json *config;		    /* owned: a file of the format; NULL: none */
	struct weight_rows rows;	    /* the rows of each token id */
	char *unpacked, *unpacked_file; /* owned: folder and weights of an archive; NULL: none */
};

struct import_format {
	const char *name; /* "MarianMT of Hugging Face", for messages */
	bool (*recognise)(const struct import_source *s);
	int (*open)(struct import_job *m, struct err *e);
	int (*stage)(struct import_job *m, struct err *e);
};

extern const struct import_format import_m2m100, import_mbart, import_hugging_face, import_marian,
	import_openseq2seq, import_fairseq, import_opennmt, import_eole, import_ctranslate2,
	import_argos, import_safetensors, import_pickle;

/*
 * Finds the weights that path names, a file or a folder, and their format. *format NULL: no format
 * recognises the file. import_source_close() in any case. ERR_NOINPUT: no such path; ERR_USAGE: a folder
 * without weights; ERR_DATA: a known format that cannot be imported, with the reason.
 */
int import_find_format(const char *path, struct import_source *s,
		       const struct import_format **format, struct err *e);
void import_source_close(struct import_source *s);

/* Unpacks the members of a package of Argos Translate to an existing folder. ERR_DATA: damaged, or one is missing. */
int import_unpack_argos(const char *package, const char *folder, struct err *e);

/* Is the option other than its default, or given? */
bool import_option_given(const struct conf *c, const char *option);
/* Sets options from name and value in turn, NULL at the end. */
int import_set_options(struct import_job *m, const char *const *options, struct err *e);
/* Sets the languages to the two-letter codes that these members of root are; the user's options win. */
int import_set_languages(struct import_job *m, const struct json *root, const char *source_key,
			 const char *target_key, struct err *e);
/*
 * Sets how the program of the model searches by default: a choice of beam_rules, the beam (0: the files name none) and the exponent
 * of the length. What recipe.ini of the folder says stays.
 */
int import_set_search(struct import_job *m, const char *rules, int64_t beam, double alpha,
		      struct err *e);
/* Sets the options of text without tokenisation that SentencePiece models split. */
int import_set_text_options(struct import_job *m, const char *vocabularies, struct err *e);
/* Sets the segmentation of each side to the kind of its SentencePiece model in the staging folder. */
int import_find_segmentations(struct import_job *m, struct err *e);
/*
 * Copies source.spm and target.spm to the staging folder and sets the options of the text: vocabularies is separate,
 * else merged, or joint if recipe.ini of the folder says so and both are equal, as an export writes them.
 */
int import_stage_pair(struct import_job *m, bool is_separate, struct err *e);
/* Sets the option protect to the pieces that choose a language, ">>xxx<<"; without any it stays. */
int import_protect_tags(struct import_job *m, const struct token_list *w, struct err *e);
/* If a special token has no row in the file, its logit needs a bias that silences it: sets output_bias. */
void import_silence_missing(struct import_job *m);
/*
 * Exports write vocab.tsv beside the foreign vocabulary, which has no frequencies: if the folder's has the tokens of the
 * staged one, it is kept.
 */
int import_keep_frequencies(const struct import_job *m, struct err *e);
/* Sets t.shape to the architecture that the options of c describe. */
int import_shape_of_options(struct import_job *m, struct err *e);
/* Learned positions of fairseq's family: the row of position 0 is number 2, after those of <s> and padding. */
void import_skip_position_rows(struct import_tensor *t);
/* *path: a file of m->pieces, freed by the caller; NULL if it does not exist. */
int import_find_piece(const struct import_job *m, const char *name, char **path, struct err *e);
/* Lists the pieces of a SentencePiece model, which must live longer than w. token_list_close() in any case. */
int import_list_pieces(struct token_list *w, const struct sp *s, struct err *e);
/*
 * Copies the files that split the words of both sides to the staging folder, and sets the options of the text. names[side]:
 * a file of the folder that comes first, before the usual names; NULL: none. is_joint: the sides have one vocabulary.
 */
int import_stage_pieces(struct import_job *m, bool is_joint, const char *const names[2],
			struct err *e);
/* Writes a list as the vocabulary NAME of the staging folder; m->special names its special tokens. *rows: token_list_write(). */
int import_stage_vocabulary(struct import_job *m, const struct token_list *w, const char *name,
			    int32_t **rows, struct err *e);
/* Reads the list of tokens of a side (0: the source). The caller closes the list, also after a failure. arg may own its texts. */
typedef int import_list_side(const struct import_job *m, int side, void *arg, struct token_list *w,
			     struct err *e);
/*
 * Writes the lists of both sides as vocabularies, or as one if they are equal, after import_stage_pieces().
 * m->special.may_lack_end holds for the source only.
 */
int import_stage_lists(struct import_job *m, import_list_side *list, void *arg,
		       const char *const names[2], struct err *e);
/* Copies FOLDER/NAME, a file of the import's source, to the staging folder as TO. */
int import_stage_file(const struct import_job *m, const char *name, const char *to, struct err *e);

#endif
