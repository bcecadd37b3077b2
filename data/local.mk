# data: from archives and text to token shards, and back to text.
noinst_LIBRARIES += libdata.a
libdata_a_SOURCES = \
	%D%/abbrev.c      %D%/abbrev.h \
	%D%/archive.c     %D%/archive.h \
	%D%/bars.c        %D%/bars.h \
	%D%/batch.c       %D%/batch.h \
	%D%/block_words.c %D%/block_words.h %D%/blocks.c     %D%/blocks.h \
	%D%/bpe.h         %D%/bpe_apply.c   %D%/bpe_learn.c  %D%/bpe_line.h \
	%D%/bpe_codes.c   %D%/bpe_codes.h   %D%/bpe_count.c \
	%D%/bpe_dropout.c %D%/bpe_dropout.h \
	%D%/bpe_merger.c  %D%/bpe_merger.h  %D%/bpe_odd.c     %D%/bpe_words.h \
	%D%/bpe_pairs.c   %D%/bpe_pairs.h \
	%D%/chars.c       %D%/chars.h \
	%D%/clean.c       %D%/clean.h \
	%D%/corpus.c      %D%/corpus.h \
	%D%/data_command.c %D%/data_command.h %D%/data_stats.c \
	%D%/demo.c        %D%/demo.h        %D%/demo_grammar.h \
	%D%/demo_lexicon.c %D%/demo_patterns.c %D%/demo_sentence.c %D%/demo_words.c \
	%D%/detokenize.c \
	%D%/fetch.c       %D%/fetch.h \
	%D%/fetch_part.c  %D%/fetch_part.h \
	%D%/fetch_transfer.c %D%/fetch_transfer.h \
	%D%/fetch_command.c %D%/fetch_command.h \
	%D%/gunzip.c      %D%/gunzip.h      %D%/inflate.h \
	%D%/intern.c      %D%/intern.h      %D%/slots.c       %D%/slots.h \
	%D%/line_flow.c   %D%/line_flow.h \
	%D%/leb.c         %D%/leb.h \
	%D%/ledger.c \
	%D%/loader.c      %D%/loader.h \
	%D%/manifest.c    %D%/manifest.h \
	%D%/normalize.c \
	%D%/obtain.c      %D%/obtain.h \
	%D%/origin.c      %D%/origin.h \
	%D%/parallel.c    %D%/parallel.h \
	%D%/pipeline.c    %D%/pipeline.h \
	%D%/prep.c        %D%/prep.h        %D%/prep_report.c %D%/prep_report.h \
	%D%/prep_ledger.c %D%/prep_needs.c  %D%/prep_stats.c %D%/prep_stats.h \
	%D%/prep_judge.c  %D%/prep_plan.c   %D%/prep_plan.h %D%/prep_record.c %D%/prep_stages.c \
	%D%/progress.c    %D%/progress.h    %D%/progress_file.c \
	%D%/bpe_trace.c   %D%/bpe_trace.h   %D%/split.c      %D%/split.h \
	%D%/ledger_read.c %D%/ledger_read.h \
	%D%/data_questions.c \
	%D%/receipt.c     %D%/receipt.h \
	%D%/rewrite.c     %D%/rewrite.h \
	%D%/scripts.c     %D%/scripts.h     %D%/scripts.def \
	%D%/sgm.c         %D%/sgm.h \
	%D%/side.c        %D%/side.h        %D%/prep_stages.h \
	%D%/placer.c      %D%/placer.h \
	%D%/prep_pairs.c  %D%/prep_pairs.h  %D%/prep_words.c \
	%D%/prep_read.c   %D%/prep_learn.c  %D%/prep_encode.c %D%/prep_shards.c %D%/prep_keep.c %D%/prep_pieces.c %D%/prep_pieces.h \
	%D%/word_cache.h  %D%/word_ids.c    %D%/word_ids.h \
	%D%/shard.c       %D%/shard.h       %D%/short_word.h \
	%D%/shortlist.c   %D%/shortlist.h   %D%/shortlist_command.c %D%/shortlist_learn.c \
	%D%/shuffle.c     %D%/shuffle.h \
	%D%/sp.h          %D%/sp_apply.c   %D%/sp_learn.c \
	%D%/sp_count.c    %D%/sp_count.h \
	%D%/sp_charsmap.c %D%/sp_charsmap.h %D%/sp_charsmap_build.c \
	%D%/sp_model.c    %D%/sp_model.h    %D%/sp_proto.c   %D%/sp_proto.h \
	%D%/sp_normalize.c %D%/sp_normalize.h \
	%D%/sp_rules.c    %D%/sp_rules.h    %D%/sp_unicode.c %D%/sp_unicode.h \
	%D%/texts.c       %D%/texts_demo.c  %D%/texts.h \
	%D%/tokenize.c    %D%/tokenize.h \
	%D%/tokenize_rules.c %D%/tokenize_rules.h \
	%D%/tools.c       %D%/tools.h       %D%/tools_internal.h %D%/tools_sp.c \
	%D%/vocab.c       %D%/vocab.h
libdata_a_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE2_CFLAGS) $(ARCHIVE_CFLAGS) $(INFLATE_CFLAGS) $(CURL_CFLAGS) \
	$(ICU_CFLAGS)
if HAVE_ISAL
libdata_a_SOURCES += %D%/inflate_isal.c
else
libdata_a_SOURCES += %D%/inflate_zlib.c
endif
data_libs = libdata.a $(PCRE2_LIBS) $(ARCHIVE_LIBS) $(INFLATE_LIBS) $(CURL_LIBS) $(ICU_LIBS)

bin_PROGRAMS += werkbank-data
werkbank_data_SOURCES = %D%/main.c
werkbank_data_LDADD = $(data_libs) $(base_libs)

# Lists of abbreviations, built into the program.
lang_files = share/lang/de.abbreviations share/lang/en.abbreviations
%D%/lang_files.h: share/embed.sh $(lang_files)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)(cd $(srcdir) && sh share/embed.sh lang_files $(lang_files)) >$@.tmp && mv $@.tmp $@
nodist_libdata_a_SOURCES = %D%/lang_files.h
%D%/libdata_a-abbrev.$(OBJEXT): %D%/lang_files.h
BUILT_SOURCES += %D%/lang_files.h
CLEANFILES += %D%/lang_files.h
EXTRA_DIST += share/embed.sh $(lang_files)

# Read at run time: the grammar of the built-in corpus, recipes, manifests of corpora.
demodir = $(pkgdatadir)/demo
dist_demo_DATA = share/demo/lexicon.txt share/demo/patterns.txt
recipesdir = $(pkgdatadir)/recipes
dist_recipes_DATA = share/recipes/demo.ini share/recipes/multi30k.ini \
	share/recipes/openseq2seq-en-de.ini share/recipes/wmt16-en-de.ini
corporadir = $(pkgdatadir)/corpora
dist_corpora_DATA = share/corpora/wmt16-en-de.manifest \
	share/corpora/wmt13.manifest share/corpora/wmt14.manifest share/corpora/wmt14-full.manifest \
	share/corpora/wmt15.manifest share/corpora/wmt16.manifest
