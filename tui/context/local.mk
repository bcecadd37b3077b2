# tui/context: what views use: the context of the workbench, the interface of a view, jobs, questions, data of forms.
# Enter at app_context.h (what a view reads and requests) and view.h (what a view is).
# May use: tui/run, tui/term, data/text, share.
libtui_a_SOURCES += \
	%D%/app_context.c %D%/app_context.h %D%/completion_names.c %D%/completion_names.h %D%/form_forecast.c %D%/form_forecast.h %D%/jobs.c %D%/jobs.h \
	%D%/line_history.c %D%/line_history.h %D%/next_steps.c %D%/next_steps.h %D%/path_completion.c %D%/path_completion.h %D%/prompt.c %D%/prompt.h \
	%D%/run_requests.c %D%/run_requests.h %D%/saved_state.c %D%/saved_state.h %D%/tabs.def %D%/view.c %D%/view.h %D%/view_requests.h \
	%D%/wizard.c %D%/wizard.h
