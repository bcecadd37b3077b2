/*
 * model_files.h - the files that split text into pieces, in the folder of a corpus, run, checkpoint or model
 *
 * Copying, export, import, checks between hosts and the guard of outputs grow from MODEL_FILES: a new
 * kind of pieces is a row here and a case in pipeline_codes_file() and pipeline_open() (data/subword).
 */
#ifndef WERKBANK_SHARE_WORKSPACE_MODEL_FILES_H
#define WERKBANK_SHARE_WORKSPACE_MODEL_FILES_H

#define VOCABULARY_FILE	   "vocab.tsv"
#define BPE_CODES_FILE	   "bpe.codes"
#define SENTENCEPIECE_FILE "sentencepiece.model"

/* X(name, whether every folder has it, content). Of the files that not every folder has, it has one. */
#define MODEL_FILES(X)                                                                             \
	X(VOCABULARY_FILE, true, "token, number, frequency")                                       \
	X(BPE_CODES_FILE, false, "BPE merges that split words")                                    \
	X(SENTENCEPIECE_FILE, false, "SentencePiece model that splits words")

/* For lists: the names, each with a comma; rows { name, always }, rows { name, content }; WORDS: one string. */
#define MODEL_FILE_NAMES			  MODEL_FILES(MODEL_FILE_NAME)
#define MODEL_FILE_NEEDS			  MODEL_FILES(MODEL_FILE_NEED)
#define MODEL_FILE_CONTENTS			  MODEL_FILES(MODEL_FILE_CONTENT)
#define MODEL_FILE_WORDS			  MODEL_FILES(MODEL_FILE_WORD)
#define MODEL_FILE_NAME(name, always, content)	  name,
#define MODEL_FILE_NEED(name, always, content)	  { name, always },
#define MODEL_FILE_CONTENT(name, always, content) { name, content },
#define MODEL_FILE_WORD(name, always, content)	  name " "

#endif
