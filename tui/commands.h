/* commands.h - (not written yet) */
#ifndef WERKBANK_TUI_COMMANDS_H
#define WERKBANK_TUI_COMMANDS_H

#endif
