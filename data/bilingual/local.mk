# data/bilingual: files that hold both sides of a text: TMX, XLIFF, PO, CSV and TSV.
# Enter at bilingual.h. expat is used in xml_reader.c alone.
# May use: data/text, share.
libdata_a_SOURCES += \
	%D%/bilingual.c %D%/bilingual.h %D%/bilingual_internal.h %D%/language_tag.c %D%/language_tag.h %D%/po.c \
	%D%/table.c %D%/tmx.c %D%/xliff.c %D%/xml_pairs.c %D%/xml_pairs.h %D%/xml_reader.c %D%/xml_reader.h
