/* edit.c - text, keys, undo and history of the line editor; edit_draw.c draws it. See edit.h. */
#include "tui/term/edit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tui/term/edit_internal.h"
#include "tui/term/keys.h"

#define CTRL(letter) ((letter)&0x1F)

void edit_close(struct edit *d)
{
	buf_free(&d->text);
	buf_free(&d->killed);
	for (size_t i = 0; i < d->n_history; i++)
		free(d->history[i]);
	for (size_t i = 0; i < d->n_undo; i++)
		free(d->undo[i].text);
	free(d->draft);
	*d = (struct edit){ 0 };
}

const char *edit_text(const struct edit *d)
{
	return buf_text(&d->text);
}

/* ---- characters, as they look ---- */

/*
 * Combining marks, joiners and format controls, which belong to the preceding character. Sorted
 * ranges of Unicode.
 */
static bool is_attached(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x300, 0x36F },   { 0x483, 0x489 },	  { 0x591, 0x5BD },   { 0x5BF, 0x5BF },
		{ 0x5C1, 0x5C2 },   { 0x5C4, 0x5C5 },	  { 0x610, 0x61A },   { 0x64B, 0x65F },
		{ 0x670, 0x670 },   { 0x6D6, 0x6DC },	  { 0x6DF, 0x6E4 },   { 0x6E7, 0x6E8 },
		{ 0x6EA, 0x6ED },   { 0x900, 0x902 },	  { 0x93A, 0x93A },   { 0x93C, 0x93C },
		{ 0x941, 0x948 },   { 0x94D, 0x94D },	  { 0x951, 0x957 },   { 0xE31, 0xE31 },
		{ 0xE34, 0xE3A },   { 0xE47, 0xE4E },	  { 0x1AB0, 0x1AFF }, { 0x1DC0, 0x1DFF },
		{ 0x200B, 0x200F }, { 0x202A, 0x202E },	  { 0x2060, 0x206F }, { 0x20D0, 0x20FF },
		{ 0x302A, 0x302D }, { 0x3099, 0x309A },	  { 0xFE00, 0xFE0F }, { 0xFE20, 0xFE2F },
		{ 0xFEFF, 0xFEFF }, { 0xE0000, 0xE0FFF },
	};

	if (c < 0x300)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ranges) && c >= ranges[i].first; i++)
		if (c <= ranges[i].last)
			return true;
	return false;
}

size_t edit_after(const struct edit *d, size_t at)
{
	size_t n = d->text.len;
	uint32_t c;

	if (at >= n)
		return n;
	at += utf8_decode(d->text.data + at, n - at, &c);
	while (at < n) {
		size_t used = utf8_decode(d->text.data + at, n - at, &c);

		if (!is_attached(c))
			break;
		at += used;
	}
	return at;
}

size_t edit_before(const struct edit *d, size_t at)
{
	uint32_t c;

	while (at > 0) {
		do
			at--;
		while (at > 0 && ((unsigned char)d->text.data[at] & 0xC0) == 0x80);
		utf8_decode(d->text.data + at, d->text.len - at, &c);
		if (!is_attached(c))
			break;
	}
	return at;
}

/* Letters and digits. Above ASCII, everything but common punctuation blocks. */
static bool is_word_char_at(const struct edit *d, size_t at)
{
	uint32_t c;

	utf8_decode(d->text.data + at, d->text.len - at, &c);
	if (c < 0x80)
		return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
	return c >= 0xC0 && !(c >= 0x2000 && c <= 0x206F) && !(c >= 0x3000 && c <= 0x303F) &&
	       !(c >= 0xFF00 && c <= 0xFF0F);
}

static size_t next_word_end(const struct edit *d)
{
	size_t at = d->at;

	while (at < d->text.len && !is_word_char_at(d, at))
		at = edit_after(d, at);
	while (at < d->text.len && is_word_char_at(d, at))
		at = edit_after(d, at);
	return at;
}

static size_t previous_word_start(const struct edit *d)
{
	size_t at = d->at;

	while (at > 0 && !is_word_char_at(d, edit_before(d, at)))
		at = edit_before(d, at);
	while (at > 0 && is_word_char_at(d, edit_before(d, at)))
		at = edit_before(d, at);
	return at;
}

/* Start of the word before the cursor, delimited by blanks (for Ctrl-W). */
static size_t blank_start(const struct edit *d)
{
	size_t at = d->at;

	while (at > 0 && d->text.data[at - 1] == ' ')
		at--;
	while (at > 0 && d->text.data[at - 1] != ' ')
		at--;
	return at;
}

/* ---- changes ---- */

/* Save the state for undo; without memory this change cannot be undone. */
static void push_undo_state(struct edit *d)
{
	struct err ignored;
	char *copy = mem_strdup(edit_text(d), &ignored);

	if (!copy)
		return;
	if (d->n_undo == EDIT_UNDO) {
		free(d->undo[0].text);
		memmove(d->undo, d->undo + 1, (EDIT_UNDO - 1) * sizeof(d->undo[0]));
		d->n_undo--;
	}
	d->undo[d->n_undo++] = (struct edit_state){ copy, d->at };
}

/* Replace the whole text and set the cursor to at. Without memory the old text stays. */
static bool replace_edit_text(struct edit *d, const char *text, size_t n, size_t at)
{
	struct buf fresh = { 0 };

	buf_add(&fresh, text, n);
	if (fresh.failed) {
		buf_free(&fresh);
		return false;
	}
	assert(at <= n);
	buf_free(&d->text);
	d->text = fresh;
	d->at = at;
	return true;
}

static enum edit_result undo_last_change(struct edit *d)
{
	struct edit_state *s;
	bool done;

	if (!d->n_undo)
		return EDIT_MOVED;
	s = &d->undo[--d->n_undo];
	done = replace_edit_text(d, s->text, strlen(s->text), s->at);
	free(s->text);
	return done ? EDIT_CHANGED : EDIT_MOVED;
}

/* Delete the bytes from start to end; the cursor moves to start. */
static enum edit_result delete_text_range(struct edit *d, size_t start, size_t end)
{
	if (start >= end)
		return EDIT_MOVED;
	assert(end <= d->text.len);
	push_undo_state(d);
	memmove(d->text.data + start, d->text.data + end, d->text.len - end + 1);
	d->text.len -= end - start;
	d->at = start;
	return EDIT_CHANGED;
}

static enum edit_result kill_text_range(struct edit *d, size_t start, size_t end, bool was_killing)
{
	struct buf fresh = { 0 };

	if (start >= end)
		return EDIT_MOVED;
	/*
	 * Consecutive kills join: text killed before the cursor is prepended, text after it
	 * appended.
	 */
	if (was_killing && start >= d->at)
		buf_add(&fresh, d->killed.data, d->killed.len);
	buf_add(&fresh, d->text.data + start, end - start);
	if (was_killing && start < d->at)
		buf_add(&fresh, d->killed.data, d->killed.len);
	if (fresh.failed) {
		buf_free(&fresh);
		return EDIT_MOVED;
	}
	buf_free(&d->killed);
	d->killed = fresh;
	d->killing = true;
	return delete_text_range(d, start, end);
}

/* Insert n bytes of clean text at the cursor, as many as fit. */
static enum edit_result insert_clean_text(struct edit *d, const char *text, size_t n)
{
	size_t room = EDIT_MAX - d->text.len, tail = d->text.len - d->at;

	assert(d->text.len <= EDIT_MAX && d->at <= d->text.len);
	if (n > room) {
		n = room;
		while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
			n--;
	}
	if (!n || !buf_reserve(&d->text, n))
		return EDIT_MOVED;
	memmove(d->text.data + d->at + n, d->text.data + d->at, tail);
	memcpy(d->text.data + d->at, text, n);
	d->text.len += n;
	d->text.data[d->text.len] = 0;
	d->at += n;
	/* Marks that had no base now belong to the inserted character: move after them. */
	if (d->at < d->text.len)
		d->at = edit_after(d, edit_before(d, d->at));
	return EDIT_CHANGED;
}

/* Append text without the bytes that an editor must not hold. */
static void append_clean_text(struct buf *out, const char *text)
{
	struct buf valid = { 0 };
	size_t i = 0;

	utf8_repair(&valid, text, strlen(text));
	while (i < valid.len) {
		uint32_t c;
		size_t n = utf8_decode(valid.data + i, valid.len - i, &c);

		if (c == '\r' && valid.data[i + n] == '\n')
			; /* \r\n becomes one blank */
		else if (c == '\t' || c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029)
			buf_add_char(out, ' ');
		else if (c >= 0x20 && !(c >= 0x7F && c < 0xA0) && c != 0xFFFD)
			buf_add(out, valid.data + i, n);
		i += n;
	}
	out->failed |= valid.failed;
	buf_free(&valid);
}

enum edit_result edit_paste(struct edit *d, const char *text)
{
	struct buf b = { 0 };
	enum edit_result r = EDIT_IGNORED;

	append_clean_text(&b, text);
	if (!b.failed && b.len) {
		push_undo_state(d);
		r = insert_clean_text(d, b.data, b.len) == EDIT_CHANGED ? EDIT_CHANGED
									: EDIT_IGNORED;
	}
	d->killing = d->typing = false;
	buf_free(&b);
	return r;
}

int edit_set(struct edit *d, const char *text, struct err *e)
{
	struct buf b = { 0 };
	size_t n;

	append_clean_text(&b, text);
	if (buf_check(&b, e)) {
		buf_free(&b);
		return e->code;
	}
	for (n = MIN(b.len, (size_t)EDIT_MAX); n < b.len && n > 0; n--)
		if (((unsigned char)b.data[n] & 0xC0) != 0x80)
			break;
	push_undo_state(d);
	d->killing = d->typing = false;
	d->shown = d->n_history;
	if (!replace_edit_text(d, buf_text(&b), n, n))
		err_set(e, ERR_NOMEM, "no memory for the text");
	else
		n = 0;
	buf_free(&b);
	return n ? e->code : 0;
}

size_t edit_cursor(const struct edit *d)
{
	return d->at;
}

void edit_set_cursor(struct edit *d, size_t at)
{
	d->at = MIN(at, d->text.len);
	if (d->at < d->text.len)
		d->at = edit_before(d, edit_after(d, d->at));
	d->killing = d->typing = false;
}

static enum edit_result type_character(struct edit *d, uint32_t c, bool was_typing)
{
	char bytes[4];
	size_t n = utf8_encode(c, bytes);

	if (c == 0xFFFD || (c >= 0x7F && c < 0xA0) || (c >= 0xD800 && c < 0xE000))
		return EDIT_MOVED;
	/* Undo works by words. */
	if (!was_typing || c == ' ')
		push_undo_state(d);
	d->typing = true;
	return insert_clean_text(d, bytes, n);
}

static enum edit_result swap_characters(struct edit *d)
{
	size_t middle = d->at < d->text.len ? d->at : edit_before(d, d->at);
	size_t start = edit_before(d, middle), end = edit_after(d, middle);
	struct buf b = { 0 };

	if (start == middle || middle == end)
		return EDIT_MOVED;
	buf_add(&b, d->text.data + middle, end - middle);
	buf_add(&b, d->text.data + start, middle - start);
	if (!b.failed) {
		push_undo_state(d);
		memcpy(d->text.data + start, b.data, b.len);
		d->at = end;
	}
	buf_free(&b);
	return EDIT_CHANGED;
}

/* ---- history ---- */

int edit_remember(struct edit *d, const char *line, struct err *e)
{
	char *copy;
	size_t old = 0;

	free(d->draft);
	d->draft = NULL;
	d->shown = d->n_history;
	if (!*line)
		return 0;
	if (!(copy = mem_strdup(line, e)))
		return e->code;
	while (old < d->n_history && strcmp(d->history[old], line) != 0)
		old++;
	if (old == EDIT_HISTORY)
		old = 0;
	if (old < d->n_history) { /* it moves, or the oldest one goes */
		free(d->history[old]);
		d->n_history--;
		memmove(d->history + old, d->history + old + 1,
			(d->n_history - old) * sizeof(d->history[0]));
	}
	d->history[d->n_history++] = copy;
	d->shown = d->n_history;
	return 0;
}

static enum edit_result browse_history(struct edit *d, int by)
{
	struct err ignored;
	const char *line;

	if ((by < 0 && !d->shown) || (by > 0 && d->shown >= d->n_history))
		return EDIT_MOVED;
	if (d->shown == d->n_history) {
		free(d->draft);
		d->draft = mem_strdup(edit_text(d), &ignored);
	}
	d->shown = by < 0 ? d->shown - 1 : d->shown + 1;
	assert(d->shown <= d->n_history); /* n_history: the draft */
	line = d->shown < d->n_history ? d->history[d->shown] : d->draft ? d->draft : "";
	push_undo_state(d);
	return replace_edit_text(d, line, strlen(line), strlen(line)) ? EDIT_CHANGED : EDIT_MOVED;
}

/* ---- keys ---- */

static enum edit_result move_edit_cursor(struct edit *d, size_t at)
{
	d->at = at;
	return EDIT_MOVED;
}

static enum edit_result key_kill(struct edit *d, int key, bool was_killing)
{
	switch (key) {
	case CTRL('K'):
		return kill_text_range(d, d->at, d->text.len, was_killing);
	case CTRL('U'):
		return kill_text_range(d, 0, d->at, was_killing);
	case CTRL('W'):
		return kill_text_range(d, blank_start(d), d->at, was_killing);
	case KEY_ALT | 'd':
		return kill_text_range(d, d->at, next_word_end(d), was_killing);
	case KEY_ALT | 0x7F:
	case KEY_ALT | '\b':
		return kill_text_range(d, previous_word_start(d), d->at, was_killing);
	default:
		return EDIT_IGNORED;
	}
}

static enum edit_result key_move(struct edit *d, int key)
{
	switch (key) {
	case CTRL('A'):
	case KEY_NAME_HOME:
		return move_edit_cursor(d, 0);
	case CTRL('E'):
	case KEY_NAME_END:
		return move_edit_cursor(d, d->text.len);
	case CTRL('B'):
	case KEY_NAME_LEFT:
		return move_edit_cursor(d, edit_before(d, d->at));
	case CTRL('F'):
	case KEY_NAME_RIGHT:
		return move_edit_cursor(d, edit_after(d, d->at));
	case KEY_NAME_WORD_LEFT:
	case KEY_ALT | 'b':
		return move_edit_cursor(d, previous_word_start(d));
	case KEY_NAME_WORD_RIGHT:
	case KEY_ALT | 'f':
		return move_edit_cursor(d, next_word_end(d));
	case CTRL('P'):
	case KEY_NAME_UP:
		return browse_history(d, -1);
	case CTRL('N'):
	case KEY_NAME_DOWN:
		return browse_history(d, 1);
	default:
		return EDIT_IGNORED;
	}
}

enum edit_result edit_key(struct edit *d, int key)
{
	bool was_killing = d->killing, was_typing = d->typing;
	enum edit_result r;

	d->killing = d->typing = false;
	if (key >= 0x20 && key < KEY_NAMED && key != 0x7F)
		return type_character(d, (uint32_t)key, was_typing);
	if ((r = key_move(d, key)) != EDIT_IGNORED)
		return r;
	if ((r = key_kill(d, key, was_killing)) != EDIT_IGNORED)
		return r;
	switch (key) {
	case 0x7F:
	case '\b':
		return delete_text_range(d, edit_before(d, d->at), d->at);
	case CTRL('D'):
	case KEY_NAME_DELETE:
		return delete_text_range(d, d->at, edit_after(d, d->at));
	case CTRL('T'):
		return swap_characters(d);
	case CTRL('Y'):
		if (!d->killed.len)
			return EDIT_MOVED;
		push_undo_state(d);
		return insert_clean_text(d, d->killed.data, d->killed.len);
	case CTRL('_'):
		return undo_last_change(d);
	case '\r':
	case '\n':
		return EDIT_DONE;
	case 0x1B:
	case CTRL('G'):
		return EDIT_LEFT;
	default:
		return EDIT_IGNORED;
	}
}
