# data/demo: the built-in English-German corpus: a grammar that writes sentence pairs.
# Enter at demo.h; share/demo has the lexicon and the sentence patterns.
# May use: share.
libdata_a_SOURCES += \
	%D%/demo.c %D%/demo.h %D%/demo_grammar.h %D%/demo_lexicon.c %D%/demo_patterns.c \
	%D%/demo_sentence.c %D%/demo_words.c
