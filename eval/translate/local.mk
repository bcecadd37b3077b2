# eval/translate: the command translate, the translation service, and constraints of users.
# Enter at engine.h (a loaded model) and translate.h (the command).
# May use: data/text, data/subword, data/sentencepiece, data/pipeline, train/model, train/ckpt, eval/decode, eval/document, eval/metrics, share.
libeval_a_SOURCES += \
	%D%/constraint_options.c %D%/constraint_options.h \
	%D%/document_sentences.c %D%/document_sentences.h %D%/engine.c %D%/engine.h %D%/mbr.c %D%/mbr.h \
	%D%/passages.c %D%/passages.h %D%/phrase_places.c %D%/phrase_places.h %D%/segment_reader.c %D%/segment_reader.h %D%/serve.c %D%/serve.h \
	%D%/serve_stream.c %D%/serve_stream.h \
	%D%/suggest.c %D%/suggest.h %D%/terms.c %D%/translate.c %D%/translate.h \
	%D%/translate_document.c %D%/translate_document.h \
	%D%/unknown_words.c %D%/unknown_words.h %D%/word_spans.c %D%/word_spans.h
