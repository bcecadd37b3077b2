# train/launch/tune: the command "tune": a trained model goes on learning from the user's own translations.
# Enter at tune_command.h (the steps); tune_plan.h proposes the options of [train], tune_scores.h compares before and after.
# May use: share.
liblaunch_a_SOURCES += \
	%D%/tune_command.c %D%/tune_command.h %D%/tune_plan.c %D%/tune_plan.h %D%/tune_scores.c %D%/tune_scores.h \
	%D%/tune_steps.c %D%/tune_steps.h
