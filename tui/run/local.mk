# tui/run: data of a workspace and of a run: journal, hosts, samples, logs, checkpoints, corpora.
# Enter at run_history.h and workspace_index.h.
# May use: tui/plot, tui/term, data, eval/metrics, eval/report, share.
libtui_a_SOURCES += \
	%D%/checkpoints.c %D%/checkpoints.h %D%/contact.c %D%/contact.h %D%/corpus_details.c %D%/corpus_details.h \
	%D%/eval_progress.c %D%/eval_progress.h %D%/fleet.c %D%/fleet.h %D%/fleet_events.c %D%/fleet_events.h %D%/fleet_health.c %D%/fleet_health.h %D%/fleet_time_split.c %D%/log_lines.c %D%/log_lines.h \
	%D%/option_diff.c %D%/option_diff.h %D%/recipes.c %D%/recipes.h %D%/record_fields.c %D%/record_fields.h \
	%D%/run_health.c %D%/run_health.h %D%/run_history.c %D%/run_history.h %D%/run_history_internal.h \
	%D%/run_history_records.c %D%/run_look.c %D%/run_look.h %D%/service_metrics.c %D%/service_metrics.h %D%/sample_history.c %D%/sample_history.h \
	%D%/status.c %D%/status.h %D%/time_split.c %D%/time_split.h \
	%D%/word_diff.c %D%/word_diff.h %D%/workspace_index.c %D%/workspace_index.h
