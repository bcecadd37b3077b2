# eval/weights: containers of tensors of other programs, and the tables that map their names to the parameters of models.
# Enter at import_reader.h (containers), weight_map.h (reading) and weight_store.h (writing); ct2.h is the file format of CTranslate2.
# May use: share/base, share/conf, share/format, data/shard, kernels/ops, train/model, train/ckpt.
libeval_a_SOURCES += \
	%D%/ct2.c %D%/ct2.def %D%/ct2.h %D%/ct2_read.c %D%/ct2_shape.c %D%/import_reader.c %D%/import_reader.h \
	%D%/npz_read.c %D%/pickle.c %D%/pickle.h %D%/tf_bundle.c %D%/torch_read.c %D%/weight_load.c %D%/weight_map.c \
	%D%/weight_map.def %D%/weight_map.h %D%/weight_rules.c %D%/weight_rules.h %D%/weight_store.c \
	%D%/weight_store.h %D%/yaml_subset.c %D%/yaml_subset.h %D%/zip.c %D%/zip.h
