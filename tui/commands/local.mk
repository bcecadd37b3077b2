# tui/commands: the commands of the program werkbank: the workbench itself, and runs, samples and status as text.
# Enter at commands.h.
# May use: tui/app, tui/context, tui/run, share.
libtui_a_SOURCES += \
	%D%/commands.c %D%/commands.h %D%/text_command_watch.c %D%/text_commands.c %D%/text_commands.h \
	%D%/watch_address.c %D%/watch_address.h
