# tests/amxsim: Intel's AMX tiles in plain C, and the CPU backend compiled for them: the same sources, on every processor.
# Enter at amxsim.h; t_amxsim.c tests the simulator and the ops, mutants.sh tests whether mistakes are noticed.
# May use: kernels, train, share.
test_sources += %D%/t_amxsim.c %D%/amxsim.c %D%/amxsim.h

# The machine levels "sim" and "sim_v4": the vector code with simulated tiles, plain and with AVX-512.
amxsim_flags = -include tests/amxsim/amxsim.h
check_LIBRARIES = %D%/libkernels_sim.a
tests_amxsim_libkernels_sim_a_SOURCES = $(cpu_vector_sources)
tests_amxsim_libkernels_sim_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_VARIANT=sim $(amxsim_flags)
tests_amxsim_libkernels_sim_a_CFLAGS = $(cpu_vector_flags)
amxsim_libs = %D%/libkernels_sim.a
if HAVE_VECTOR_VARIANTS
check_LIBRARIES += %D%/libkernels_sim_v4.a
tests_amxsim_libkernels_sim_v4_a_SOURCES = $(cpu_vector_sources)
tests_amxsim_libkernels_sim_v4_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPU_VARIANT=sim_v4 $(amxsim_flags)
tests_amxsim_libkernels_sim_v4_a_CFLAGS = $(libkernels_v4_a_CFLAGS)
amxsim_libs += %D%/libkernels_sim_v4.a
endif

# Mutation test, mutants.sh: takes some minutes.
check-amx-mutants: tests/run
	COMPILE_WITH='$(CC)' COMPILE='$(DEFS) $(DEFAULT_INCLUDES) $(tests_amxsim_libkernels_sim_a_CPPFLAGS) $(CPPFLAGS) $(cpu_vector_flags) $(CFLAGS) -w -c' \
	LINK='$(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o @OUT@ $(tests_run_OBJECTS) $(tests_run_LDADD) $(LIBS)' \
	srcdir=$(srcdir) ONLY='$(ONLY)' sh $(srcdir)/%D%/mutants.sh
.PHONY: check-amx-mutants
EXTRA_DIST += %D%/mutants.sh
