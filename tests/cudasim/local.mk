# tests/cudasim: the .cu files, compiled by the host compiler for a simulated GPU: "make check-cudasim", part of "make check-long".
# Enter at cuda_runtime.h (what the simulator checks); t_*.c are in tests/cuda_run; mutants.sh tests whether mistakes are noticed.
# May use: everything but NVIDIA's headers.
cuda_sim_headers = \
	%D%/cuda_runtime.h %D%/cublasLt.h %D%/nccl.h %D%/sim.h
cuda_sim_sources = \
	%D%/block.cc %D%/warp.cc %D%/runtime.cc %D%/stream.cc %D%/blas.cc %D%/nccl.cc $(cuda_sim_headers)
cuda_sim_tests = %D%/t_cuda.c %D%/t_cuda_choices.c %D%/t_cuda_memory.c %D%/t_cuda_step.c %D%/t_cuda_graphs.c tests/kernels/t_cuda_model.c tests/kernels/t_cuda_decode.c \
	tests/kernels/t_cuda_product.c %D%/t_sim.cc %D%/t_nccl.c
cuda_sim_includes = -I$(top_srcdir)/%D% -I$(top_srcdir) -I.
cuda_sim_flags = -std=gnu++17 $(cuda_sim_includes) -D_GNU_SOURCE $(ASSERT_FLAGS) -DCUDA_PARTIAL $(DEFS) \
	-O2 -g -fno-strict-aliasing -Wall -Wextra -Wno-unknown-warning-option -Wshadow=local -Wno-unknown-pragmas $(HARDENING_CFLAGS) $(SAN_FLAGS)
EXTRA_DIST += $(cuda_sim_sources) $(cuda_sim_tests) tests/cudasim/mutants.sh tests/cudasim/gpu_table.sh tests/cudasim/cuda_train.sh share/doc/gpu/kernels.md \
	share/doc/gpu/roofs.md share/doc/gpu/decoding.md

if HAVE_CXX
EXTRA_PROGRAMS += tests/cuda_run
long_programs += tests/cuda_run
tests_cuda_run_SOURCES = tests/test.c tests/test.h tests/kernels/ops_run.c tests/kernels/ops_run.h tests/kernels/ops_list.c \
	tests/kernels/ops_list.h tests/train/small_model.h kernels/cuda/cuda_table.c $(nccl_sources) \
	tests/train/fake_ranks.c tests/train/fake_ranks.h %D%/ranks.c %D%/ranks.h $(cuda_sim_sources) $(cuda_sim_tests)
nodist_tests_cuda_run_SOURCES = %D%/list.h
tests_cuda_run_CPPFLAGS = -I$(top_srcdir)/%D% $(AM_CPPFLAGS) -I. -DCUDA_PARTIAL \
	-DCUDA_SIMULATED -DTEST_LIST='"tests/cudasim/list.h"'
tests_cuda_run_CXXFLAGS = $(cuda_sim_flags)
tests_cuda_run_LDADD = $(cuda_sources:.cu=.simo) libeval.a $(train_libs) $(mpi_libs)
long_tests += tests/cuda_run

# The programs with the simulated GPU, for tests/cudasim/cuda_train.sh.
long_tests += %D%/cuda_train.sh
EXTRA_LIBRARIES = %D%/libcudasim.a
tests_cudasim_libcudasim_a_SOURCES = $(cuda_sim_sources)
tests_cudasim_libcudasim_a_CXXFLAGS = $(cuda_sim_flags)
EXTRA_PROGRAMS += %D%/werkbank-train %D%/werkbank-eval
long_programs += %D%/werkbank-train %D%/werkbank-eval
cuda_sim_program = kernels/cuda/cuda_table.c $(nccl_sources)
# Before all libraries: with CUDA configured, libkernels.a holds the real GPU's functions of the same names.
cuda_sim_libs = $(cuda_sources:.cu=.simo) %D%/libcudasim.a
tests_cudasim_werkbank_train_SOURCES = $(werkbank_train_SOURCES) $(cuda_sim_program)
nodist_EXTRA_tests_cudasim_werkbank_train_SOURCES = %D%/runtime.cc	# linked as C++
tests_cudasim_werkbank_train_CPPFLAGS = -I$(top_srcdir)/%D% $(AM_CPPFLAGS) -DCUDA_PARTIAL
tests_cudasim_werkbank_train_LDADD = $(cuda_sim_libs) $(train_libs) %D%/libcudasim.a $(mpi_libs)
tests_cudasim_werkbank_eval_SOURCES = eval/main.c $(cuda_sim_program)
nodist_EXTRA_tests_cudasim_werkbank_eval_SOURCES = %D%/runtime.cc
tests_cudasim_werkbank_eval_CPPFLAGS = -I$(top_srcdir)/%D% $(AM_CPPFLAGS) -DCUDA_PARTIAL
tests_cudasim_werkbank_eval_LDADD = $(cuda_sim_libs) libeval.a $(train_libs) %D%/libcudasim.a $(mpi_libs)

%D%/list.h: $(cuda_sim_tests) $(srcdir)/%D%/local.mk
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)sed -n 's/^\(TEST([a-z0-9_]*)\).*/\1/p' $^ | LC_ALL=C sort >$@.tmp && mv $@.tmp $@
BUILT_SOURCES += %D%/list.h
tests/cuda_run-test.$(OBJEXT): %D%/list.h
CLEANFILES += %D%/list.h $(cuda_sources:.cu=.simo)

SUFFIXES += .simo
.cu.simo:
	@$(MKDIR_P) $(@D)
	$(AM_V_CXX)$(CXX) $(cuda_sim_flags) -x c++ -c -o $@ $<
$(cuda_sources:.cu=.simo): $(cuda_headers) $(cuda_sim_headers) $(srcdir)/kernels/ops/ops.def

check-cudasim: tests/cuda_run %D%/werkbank-train %D%/werkbank-eval $(bin_PROGRAMS)
	srcdir=$(srcdir) ./tests/cuda_run
	WERKBANK_SHARE="$(abs_top_srcdir)/share" sh $(srcdir)/tests/cudasim/cuda_train.sh
# Mutation test, mutants.sh: takes more than half an hour.
check-mutants: tests/cuda_run
	COMPILE='$(CXX) -std=gnu++17 -D_GNU_SOURCE -DCUDA_PARTIAL $(DEFS) -w -x c++ -c' \
	COMPILE_MORE='$(cuda_sim_includes)' \
	COMPILE_C='$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -w -c' \
	LINK='$(CXX) $(AM_LDFLAGS) $(LDFLAGS) -o @OUT@ $(tests_cuda_run_OBJECTS) $(tests_cuda_run_LDADD) $(LIBS)' \
	srcdir=$(srcdir) ONLY='$(ONLY)' PART='$(PART)' KEPT='$(KEPT)' sh $(srcdir)/tests/cudasim/mutants.sh
else
check-cudasim:
	@echo "the simulated GPU needs a C++ compiler"; exit 1
endif
.PHONY: check-cudasim check-mutants
