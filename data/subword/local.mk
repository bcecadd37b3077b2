# data/subword: BPE as subword-nmt learns and applies it, with traces.
# Enter at bpe.h (pipe tools) and bpe_codes.h (words to pieces).
# May use: data/text, data/words, share.
libdata_a_SOURCES += \
	%D%/bpe.h %D%/bpe_apply.c %D%/bpe_codes.c %D%/bpe_codes.h %D%/bpe_count.c %D%/bpe_learn.c \
	%D%/bpe_line.h %D%/bpe_merger.c %D%/bpe_merger.h %D%/bpe_pairs.c %D%/bpe_pairs.h \
	%D%/bpe_tally.c %D%/bpe_trace.c %D%/bpe_trace.h %D%/bpe_words.h %D%/resplit_key.h
