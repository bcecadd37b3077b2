# data/shard: the input of training: shards of token ids, packed batches, the shuffled loader, shortlists.
# Enter at shard.h and loader.h.
# May use: data/subword, data/sentencepiece, data/pipeline, data/words, share.
libdata_a_SOURCES += \
	%D%/loader.c %D%/loader.h %D%/shard.c %D%/shard.h %D%/shortlist.c %D%/shortlist.h \
	%D%/shortlist_learn.c %D%/shuffle.c %D%/shuffle.h %D%/tag_mix.c %D%/tag_mix.h %D%/token_batch.c %D%/token_batch.h
