# tests/tui: the workbench: cells, keys, plots, views, the console; screens must equal tests/golden.
# terminal.sh, terminals.sh, console.sh and journey.sh play a real terminal by tmux; fake_eval is a translator for them.
# picture_terminal answers questions about pictures. slow_line.sh presses keys on a throttled line; in check-long, because a busy machine answers late.
# May use: tui, data, share.
test_sources += \
	%D%/played_workbench.c %D%/played_workbench.h %D%/t_app_states.c %D%/t_console.c %D%/t_document.c %D%/t_edit.c %D%/t_fleet.c %D%/t_fleet_health.c %D%/t_home.c %D%/t_layout.c %D%/t_next_steps.c %D%/t_palette.c %D%/t_picture.c %D%/t_plot.c %D%/t_prompt.c %D%/t_service.c %D%/t_theme.c \
	%D%/t_translate_panes.c %D%/t_tui.c %D%/t_views.c %D%/t_wizard.c %D%/t_workbench.c %D%/t_workspace_index.c
dist_check_SCRIPTS += %D%/screens_translate.sh %D%/console.sh %D%/screens.sh %D%/terminal.sh %D%/terminals.sh %D%/screens_views.sh %D%/journey.sh %D%/screens_plots.sh %D%/slow_line.sh %D%/pictures.sh %D%/health.sh
TESTS += %D%/screens_translate.sh %D%/console.sh %D%/screens.sh %D%/terminal.sh %D%/terminals.sh %D%/screens_views.sh %D%/journey.sh %D%/screens_plots.sh %D%/pictures.sh %D%/health.sh
long_tests += %D%/slow_line.sh
EXTRA_DIST += %D%/fleet_journal.awk
check_PROGRAMS += tests/fake_eval
tests_fake_eval_SOURCES = %D%/fake_eval.c
tests_fake_eval_LDADD = $(base_libs) -lm

# Answers to keys over a slow line.
check_PROGRAMS += tests/slow_line
tests_slow_line_SOURCES = %D%/slow_line.c
tests_slow_line_LDADD = $(base_libs) -lm

# A terminal that answers questions about pictures.
check_PROGRAMS += tests/picture_terminal
tests_picture_terminal_SOURCES = %D%/picture_terminal.c
tests_picture_terminal_LDADD = $(base_libs) -lm
