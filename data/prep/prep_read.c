/*
 * prep_read.c - stage "read": read each text once, store it as word numbers
 *
 * A pipeline (flow.h) over blocks of lines:
 *	one thread	reading_next_block(): blocks from archives and files (blocks.h)
 *	p->threads	reading_tokenize_block(): lines to words (block_words.h)
 *	one thread	reading_store_block(), in block order: words into the global table, lines
 *			into the token column of their text
 *
 * So words are numbered by first appearance, for any number of threads. Memory: about 3 MB a block
 * and (threads + 2) blocks; 40 to 60 bytes for each distinct word in the table, which doubles when
 * it is full.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/prep/block_words.h"
#include "data/prep/blocks.h"
#include "data/prep/parallel.h"
#include "data/prep/prep_stages.h"
#include "data/prep/token_column.h"
#include "data/source/manifest.h"
#include "data/source/texts_split.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/mem.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/base/util.h"

struct reading_slot {
	struct block block;
	struct block_words words; /* of training text */
	struct buf text;	  /* of held-out text */
};

struct text_reading {
	struct prep *p;
	struct blocks *blocks;
	struct scripts *scripts;
	struct block_reader **tools; /* owned: (workers) */
	int workers;
	struct intern words; /* word table of all training texts */
	/* outputs of the current text, or of both sides of a bilingual file; by side */
	struct token_column_writer *sides[2]; /* owned: of training text; or NULL */
	struct outfile held[2];		      /* of held-out text */
	int64_t *lines;			      /* owned: [2 * texts.n] by block.text; -1: not read */
};

static bool is_train(const struct text_reading *r, size_t text)
{
	return text / 2 < r->p->texts.n_train;
}

/* Path of the output of a text: work/side-K.SIDE for training, else work/text-K.SIDE. */
static const char *reading_text_path(struct text_reading *r, size_t text, struct err *e)
{
	return prep_path(r->p, e, "work/%s-%zu.%s", is_train(r, text) ? "side" : "text", text / 2,
			 text % 2 ? "target" : "source");
}

/* ---- the pipeline ---- */

static int reading_next_block(void *context, void *slot, struct err *e)
{
	return blocks_next(((struct text_reading *)context)->blocks,
			   &((struct reading_slot *)slot)->block, e);
}

static int reading_tokenize_block(void *context, int worker, void *slot, struct err *e)
{
	struct text_reading *r = context;
	struct reading_slot *s = slot;
	const struct source_text *t = blocks_text(&r->p->texts, s->block.text);

	if (is_train(r, s->block.text))
		return block_reader_words(r->tools[worker], &s->block, t, &s->words, e);
	return block_reader_lines(r->tools[worker], &s->block, t, &s->text, e);
}

static int reading_begin_text(struct text_reading *r, size_t text, struct err *e)
{
	const char *path = reading_text_path(r, text, e);

	r->lines[text] = 0;
	if (!path)
		return e->code;
	if (!is_train(r, text))
		return outfile_open(&r->held[text % 2], path, e);
	r->sides[text % 2] = token_column_create(path, e);
	return r->sides[text % 2] ? 0 : e->code;
}

static int reading_check_lengths(const struct text_reading *r, size_t pair, struct err *e)
{
	const struct text_pair *p = &r->p->texts.pairs[pair];
	const int64_t *n = &r->lines[2 * pair];

	if (n[0] == n[1])
		return 0;
	return parallel_lengths_differ(p->source.name, n[0], p->target.name, n[1], e);
}

static int reading_end_text(struct text_reading *r, size_t text, struct err *e)
{
	struct token_column_writer *side = r->sides[text % 2];
	int rc;

	r->sides[text % 2] = NULL;
	rc = side ? token_column_finish(side, e) : outfile_commit(&r->held[text % 2], e);
	/* the source of a bilingual file ends before its target */
	if (!rc && r->lines[text ^ 1] >= 0 &&
	    (text % 2 || !r->p->texts.pairs[text / 2].is_bilingual))
		rc = reading_check_lengths(r, text / 2, e);
	return rc;
}

/* Number the words of a block and append its lines to the token column. */
static int reading_store_lines(struct text_reading *r, size_t side, struct block_words *w,
			       struct err *e)
{
	int32_t *next = w->numbers;

	if (block_words_number(w, &r->words, e))
		return e->code;
	for (size_t i = 0; i < w->n; i++) {
		w->lines[i].words = next;
		next += w->lines[i].n;
		if (token_column_put(r->sides[side], &w->lines[i], e))
			return e->code;
	}
	return 0;
}

static int reading_store_block(void *context, void *slot, struct err *e)
{
	struct text_reading *r = context;
	struct reading_slot *s = slot;
	const struct block *b = &s->block;
	struct prep_numbers *n = &r->p->numbers;

	if (b->first == 1 && reading_begin_text(r, b->text, e))
		return e->code;
	if (is_train(r, b->text)) {
		*(b->text % 2 ? &n->target_bytes : &n->source_bytes) += (int64_t)b->n;
		if (reading_store_lines(r, b->text % 2, &s->words, e))
			return e->code;
	} else if (s->text.len &&
		   fwrite(s->text.data, s->text.len, 1, r->held[b->text % 2].stream) != 1) {
		return err_set_errno(e, ERR_IO, "%s: cannot be written", r->held[b->text % 2].path);
	}
	r->lines[b->text] += b->lines;
	progress_at(&r->p->progress, b->position);
	assert(b->first + b->lines == r->lines[b->text] + 1); /* blocks arrive in order */
	return b->is_last ? reading_end_text(r, b->text, e) : 0;
}

/*
 * Number of threads that tokenise; 0: the calling thread does all. Reading an archive forks a child
 * (unpacker.h). If another thread holds a lock of the allocator at the fork, the child can wait for this
 * lock forever. glibc's allocator prevents that, the one of AddressSanitizer before gcc 14 does not.
 */
static int reading_threads(const struct text_reading *r)
{
	bool forks = false;

	for (size_t i = 0; i < r->p->texts.n_files; i++)
		forks |= r->p->texts.files[i].archive || r->p->texts.files[i].is_packed;
	return r->p->threads > 1 && !(forks && HAS_ADDRESS_SANITIZER) ? r->p->threads : 0;
}

static int reading_run_flow(struct text_reading *r, struct err *e)
{
	int threads = reading_threads(r), n_slots = threads + 2;
	struct reading_slot *slots = mem_alloc((size_t)n_slots, sizeof(*slots), e);
	struct flow f = { reading_next_block,
			  reading_tokenize_block,
			  reading_store_block,
			  r,
			  slots,
			  sizeof(*slots),
			  n_slots,
			  threads };
	int rc = slots ? flow_run(&f, e) : e->code;

	for (int i = 0; slots && i < n_slots; i++) {
		block_free(&slots[i].block);
		block_words_free(&slots[i].words);
		buf_free(&slots[i].text);
	}
	free(slots);
	return rc;
}

/* ---- held-out sets ---- */

static bool is_pair_of_set(const struct text_reading *r, size_t pair, int set)
{
	return !strcmp(r->p->texts.pairs[pair].set, r->p->texts.sets[set]);
}

/* Append the work/text-K file of a text to the file of its set, then remove it. */
static int join_text(struct text_reading *r, size_t text, struct outfile *out, struct err *e)
{
	const char *path = reading_text_path(r, text, e);
	char bytes[1 << 14];
	FILE *in = path ? file_open_stream(path, e) : NULL;
	size_t n;
	int rc = 0;

	if (!in)
		return e->code;
	while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
		if (fwrite(bytes, 1, n, out->stream) != n) {
			rc = err_set_errno(e, ERR_IO, "%s: cannot be written", out->path);
			break;
		}
	if (!rc && ferror(in))
		rc = err_set_errno(e, ERR_IO, "%s: cannot be read", path);
	fclose(in);
	if (!rc)
		remove(path);
	return rc;
}

/* Write SET.LANG from all texts of the set. A set without pairs gets no file. */
static int join_set(struct text_reading *r, int set, size_t side, struct err *e)
{
	struct prep *p = r->p;
	const char *name = p->texts.sets[set], *path;
	const char *language = side ? p->c->target_language : p->c->source_language;
	struct outfile out = { 0 };
	int rc;

	if (!p->numbers.pairs[set])
		return prep_remove_file(p, e, "%s.%s", name, language);
	path = prep_path(p, e, "%s.%s", name, language);
	rc = path ? outfile_open(&out, path, e) : e->code;
	for (size_t i = p->texts.n_train; !rc && i < p->texts.n; i++)
		if (is_pair_of_set(r, i, set))
			rc = join_text(r, 2 * i + side, &out, e);
	if (!rc)
		rc = outfile_commit(&out, e);
	outfile_abandon(&out);
	return rc;
}

/* Count the pairs of a held-out set; 0: a member of a further set is missing in its archive. */
static int count_set(struct text_reading *r, int set, struct err *e)
{
	const struct texts *t = &r->p->texts;
	int64_t pairs = 0;
	bool is_part = false;

	for (size_t i = t->n_train; i < t->n; i++) {
		const struct text_pair *pair = &t->pairs[i];
		const int64_t *lines = &r->lines[2 * i];

		if (!is_pair_of_set(r, i, set))
			continue;
		if (lines[0] < 0 || lines[1] < 0) {
			progress_print_line(
				&r->p->progress, "note: the archive has no %s: set %s is left out",
				(lines[0] < 0 ? &pair->source : &pair->target)->name, t->sets[set]);
			pairs = 0;
			break;
		}
		is_part |= pair->choice.is_part;
		if (!lines[0] && !pair->choice.is_part)
			return err_set(e, ERR_DATA,
				       "%s: is empty: a %s set needs at least one sentence",
				       pair->source.name, t->sets[set]);
		pairs += lines[0];
	}
	if (!pairs && is_part)
		return err_set(
			e, ERR_DATA,
			"hold_out: the training text is too short for a %s set, which takes "
			"at most a tenth of it: give more text or a set of your own, or omit "
			"hold_out",
			t->sets[set]);
	r->p->numbers.pairs[set] = pairs;
	return 0;
}

/* Remove dev and test files of an earlier preparation if the recipe has no such set now. */
static int remove_old_sets(struct prep *p, struct err *e)
{
	static const char *const names[] = { "dev", "test" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (texts_find_set(&p->texts, names[i]) < 0 &&
		    (prep_remove_file(p, e, "%s.%s", names[i], p->c->source_language) ||
		     prep_remove_file(p, e, "%s.%s", names[i], p->c->target_language)))
			return e->code;
	return 0;
}

static int reading_join_sets(struct text_reading *r, struct err *e)
{
	const struct texts *t = &r->p->texts;

	for (int set = 1; set < t->n_sets; set++)
		if (count_set(r, set, e) || join_set(r, set, 0, e) || join_set(r, set, 1, e))
			return e->code;
	/* remaining parts of sets that were left out */
	for (size_t i = 2 * t->n_train; i < 2 * t->n; i++) {
		const char *path = reading_text_path(r, i, e);

		if (!path)
			return e->code;
		remove(path);
	}
	return remove_old_sets(r->p, e);
}

/* ---- chosen lines ---- */

/* Count the lines of each training text: lines (n_train), of its source. */
static int count_training_lines(const struct prep *p, int64_t *lines, struct err *e)
{
	struct texts train = p->texts; /* borrows all */
	struct block k = { 0 };
	struct blocks *b;
	int64_t *both;
	int got = 1;

	train.n = train.n_train;
	both = mem_alloc(2 * train.n, sizeof(*both), e);
	b = both ? blocks_open(&train, p->c, e) : NULL;
	while (b && (got = blocks_next(b, &k, e)) > 0)
		both[k.text] += k.lines;
	for (size_t i = 0; b && !got && i < train.n; i++) {
		lines[i] = both[2 * i];
		if (both[2 * i] != both[2 * i + 1])
			got = parallel_lengths_differ(train.pairs[i].source.name, both[2 * i],
						      train.pairs[i].target.name, both[2 * i + 1],
						      e);
	}
	blocks_close(b);
	block_free(&k);
	free(both);
	return b ? got : e->code;
}

/* hold_out, general_share: which lines of the texts are read depends on the number of lines. */
static int choose_text_lines(struct prep *p, struct err *e)
{
	int64_t *lines;
	int rc;

	if (!texts_need_counts(&p->texts, p->c))
		return 0;
	lines = mem_alloc(p->texts.n_train, sizeof(*lines), e);
	rc = lines ? count_training_lines(p, lines, e) : e->code;
	if (!rc)
		texts_choose_lines(&p->texts, p->c, lines);
	free(lines);
	return rc;
}

/* ---- the stage ---- */

static int open_reading(struct text_reading *r, struct err *e)
{
	const struct texts *t = &r->p->texts;

	r->lines = mem_alloc(2 * t->n, sizeof(*r->lines), e);
	for (size_t i = 0; r->lines && i < 2 * t->n; i++)
		r->lines[i] = -1;
	r->scripts = r->lines ? scripts_new(e) : NULL;
	r->tools =
		r->scripts ? mem_alloc((size_t)r->workers, sizeof(struct block_reader *), e) : NULL;
	for (int i = 0; r->tools && i < r->workers; i++) {
		r->tools[i] = block_reader_new(r->p->c, r->scripts, e);
		if (!r->tools[i])
			return e->code;
	}
	r->blocks = r->tools ? blocks_open(t, r->p->c, e) : NULL;
	return r->blocks ? 0 : e->code;
}

static void close_reading(struct text_reading *r)
{
	for (int i = 0; r->tools && i < r->workers; i++)
		block_reader_free(r->tools[i]);
	free(r->tools);
	scripts_free(r->scripts);
	blocks_close(r->blocks);
	for (int i = 0; i < 2; i++) {
		token_column_cancel(r->sides[i]);
		outfile_abandon(&r->held[i]);
	}
	intern_free(&r->words);
	free(r->lines);
}

/* --repair with --encoding: characters, where lines.h counts lines of invalid UTF-8. */
static void report_replaced(const struct text_reading *r)
{
	const char *text = "";
	const int64_t n = blocks_replaced(r->blocks, &text);

	if (n)
		progress_print_line(
			&r->p->progress,
			"warning: --repair replaced %s character%s by U+FFFD, also in %s: "
			"their bytes do not exist in %s",
			COUNT_TEXT(n), text_plural(n), text,
			r->p->c->encoding ? r->p->c->encoding : "the encoding of the file");
}

/* Units of bilingual files that are no pairs. */
static void report_units(const struct text_reading *r)
{
	const char *line = blocks_notes(r->blocks);

	for (size_t n; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		progress_print_line(&r->p->progress, "note: %.*s", (int)n, line);
	}
}

/* Save the results. The word table stays in p->words for the following stages. */
static int reading_finish(struct text_reading *r, struct err *e)
{
	struct prep *p = r->p;
	const char *path;

	for (size_t i = 0; i < p->texts.n_train; i++)
		p->numbers.read += r->lines[2 * i];
	if (!p->numbers.read)
		return err_set(e, ERR_DATA, "%s: the training text is empty",
			       p->texts.pairs[0].name);
	if (reading_join_sets(r, e))
		return e->code;
	p->numbers.distinct_words = r->words.n;
	for (size_t i = 0; i < p->texts.n_train; i++) {
		const char *tag = p->texts.pairs[i].source.tag;
		int32_t ignored;

		if (tag && intern_add(&r->words, tag, strlen(tag), &ignored, e))
			return e->code;
	}
	path = prep_path(p, e, "work/words");
	if (!path || word_table_save(&r->words, path, e))
		return e->code;
	p->words = r->words;
	r->words = (struct intern){ 0 };
	return 0;
}

int prep_read(struct prep *p, struct err *e)
{
	struct text_reading r = { .p = p, .workers = MAX(p->threads, 1) };
	struct prep_numbers *n = &p->numbers;
	int rc;

	intern_free(&p->words);
	n->read = n->source_bytes = n->target_bytes = n->distinct_words = 0;
	memset(n->pairs, 0, sizeof(n->pairs));
	rc = texts_write_demo(&p->texts, p->c, e);
	if (!rc)
		rc = choose_text_lines(p, e);
	if (!rc)
		rc = open_reading(&r, e);
	progress_begin(&p->progress, "read", rc ? 0 : blocks_total(r.blocks), "bytes");
	if (!rc)
		rc = reading_run_flow(&r, e);
	if (!rc) {
		report_replaced(&r);
		report_units(&r);
	}
	if (!rc)
		rc = reading_finish(&r, e);
	if (!rc) {
		double mb = (double)(n->source_bytes + n->target_bytes) / 1e6;
		double seconds = MAX(clock_mono_s() - p->progress.began_s, 1e-9);

		progress_end(&p->progress, "%s pair%s, %.1f MB (%.0f MB/s), %s distinct words",
			     COUNT_TEXT(n->read), text_plural(n->read), mb, mb / seconds,
			     COUNT_TEXT(n->distinct_words));
	}
	close_reading(&r);
	return rc;
}
