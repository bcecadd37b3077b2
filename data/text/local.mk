# data/text: text of one language: Moses tokenising, detokenising and normalising, rules of cleaning, scripts.
# Enter at tokenize.h and clean.h. PCRE2 is used in rewrite.c alone, ICU in icu.c alone.
# May use: share.
libdata_a_SOURCES += \
	%D%/abbrev.c %D%/abbrev.h %D%/chars.c %D%/chars.h %D%/clean.c %D%/clean.h \
	%D%/detokenize.c %D%/drop_ledger.c %D%/encoding.c %D%/encoding.h %D%/icu.c %D%/icu.h %D%/normalize.c %D%/rewrite.c %D%/rewrite.h \
	%D%/protect.c %D%/protect.h \
	%D%/scripts.c %D%/scripts.h %D%/sentences.c %D%/sentences.h %D%/sgm.c %D%/sgm.h %D%/text_filter.c %D%/text_filter.h \
	%D%/tokenize.c %D%/tokenize.h %D%/tokenize_rules.c %D%/tokenize_rules.h

# Lists of abbreviations, built into the program.
lang_files = share/lang/de.abbreviations share/lang/en.abbreviations
%D%/lang_files.h: share/embed.sh $(lang_files)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)(cd $(srcdir) && sh share/embed.sh lang_files $(lang_files)) >$@.tmp && mv $@.tmp $@
nodist_libdata_a_SOURCES = %D%/lang_files.h
%D%/libdata_a-abbrev.$(OBJEXT): %D%/lang_files.h
BUILT_SOURCES += %D%/lang_files.h
CLEANFILES += %D%/lang_files.h
EXTRA_DIST += share/embed.sh $(lang_files)
