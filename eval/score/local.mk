# eval/score: the command score: log-probabilities of given translations, and the best of n-best lists.
# Enter at score.h (the command) and pair_scores.h (the scores of pairs).
# May use: data/pipeline, data/shard, train/model, train/ckpt, eval/decode, eval/metrics, eval/translate, share.
libeval_a_SOURCES += \
	%D%/pair_reader.c %D%/pair_reader.h %D%/pair_scores.c %D%/pair_scores.h \
	%D%/score.c %D%/score.h %D%/score_models.c %D%/score_models.h
