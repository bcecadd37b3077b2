/* prep_record.c - the files of stages, and the records work/STAGE.json (see prep_plan.h) */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/pipeline.h"
#include "data/prep/prep_plan.h"
#include "data/source/manifest.h"
#include "data/text/chars.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/mem.h"

#define RECORD_VERSION 1
#define RECORD_LIMIT   (4u << 20) /* bytes */

/* ---- lists of files ---- */

/* Takes ownership of name, also on failure. */
static int files_add_name(struct prep_files *files, char *name, struct err *e)
{
	struct prep_file f = { .name = name, .bytes = -1 };

	if (!name || mem_grow(&files->items, &files->cap, files->n + 1, sizeof(f), e)) {
		free(name);
		return e->code;
	}
	files->items[files->n++] = f;
	return 0;
}

/* Expand a pattern of prep_stage.outputs; i: index of the text (%K), set (%H %P) or side (%M %L %V %I). */
static char *expand_pattern(const struct prep *p, const char *pattern, size_t n, size_t i,
			    struct err *e)
{
	struct buf b = { 0 };
	size_t at;

	for (at = 0; at < n; at++) {
		if (pattern[at] != '%') {
			buf_add_char(&b, pattern[at]);
			continue;
		}
		assert(at + 1 < n);
		switch (pattern[++at]) {
		case 'K':
			buf_printf(&b, "%zu", i);
			break;
		case 'H':
		case 'P':
			buf_add_str(&b, p->texts.sets[i]);
			break;
		case 'S':
			buf_add_str(&b, p->c->source_language);
			break;
		case 'T':
			buf_add_str(&b, p->c->target_language);
			break;
		case 'L':
			buf_add_str(&b, prep_piece_list(p, (int)i));
			break;
		case 'V':
			buf_add_str(&b, text_vocabulary_file(p->c, (int)i));
			break;
		case 'I':
			buf_add_str(&b, prep_ids_name(p, (int)i));
			break;
		default:
			buf_add_str(&b, text_codes_file(p->c, (int)i));
		}
	}
	return buf_detach(&b, e);
}

struct file_pattern {
	const char *text;
	size_t n;
	bool also_empty; /* include sets without pairs */
};

static int files_add_pattern(const struct prep *p, const struct file_pattern *q,
			     struct prep_files *files, struct err *e)
{
	const char *pattern = q->text;
	size_t n = q->n;
	bool texts = memmem(pattern, n, "%K", 2), held_out = memmem(pattern, n, "%H", 2);
	bool packed = memmem(pattern, n, "%P", 2);
	const bool lists = memmem(pattern, n, "%L", 2);
	size_t i, end = texts ? p->texts.n_train : held_out || packed ? (size_t)p->texts.n_sets : 1;

	if (lists || memmem(pattern, n, "%M", 2) || memmem(pattern, n, "%I", 2))
		end = (size_t)text_subword_models(p->c);
	else if (memmem(pattern, n, "%V", 2))
		end = (size_t)text_vocabularies(p->c);
	for (i = held_out ? 1 : 0; i < end; i++) {
		if (lists &&
		    (p->c->pieces_from || text_segmentation(p->c, (int)i) == SEGMENTATION_BPE))
			continue;
		if (packed && manifest_set_is_extra(p->texts.sets[i]))
			continue; /* further sets stay text */
		if ((packed || held_out) && !q->also_empty && !p->numbers.pairs[i])
			continue;
		if (files_add_name(files, expand_pattern(p, pattern, n, i, e), e))
			return e->code;
	}
	return 0;
}

int prep_files_add_stage(const struct prep *p, const struct prep_stage *stage, bool also_empty,
			 struct prep_files *files, struct err *e)
{
	struct file_pattern q = { .also_empty = also_empty };
	const char *at = stage->outputs, *end = at + strlen(at);

	while ((q.text = chars_next_word(&at, end, &q.n)) != NULL)
		if (files_add_pattern(p, &q, files, e))
			return e->code;
	return 0;
}

/* The name comes from a file: it must not lead out of the folder of the corpus. */
static bool is_inside_folder(const char *name)
{
	return *name && *name != '/' && !strstr(name, "..");
}

int prep_files_add_json(const struct json *object, struct prep_files *files, struct err *e)
{
	const struct json *list = json_get(object, "files"), *item;
	struct prep_file *f;
	const char *name;
	size_t i;

	for (i = 0; i < json_len(list); i++) {
		item = json_at(list, i);
		name = json_text(json_get(item, "name"), "");
		if (!is_inside_folder(name))
			return err_set(
				e, ERR_DATA,
				"'%s' in a record or in manifest.json is not a file name inside "
				"the corpus folder; prepare the corpus again in a new folder",
				name);
		if (files_add_name(files, mem_strdup(name, e), e))
			return e->code;
		f = &files->items[files->n - 1];
		f->bytes = json_integer(json_get(item, "bytes"), -1);
		snprintf(f->sha256, sizeof(f->sha256), "%s",
			 json_text(json_get(item, "sha256"), ""));
	}
	return 0;
}

bool prep_files_has(const struct prep_files *files, const char *name)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		if (!strcmp(files->items[i].name, name))
			return true;
	return false;
}

void prep_files_free(struct prep_files *files)
{
	size_t i;

	for (i = 0; i < files->n; i++)
		free(files->items[i].name);
	free(files->items);
	*files = (struct prep_files){ 0 };
}

/* ---- sizes and hashes of files ---- */

struct file_measuring {
	const struct prep *p;
	struct prep_files *files;
	size_t next;
};

static int next_file_to_measure(void *context, void *slot, struct err *e)
{
	struct file_measuring *m = context;

	(void)e;
	if (m->next == m->files->n)
		return 0;
	*(struct prep_file **)slot = &m->files->items[m->next++];
	return 1;
}

static int measure_next_file(void *context, int worker, void *slot, struct err *e)
{
	const struct file_measuring *m = context;
	struct prep_file *f = *(struct prep_file **)slot;
	char *path = file_path(e, "%s/%s", m->p->folder, f->name);
	int rc = path ? hash_file(path, f->sha256, e) : e->code;

	(void)worker;
	f->bytes = rc ? -1 : file_size(path);
	free(path);
	return rc;
}

static int measure_emit_nothing(void *context, void *slot, struct err *e)
{
	(void)context;
	(void)slot;
	(void)e;
	return 0;
}

int prep_files_measure(struct prep *p, struct prep_files *files, struct err *e)
{
	struct file_measuring m = { .p = p, .files = files };
	struct prep_file *slots[8];
	struct flow f = { next_file_to_measure,
			  measure_next_file,
			  measure_emit_nothing,
			  &m,
			  slots,
			  sizeof(slots[0]),
			  ARRAY_LEN(slots),
			  MIN(MAX(p->threads, 1), (int)ARRAY_LEN(slots)) };

	return flow_run(&f, e);
}

/* ---- numbers ---- */

/* All fields of struct prep_numbers: name in records, offset, number of elements. */
#define NUMBER(field, n)                                                                           \
	{                                                                                          \
#field, offsetof(struct prep_numbers, field), n                                    \
	}
static const struct {
	const char *name;
	size_t offset, n;
} numbers[] = {
	NUMBER(read, 1),
	NUMBER(source_bytes, 1),
	NUMBER(target_bytes, 1),
	NUMBER(distinct_words, 1),
	NUMBER(dropped, CLEAN_N_RULES),
	NUMBER(merges, 1),
	NUMBER(vocabulary, 1),
	NUMBER(source_merges, 1),
	NUMBER(source_vocabulary, 1),
	NUMBER(pairs, PREP_MAX_SETS),
	NUMBER(source_tokens, PREP_MAX_SETS),
	NUMBER(target_tokens, PREP_MAX_SETS),
	NUMBER(unknown_tokens, PREP_MAX_SETS),
	NUMBER(in_train, PREP_MAX_SETS),
};
#undef NUMBER

/* Write the numbers that the stage changed. The records of all earlier stages give the others. */
static void record_add_numbers(struct json_writer *w, const struct prep_numbers *before,
			       const struct prep_numbers *now)
{
	size_t i, k;

	json_put_open(w, "numbers", '{');
	for (i = 0; i < ARRAY_LEN(numbers); i++) {
		const char *a = (const char *)before + numbers[i].offset;
		const int64_t *b = (const void *)((const char *)now + numbers[i].offset);

		if (!memcmp(a, b, numbers[i].n * sizeof(*b)))
			continue;
		json_put_open(w, numbers[i].name, '[');
		for (k = 0; k < numbers[i].n; k++)
			json_int(w, b[k]);
		json_close(w, ']');
	}
	json_close(w, '}');
}

void prep_record_load_numbers(const struct json *record, struct prep_numbers *n)
{
	const struct json *all = json_get(record, "numbers"), *list;
	int64_t *to;
	size_t i, k;

	for (i = 0; i < ARRAY_LEN(numbers); i++) {
		list = json_get(all, numbers[i].name);
		to = (void *)((char *)n + numbers[i].offset);
		for (k = 0; k < numbers[i].n && k < json_len(list); k++)
			to[k] = json_integer(json_at(list, k), 0);
	}
}

/* ---- records ---- */

int prep_record_read(struct prep *p, const char *stage, struct json **record, struct err *e)
{
	const char *path = prep_path(p, e, "work/%s.json", stage);

	*record = NULL;
	if (!path || json_read_optional(record, path, RECORD_LIMIT, e))
		return e->code;
	if (json_integer(json_get(*record, "v"), 0) != RECORD_VERSION) {
		json_free(*record);
		*record = NULL;
	}
	return 0;
}

void prep_put_file(struct json_writer *w, const char *name, int64_t bytes, const char *sha256)
{
	json_open(w, '{');
	json_put_str(w, "name", name);
	json_put_int(w, "bytes", bytes);
	json_put_str(w, "sha256", sha256);
	json_close(w, '}');
}

static void record_add_files(struct json_writer *w, const struct prep_files *files)
{
	size_t i;

	json_put_open(w, "files", '[');
	for (i = 0; i < files->n; i++)
		prep_put_file(w, files->items[i].name, files->items[i].bytes,
			      files->items[i].sha256);
	json_close(w, ']');
}

int prep_record_write(struct prep *p, const char *stage, const struct prep_step_result *done,
		      struct prep_files *files, struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	char name[64];
	int rc;

	json_open(&w, '{');
	json_put_int(&w, "v", RECORD_VERSION);
	json_put_str(&w, "key", done->step->key);
	json_key(&w, "depends");
	buf_add(&b, done->step->depends.data, done->step->depends.len);
	w.need_comma = true;
	json_put_real(&w, "seconds", done->seconds);
	json_key(&w, "pairs_in");
	json_int(&w, done->before->pairs[0] ? done->before->pairs[0] : p->numbers.read);
	json_put_int(&w, "pairs_out", p->numbers.pairs[0] ? p->numbers.pairs[0] : p->numbers.read);
	record_add_numbers(&w, done->before, &p->numbers);
	record_add_files(&w, files);
	json_close(&w, '}');
	buf_add_char(&b, '\n');
	snprintf(name, sizeof(name), "work/%s.json", stage);
	rc = prep_write_buf(p, name, &b, e);
	buf_free(&b);
	return rc;
}
