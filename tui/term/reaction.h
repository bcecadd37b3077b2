/* reaction.h - what the workbench must do after a view has handled a key or updated its data. */
#ifndef WERKBANK_TUI_TERM_REACTION_H
#define WERKBANK_TUI_TERM_REACTION_H

/* Bits: several may be set. */
enum reaction {
	REACT_NOTHING = 0,
	REACT_REDRAW = 1,
	REACT_AGAIN = 2,   /* update() has more work: call it again without waiting */
	REACT_REPAINT = 4, /* the terminal may show something else: send the whole screen */
	REACT_BACK = 8,	   /* leave the overlay (help, report, form); no effect for a tab */
	REACT_QUIT = 16,   /* leave the workbench */
	REACT_UNKNOWN =
		32,	 /* the view does not handle this key or action: the workbench handles it */
	REACT_SOON = 64, /* call update() again in about 50 ms, because a child process is busy */
};

#endif
