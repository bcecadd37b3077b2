# train/model: the Transformer on packed batches: parameters, forward, backward, loss.
# Enter at model.h (public functions) and model_internal.h (map of the files); params.def lists every tensor, sublayers.def every kind of sublayer.
# May use: kernels/ops, data/shard, share.
libtrain_a_SOURCES += \
	%D%/arena.c %D%/arena.h %D%/arena_plan.c %D%/frozen.c %D%/frozen.h \
	%D%/model.c %D%/model.h %D%/model_backward.c %D%/model_batch.c %D%/model_forward.c \
	%D%/model_head.c %D%/model_internal.h %D%/model_pack.c %D%/model_params.c %D%/model_plan.c %D%/model_positions.c \
	%D%/params.def %D%/sublayer.h %D%/sublayer_attention.c %D%/sublayer_ffn.c %D%/sublayer_parts.c \
	%D%/sublayer_residual.c %D%/sublayer_ssru.c %D%/sublayer_table.c %D%/sublayers.def
