# data/subword: words to pieces and back: subword-nmt BPE, SentencePiece BPE and unigram, the text pipeline.
# Enter at bpe.h, sp.h and pipeline.h (raw text to token ids and back).
# May use: data/text, data/words, share.
libdata_a_SOURCES += \
	%D%/bpe.h %D%/bpe_apply.c %D%/bpe_codes.c %D%/bpe_codes.h %D%/bpe_count.c \
	%D%/bpe_dropout.c %D%/bpe_dropout.h %D%/bpe_learn.c %D%/bpe_line.h \
	%D%/bpe_merger.c %D%/bpe_merger.h %D%/bpe_pairs.c %D%/bpe_pairs.h %D%/bpe_tally.c \
	%D%/bpe_trace.c %D%/bpe_trace.h %D%/bpe_words.h %D%/line_tags.c %D%/line_tags.h \
	%D%/pair_tools.c %D%/pair_tools.h %D%/piece_trace.c %D%/piece_trace.h \
	%D%/piece_trie.c %D%/piece_trie.h \
	%D%/pipeline.c %D%/pipeline.h %D%/resplit.c %D%/resplit.h \
	%D%/sp.h %D%/sp_apply.c %D%/sp_bpe.c \
	%D%/sp_charsmap.c %D%/sp_charsmap.h %D%/sp_charsmap_build.c \
	%D%/sp_kind.c %D%/sp_kind.h %D%/sp_lattice.c %D%/sp_lattice.h \
	%D%/sp_unigram.c %D%/sp_unigram.h \
	%D%/sp_count.c %D%/sp_learn.c %D%/sp_model.c %D%/sp_model.h \
	%D%/sp_normalize.c %D%/sp_normalize.h \
	%D%/sp_rules.c %D%/sp_rules.h \
	%D%/unigram_learn.c %D%/unigram_learn.h %D%/unigram_resplit.c %D%/unigram_resplit.h \
	%D%/unigram_seeds.c %D%/unigram_seeds.h \
	%D%/unigram_text.c %D%/unigram_text.h %D%/vocabs.c %D%/vocabs.h
