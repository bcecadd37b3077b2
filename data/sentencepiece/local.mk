# data/sentencepiece: models of SentencePiece, BPE and unigram: read, apply, sample, learn.
# Enter at sp.h (pipe tools) and sp_kind.h (one interface for both kinds).
# May use: data/subword, data/text, data/words, share.
libdata_a_SOURCES += \
	%D%/piece_trie.c %D%/piece_trie.h %D%/sp.h %D%/sp_apply.c %D%/sp_bpe.c %D%/sp_charsmap.c \
	%D%/sp_charsmap.h %D%/sp_charsmap_build.c %D%/sp_count.c %D%/sp_kind.c %D%/sp_kind.h \
	%D%/sp_lattice.c %D%/sp_lattice.h %D%/sp_learn.c %D%/sp_model.c %D%/sp_model.h \
	%D%/sp_normalize.c %D%/sp_normalize.h %D%/sp_rules.c %D%/sp_rules.h %D%/sp_unigram.c \
	%D%/sp_unigram.h %D%/unigram_learn.c %D%/unigram_learn.h %D%/unigram_resplit.c \
	%D%/unigram_resplit.h %D%/unigram_seeds.c %D%/unigram_seeds.h %D%/unigram_text.c \
	%D%/unigram_text.h
