# tests/train: the model, checkpoints, ranks (threads of one process, or MPI), telemetry, records.
# small_*.h make models, checkpoints and runs for other tests; rig.c sets up a step for benches.
# May use: train, kernels, data, share.
test_sources += \
	%D%/t_average.c %D%/t_ckpt.c %D%/t_comm.c %D%/t_ema.c %D%/t_format.c %D%/t_frozen.c %D%/t_heartbeat.c %D%/t_host.c \
	%D%/t_learning.c %D%/t_leftover.c %D%/t_link_speed.c %D%/t_metric_sinks.c %D%/t_model.c %D%/t_network.c %D%/t_openseq2seq.c \
	%D%/t_optimizer.c %D%/t_passes.c %D%/t_pytorch.c %D%/t_ranks.c %D%/t_schedule.c %D%/t_sparse.c %D%/t_synced.c %D%/t_telemetry.c %D%/t_time.c %D%/t_tensorboard.c %D%/t_resplit.c %D%/t_train.c %D%/fake_ranks.c \
	%D%/fake_ranks.h %D%/model_words.h %D%/sharp_model.h %D%/small_ckpt.h %D%/small_model.h %D%/small_run.h
dist_check_SCRIPTS += %D%/spread.sh %D%/processor_level.sh %D%/ranks.sh %D%/train_on.sh %D%/tune.sh
TESTS += %D%/spread.sh %D%/train_on.sh %D%/tune.sh
long_tests += %D%/processor_level.sh %D%/ranks.sh

# A library like NVIDIA's management library, in two versions.
check_PROGRAMS += tests/fake_nvml.so tests/fake_nvml_old.so
tests_fake_nvml_so_SOURCES = %D%/fake_nvml.c
tests_fake_nvml_so_CFLAGS = -std=gnu11 -fPIC $(WARN_FLAGS)
tests_fake_nvml_so_LDFLAGS = -shared
tests_fake_nvml_old_so_SOURCES = %D%/fake_nvml.c
tests_fake_nvml_old_so_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_OLD
tests_fake_nvml_old_so_CFLAGS = $(tests_fake_nvml_so_CFLAGS)
tests_fake_nvml_old_so_LDFLAGS = -shared

# No allocation after the first step.
check_PROGRAMS += tests/allocations
tests_allocations_SOURCES = %D%/allocations.c %D%/rig.c %D%/rig.h
tests_allocations_LDADD = $(train_libs) $(mpi_libs)
TESTS += tests/allocations

# The loss of every step; beside tests/peers/pytorch_curve.py. Built by "make tests/train_curve".
EXTRA_PROGRAMS += tests/train_curve
tests_train_curve_SOURCES = %D%/train_curve.c tests/bench/bench.c tests/bench/bench.h %D%/model_words.h %D%/rig.c %D%/rig.h
tests_train_curve_LDADD = $(train_libs) $(mpi_libs)
