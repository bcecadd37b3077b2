/* run_look.c - see run_look.h. */
#include "tui/run/run_look.h"

#include <assert.h>

#include "share/base/util.h"

struct run_look run_state_look(enum run_state state)
{
	static const struct run_look looks[] = {
		[RUN_UNKNOWN] = { '?', STYLE_DIM },	 [RUN_RUNNING] = { 0x25CF, STYLE_FIRST },
		[RUN_FINISHED] = { 0x2713, STYLE_GOOD }, [RUN_STOPPED] = { 0x25A0, STYLE_WARN },
		[RUN_FAILED] = { 0x2717, STYLE_BAD },	 [RUN_LOST] = { 0x2717, STYLE_BAD },
	};

	assert((size_t)state < ARRAY_LEN(looks));
	return looks[state];
}

struct run_look run_look_of(enum run_state state, const struct run_health *health)
{
	struct run_look look = run_state_look(state);

	if (run_health_is_bad(health) && look.style != STYLE_BAD)
		return run_health_look(health->state);
	if (state == RUN_FINISHED && health->state == HEALTH_UNKNOWN)
		look.style = STYLE_NORMAL;
	return look;
}

struct run_look corpus_state_look(enum corpus_state state)
{
	static const struct run_look looks[] = { [CORPUS_READY] = { 0x2713, STYLE_GOOD },
						 [CORPUS_WORKING] = { 0x25CF, STYLE_FIRST },
						 [CORPUS_UNFINISHED] = { 0x25A0, STYLE_WARN } };

	return looks[state];
}
