# tests/gpu: the first hour on a real GPU: tests, measurements and comparisons on a machine that can build nothing.
# Enter at hour.sh, which runs there; pack.sh makes the folder that is carried there. share/doc/gpu/first-hour.md tells how to use both.
# May use: the programs of tests/bench and tests/kernels.
# sass.sh looks at the machine code of kernels, in a build with CUDA; hour_pack.sh tests hour.sh with stubs of the programs.
EXTRA_DIST += %D%/hour.sh %D%/hour_pack.sh %D%/pack.sh %D%/sass.sh %D%/kernel_names.sed share/doc/gpu/first-hour.md
TESTS += %D%/hour_pack.sh
long_tests += %D%/sass.sh

# The tests of tests/kernels that use a GPU, with few libraries.
EXTRA_PROGRAMS += tests/gpu_run
gpu_run_tests = tests/kernels/t_cuda_decode.c tests/kernels/t_cuda_model.c tests/kernels/t_cuda_product.c tests/kernels/t_ops.c
tests_gpu_run_SOURCES = tests/test.c tests/test.h tests/train/small_model.h tests/kernels/ops_run.c tests/kernels/ops_run.h \
	tests/kernels/ops_list.c tests/kernels/ops_list.h $(gpu_run_tests)
nodist_tests_gpu_run_SOURCES = %D%/list.h
tests_gpu_run_CPPFLAGS = $(AM_CPPFLAGS) -I. -DTEST_LIST='"tests/gpu/list.h"'
tests_gpu_run_LDADD = libeval.a $(train_libs) $(mpi_libs)
%D%/list.h: $(gpu_run_tests) $(srcdir)/%D%/local.mk
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)sed -n 's/^\(TEST([a-z0-9_]*)\).*/\1/p' $^ | grep -E '\((cuda_|ops_cuda)' | LC_ALL=C sort >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += %D%/list.h
tests/gpu_run-test.$(OBJEXT): %D%/list.h
CLEANFILES += %D%/list.h

# The benches with the simulated GPU, for rehearsals: pack.sh --simulated.
if HAVE_CXX
EXTRA_PROGRAMS += tests/cudasim/bench_ops tests/cudasim/bench_train tests/cudasim/bench_decode
sim_bench_flags = -I$(top_srcdir)/tests/cudasim $(AM_CPPFLAGS) -DCUDA_PARTIAL
sim_bench_libs = $(cuda_sim_libs) libeval.a $(train_libs) tests/cudasim/libcudasim.a $(mpi_libs)
tests_cudasim_bench_ops_SOURCES = $(tests_bench_ops_SOURCES) $(cuda_sim_program)
nodist_EXTRA_tests_cudasim_bench_ops_SOURCES = tests/cudasim/runtime.cc	# linked as C++
tests_cudasim_bench_ops_CPPFLAGS = $(sim_bench_flags)
tests_cudasim_bench_ops_CFLAGS = $(tests_bench_ops_CFLAGS)
tests_cudasim_bench_ops_LDADD = $(sim_bench_libs)
tests_cudasim_bench_train_SOURCES = $(tests_bench_train_SOURCES) $(cuda_sim_program)
nodist_EXTRA_tests_cudasim_bench_train_SOURCES = tests/cudasim/runtime.cc
tests_cudasim_bench_train_CPPFLAGS = $(sim_bench_flags)
tests_cudasim_bench_train_CFLAGS = $(tests_bench_train_CFLAGS)
tests_cudasim_bench_train_LDADD = $(sim_bench_libs)
tests_cudasim_bench_decode_SOURCES = $(tests_bench_decode_SOURCES) $(cuda_sim_program)
nodist_EXTRA_tests_cudasim_bench_decode_SOURCES = tests/cudasim/runtime.cc
tests_cudasim_bench_decode_CPPFLAGS = $(sim_bench_flags)
tests_cudasim_bench_decode_LDADD = $(sim_bench_libs)
endif
