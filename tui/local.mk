# tui: the workbench on a terminal, and the program werkbank, which starts every command.
# Enter at main.c and commands/commands.h.
noinst_LIBRARIES += libtui.a
libtui_a_SOURCES =
include %D%/term/local.mk
include %D%/plot/local.mk
include %D%/run/local.mk
include %D%/context/local.mk
include %D%/overlay/local.mk
include %D%/translate/local.mk
include %D%/views/local.mk
include %D%/app/local.mk
include %D%/commands/local.mk
libtui_a_CPPFLAGS = $(AM_CPPFLAGS) $(CURSES_CFLAGS)

bin_PROGRAMS += werkbank
werkbank_SOURCES = %D%/main.c
werkbank_LDADD = libtui.a libeval.a libtrain.a libcommon.a libdata.a $(PCRE2_LIBS) $(ICU_LIBS) $(base_libs) $(CURSES_LIBS)

# Manual pages: the program writes those of commands and recipes from its tables of options and
# commands. The pages of file formats are written by hand.
dist_man5_MANS = share/man/werkbank-checkpoint.5 share/man/werkbank-corpus.5 \
	share/man/werkbank-journal.5 share/man/werkbank-manifest.5 share/man/werkbank-run.5 \
	share/man/werkbank-shard.5 share/man/werkbank-workbench.5 share/man/werkbank-weights.5
dist_man7_MANS = share/man/werkbank.7 share/man/werkbank-report.7 share/man/werkbank-serve.7 share/man/werkbank-signals.7
man1dir = $(mandir)/man1
commands = `sed -n 's/^CMD("\([a-z][^"]*\)".*/\1/p' $(srcdir)/share/conf/commands.def`
if CAN_RUN
all-local: man/stamp
# man finds the pages if the build folder is in $PATH: man/man1, man5 and man7 are links.
man/stamp: werkbank$(EXEEXT)
	@rm -rf man && $(MKDIR_P) man
	$(AM_V_GEN)./werkbank _man >man/werkbank.1 && ./werkbank _man recipe >man/werkbank-recipe.5 && \
	for command in $(commands); do \
		./werkbank _man $$command >man/werkbank-$$command.1 || exit 1; \
	done && $(MKDIR_P) man/man1 man/man5 man/man7 && \
	for page in man/*.[15]; do $(LN_S) "../$${page#man/}" "man/man$${page##*.}/" || exit 1; done && \
	for page in $(dist_man5_MANS) $(dist_man7_MANS); do \
		$(LN_S) "`cd $(srcdir) && pwd`/$$page" "man/man$${page##*.}/" || exit 1; \
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
CLEANFILES += man/*.1 man/*.5 man/man[157]/* man/stamp completion/werkbank completion/_werkbank \
	completion/werkbank.fish

completion/werkbank: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _completion bash >$@.tmp && mv $@.tmp $@
completion/_werkbank: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _completion zsh >$@.tmp && mv $@.tmp $@
completion/werkbank.fish: werkbank$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && ./werkbank _completion fish >$@.tmp && mv $@.tmp $@
endif
