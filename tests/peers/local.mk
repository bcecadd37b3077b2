# tests/peers: other programs on the same data, for differences and ratios; never needed to build or use Werkbank.
# Each script says at its head what it needs and what it prints.
# May use: the built programs only; read_back.c, split_sentences.c, optim_steps.c and product_race.c, which print what ours find, use our code.
EXTRA_DIST += \
	%D%/aarch64.sh %D%/bilingual_compare.py %D%/bpe_compare.py %D%/bpe_speed.py %D%/ctranslate2_decode.py %D%/documents.py \
	%D%/front_ends.sh %D%/import_hugging_face.py %D%/import_fairseq.py %D%/import_models.py %D%/import_multilingual.py %D%/import_openseq2seq.py %D%/import_peer.py %D%/joeynmt_train.py %D%/k8s_job.py %D%/moses.sh %D%/nvtop_nvml.c \
	%D%/marian_forward.py %D%/markup_gold.py %D%/marian_names.py %D%/marian_run.py %D%/mbr_compare.py %D%/prometheus_read.py %D%/protect_compare.py %D%/decode_options.py \
	%D%/pytorch_curve.py %D%/pytorch_family.py \
	%D%/pytorch_model.py %D%/pytorch_optim.py %D%/pytorch_train.py \
	%D%/race.py %D%/readers.py %D%/safetensors_read.py %D%/score.py %D%/screen_pictures.py %D%/score_compare.py %D%/sentences.py %D%/sentencepiece_compare.py %D%/office_documents.py %D%/serve_clients.py %D%/serve_ct2.py %D%/serve_load.py %D%/serve_page.py %D%/sick_corpora.py \
	%D%/tensorboard_read.py %D%/terminal_picture.py %D%/unicode_tables.py %D%/constraints.py %D%/wmt_size.sh

EXTRA_PROGRAMS += tests/read_back tests/split_sentences tests/optim_steps tests/product_race
tests_split_sentences_SOURCES = %D%/split_sentences.c
tests_split_sentences_LDADD = libdata.a $(base_libs) $(ICU_LIBS) $(PCRE2_LIBS)
tests_read_back_SOURCES = %D%/read_back.c
tests_read_back_LDADD = $(train_libs) $(mpi_libs)
tests_optim_steps_SOURCES = %D%/optim_steps.c
tests_optim_steps_LDADD = $(train_libs) $(mpi_libs)
tests_product_race_SOURCES = %D%/product_race.c tests/bench/roof.c tests/bench/roof.h
tests_product_race_LDADD = $(train_libs) $(mpi_libs)

# Pictures of the views and of other terminal programs, in the folder pictures/ of the build: screen_pictures.py says what it needs.
pictures: all tests/fake_eval
	$${PYTHON:-python3} $(srcdir)/%D%/screen_pictures.py
.PHONY: pictures
