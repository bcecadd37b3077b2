# tui: the workbench on a terminal, and the face of every command.
noinst_LIBRARIES += libtui.a
libtui_a_SOURCES = \
	%D%/actions.def \
	%D%/batch.c    %D%/batch.h    %D%/batch_watch.c \
	%D%/app.c      %D%/app.h %D%/app_internal.h \
	%D%/app_files.c %D%/app_keys.c %D%/app_text.c %D%/app_turn.c \
	%D%/keep.c     %D%/keep.h \
	%D%/kept_lines.c %D%/kept_lines.h \
	%D%/commands.c %D%/commands.h \
	%D%/contrast.c %D%/contrast.h \
	%D%/places.c   %D%/places.h %D%/names.c %D%/names.h \
	%D%/settings.c %D%/settings.h \
	%D%/sample_book.c %D%/sample_book.h \
	%D%/word_diff.c %D%/word_diff.h \
	%D%/draw.c     %D%/draw.h \
	%D%/edit.c     %D%/edit_draw.c %D%/edit.h %D%/edit_internal.h \
	%D%/figures.c  %D%/figures.h \
	%D%/export.c   %D%/export.h \
	%D%/fleet.c    %D%/fleet.h %D%/fleet_split.c \
	%D%/grid.c     %D%/grid.h \
	%D%/history.c  %D%/history.h %D%/history_internal.h \
	%D%/history_records.c \
	%D%/hosts_panes.c %D%/hosts_panes.h %D%/hosts_table.c \
	%D%/keys.c     %D%/keys.h \
	%D%/layout.c   %D%/layout.h \
	%D%/log_lines.c %D%/log_lines.h \
	%D%/plot.c     %D%/plot.h %D%/plot_axes.c %D%/plot_internal.h %D%/plot_stack.c \
	%D%/run_panes.c %D%/run_panes.h %D%/run_plots.c \
	%D%/series.c   %D%/series.h \
	%D%/service.c  %D%/service_answer.c %D%/service.h \
	%D%/sight.c    %D%/sight.h %D%/split.c %D%/split.h \
	%D%/status.c   %D%/status.h \
	%D%/theme.c    %D%/theme.h \
	%D%/term.h     %D%/view.h \
	%D%/tabs.def   %D%/wizard.h \
	%D%/frame.c    %D%/frame.h \
	%D%/jobs.c     %D%/jobs.h \
	%D%/prompt.c   %D%/prompt.h \
	%D%/wizard.c   %D%/view_wizard.c \
	%D%/world.c    %D%/world.h %D%/wishes.h \
	%D%/view_help.c %D%/view_report.c %D%/view_settings.c
# Each view has its line, so that those who write them do not meet.
libtui_a_SOURCES += %D%/view_home.c %D%/list.c %D%/list.h %D%/steps.c %D%/steps.h \
	%D%/recipes.c %D%/recipes.h
libtui_a_SOURCES += %D%/view_data.c %D%/data_book.c %D%/data_book.h \
	%D%/data_panes.c %D%/data_panes.h %D%/data_lists.c
libtui_a_SOURCES += %D%/view_run.c
libtui_a_SOURCES += %D%/view_hosts.c
libtui_a_SOURCES += %D%/view_compare.c %D%/compare_book.c %D%/compare_book.h
libtui_a_SOURCES += %D%/view_samples.c
libtui_a_SOURCES += %D%/view_translate.c %D%/console.c %D%/console.h \
	%D%/console_panes.c %D%/console_panes.h %D%/console_words.c %D%/console_words.h \
	%D%/checkpoints.c %D%/checkpoints.h %D%/translate_file.c %D%/translate_file.h
libtui_a_SOURCES += %D%/view_log.c

if HAVE_CURSES
libtui_a_SOURCES += %D%/term.c %D%/term_read.c %D%/term_internal.h
else
libtui_a_SOURCES += %D%/term_none.c
endif
libtui_a_CPPFLAGS = $(AM_CPPFLAGS) $(CURSES_CFLAGS)

bin_PROGRAMS += werkbank
werkbank_SOURCES = %D%/main.c
werkbank_LDADD = libtui.a libdata.a $(PCRE2_LIBS) $(ICU_LIBS) $(base_libs) $(CURSES_LIBS)

# What users read, made by the program from its tables of options and commands: a page for all,
# one for each command, one for recipes. Pages of files are written by hand.
dist_man5_MANS = share/man/werkbank-checkpoint.5 share/man/werkbank-corpus.5 \
	share/man/werkbank-journal.5 share/man/werkbank-manifest.5 share/man/werkbank-run.5 \
	share/man/werkbank-shard.5 share/man/werkbank-workbench.5 share/man/werkbank-weights.5
man1dir = $(mandir)/man1
commands = `sed -n 's/^CMD("\([a-z][^"]*\)".*/\1/p' $(srcdir)/share/base/commands.def`
if CAN_RUN
all-local: man/stamp
man/stamp: werkbank$(EXEEXT)
	@rm -rf man && $(MKDIR_P) man
	$(AM_V_GEN)./werkbank _man >man/werkbank.1 && ./werkbank _man recipe >man/werkbank-recipe.5 && \
	for command in $(commands); do \
		./werkbank _man $$command >man/werkbank-$$command.1 || exit 1; \
	done && touch $@
install-data-local: man/stamp
	$(MKDIR_P) "$(DESTDIR)$(man1dir)" "$(DESTDIR)$(man5dir)"
	$(INSTALL_DATA) man/*.1 "$(DESTDIR)$(man1dir)"
	$(INSTALL_DATA) man/*.5 "$(DESTDIR)$(man5dir)"
	cd "$(DESTDIR)$(man1dir)" && rm -f werkbank-launch.1 && $(LN_S) werkbank.1 werkbank-launch.1
uninstall-local:
	rm -f "$(DESTDIR)$(man1dir)/werkbank.1" "$(DESTDIR)$(man5dir)/werkbank-recipe.5"
	for page in launch $(commands); do rm -f "$(DESTDIR)$(man1dir)/werkbank-$$page.1"; done
bashcompletiondir = $(datadir)/bash-completion/completions
nodist_bashcompletion_DATA = completion/werkbank
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_zshcompletion_DATA = completion/_werkbank
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_fishcompletion_DATA = completion/werkbank.fish
CLEANFILES += man/*.1 man/*.5 man/stamp completion/werkbank completion/_werkbank \
	completion/werkbank.fish

completion/werkbank: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _completion bash >$@.tmp && mv $@.tmp $@
completion/_werkbank: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _completion zsh >$@.tmp && mv $@.tmp $@
completion/werkbank.fish: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _completion fish >$@.tmp && mv $@.tmp $@
endif
