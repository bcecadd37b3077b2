# train/launch/plan: predictions: step time, efficiency and cost for other numbers of hosts, links and options.
# Enter at plan.h.
# May use: train/common, share.
liblaunch_a_SOURCES += \
	%D%/plan.c %D%/plan.h %D%/plan_command.c %D%/plan_command.h \
	%D%/plan_grid.c %D%/plan_grid.h %D%/plan_run.c %D%/plan_run.h
