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

# What users read, made by the program from its tables of options and commands.
man1_MANS = man/werkbank.1
bashcompletiondir = $(datadir)/bash-completion/completions
nodist_bashcompletion_DATA = completion/werkbank
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_zshcompletion_DATA = completion/_werkbank
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_fishcompletion_DATA = completion/werkbank.fish
CLEANFILES += man/werkbank.1 completion/werkbank completion/_werkbank completion/werkbank.fish

man/werkbank.1: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _man >$@.tmp && mv $@.tmp $@
completion/werkbank: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _completion bash >$@.tmp && mv $@.tmp $@
completion/_werkbank: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _completion zsh >$@.tmp && mv $@.tmp $@
completion/werkbank.fish: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _completion fish >$@.tmp && mv $@.tmp $@
