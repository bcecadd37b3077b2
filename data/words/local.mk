# data/words: containers of words: a string pool, variable-length numbers, a cache, the vocabulary.
# Enter at intern.h (text to number) and vocab.h (the vocabulary file).
# May use: share.
libdata_a_SOURCES += \
	%D%/intern.c %D%/intern.h %D%/leb.c %D%/leb.h %D%/short_word.h \
	%D%/text_counts.c %D%/text_counts.h %D%/vocab.c %D%/vocab.h %D%/word_cache.h \
	%D%/word_counter.c %D%/word_counter.h
