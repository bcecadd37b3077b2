/* prep_resources.c - estimate of memory and disk of a preparation; the plan as text */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "data/prep/prep_report.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "share/format/json.h"

/*
 * All estimates are upper bounds computed from B, the unpacked bytes of the texts. They are
 * calibrated on 50 MB of real text and on 1.1 GB of synthetic text grown from it with the word
 * frequencies of WMT16 (1.3 GB).
 *
 * B: for archives that are not read yet, `text` of the manifest, else 3.5 times their size (text
 * under gzip); DEMO_BYTES a pair for the grammar. Such a B is not exact, and then a preparation is
 * never refused for lack of disk space.
 *
 * Distinct words: Heaps' law, 12 * B^0.6 for tokenised text: estimate 0.5 M for 50 MB (measured
 * 0.19 M), 3.2 M for 1.1 GB (3.1 M); 20 * B^0.6 for text with punctuation attached to words.
 *
 * Memory: each distinct word takes WORD_BYTES in the table, LEARN_BYTES more while merges are
 * learnt (its symbols and their pairs), ENCODE_BYTES more while it is encoded. BASE_BYTES for
 * buckets of the shuffle and caches, THREAD_BYTES a thread for blocks of lines. drop_duplicates:
 * SEEN_BYTES a pair, with at least PAIR_BYTES of text a pair. For the 1.1 GB: estimate 1.1 GB,
 * measured 0.86 GB; with SentencePiece estimate 1.7 GB, measured 1.44 GB.
 *
 * Disk: columns and words take 0.6 of B (a word takes one to three bytes instead of six), counts
 * and pieces of words 0.1 of B, shards 0.5 of B (a token takes two bytes; four if the vocabulary
 * has more than 65,536 entries), the buckets of the shuffle as much again temporarily. The
 * ledger: 0.05 of B (a few per cent of the pairs are dropped).
 */
#define ARCHIVE_RATIO 3.5
#define DEMO_BYTES    160 /* bytes of a pair of the grammar, both sides */
#define WORD_BYTES    60
#define LEARN_BYTES   240
#define ENCODE_BYTES  150
#define BASE_BYTES    (64.0 * (1 << 20))
#define THREAD_BYTES  (24.0 * (1 << 20))
#define SEEN_BYTES    16
#define PAIR_BYTES    150

static double bytes_of_texts(const struct prep *p, bool *is_exact)
{
	double sum = 0;
	size_t i;

	*is_exact = !p->texts.is_demo;
	if (p->texts.is_demo)
		sum = (double)p->c->demo_pairs * DEMO_BYTES;
	for (i = 0; i < p->texts.n_files; i++) {
		const struct text_file *f = &p->texts.files[i];

		if (f->archive && f->text_bytes >= 0)
			sum += (double)f->text_bytes;
		else
			sum += (double)MAX(f->bytes, 0) *
			       (f->archive || f->is_packed ? ARCHIVE_RATIO : 1);
		*is_exact = *is_exact && !f->archive && !f->is_packed;
	}
	return sum;
}

/* Must this stage run? */
static bool plan_has_stage(const struct prep_plan *plan, const char *stage)
{
	int i;

	for (i = 0; i < plan->n; i++)
		if (!strcmp(plan->stages[i].name, stage))
			return plan->steps[i].run;
	return false;
}

/* If the stage "read" is done, use its measured numbers instead of the estimate. */
static void needs_from_record(const struct prep_plan *plan, struct prep_resources *n, double *words)
{
	struct prep_numbers known = { 0 };

	assert(plan->n > 0 && !strcmp(plan->stages[0].name, "read"));
	if (plan->steps[0].run)
		return;
	prep_record_load_numbers(plan->steps[0].record, &known);
	n->text_bytes = known.source_bytes + known.target_bytes;
	n->is_exact = true;
	*words = (double)known.distinct_words;
}

/* Free bytes on the file system of the folder or of its nearest existing parent; -1: unknown. */
static int64_t free_bytes(const char *folder)
{
	char path[4096];
	struct statvfs fs;
	char *slash;

	snprintf(path, sizeof(path), "%s", folder);
	while (statvfs(*path ? path : "/", &fs)) {
		slash = strrchr(path, '/');
		if (!slash)
			return statvfs(".", &fs) ? -1 : (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
		*slash = 0;
	}
	return (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
}

struct prep_resources prep_estimate_resources(const struct prep *p, const struct prep_plan *plan)
{
	struct prep_resources n = { .free = -1 };
	double text = bytes_of_texts(p, &n.is_exact), words, word_bytes = WORD_BYTES, memory;
	int64_t entries = 0;
	double id_bytes;

	for (int side = 0; side < 2; side++)
		entries = MAX(entries, text_segmentation(p->c, side) == SEGMENTATION_BPE
					       ? text_merges(p->c, side)
					       : text_vocabulary_size(p->c, side));
	id_bytes = entries > 60000 ? 1.0 : 0.5;

	n.text_bytes = (int64_t)text;
	words = (p->c->tokenize ? 12 : 20) * pow(MAX(text, 1), 0.6);
	needs_from_record(plan, &n, &words);
	text = (double)n.text_bytes;
	if (plan_has_stage(plan, "learn"))
		word_bytes += LEARN_BYTES;
	else if (plan_has_stage(plan, "encode"))
		word_bytes += ENCODE_BYTES;
	memory = BASE_BYTES + THREAD_BYTES * p->threads + words * word_bytes;
	if (plan_has_stage(plan, "judge") && p->c->drop_duplicates)
		memory += text / PAIR_BYTES * SEEN_BYTES;
	n.memory = (int64_t)memory;
	if (plan_has_stage(plan, "read"))
		n.disk += (int64_t)(text * (p->texts.is_demo ? 1.6 : 0.6));
	if (plan_has_stage(plan, "encode"))
		n.disk += (int64_t)(text * 0.1);
	if (plan_has_stage(plan, "pack"))
		n.disk += (int64_t)(text * 2 * id_bytes);
	if (plan_has_stage(plan, "ledger"))
		n.disk += (int64_t)(text * 0.05);
	if (p->c->keep_text)
		n.disk += (int64_t)(text * 6);
	n.free = free_bytes(p->folder);
	return n;
}

#define PREP_SIZE_TEXT 32

/* Format bytes with two digits or more: "1.3 GB", "20 MB", "7.0 kB". Returns out. */
static const char *prep_size_text(char out[PREP_SIZE_TEXT], int64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB" };
	double n = (double)bytes / 1000;
	size_t unit = 0;

	for (; n >= 1000 && unit + 1 < ARRAY_LEN(units); unit++)
		n /= 1000;
	snprintf(out, PREP_SIZE_TEXT, "%.*f %s", n < 10 ? 1 : 0, n, units[unit]);
	return out;
}

void prep_needs_text(struct buf *out, const struct prep_resources *n)
{
	char memory[PREP_SIZE_TEXT], disk[PREP_SIZE_TEXT], room[PREP_SIZE_TEXT];

	buf_printf(out, "needs at most %s of memory and %s of disk (%s free)",
		   prep_size_text(memory, n->memory), prep_size_text(disk, n->disk),
		   n->free < 0 ? "unknown" : prep_size_text(room, n->free));
}

int prep_check_disk_space(const struct prep *p, const struct prep_resources *n, struct err *e)
{
	char disk[PREP_SIZE_TEXT], room[PREP_SIZE_TEXT];

	if (!n->is_exact || n->free < 0 || n->free >= n->disk)
		return 0;
	return err_set(
		e, ERR_IO,
		"%s: the preparation may take %s of disk, but only %s are free: make room or "
		"choose another workspace with -C DIR",
		p->folder, prep_size_text(disk, n->disk), prep_size_text(room, n->free));
}

/* ---- the plan ---- */

static bool is_to_fetch(const struct text_file *f)
{
	return f->archive && !f->path;
}

static void plan_print_json(struct json_writer *w, const struct prep *p,
			    const struct prep_plan *plan, const struct prep_resources *n,
			    bool ready)
{
	size_t k;
	int i;

	json_open(w, '{');
	json_put_str(w, "corpus", p->c->corpus);
	json_put_str(w, "folder", p->folder);
	json_put_bool(w, "ready", ready);
	json_put_open(w, "stages", '[');
	for (i = 0; i < plan->n; i++) {
		json_open(w, '{');
		json_put_str(w, "name", plan->stages[i].name);
		json_put_bool(w, "run", plan->steps[i].run && !ready);
		json_put_str(w, "why", ready ? "" : plan->steps[i].reason);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_put_open(w, "fetch", '[');
	for (k = 0; k < p->texts.n_files; k++)
		if (is_to_fetch(&p->texts.files[k]))
			json_str(w, p->texts.files[k].archive);
	json_close(w, ']');
	json_put_int(w, "memory_bytes", n->memory);
	json_put_int(w, "disk_bytes", n->disk);
	json_put_int(w, "disk_free_bytes", n->free);
	json_close(w, '}');
	buf_add_char(w->out, '\n');
}

static void plan_print_table(struct buf *b, const struct prep *p, const struct prep_plan *plan,
			     const struct prep_resources *n, bool ready)
{
	size_t k;
	int i;

	buf_printf(b, "%-8s %-7s %s\n", "stage", "", "why");
	for (i = 0; i < plan->n; i++) {
		bool run = plan->steps[i].run && !ready;

		buf_printf(b, "%-8s %-7s %s\n", plan->stages[i].name, run ? "to run" : "kept",
			   run ? plan->steps[i].reason : "");
	}
	for (k = 0; k < p->texts.n_files; k++)
		if (is_to_fetch(&p->texts.files[k]))
			buf_printf(b, "to fetch: %s\n", p->texts.files[k].archive);
	if (ready)
		buf_printf(b, "%s is ready, with the same options\n", p->c->corpus);
	else
		prep_needs_text(b, n);
	buf_add_str(b, ready ? "" : "\n");
}

int prep_print_plan(struct prep *p, const struct prep_plan *plan, const struct prep_resources *n,
		    bool ready, struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int rc;

	if (p->c->json)
		plan_print_json(&w, p, plan, n, ready);
	else
		plan_print_table(&b, p, plan, n, ready);
	rc = file_put_stdout(&b, e);
	buf_free(&b);
	return rc;
}
