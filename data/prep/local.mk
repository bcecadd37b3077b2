# data/prep: preparation of a corpus in the stages read, judge, learn, encode, pack, ledger, each with a record.
# Enter at prep.h (the command); prep_stages.h lists the files that each stage reads and writes.
# May use: every other room of data, share.
libdata_a_SOURCES += \
	%D%/block_words.c %D%/block_words.h %D%/blocks.c %D%/blocks.h %D%/column_pair.c %D%/column_pair.h \
	%D%/external_shuffle.c %D%/external_shuffle.h %D%/line_facts.c %D%/line_facts.h %D%/pair_rules.c %D%/pair_rules.h %D%/parallel.c %D%/parallel.h \
	%D%/prep.c %D%/prep.h %D%/prep_encode.c %D%/prep_export.c %D%/prep_filter.c \
	%D%/prep_learn.c %D%/prep_ledger.c %D%/prep_pairs.c %D%/prep_pairs.h \
	%D%/prep_pieces.c %D%/prep_pieces.h %D%/prep_plan.c %D%/prep_plan.h %D%/prep_read.c \
	%D%/prep_record.c %D%/prep_report.c %D%/prep_report.h %D%/prep_resources.c \
	%D%/prep_shards.c %D%/prep_stages.c %D%/prep_stages.h %D%/prep_stats.c %D%/prep_stats.h \
	%D%/prep_verdicts.c %D%/prep_verdicts.h \
	%D%/prep_words.c %D%/round_trip.c %D%/round_trip.h %D%/token_column.c %D%/token_column.h %D%/word_ids.c %D%/word_ids.h
