/* edit_internal.h - shared by edit.c (text and keys) and edit_draw.c. */
#ifndef WERKBANK_TUI_TERM_EDIT_INTERNAL_H
#define WERKBANK_TUI_TERM_EDIT_INTERNAL_H

#include "tui/term/edit.h"

/* Byte offset of the next grapheme after at; of the previous grapheme before at. */
size_t edit_after(const struct edit *d, size_t at);
size_t edit_before(const struct edit *d, size_t at);

#endif
