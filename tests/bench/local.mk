# tests/bench: benchmarks; results are ratios to a roof or to a peer in the same run. Not part of make check.
# Enter at bench_ops.c (kernels), bench_train.c (training), bench_decode.c (translation), bench_reduce.c, bench_tui.c.
# May use: everything. "make bench" runs the first two, "make tests/bench_NAME" builds the others.
bench_programs = tests/bench_ops tests/bench_decode
EXTRA_PROGRAMS += $(bench_programs)
tests_bench_ops_SOURCES = %D%/bench_ops.c %D%/bench_ops_options.c %D%/bench_ops_options.h %D%/op_times.c %D%/op_times.h %D%/predicted.c %D%/predicted.h %D%/train_variants.c \
	%D%/train_variants.h $(decode_rig) tests/train/rig.c tests/train/rig.h %D%/bench.c %D%/bench.h \
	%D%/roof.c %D%/roof_device.c %D%/roof.h
tests_bench_ops_CFLAGS = $(AM_CFLAGS) -O3
tests_bench_ops_LDADD = libeval.a $(train_libs) $(mpi_libs)
decode_rig = %D%/decode_rig.c %D%/decode_rig.h
tests_bench_decode_SOURCES = %D%/bench_decode.c %D%/bench_products.c %D%/bench_products.h $(decode_rig)
tests_bench_decode_LDADD = libeval.a $(train_libs) $(mpi_libs)
bench: $(bench_programs)
	@for b in $(bench_programs); do echo "== $$b"; ./$$b || exit 1; done
.PHONY: bench

# Speed of training; tests/peers/pytorch_train.py measures the same with PyTorch.
EXTRA_PROGRAMS += tests/bench_train
tests_bench_train_SOURCES = %D%/bench_train.c %D%/thread_forecast.c %D%/thread_forecast.h %D%/train_variants.c %D%/train_variants.h %D%/bench.c %D%/bench.h tests/train/rig.c tests/train/rig.h %D%/roof.c %D%/roof_device.c %D%/roof.h
tests_bench_train_CFLAGS = $(AM_CFLAGS) -O3
tests_bench_train_LDADD = $(train_libs) $(mpi_libs)

# Cost of reductions between ranks: mpirun -n 2 tests/bench_reduce.
EXTRA_PROGRAMS += tests/bench_reduce
tests_bench_reduce_SOURCES = %D%/bench_reduce.c
tests_bench_reduce_LDADD = $(train_libs) $(mpi_libs)

# Cost of the workbench.
EXTRA_PROGRAMS += tests/bench_tui
tests_bench_tui_SOURCES = %D%/bench_tui.c %D%/bench.c %D%/bench.h
tests_bench_tui_LDADD = libtui.a libeval.a libtrain.a libcommon.a libdata.a $(PCRE2_LIBS) $(ICU_LIBS) $(base_libs) $(CURSES_LIBS)
EXTRA_DIST += %D%/bench_shortlist.sh
