# share/help: what users read of the tables of options and commands: --help, manual pages, completion.
# Enter at help.h; examples.def, manual.def and command_helps.def hold the texts.
# May use: share/base, share/conf.
libbase_a_SOURCES += \
	%D%/command_helps.def %D%/examples.def %D%/help.c %D%/help.h %D%/help_complete.c %D%/help_internal.h %D%/help_man.c %D%/help_texts.c \
	%D%/help_words.c %D%/manual.def
