# eval/import: models and logs of other programs become models and runs.
# Enter at import.h; import_format.h is the interface of formats.
# May use: eval/weights, data/text, data/words, data/subword, data/sentencepiece, data/pipeline, data/shard, kernels/ops, train/model, train/ckpt, train/record, share.
libeval_a_SOURCES += \
	%D%/hf_languages.def %D%/import.c %D%/import.h %D%/import_argos.c %D%/import_eole.c %D%/import_fairseq.c %D%/import_format.h %D%/import_formats.c \
	%D%/import_hugging_face.c %D%/import_hugging_face.h %D%/import_marian.c %D%/import_model.c %D%/import_model.h %D%/import_multilingual.c %D%/import_opennmt.c %D%/import_opennmt.h \
	%D%/import_openseq2seq.c %D%/import_pieces.c %D%/import_plain.c %D%/import_vocabulary.c %D%/import_vocabulary.h
