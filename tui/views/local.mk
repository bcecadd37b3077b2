# tui/views: the other tabs, one view_*.c each, and the panes that they draw.
# Enter at tui/context/tabs.def: it names the const struct view that each view_*.c exports.
# May use: the rooms of tui except tui/overlay, tui/app and tui/commands, data, share.
libtui_a_SOURCES += \
	%D%/compare_plot.c %D%/compare_plot.h %D%/csv_export.c %D%/csv_export.h %D%/data_lists.c %D%/data_pairs.c %D%/data_panes.c %D%/data_panes.h %D%/data_repeats.c %D%/data_trial.c \
	%D%/home_forms.c %D%/home_forms.h %D%/home_preview.c %D%/home_preview.h %D%/home_rows.c %D%/home_rows.h %D%/home_runs.c %D%/home_runs.h %D%/hosts_events.c %D%/hosts_panes.c %D%/hosts_panes.h %D%/hosts_table.c \
	%D%/run_comparison.c %D%/run_comparison.h %D%/run_panes.c %D%/run_panes.h \
	%D%/run_layouts.c %D%/run_layouts.h %D%/run_ops.c %D%/run_plots.c %D%/sample_text.c %D%/sample_text.h %D%/samples_attention.c %D%/samples_attention.h %D%/svg_export.c %D%/svg_export.h %D%/view_compare.c %D%/view_data.c %D%/view_home.c %D%/view_hosts.c \
	%D%/view_log.c %D%/view_report.c %D%/view_run.c %D%/view_samples.c %D%/view_settings.c %D%/views.h
