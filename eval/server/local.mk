# eval/server: the command serve: translation over HTTP.
# Enter at server.h, which says which process does what; http_request.h reads HTTP, server_api.h has the interfaces.
# May use: share.
libeval_a_SOURCES += \
	%D%/connection.c %D%/connection.h %D%/decoder_link.c %D%/decoder_link.h %D%/deepl_api.c \
	%D%/form_json.c %D%/form_json.h %D%/http_request.c %D%/http_request.h \
	%D%/libre_api.c %D%/server.c %D%/server.h %D%/server_api.c %D%/server_api.h \
	%D%/server_keys.c %D%/server_keys.h %D%/server_listen.c %D%/server_listen.h \
	%D%/server_loop.c %D%/server_loop.h %D%/server_metrics.c %D%/server_metrics.h \
	%D%/text_layout.c %D%/text_layout.h %D%/translation_queue.c %D%/translation_queue.h
