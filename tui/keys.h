/* keys.h - (not written yet) */
#ifndef WERKBANK_TUI_KEYS_H
#define WERKBANK_TUI_KEYS_H

#endif
