# tui/translate: the translate console: a translator as a child process, its requests, the tab.
# Enter at service.h (the child process) and translate_console.h (the state of the console).
# May use: data/text, tui/context, tui/run, tui/term, share.
libtui_a_SOURCES += \
	%D%/attention_map.c %D%/attention_map.h %D%/document.c %D%/document.h %D%/document_actions.c %D%/document_actions.h %D%/glossary.c %D%/glossary.h %D%/service.c %D%/service.h %D%/service_answer.c %D%/service_words.c \
	%D%/translate_command.c %D%/translate_command.h \
	%D%/translate_console.c %D%/translate_console.h %D%/translate_console_files.c %D%/translate_console_update.c \
	%D%/translate_console_lists.c %D%/translate_console_lists.h \
	%D%/translate_undo.c %D%/translate_undo.h %D%/translate_desk.c %D%/translate_desk.h \
	%D%/translate_console_layout.c %D%/translate_console_panes.c %D%/translate_console_panes.h \
	%D%/translate_console_words.c %D%/translate_console_words.h \
	%D%/translate_choices.c %D%/translate_file.c %D%/translate_file.h \
	%D%/translate_mouse.c %D%/translate_questions.c %D%/translate_revision.c %D%/typed_texts.c %D%/typed_texts.h %D%/translate_view.h %D%/view_translate.c
