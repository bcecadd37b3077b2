# tui: the workbench on a terminal, and the face of every command.
noinst_LIBRARIES += libtui.a
libtui_a_SOURCES = \
	%D%/actions.def \
	%D%/app.c      %D%/app.h \
	%D%/commands.c %D%/commands.h \
	%D%/draw.c     %D%/draw.h \
	%D%/figures.c  %D%/figures.h \
	%D%/grid.c     %D%/grid.h \
	%D%/history.c  %D%/history.h %D%/history_internal.h \
	%D%/history_records.c \
	%D%/keys.c     %D%/keys.h \
	%D%/layout.c   %D%/layout.h \
	%D%/plot.c     %D%/plot.h \
	%D%/run_panes.c %D%/run_panes.h \
	%D%/series.c   %D%/series.h \
	%D%/status.c   %D%/status.h \
	%D%/theme.c    %D%/theme.h \
	%D%/term.h     %D%/view.h \
	%D%/view_help.c %D%/view_run.c

if HAVE_CURSES
libtui_a_SOURCES += %D%/term.c
else
libtui_a_SOURCES += %D%/term_none.c
endif
libtui_a_CPPFLAGS = $(AM_CPPFLAGS) $(CURSES_CFLAGS)

bin_PROGRAMS += werkbank
werkbank_SOURCES = %D%/main.c
werkbank_LDADD = libtui.a $(base_libs) $(CURSES_LIBS)
