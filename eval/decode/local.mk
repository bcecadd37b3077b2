# eval/decode: decoding of token ids: beam search, sampling, incremental decoding, constraints.
# Enter at decode.h; beam.c, banned_phrases.c and incremental.c explain the algorithms.
# May use: data/subword, data/sentencepiece, data/pipeline, data/shard, kernels/ops, train/model, share.
libeval_a_SOURCES += \
	%D%/alternatives.c %D%/banned_phrases.c %D%/banned_phrases.h %D%/beam.c %D%/beam.h %D%/beam_constrain.c %D%/beam_penalties.c \
	%D%/beam_internal.h %D%/decode.c %D%/decode.h %D%/decode_attention.c %D%/decode_feed.c %D%/decode_internal.h %D%/decode_result.c %D%/decode_worker.c \
	%D%/incremental.c %D%/incremental.h %D%/incremental_internal.h %D%/incremental_memory.c \
	%D%/incremental_sublayers.c %D%/incremental_words.c %D%/sampling.c %D%/sampling.h \
	%D%/sentence_stream.c %D%/shortlist_candidates.c %D%/shortlist_candidates.h
