# The readers of foreign data get the inputs of the corpus and mutations of them (replay.c) …
check_PROGRAMS += tests/fuzz_replay
fuzz_sources = %D%/fuzz.c %D%/fuzz.h %D%/base.c %D%/checkpoint.c %D%/data.c %D%/document.c %D%/train.c %D%/host.c %D%/eval.c \
	%D%/console.c %D%/fetch.c %D%/files.c %D%/follow.c %D%/history.c %D%/import_folder.c %D%/repair.c %D%/serve.c %D%/server.c
tests_fuzz_replay_SOURCES = %D%/replay.c $(fuzz_sources)
tests_fuzz_replay_CPPFLAGS = $(AM_CPPFLAGS) $(ZLIB_CFLAGS)
tests_fuzz_replay_LDADD = liblaunch.a libtui.a libeval.a $(train_libs) $(mpi_libs) $(CURSES_LIBS)
EXTRA_DIST += %D%/run.sh %D%/dictionary.sh %D%/corpus oss-fuzz
TESTS += tests/fuzz_replay

# … and "make fuzz" lets libFuzzer search for FUZZ_SECONDS a target, in a separate build with clang.
FUZZ_ENGINE = -fsanitize=fuzzer
EXTRA_PROGRAMS += tests/fuzz_search
tests_fuzz_search_SOURCES = %D%/libfuzzer.c $(fuzz_sources)
tests_fuzz_search_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_ENGINE)
tests_fuzz_search_CPPFLAGS = $(tests_fuzz_replay_CPPFLAGS)
tests_fuzz_search_LDADD = liblaunch.a libtui.a libeval.a $(train_libs) $(CURSES_LIBS)
fuzz:
	@$(MKDIR_P) fuzz-build && top=`cd "$(srcdir)" && pwd` && cd fuzz-build && sh "$$top/%D%/run.sh" "$$top"
.PHONY: fuzz
