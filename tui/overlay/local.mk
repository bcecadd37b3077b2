# tui/overlay: what the workbench shows over a tab: help, palette, form of a command.
# Enter at overlays.h.
# May use: tui/context, tui/term, data/text, share.
libtui_a_SOURCES += \
	%D%/overlays.h %D%/palette.c %D%/palette.h %D%/palette_line.c %D%/view_help.c %D%/view_palette.c %D%/view_wizard.c
