# data/inspect: questions about a prepared corpus: its pairs and repeats, trials of limits, the source line of a pair, dropped pairs.
# Enter at pair_facts.h and pair_trial.h.
# May use: data/prep, data/shard, data/text, data/words, share.
libdata_a_SOURCES += \
	%D%/drop_ledger_read.c %D%/drop_ledger_read.h %D%/origin.c %D%/origin.h %D%/pair_facts.c %D%/pair_facts.h \
	%D%/pair_limits.c %D%/pair_repeats.c %D%/pair_repeats.h %D%/pair_texts.c %D%/pair_texts.h %D%/pair_trial.c \
	%D%/pair_trial.h
