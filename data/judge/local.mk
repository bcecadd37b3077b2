# data/judge: verdicts on the training pairs of a corpus: are they translations, in the right languages, free of rubbish?
# Enter at corpus_judge.h.
# May use: data/text, data/words, share.
libdata_a_SOURCES += \
	%D%/alignment.c %D%/alignment.h %D%/corpus_judge.c %D%/corpus_judge.h %D%/judge_pairs.c %D%/judge_rules.c %D%/judge_rules.h \
	%D%/judged_lines.c %D%/judged_lines.h %D%/language_guess.c %D%/language_guess.h %D%/language_words.def %D%/side_order.c %D%/side_order.h %D%/verdict_text.c \
	%D%/word_marks.c %D%/word_marks.h
