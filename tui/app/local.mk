# tui/app: the frame of the workbench: loop, tabs, questions, forms, jobs, and the text commands.
# Enter at app.h (the loop) and view.h (the interface of a view).
# May use: tui/run, tui/plot, tui/term, data, share.
libtui_a_SOURCES += \
	%D%/app.c %D%/app.h %D%/app_context.c %D%/app_context.h %D%/app_files.c \
	%D%/app_internal.h %D%/app_keys.c %D%/app_notice.c %D%/app_text.c %D%/app_tour.c %D%/app_turn.c %D%/app_undo.c \
	%D%/commands.c %D%/commands.h %D%/completion_names.c %D%/completion_names.h %D%/frame.c %D%/frame.h %D%/jobs.c %D%/jobs.h \
	%D%/line_history.c %D%/line_history.h %D%/next_steps.c %D%/next_steps.h \
	%D%/palette.c %D%/palette.h %D%/palette_line.c %D%/prompt.c %D%/prompt.h %D%/run_requests.c %D%/run_requests.h \
	%D%/saved_state.c %D%/saved_state.h %D%/tabs.def %D%/tour.def \
	%D%/text_command_watch.c %D%/text_commands.c %D%/text_commands.h %D%/view.h \
	%D%/watch_address.c %D%/watch_address.h %D%/view_help.c %D%/view_palette.c %D%/view_requests.h %D%/view_wizard.c %D%/wizard.c %D%/wizard.h
