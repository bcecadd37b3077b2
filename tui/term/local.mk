# tui/term: the terminal and its cells: grids, layout, keys, themes, the line editor, lists.
# Enter at grid.h (cells) and term.h (the only interface to curses).
# May use: share.
libtui_a_SOURCES += \
	%D%/actions.def %D%/draw.c %D%/draw.h %D%/edit.c %D%/edit.h %D%/edit_draw.c \
	%D%/edit_internal.h %D%/fuzzy.c %D%/fuzzy.h %D%/grid.c %D%/grid.h %D%/keys.c %D%/keys.h \
	%D%/layout.c %D%/layout.h %D%/layout_borders.c %D%/layout_borders.h %D%/list_widget.c %D%/list_widget.h \
	%D%/picture.c %D%/picture.h %D%/picture_code.c %D%/picture_code.h %D%/reaction.h %D%/settings.c %D%/settings.h %D%/term.h \
	%D%/theme.c %D%/theme.h %D%/theme_builtin.c
if HAVE_CURSES
libtui_a_SOURCES += %D%/term.c %D%/term_ground.c %D%/term_notice.c %D%/term_picture.c %D%/term_read.c %D%/term_internal.h
else
libtui_a_SOURCES += %D%/term_none.c
endif
