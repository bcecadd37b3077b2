/* run_look.h - sign and style of a run's state, the same in every view: never colour alone. */
#ifndef WERKBANK_TUI_RUN_RUN_LOOK_H
#define WERKBANK_TUI_RUN_RUN_LOOK_H

#include "tui/run/run_health.h"
#include "tui/run/run_history.h"
#include "tui/run/workspace_index.h"
#include "tui/term/grid.h"

struct run_look run_state_look(enum run_state state);
struct run_look corpus_state_look(enum corpus_state state);

/*
 * Sign and style of a run: those of its health if something is wrong, else of its state. Only a run
 * that was judged has the green tick.
 */
struct run_look run_look_of(enum run_state state, const struct run_health *health);

#endif
