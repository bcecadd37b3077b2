# data/words: containers of words: a string pool, a hash index, variable-length numbers, a cache, the vocabulary.
# Enter at intern.h (text to number) and slots.h (the one hash table of the program).
# May use: share.
libdata_a_SOURCES += \
	%D%/intern.c %D%/intern.h %D%/leb.c %D%/leb.h %D%/short_word.h %D%/slots.c %D%/slots.h \
	%D%/vocab.c %D%/vocab.h %D%/word_cache.h
