# eval/exchange: import of weights and logs of other programs, export of models and records.
# Enter at import.h and model_export.h; import_format.h and export_format.h are the interfaces of formats.
# May use: data/text, data/words, data/subword, data/sentencepiece, data/pipeline, data/shard, kernels/ops, train/model, train/ckpt, train/record, share.
libeval_a_SOURCES += \
	%D%/ct2.c %D%/ct2.def %D%/ct2.h %D%/ct2_read.c %D%/ct2_shape.c %D%/export_argos.c %D%/export_ct2.c \
	%D%/export_format.h %D%/export_formats.c %D%/export_hugging_face.c %D%/export_marian.c %D%/import.c %D%/import.h %D%/import_argos.c \
	%D%/import_fairseq.c %D%/import_format.h %D%/import_formats.c %D%/import_hugging_face.c %D%/import_marian.c \
	%D%/import_model.c %D%/import_model.h %D%/import_openseq2seq.c %D%/import_plain.c %D%/import_reader.c %D%/import_reader.h \
	%D%/import_vocabulary.c %D%/import_vocabulary.h %D%/model_export.c %D%/model_export.h \
	%D%/pickle.c %D%/pickle.h %D%/records.c %D%/records.h %D%/records_svg.c %D%/records_svg.h \
	%D%/tf_bundle.c %D%/torch_read.c %D%/weight_load.c %D%/weight_map.c %D%/weight_map.def %D%/weight_map.h %D%/weight_rules.c %D%/weight_rules.h \
	%D%/weight_store.c %D%/weight_store.h %D%/yaml_subset.c %D%/yaml_subset.h %D%/zip.c %D%/zip.h %D%/zip_write.c %D%/zip_write.h
