# tests: make check, make check-long, make check-all. A test is a TEST(name) in a t_*.c, or a script.
# test.h has the assertions, test.c runs the tests, helpers.sh is for scripts, tally.sh counts; layers.sh, layers_symbols.sh and lint.sh hold the rules.
# May use: everything; nobody includes tests.
check_PROGRAMS += tests/run
test_sources =
dist_check_SCRIPTS += %D%/layers.sh %D%/layers_symbols.sh
EXTRA_DIST += %D%/valgrind.supp %D%/tally.sh %D%/lint.sh %D%/helpers.sh %D%/parts.sh %D%/doc_screens.sh %D%/nightly.sh %D%/reproducible.sh %D%/coverage.sh
# Recorded screens and files, all of them.
EXTRA_DIST += %D%/golden
TESTS += tests/run %D%/layers.sh %D%/layers_symbols.sh
include %D%/base/local.mk
include %D%/data/local.mk
include %D%/kernels/local.mk
include %D%/amxsim/local.mk
include %D%/train/local.mk
include %D%/launch/local.mk
include %D%/eval/local.mk
include %D%/tui/local.mk
include %D%/program/local.mk
include %D%/lab/local.mk
include %D%/faults/local.mk
include %D%/bench/local.mk
include %D%/peers/local.mk
tests_run_SOURCES = %D%/test.c %D%/test.h $(test_sources)
nodist_tests_run_SOURCES = %D%/list.h
tests_run_CPPFLAGS = $(AM_CPPFLAGS) -I. $(ARCHIVE_CFLAGS)
tests_run_LDADD = $(amxsim_libs) liblaunch.a libtui.a libeval.a $(train_libs) $(mpi_libs) $(CURSES_LIBS)

# Adding a test is writing TEST(name): this list is grepped, never typed.
%D%/list.h: $(test_sources) $(srcdir)/%D%/local.mk
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)sed -n 's/^\(TEST([a-z0-9_]*)\).*/\1/p' $^ | LC_ALL=C sort >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += %D%/list.h
%D%/run-test.$(OBJEXT): %D%/list.h
CLEANFILES += %D%/list.h

# What no compiler checks; not part of "make check".
lint:
	@cd $(srcdir) && sh %D%/layers.sh && sh %D%/lint.sh
.PHONY: lint

# The short tests are "make check"; these take minutes more.
check-long: all $(long_programs)
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="$(long_tests)"
check-all: all $(long_programs)
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="$(TESTS) $(long_tests)"
# Lines that the C tests run, by room; in a build of its own.
coverage:
	BUILD="$(abs_top_builddir)/build-coverage" sh $(srcdir)/%D%/coverage.sh
.PHONY: check-long check-all coverage
# Sanitizers: sizes that cannot be had are refused, as everywhere, not fatal.
AM_TESTS_ENVIRONMENT = srcdir=$(srcdir); export srcdir; \
	TEST_JOBS=$${TEST_JOBS-2}; export TEST_JOBS; \
	ASAN_OPTIONS=$${ASAN_OPTIONS-allocator_may_return_null=1}; export ASAN_OPTIONS; \
	WERKBANK_SHARE="$(abs_top_srcdir)/share"; export WERKBANK_SHARE; \
	WERKBANK_RUNTIME="$(abs_top_builddir)/tests/runtime"; export WERKBANK_RUNTIME; \
	XDG_CONFIG_HOME="$(abs_top_builddir)/tests/runtime"; export XDG_CONFIG_HOME; \
	XDG_STATE_HOME="$(abs_top_builddir)/tests/runtime"; export XDG_STATE_HOME;

# Records of processes that tests killed: not among those of the user's own runs.
clean-local:
	rm -rf %D%/runtime
