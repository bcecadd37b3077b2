/* run_look.h - sign and style of a run's state, the same in every view: never colour alone. */
#ifndef WERKBANK_TUI_RUN_RUN_LOOK_H
#define WERKBANK_TUI_RUN_RUN_LOOK_H

#include "tui/run/run_health.h"
#include "tui/run/run_history.h"
#include "tui/term/grid.h"

struct run_look run_state_look(enum run_state state);

#endif
