# tests/data: texts, BPE, SentencePiece, shards, sources, preparation; http_server is a faulty web server.
# prep.sh, stages.sh and fetch.sh run the program; grow makes a large corpus of a small one for measuring.
# May use: data, share.
test_sources += \
	%D%/t_archive.c %D%/t_bilingual.c %D%/t_bpe.c %D%/t_bpe_dropout.c %D%/t_clean.c %D%/t_corpus_judge.c %D%/t_demo.c %D%/t_encoding.c %D%/t_fetch.c %D%/t_language_guess.c %D%/t_loader.c \
	%D%/t_origin.c %D%/t_pack.c %D%/t_pair_facts.c %D%/t_pair_rules.c %D%/t_pairs.c %D%/t_piece_trace.c %D%/t_prep_plan.c %D%/t_protect.c %D%/t_read.c \
	%D%/t_scripts.c %D%/t_sentences.c %D%/t_shard.c %D%/t_shortlist.c %D%/t_sources.c %D%/t_sp.c %D%/t_split.c %D%/t_tag_mix.c %D%/t_text.c \
	%D%/t_text_filter.c %D%/t_texts.c %D%/t_token_column.c %D%/t_unigram.c %D%/t_vocabs.c
dist_check_SCRIPTS += %D%/prep.sh %D%/protect.sh %D%/stages.sh %D%/prep_kill.sh %D%/fetch.sh %D%/bilingual.sh
TESTS += %D%/bilingual.sh %D%/prep.sh %D%/protect.sh %D%/stages.sh %D%/fetch.sh
long_tests += %D%/prep_kill.sh

# A web server with faults.
check_PROGRAMS += tests/http_server
tests_http_server_SOURCES = %D%/http_server.c

# A corpus of any size made of a small one, for measuring. Built by "make tests/grow".
EXTRA_PROGRAMS += tests/grow
tests_grow_SOURCES = %D%/grow.c
tests_grow_LDADD = $(data_libs) $(base_libs) -lm
