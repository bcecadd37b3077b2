# tests/base: errors, memory, text, files, JSON, the journal, threads in order, options and their help.
# Each file tests one room or module of share; all of it is in tests/run.
# May use: share.
test_sources += \
	%D%/t_base.c %D%/t_conf.c %D%/t_conf_rows.c %D%/t_cores.c %D%/t_file.c %D%/t_flow.c %D%/t_hash_index.c %D%/t_journal.c %D%/t_line_flow.c %D%/t_sandbox.c %D%/t_svg_plot.c %D%/t_text_facts.c
