# tests/faults: calls and allocations that fail, one after the other, in each command.
# swap_folder is another user who replaces folders; tests/program/neighbours.sh starts it.
# injected.sh is the test; fault_run starts a command with fault_shim preloaded, fault_page.h is what both share.
# May use: the built programs only.
dist_check_SCRIPTS += %D%/injected.sh
TESTS += %D%/injected.sh
EXTRA_DIST += %D%/leaks.supp

check_PROGRAMS += tests/fault_run tests/fault_shim.so tests/swap_folder
tests_fault_run_SOURCES = %D%/fault_run.c %D%/fault_page.h
tests_fault_run_LDADD = $(base_libs)
tests_fault_shim_so_SOURCES = %D%/fault_shim.c %D%/fault_page.h
# initial-exec: __tls_get_addr() is one of the functions that a sanitizer hides, and it is not ready that early
tests_fault_shim_so_CFLAGS = -std=gnu11 -fPIC -ftls-model=initial-exec $(WARN_FLAGS)
tests_fault_shim_so_LDFLAGS = -shared
tests_swap_folder_SOURCES = %D%/swap_folder.c
