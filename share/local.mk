# share: base, the library of all programs; conf, their options; and data files (recipes, manual pages, languages).
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES =
include %D%/base/local.mk
include %D%/format/local.mk
include %D%/guard/local.mk
include %D%/workspace/local.mk
include %D%/conf/local.mk
include %D%/help/local.mk
libbase_a_CPPFLAGS = $(AM_CPPFLAGS) -DWERKBANK_DATADIR='"$(pkgdatadir)"' -DWERKBANK_BINDIR='"$(bindir)"' \
	-DRELEASE_DATE='"$(RELEASE_DATE)"' $(CRYPTO_CFLAGS) $(SECCOMP_CFLAGS)
base_libs = libbase.a $(CRYPTO_LIBS) $(SECCOMP_LIBS)

# Packages, and how to get from nothing to a model.
dist_doc_DATA = README.md NEWS.md SECURITY.md %D%/doc/tutorial.md %D%/doc/your-own-corpus.md %D%/doc/workbench.md %D%/doc/wmt16.md \
	%D%/doc/many-hosts.md %D%/doc/launchers.md %D%/doc/after-the-run.md %D%/doc/tune.md %D%/doc/install.md %D%/doc/speed.md %D%/doc/speed-diary.md %D%/doc/architectures.md %D%/doc/threads.md %D%/doc/fuzzing.md \
	%D%/doc/serving.md %D%/doc/documents.md
EXTRA_DIST += %D%/packaging/Containerfile %D%/packaging/aarch64.sh %D%/packaging/deb.sh %D%/packaging/sbom.sh \
	%D%/packaging/debian/changelog %D%/packaging/debian/control %D%/packaging/debian/copyright \
	%D%/packaging/debian/rules %D%/packaging/debian/source/format
systemddir = $(pkgdatadir)/systemd
dist_systemd_DATA = %D%/systemd/werkbank-serve.service %D%/systemd/werkbank-serve.socket

# The libraries of this build, as SPDX: werkbank-VERSION.spdx.
sbom:
	$(AM_V_GEN)sh $(srcdir)/%D%/packaging/sbom.sh '$(PACKAGE_VERSION)' '$(RELEASE_DATE)' "`$(CC) --version | head -n 1`" \
		$(SBOM_LIBRARIES) >werkbank-$(PACKAGE_VERSION).spdx
.PHONY: sbom
CLEANFILES += werkbank-$(PACKAGE_VERSION).spdx
