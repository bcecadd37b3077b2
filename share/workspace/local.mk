# share/workspace: folders of a workspace: where they are, names in them, locks, the journal of a run and how the run ended.
# Enter at paths.h and journal.h.
# May use: share/base, share/format.
libbase_a_SOURCES += \
	%D%/journal.c %D%/journal.h %D%/lock_file.c %D%/lock_file.h %D%/model_files.h %D%/paths.c %D%/paths.h %D%/run_end.c \
	%D%/run_end.h %D%/run_lease.c %D%/run_lease.h %D%/workspace_names.c %D%/workspace_names.h
