# eval/document: documents and mark-up: what is to be translated in them, and how it is written back.
# Enter at markup.h (inline mark-up of a segment) and document.h (files of several formats).
# May use: data/text, data/bilingual, eval/exchange (ZIP), share.
libeval_a_SOURCES += \
	%D%/markup.c %D%/markup.h %D%/markup_internal.h %D%/markup_place.c %D%/markup_rules.c %D%/markup_runs.c \
	%D%/references.c %D%/references.def %D%/references.h
