# eval/report: answers questions about a run from its journal, as text, Markdown, HTML or JSON.
# Enter at evidence.h (the numbers) and answers.h (the questions).
# May use: data/source, train/common, train/model, train/ckpt, train/record, share.
libeval_a_SOURCES += \
	%D%/answer_parts.c %D%/answers.c %D%/answers.h %D%/answers_causes.c %D%/answers_files.c \
	%D%/answers_learning.c \
	%D%/page_next.c %D%/page_one.c %D%/page_one.h \
	%D%/answers_machine.c %D%/answers_model.c %D%/answers_rate.c %D%/answers_tuning.c %D%/evidence.c %D%/evidence.h %D%/report.c %D%/report.h \
	%D%/machine_signs.c %D%/machine_signs.h %D%/model_signs.c %D%/model_signs.h \
	%D%/report_html.c %D%/report_plot.c %D%/report_text.c %D%/samples.c %D%/samples.h %D%/signs.c
