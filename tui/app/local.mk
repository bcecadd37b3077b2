# tui/app: the workbench above its views: loop, keys, tabs, theme, messages, undo, hints.
# Enter at app.h; app_internal.h says which file does what.
# May use: every other room of tui except tui/commands, data/text, share.
libtui_a_SOURCES += \
	%D%/app.c %D%/app.h %D%/app_act.c %D%/app_draw.c %D%/app_files.c %D%/app_internal.h %D%/app_keys.c %D%/app_look.c \
	%D%/app_notice.c %D%/app_tabs.c %D%/app_text.c %D%/app_tour.c %D%/app_turn.c %D%/app_undo.c %D%/frame.c %D%/frame.h \
	%D%/tour.def
