# share/base: the base of every program: errors, memory, text, files, processes, hashes, statistics, ordered threads.
# Enter at err.h, mem.h, text.h and file.h. OpenSSL is used in hash.c alone.
# May use: nothing of the project.
libbase_a_SOURCES += %D%/activation.h %D%/activations.def \
	%D%/base64.c %D%/base64.h %D%/buf.c %D%/buf.h %D%/cgroup.c %D%/cgroup.h %D%/clock.c %D%/clock.h %D%/cores.c %D%/cores.h %D%/crc32c.c %D%/crc32c.h %D%/err.c %D%/err.h %D%/file.c %D%/file.h \
	%D%/file_folder.c %D%/file_internal.h %D%/file_write.c %D%/flow.c %D%/flow.h %D%/hash.c %D%/hash.h \
	%D%/hash_index.c %D%/hash_index.h %D%/held_output.c %D%/held_output.h %D%/line_flow.c %D%/line_flow.h \
	%D%/lines.c %D%/lines.h %D%/mem.c %D%/mem.h %D%/number_format.c %D%/number_format.h %D%/proc.c %D%/proc.h \
	%D%/rng.h %D%/statistics.c %D%/statistics.h %D%/text.c %D%/text.h %D%/util.h
