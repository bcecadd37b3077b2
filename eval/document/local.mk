# eval/document: documents and mark-up: what is to be translated in them, and how it is written back.
# Enter at markup.h (inline mark-up of a segment) and docfile.h (files of several formats).
# May use: data/text, data/bilingual (XML), eval/weights (ZIP), share.
libeval_a_SOURCES += \
	%D%/docfile.c %D%/docfile.h %D%/docfile_zip.c %D%/docfile_zip.h \
	%D%/format_html.c %D%/format_po.c %D%/format_subtitles.c %D%/format_text.c %D%/format_xml.c \
	%D%/markup.c %D%/markup.h %D%/markup_internal.h %D%/markup_markdown.c %D%/markup_place.c %D%/markup_rules.c %D%/markup_runs.c \
	%D%/references.c %D%/references.def %D%/references.h
