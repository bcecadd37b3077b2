# eval/server: the command serve: translation over HTTP.
# Enter at server.h, which says which process does what; http_request.h reads HTTP, server_api.h has the interfaces.
# May use: share, data/judge, data/text, data/words, eval/document.
libeval_a_SOURCES += \
	%D%/connection.c %D%/connection.h %D%/decoder_link.c %D%/decoder_link.h %D%/deepl_api.c %D%/detect_api.c \
	%D%/file_api.c %D%/form_json.c %D%/form_json.h %D%/http_request.c %D%/http_request.h \
	%D%/libre_api.c %D%/server.c %D%/server.h %D%/server_api.c %D%/server_api.h \
	%D%/server_files.c %D%/server_files.h \
	%D%/server_keys.c %D%/server_keys.h %D%/server_listen.c %D%/server_listen.h \
	%D%/server_loop.c %D%/server_loop.h %D%/server_metrics.c %D%/server_metrics.h %D%/server_page.c \
	%D%/text_layout.c %D%/text_layout.h %D%/translation_queue.c %D%/translation_queue.h

# The page for browsers, built into the program.
page_files = %D%/page/index.html %D%/page/script.js %D%/page/style.css
%D%/page_files.h: share/embed.sh $(page_files)
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)(cd $(srcdir) && sh share/embed.sh page_files $(page_files)) >$@.tmp && mv $@.tmp $@
nodist_libeval_a_SOURCES = %D%/page_files.h
%D%/libeval_a-server_page.$(OBJEXT): %D%/page_files.h
BUILT_SOURCES += %D%/page_files.h
CLEANFILES += %D%/page_files.h
EXTRA_DIST += $(page_files)
