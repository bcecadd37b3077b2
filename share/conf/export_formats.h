/*
 * export_formats.h - the formats of the command "export": models (eval/export/export_format.h) and records of runs
 * (eval/export/records.h). Choices of --format, completion and the tables of eval grow from it.
 */
#ifndef WERKBANK_SHARE_CONF_EXPORT_FORMATS_H
#define WERKBANK_SHARE_CONF_EXPORT_FORMATS_H

/* X(name of --format, title for messages); FIRST is the first row, defined apart only where rows are joined. */
#define EXPORT_MODEL_FORMATS(FIRST, X)                                                             \
	FIRST(ctranslate2, "CTranslate2")                                                          \
	X(marian, "Marian")                                                                        \
	X(huggingface, "Hugging Face's MarianMT")                                                  \
	X(argos, "Argos Translate")
#define EXPORT_RECORD_FORMATS(X)                                                                   \
	X(tensorboard, "TensorBoard")                                                              \
	X(csv, "CSV")                                                                              \
	X(jsonl, "JSON Lines")                                                                     \
	X(prometheus, "Prometheus")                                                                \
	X(svg, "SVG")

#define EXPORT_NAME(name, title)      #name
#define EXPORT_FURTHER(name, title)   "|" #name
#define EXPORT_NAME_LIST(name, title) ", " #name
#define EXPORT_CHOICES                                                                             \
	EXPORT_MODEL_FORMATS(EXPORT_NAME, EXPORT_FURTHER)                                          \
	EXPORT_RECORD_FORMATS(EXPORT_FURTHER)
#define EXPORT_LIST                                                                                \
	EXPORT_MODEL_FORMATS(EXPORT_NAME, EXPORT_NAME_LIST)                                        \
	EXPORT_RECORD_FORMATS(EXPORT_NAME_LIST)

#endif
