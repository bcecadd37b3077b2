# share/conf: the options and commands of all programs in two tables, and what grows from them: parser, help, manual, completion.
# Enter at conf.h; options.def and commands.def are the tables.
# May use: share.
libbase_a_SOURCES += \
	%D%/alias.h %D%/aliases.def %D%/commands.def %D%/conf.c %D%/conf.h %D%/conf_alias.c \
	%D%/conf_complete.c %D%/conf_help.c \
	%D%/conf_internal.h %D%/conf_line.c %D%/conf_man.c %D%/conf_recipe.c %D%/conf_rows.c \
	%D%/conf_texts.c %D%/examples.def %D%/manual.def \
	%D%/options.def
