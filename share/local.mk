# share: what every program stands on (base), and what is data rather than code.
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES = \
	%D%/base/buf.c      %D%/base/buf.h \
	%D%/base/clock.c    %D%/base/clock.h \
	%D%/base/conf.c     %D%/base/conf.h \
	%D%/base/conf_internal.h %D%/base/conf_complete.c %D%/base/conf_rows.c \
	%D%/base/conf_help.c %D%/base/conf_man.c %D%/base/conf_line.c %D%/base/conf_recipe.c \
	%D%/base/err.c      %D%/base/err.h \
	%D%/base/file.c     %D%/base/file.h \
	%D%/base/flow.c     %D%/base/flow.h \
	%D%/base/hash.c     %D%/base/hash.h \
	%D%/base/journal.c  %D%/base/journal.h \
	%D%/base/json.c     %D%/base/json.h     %D%/base/json_read.c \
	%D%/base/lines.c    %D%/base/lines.h \
	%D%/base/mem.c      %D%/base/mem.h \
	%D%/base/paths.c    %D%/base/paths.h \
	%D%/base/proc.c     %D%/base/proc.h \
	%D%/base/rng.h      %D%/base/util.h \
	%D%/base/text.c     %D%/base/text.h \
	%D%/base/commands.def %D%/base/options.def
libbase_a_CPPFLAGS = $(AM_CPPFLAGS) -DWERKBANK_DATADIR='"$(pkgdatadir)"' -DWERKBANK_BINDIR='"$(bindir)"' \
	-DRELEASE_DATE='"$(RELEASE_DATE)"' $(CRYPTO_CFLAGS)
base_libs = libbase.a $(CRYPTO_LIBS)

# Packages, and how to get from nothing to a model.
dist_doc_DATA = README.md NEWS.md %D%/doc/tutorial.md %D%/doc/workbench.md
EXTRA_DIST += %D%/packaging/Containerfile %D%/packaging/aarch64.sh %D%/packaging/deb.sh \
	%D%/packaging/debian/changelog %D%/packaging/debian/control %D%/packaging/debian/copyright \
	%D%/packaging/debian/rules %D%/packaging/debian/source/format
