# share/conf: options and commands as tables, the parser of command lines and recipes, the sandbox of a command.
# Enter at conf.h; options.def and commands.def are the main tables, sizes.def the presets, aliases.def has former names, arch.def the facts of a model, text_facts.def what a corpus says.
# May use: share.
libbase_a_SOURCES += \
	%D%/alias.h %D%/aliases.def %D%/arch.c %D%/arch.def %D%/arch.h %D%/commands.def %D%/conf.c %D%/conf.h %D%/conf_alias.c \
	%D%/conf_exit.c %D%/conf_internal.h %D%/conf_line.c %D%/conf_output.c %D%/conf_recipe.c %D%/conf_rows.c %D%/conf_sandbox.c %D%/conf_size.c \
	%D%/conf_variables.c %D%/export_formats.h %D%/options.def %D%/recipe_pairs.c %D%/recipe_pairs.h %D%/sizes.def %D%/text_facts.c %D%/text_facts.def %D%/text_facts.h %D%/text_sides.c %D%/text_sides.h %D%/variables.def
