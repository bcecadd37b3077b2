# data/pipeline: raw text to token ids and back, the vocabularies of both sides, new splits for training.
# Enter at pipeline.h, vocabs.h and resplit.h.
# May use: data/sentencepiece, data/subword, data/text, data/words, share.
libdata_a_SOURCES += \
	%D%/bpe_dropout.c %D%/bpe_dropout.h %D%/line_tags.c %D%/line_tags.h %D%/pair_tools.c \
	%D%/pair_tools.h %D%/piece_trace.c %D%/piece_trace.h %D%/pipeline.c %D%/pipeline.h \
	%D%/resplit.c %D%/resplit.h %D%/vocabs.c %D%/vocabs.h
