# data/source: the raw texts of a corpus: manifests, downloads, archives, receipts, decompression, progress.
# Enter at texts.h (all texts of a recipe), then obtain.h (verified archives) and fetch.h (resumable downloads).
# May use: data/text, data/demo, share.
libdata_a_SOURCES += \
	%D%/archive.c %D%/archive.h %D%/bars.c %D%/bars.h %D%/corpus.c %D%/corpus.h \
	%D%/fetch.c %D%/fetch.h %D%/fetch_part.c %D%/fetch_part.h \
	%D%/fetch_transfer.c %D%/fetch_transfer.h %D%/gunzip.c %D%/gunzip.h \
	%D%/manifest.c %D%/manifest.h %D%/manifest_internal.h %D%/manifest_parse.c %D%/manifest_read.c %D%/obtain.c %D%/obtain.h %D%/progress.c %D%/progress.h \
	%D%/progress_file.c %D%/receipt.c %D%/receipt.h %D%/unpacker.c %D%/unpacker.h %D%/text_format.c %D%/text_format.h %D%/texts.c %D%/texts.h \
	%D%/texts_demo.c %D%/texts_split.c %D%/texts_split.h
