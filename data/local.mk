# data: werkbank-data, from archives and text to token shards, and back to text.
# Enter at main.c (the commands); prep/prep.h prepares a corpus, tools.h has the pipe tools.
# May use: its own rooms, share.
noinst_LIBRARIES += libdata.a
libdata_a_SOURCES = \
	%D%/data_command.c %D%/data_command.h %D%/data_queries.c %D%/data_stats.c \
	%D%/fetch_command.c %D%/fetch_command.h %D%/shortlist_command.c %D%/shortlist_command.h \
	%D%/pairs_command.c %D%/pairs_command.h %D%/tools.c %D%/tools.h
include %D%/text/local.mk
include %D%/words/local.mk
include %D%/subword/local.mk
include %D%/sentencepiece/local.mk
include %D%/pipeline/local.mk
include %D%/bilingual/local.mk
include %D%/demo/local.mk
include %D%/source/local.mk
include %D%/shard/local.mk
include %D%/judge/local.mk
include %D%/prep/local.mk
include %D%/inspect/local.mk
libdata_a_CPPFLAGS = $(AM_CPPFLAGS) $(PCRE2_CFLAGS) $(ARCHIVE_CFLAGS) $(ZLIB_CFLAGS) $(CURL_CFLAGS) \
	$(ICU_CFLAGS) $(EXPAT_CFLAGS)
data_libs = libdata.a $(PCRE2_LIBS) $(ARCHIVE_LIBS) $(ZLIB_LIBS) $(CURL_LIBS) $(ICU_LIBS) $(EXPAT_LIBS)

bin_PROGRAMS += werkbank-data
werkbank_data_SOURCES = %D%/main.c
werkbank_data_LDADD = $(data_libs) $(base_libs)

# Read at run time: the grammar of the built-in corpus, recipes, manifests of corpora.
demodir = $(pkgdatadir)/demo
dist_demo_DATA = share/demo/lexicon.txt share/demo/patterns.txt
recipesdir = $(pkgdatadir)/recipes
dist_recipes_DATA = share/recipes/demo.ini share/recipes/medium.ini share/recipes/multi30k.ini \
	share/recipes/openseq2seq-en-de.ini share/recipes/small.ini share/recipes/wmt16-en-de.ini
corporadir = $(pkgdatadir)/corpora
dist_corpora_DATA = share/corpora/wmt16-en-de.manifest \
	share/corpora/wmt13.manifest share/corpora/wmt14.manifest share/corpora/wmt14-full.manifest \
	share/corpora/wmt15.manifest share/corpora/wmt16.manifest
