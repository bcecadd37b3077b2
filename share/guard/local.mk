# share/guard: limits of what foreign bytes can do: the sandbox of a process, and text that is safe on a terminal.
# Enter at sandbox.h and terminal_text.h. libseccomp is used in sandbox_calls.c alone.
# May use: share/base.
libbase_a_SOURCES += \
	%D%/sandbox.c %D%/sandbox.h %D%/sandbox_calls.c %D%/sandbox_child.c %D%/sandbox_child.h %D%/terminal_text.c \
	%D%/terminal_text.h
