# tests: make check. A test is a TEST(name) in a t_*.c, or a script.
check_PROGRAMS += tests/run
tests_run_SOURCES = %D%/test.c %D%/test.h %D%/ops_run.c %D%/ops_run.h %D%/ops_list.c %D%/ops_list.h %D%/ops_cases.def $(test_sources)
nodist_tests_run_SOURCES = %D%/list.h
test_sources = \
	%D%/t_base.c %D%/t_flow.c %D%/t_line_flow.c %D%/t_conf.c %D%/t_journal.c \
	%D%/t_text.c %D%/t_clean.c %D%/t_judge.c %D%/t_origin.c %D%/t_bpe.c %D%/t_shard.c %D%/t_loader.c %D%/t_pack.c %D%/t_sources.c %D%/t_side.c %D%/t_scripts.c %D%/t_texts.c %D%/t_read.c %D%/t_demo.c \
	%D%/t_dropout.c %D%/t_fetch.c \
	%D%/t_ops.c %D%/t_ops_grad.c \
	%D%/t_model.c %D%/t_train.c %D%/t_comm.c %D%/fake_ranks.c %D%/fake_ranks.h %D%/t_hosts.c %D%/t_leftover.c %D%/t_remote.c %D%/t_preflight.c %D%/t_mpirun.c %D%/t_launch.c %D%/t_ckpt.c %D%/small_model.h \
	%D%/t_plan.c \
	%D%/t_score.c %D%/t_decode.c \
	%D%/t_tui.c %D%/t_edit.c %D%/t_service.c %D%/t_console.c
test_sources += %D%/t_workbench.c %D%/t_prompt.c
test_sources += %D%/t_sp.c %D%/t_network.c
test_sources += %D%/t_export.c %D%/t_import.c %D%/small_ckpt.h %D%/t_team.c
test_sources += %D%/t_plan_net.c %D%/t_average.c %D%/t_wishes.c %D%/t_suggest.c %D%/t_ema.c %D%/t_shortlist.c %D%/sharp_model.h
EXTRA_DIST += %D%/peers/sentencepiece_compare.py
test_sources += %D%/t_archive.c %D%/t_tensorboard.c %D%/t_report.c %D%/t_ter.c %D%/t_resample.c
test_sources += %D%/t_outlets.c %D%/t_openseq2seq.c
test_sources += %D%/t_fleet.c %D%/t_plot.c
test_sources += %D%/t_ranks.c %D%/small_run.h
test_sources += %D%/t_cuda_model.c %D%/t_cuda_decode.c
tests_run_CPPFLAGS = $(AM_CPPFLAGS) -I. $(ARCHIVE_CFLAGS)
tests_run_LDADD = liblaunch.a libtui.a libeval.a $(train_libs) $(mpi_libs) $(CURSES_LIBS)

# What is read of hosts, and a library like NVIDIA's management library for it.
test_sources += %D%/t_split.c %D%/t_places.c %D%/t_views.c
test_sources += %D%/t_host.c %D%/t_telemetry.c %D%/t_pulse.c
check_PROGRAMS += tests/fake_nvml.so tests/fake_nvml_old.so
tests_fake_nvml_so_SOURCES = %D%/fake_nvml.c
tests_fake_nvml_so_CFLAGS = -std=gnu11 -fPIC $(WARN_FLAGS)
tests_fake_nvml_so_LDFLAGS = -shared
tests_fake_nvml_old_so_SOURCES = %D%/fake_nvml.c
tests_fake_nvml_old_so_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_OLD
tests_fake_nvml_old_so_CFLAGS = $(tests_fake_nvml_so_CFLAGS)
tests_fake_nvml_old_so_LDFLAGS = -shared

# The translate console, and a translator for its tests.
dist_check_SCRIPTS += %D%/screens_translate.sh %D%/console.sh
TESTS += %D%/screens_translate.sh %D%/console.sh
check_PROGRAMS += tests/fake_eval
tests_fake_eval_SOURCES = %D%/fake_eval.c
tests_fake_eval_LDADD = $(base_libs) -lm

# Adding a test is writing TEST(name): this list is grepped, never typed.
%D%/list.h: $(test_sources) $(srcdir)/%D%/local.mk
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)sed -n 's/^\(TEST([a-z0-9_]*)\).*/\1/p' $^ | LC_ALL=C sort >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += %D%/list.h
%D%/run-test.$(OBJEXT): %D%/list.h
CLEANFILES += %D%/list.h

dist_check_SCRIPTS += %D%/layers.sh %D%/cli.sh %D%/eval.sh %D%/screens.sh %D%/terminal.sh %D%/terminals.sh
EXTRA_DIST += %D%/valgrind.supp %D%/tally.sh %D%/lint.sh %D%/gpu.sh
EXTRA_DIST += %D%/peers/moses.sh %D%/peers/pytorch_model.py %D%/peers/pytorch_train.py \
	%D%/peers/safetensors_read.py
EXTRA_DIST += %D%/peers/bpe_compare.py %D%/peers/bpe_speed.py %D%/peers/race.py %D%/peers/wmt_size.sh
EXTRA_DIST += %D%/peers/ctranslate2_decode.py %D%/peers/tensorboard_read.py
EXTRA_DIST += %D%/peers/front_ends.sh %D%/peers/nvtop_nvml.c
# Recorded screens and files, all of them.
EXTRA_DIST += %D%/golden
TESTS += tests/run %D%/layers.sh %D%/cli.sh %D%/eval.sh %D%/screens.sh %D%/terminal.sh %D%/terminals.sh

# What no compiler checks; not part of "make check".
lint:
	@cd $(srcdir) && sh %D%/layers.sh && sh %D%/lint.sh
.PHONY: lint
# Sanitizers: sizes that cannot be had are refused, as everywhere, not fatal.
AM_TESTS_ENVIRONMENT = srcdir=$(srcdir); export srcdir; \
	ASAN_OPTIONS=$${ASAN_OPTIONS-allocator_may_return_null=1}; export ASAN_OPTIONS; \
	WERKBANK_SHARE=$(abs_top_srcdir)/share; export WERKBANK_SHARE; \
	WERKBANK_RUNTIME=$(abs_top_builddir)/tests/runtime; export WERKBANK_RUNTIME; \
	XDG_CONFIG_HOME=$(abs_top_builddir)/tests/runtime; export XDG_CONFIG_HOME; \
	XDG_STATE_HOME=$(abs_top_builddir)/tests/runtime; export XDG_STATE_HOME;

# Records of processes that tests killed: not among those of the user's own runs.
clean-local:
	rm -rf %D%/runtime

# make bench: how fast things are here; never part of make check.
bench_programs = %D%/bench_ops %D%/bench_decode
noinst_PROGRAMS += $(bench_programs)
tests_bench_ops_SOURCES = %D%/bench_ops.c %D%/bench.c %D%/bench.h %D%/roof.c %D%/roof_device.c %D%/roof.h
tests_bench_ops_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) -O3
tests_bench_ops_LDADD = $(kernel_libs) $(base_libs)
tests_bench_decode_SOURCES = %D%/bench_decode.c
tests_bench_decode_LDADD = libeval.a $(train_libs) $(mpi_libs)
bench: $(bench_programs)
	@for b in $(bench_programs); do echo "== $$b"; ./$$b || exit 1; done
.PHONY: bench

# How fast training is; beside tests/peers/pytorch_train.py. Built by "make tests/bench_train".
EXTRA_PROGRAMS += tests/bench_train
tests_bench_train_SOURCES = %D%/bench_train.c %D%/bench.c %D%/bench.h %D%/rig.c %D%/rig.h %D%/roof.c %D%/roof_device.c %D%/roof.h
tests_bench_train_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) -O3
tests_bench_train_LDADD = $(train_libs) $(mpi_libs)

# The loss of every step; beside tests/peers/pytorch_curve.py. Built by "make tests/train_curve".
EXTRA_PROGRAMS += tests/train_curve
tests_train_curve_SOURCES = %D%/train_curve.c %D%/bench.c %D%/bench.h %D%/rig.c %D%/rig.h
tests_train_curve_LDADD = $(train_libs) $(mpi_libs)
EXTRA_DIST += %D%/peers/pytorch_curve.py

# No allocation after the first step.
check_PROGRAMS += tests/allocations
tests_allocations_SOURCES = %D%/allocations.c %D%/rig.c %D%/rig.h
tests_allocations_LDADD = $(train_libs) $(mpi_libs)
TESTS += tests/allocations

# A corpus of any size made of a small one, for measuring. Built by "make tests/grow".
EXTRA_PROGRAMS += tests/grow
tests_grow_SOURCES = %D%/grow.c
tests_grow_LDADD = $(data_libs) $(base_libs) -lm

# Corpora from a local web server to shards, and everything that can be wrong with them.
check_PROGRAMS += tests/http_server
tests_http_server_SOURCES = %D%/http_server.c
# Home, data, compare, samples: their screens, and a way through them by keys.
dist_check_SCRIPTS += %D%/screens_views.sh %D%/journey.sh
TESTS += %D%/screens_views.sh %D%/journey.sh

dist_check_SCRIPTS += %D%/plan.sh %D%/spread.sh %D%/ranks.sh
TESTS += %D%/plan.sh %D%/spread.sh %D%/ranks.sh
dist_check_SCRIPTS += %D%/prep.sh %D%/stages.sh %D%/prep_kill.sh %D%/fetch.sh
TESTS += %D%/prep.sh %D%/stages.sh %D%/prep_kill.sh %D%/fetch.sh

# Many hosts on one machine.
EXTRA_DIST += %D%/lab.sh %D%/lab_runs.sh %D%/helpers.sh %D%/throttle.sh
dist_check_SCRIPTS += %D%/hosts.sh %D%/faults.sh
TESTS += %D%/hosts.sh %D%/faults.sh

# Hosts that a script plays: no root, no sshd.
dist_check_SCRIPTS += %D%/hosts_fake.sh
TESTS += %D%/hosts_fake.sh
# A live run: its supervisor, its terminal, crashes, batch jobs.
dist_check_SCRIPTS += %D%/launch.sh
TESTS += %D%/launch.sh

# What reductions between ranks cost: mpirun -n 2 tests/bench_reduce. Built by "make tests/bench_reduce".
EXTRA_PROGRAMS += tests/bench_reduce
tests_bench_reduce_SOURCES = %D%/bench_reduce.c
tests_bench_reduce_LDADD = $(train_libs) $(mpi_libs)
# What this machine has.
dist_check_SCRIPTS += %D%/doctor.sh
TESTS += %D%/doctor.sh
# Manual pages, completion: what tables and hands made of them.
dist_check_SCRIPTS += %D%/manual.sh %D%/complete.sh
TESTS += %D%/manual.sh %D%/complete.sh
# Installed somewhere, moved elsewhere, removed again.
dist_check_SCRIPTS += %D%/install.sh
TESTS += %D%/install.sh
# What the tutorial tells to type.
EXTRA_DIST += %D%/peers/aarch64.sh
dist_check_SCRIPTS += %D%/tutorial.sh
TESTS += %D%/tutorial.sh
# A training that begins with another's weights.
dist_check_SCRIPTS += %D%/train_on.sh
TESTS += %D%/train_on.sh
# What a run recorded, for other programs, and their logs as runs.
dist_check_SCRIPTS += %D%/interop.sh
TESTS += %D%/interop.sh
EXTRA_DIST += %D%/peers/prometheus_read.py

# What the workbench costs: tests/bench_tui. Built by "make tests/bench_tui".
EXTRA_PROGRAMS += tests/bench_tui
tests_bench_tui_SOURCES = %D%/bench_tui.c %D%/bench.c %D%/bench.h
tests_bench_tui_LDADD = libtui.a libdata.a $(PCRE2_LIBS) $(ICU_LIBS) $(base_libs) $(CURSES_LIBS)

# The views of the run on small and large terminals, from a made-up journal.
dist_check_SCRIPTS += %D%/screens_plots.sh
EXTRA_DIST += %D%/fleet_journal.awk
TESTS += %D%/screens_plots.sh
