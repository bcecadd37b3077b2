/* reaction.h - what the workbench must do after a view has handled a key or looked for news. */
#ifndef WERKBANK_TUI_TERM_REACTION_H
#define WERKBANK_TUI_TERM_REACTION_H

/* What must happen next; several at once are fine. */
enum reaction {
	REACT_NOTHING = 0,
	REACT_REDRAW = 1,
	REACT_AGAIN = 2,    /* update() has more to do: call it again without waiting */
	REACT_REPAINT = 4,  /* the terminal may show something else: send everything */
	REACT_BACK = 8,	    /* leave help; for a tab: nothing */
	REACT_QUIT = 16,    /* leave the workbench */
	REACT_UNKNOWN = 32, /* not a key or action of this view: the workbench's own turn */
	REACT_SOON = 64,    /* call update() again in about 50 ms: a child is at work */
};

#endif
