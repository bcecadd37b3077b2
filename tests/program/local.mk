# tests/program: what users meet: messages, exit statuses, help, manual, completion, installation, the tutorial.
# Each script runs the built programs and compares what they say.
# May use: the built programs only.
dist_check_SCRIPTS += %D%/release.sh %D%/cli.sh %D%/doctor.sh %D%/manual.sh %D%/complete.sh %D%/install.sh %D%/tutorial.sh %D%/quickstart.sh %D%/own_corpus.sh %D%/corpus_facts.sh %D%/foreign_text.sh
TESTS += %D%/release.sh %D%/cli.sh %D%/doctor.sh %D%/manual.sh %D%/complete.sh %D%/install.sh %D%/tutorial.sh %D%/quickstart.sh %D%/own_corpus.sh %D%/corpus_facts.sh %D%/foreign_text.sh
dist_check_SCRIPTS += %D%/neighbours.sh %D%/damage.sh %D%/vocabularies.sh
TESTS += %D%/neighbours.sh %D%/damage.sh %D%/vocabularies.sh
dist_check_SCRIPTS += %D%/hardening.sh %D%/sandbox.sh %D%/sbom.sh
TESTS += %D%/hardening.sh %D%/sandbox.sh %D%/sbom.sh
# By hand: it needs a build of an older release.
EXTRA_DIST += %D%/older_build.sh

# Preloaded into the programs by sandbox.sh.
check_PROGRAMS += tests/sandbox_probe.so
tests_sandbox_probe_so_SOURCES = %D%/sandbox_probe.c
tests_sandbox_probe_so_CFLAGS = -std=gnu11 -fPIC $(WARN_FLAGS) $(ARCHIVE_CFLAGS)
tests_sandbox_probe_so_LDFLAGS = -shared
