/*
 * model_files.h - the files that split text into pieces, in the folder of a corpus, run, checkpoint or model
 *
 * Copying, export, import, checks between hosts and the guard of outputs grow from MODEL_FILES: a new
 * kind of pieces is rows here and a case in text_codes_file() (share/conf) and pipeline_open() (data/subword).
 */
#ifndef WERKBANK_SHARE_WORKSPACE_MODEL_FILES_H
#define WERKBANK_SHARE_WORKSPACE_MODEL_FILES_H

#define VOCABULARY_FILE	   "vocab.tsv"
#define BPE_CODES_FILE	   "bpe.codes"
#define SENTENCEPIECE_FILE "sentencepiece.model"

/* Of one side, where each has its own: see text_sides.h, which chooses the names. */
#define SOURCE_VOCABULARY_FILE	  "vocab.source.tsv"
#define TARGET_VOCABULARY_FILE	  "vocab.target.tsv"
#define SOURCE_BPE_CODES_FILE	  "bpe.source.codes"
#define TARGET_BPE_CODES_FILE	  "bpe.target.codes"
#define SOURCE_SENTENCEPIECE_FILE "sentencepiece.source.model"
#define TARGET_SENTENCEPIECE_FILE "sentencepiece.target.model"

/* X(name, whether it is a vocabulary, content). A folder has some of them: one vocabulary, or one a side. */
#define MODEL_FILES(X)                                                                             \
	X(VOCABULARY_FILE, true, "token, number, frequency")                                       \
	X(SOURCE_VOCABULARY_FILE, true, "token, number, frequency of the source")                  \
	X(TARGET_VOCABULARY_FILE, true, "token, number, frequency of the target")                  \
	X(BPE_CODES_FILE, false, "BPE merges that split words")                                    \
	X(SOURCE_BPE_CODES_FILE, false, "BPE merges that split words of the source")               \
	X(TARGET_BPE_CODES_FILE, false, "BPE merges that split words of the target")               \
	X(SENTENCEPIECE_FILE, false, "SentencePiece model that splits words")                      \
	X(SOURCE_SENTENCEPIECE_FILE, false, "SentencePiece model that splits words of the source") \
	X(TARGET_SENTENCEPIECE_FILE, false, "SentencePiece model that splits words of the target")

/* For lists: the names, each with a comma; rows { name, is_vocabulary }, rows { name, content }; WORDS: one string. */
#define MODEL_FILE_NAMES				 MODEL_FILES(MODEL_FILE_NAME)
#define MODEL_FILE_KINDS				 MODEL_FILES(MODEL_FILE_KIND)
#define MODEL_FILE_CONTENTS				 MODEL_FILES(MODEL_FILE_CONTENT)
#define MODEL_FILE_WORDS				 MODEL_FILES(MODEL_FILE_WORD)
#define MODEL_FILE_NAME(name, is_vocabulary, content)	 name,
#define MODEL_FILE_KIND(name, is_vocabulary, content)	 { name, is_vocabulary },
#define MODEL_FILE_CONTENT(name, is_vocabulary, content) { name, content },
#define MODEL_FILE_WORD(name, is_vocabulary, content)	 name " "

#endif
