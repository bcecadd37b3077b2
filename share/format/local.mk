# share/format: formats of files that more than one program writes or reads: JSON, protobuf, SVG plots, versions of formats, names of languages.
# Enter at json.h and format_version.h.
# May use: share/base.
libbase_a_SOURCES += \
	%D%/document_kind.c %D%/document_kind.h %D%/format_version.c %D%/format_version.h %D%/json.c %D%/json.h %D%/json_read.c %D%/proto.c %D%/proto.h \
	%D%/language_name.c %D%/language_name.h %D%/language_names.def %D%/svg_plot.c %D%/svg_plot.h
