# share/base: the base of every program: errors, memory, text, files, JSON, the journal, processes, ordered threads.
# Enter at err.h, mem.h, text.h and file.h. OpenSSL is used in hash.c alone, libseccomp in sandbox_calls.c.
# May use: nothing of the project.
libbase_a_SOURCES += \
	%D%/buf.c %D%/buf.h %D%/clock.c %D%/clock.h %D%/cores.c %D%/cores.h %D%/err.c %D%/err.h %D%/file.c %D%/file.h %D%/file_folder.c %D%/file_internal.h %D%/file_write.c \
	%D%/flow.c %D%/flow.h %D%/format_version.c %D%/format_version.h %D%/hash.c %D%/hash.h %D%/held_output.c %D%/held_output.h %D%/hash_index.c %D%/hash_index.h %D%/journal.c %D%/journal.h \
	%D%/json.c %D%/json.h %D%/json_read.c %D%/line_flow.c %D%/line_flow.h \
	%D%/lock_file.c %D%/lock_file.h %D%/lines.c %D%/lines.h %D%/mem.c %D%/mem.h %D%/number_format.c %D%/number_format.h %D%/paths.c %D%/paths.h \
	%D%/proc.c %D%/proc.h %D%/proto.c %D%/proto.h %D%/rng.h %D%/run_end.c %D%/run_end.h \
	%D%/sandbox.c %D%/sandbox.h %D%/sandbox_calls.c %D%/sandbox_child.c %D%/sandbox_child.h \
	%D%/statistics.c %D%/statistics.h %D%/svg_plot.c %D%/svg_plot.h %D%/terminal_text.c %D%/terminal_text.h %D%/text.c %D%/text.h %D%/util.h \
	%D%/workspace_names.c %D%/workspace_names.h
