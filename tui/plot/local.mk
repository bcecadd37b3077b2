# tui/plot: line plots and stacked areas in character cells: series, axes, zoom and cursor.
# Enter at plot.h (drawing) and series.h (decimated data).
# May use: tui/term, share.
libtui_a_SOURCES += \
	%D%/plot.c %D%/plot.h %D%/plot_axes.c %D%/plot_internal.h %D%/plot_names.c %D%/plot_picture.c %D%/plot_stack.c \
	%D%/plot_viewport.c %D%/plot_viewport.h %D%/series.c %D%/series.h %D%/series_band.c %D%/series_band.h %D%/sparkline.c %D%/sparkline.h
