# eval/export: models and the records of runs for other programs.
# Enter at model_export.h; export_format.h is the interface of formats, records.h that of records.
# May use: eval/weights, data/words, data/subword, data/sentencepiece, data/pipeline, train/model, train/ckpt, train/record, share.
libeval_a_SOURCES += \
	%D%/export_argos.c %D%/export_ct2.c %D%/export_format.h %D%/export_formats.c %D%/export_hugging_face.c \
	%D%/export_marian.c %D%/model_export.c %D%/model_export.h %D%/records.c %D%/records.h %D%/records_svg.c \
	%D%/records_svg.h %D%/zip_write.c %D%/zip_write.h
