# eval/evaluate: the commands eval, bleu, chrf, ter, ledger, compare and average.
# Enter at heldout.h and compare.h.
# May use: data/source, data/text, data/subword, data/sentencepiece, data/pipeline, data/shard, train/ckpt, eval/translate, eval/metrics, share.
libeval_a_SOURCES += \
	%D%/average.c %D%/average.h %D%/compare.c %D%/compare.h \
	%D%/compare_runs.c %D%/compare_runs.h %D%/heldout.c %D%/heldout.h %D%/heldout_slices.c \
	%D%/heldout_tags.c %D%/heldout_tools.c %D%/score_ledger.c %D%/score_ledger.h \
	%D%/score_tools.c %D%/score_tools.h %D%/score_warnings.c %D%/score_warnings.h
