# train/launch/follow: copies a run on another machine into this workspace while it goes on.
# Enter at follow_command.h.
# May use: train/launch/remote, share.
liblaunch_a_SOURCES += \
	%D%/follow_address.c %D%/follow_address.h %D%/follow_command.c %D%/follow_command.h %D%/follow_copy.c \
	%D%/follow_copy.h %D%/follow_files.c %D%/follow_files.h
