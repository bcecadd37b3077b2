/* texts.c - the raw parallel texts of a corpus: files and archives (see texts.h) */
#include "data/source/texts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/source/archive.h"
#include "data/source/manifest.h"
#include "data/source/obtain.h"
#include "data/source/text_format.h"
#include "data/source/texts_split.h"
#include "data/text/encoding.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"

_Static_assert(MANIFEST_MAX_SETS <= TEXTS_MAX_SETS, "texts has room for all sets of a manifest");

static void free_text(struct source_text *t)
{
	free(t->member);
	free(t->name);
	free(t->tag);
}

static void free_pair(struct text_pair *p)
{
	free_text(&p->source);
	free_text(&p->target);
	free(p->name);
}

/* Takes ownership of the strings of p, also on failure. */
static int texts_add_pair(struct texts *t, struct text_pair *p, struct err *e)
{
	if (!p->name || !p->source.name || !p->target.name ||
	    mem_grow(&t->pairs, &t->cap, t->n + 1, sizeof(*p), e)) {
		free_pair(p);
		return e->code;
	}
	t->pairs[t->n++] = *p;
	return 0;
}

static void set_name(struct text_pair *p, const char *set)
{
	snprintf(p->set, sizeof(p->set), "%s", set);
}

/* Append a zeroed file. NULL: failure. */
static struct text_file *texts_add_file(struct texts *t, struct err *e)
{
	if (mem_grow(&t->files, &t->cap_files, t->n_files + 1, sizeof(*t->files), e))
		return NULL;
	t->files[t->n_files] = (struct text_file){ 0 };
	return &t->files[t->n_files++];
}

/* ---- files ---- */

/* Index of a file in t->files; a new file is hashed and appended. < 0: failure. */
static int texts_find_file(struct texts *t, const struct conf *c, const char *path, const char *set,
			   bool is_bilingual, struct err *e)
{
	struct text_file *f;
	size_t i;

	for (i = 0; i < t->n_files; i++)
		if (!strcmp(t->files[i].path, path))
			return (int)i;
	if (file_is_folder(path))
		return err_set(e, ERR_NOINPUT,
			       "%s (%s text): is a folder, a text file was expected", path, set);
	if (file_size(path) < 0)
		return err_set(e, ERR_NOINPUT, "%s: no such file (%s text)", path, set);
	if (!is_bilingual && text_format_check(path, c->encoding, e))
		return e->code;
	f = texts_add_file(t, e);
	if (!f || !(f->path = mem_strdup(path, e)) || hash_file(path, f->sha256, e))
		return e->code;
	f->bytes = file_size(path);
	return is_bilingual && archive_is_packed(path, &f->is_packed, e) ? e->code : (int)i;
}

/* Files that were given as one side only: a table would have both sides. */
static int check_formats(const struct conf *c, const struct conf_list *files, struct err *e)
{
	for (size_t i = 0; i < files->n; i++)
		if (file_size(files->items[i]) > 0 && !file_is_folder(files->items[i]) &&
		    text_format_check(files->items[i], c->encoding, e))
			return e->code;
	return 0;
}

/* "-" among the tags: the text has none. */
static bool is_tag(const char *tag)
{
	return strcmp(tag, "-") != 0;
}

/* The files of a set, as the options name them. */
struct set_files {
	const char *set, *option; /* option: begin of the names of its options */
	const struct conf_list *source, *target, *both, *tags;
	bool is_general;
};

static int check_tags(const struct set_files *f, struct err *e)
{
	const size_t n = f->tags->n, n_files = f->source->n + f->both->n;
	const char *set = f->set;

	if (!n || n == n_files)
		return 0;
	if (f->both->n)
		return err_set(
			e, ERR_CONFIG,
			"%s_tags names %zu tag%s, but %s_source and %s_pairs name %zu files: "
			"give a tag for each file, first those of %s_source, - for none",
			set, n, text_plural(n), set, set, n_files, set);
	return err_set(
		e, ERR_CONFIG,
		"%s_tags names %zu tag%s and %s_source %zu file%s: give a tag for each file, "
		"- for none",
		set, n, text_plural(n), set, n_files, text_plural(n_files));
}

/* The files of p are set; its names and its tag ("-": none) are added here. */
static int add_named_pair(struct texts *t, struct text_pair *p, const char *set, const char *from,
			  const char *to, const char *tag, struct err *e)
{
	set_name(p, set);
	p->name = mem_strdup(from, e);
	p->source.name = p->name ? mem_strdup(from, e) : NULL;
	p->target.name = p->source.name ? mem_strdup(to, e) : NULL;
	if (p->target.name && is_tag(tag) && !(p->source.tag = mem_strdup(tag, e))) {
		free_pair(p);
		return e->code;
	}
	p->source.pair_tag = p->target.pair_tag = p->source.tag;
	return texts_add_pair(t, p, e);
}

/* The tag of file i of a set. General text is text of the same direction: it has the first tag of the training text. */
static const char *tag_of_file(const struct set_files *f, size_t i)
{
	return f->tags->n ? f->tags->items[f->is_general ? 0 : i] : "-";
}

static int texts_add_files(struct texts *t, const struct conf *c, const struct set_files *f,
			   struct err *e)
{
	const struct conf_list *source = f->source, *target = f->target;

	if (source->n != target->n && (check_formats(c, source, e) || check_formats(c, target, e)))
		return e->code;
	if (source->n != target->n)
		return err_set(
			e, ERR_CONFIG,
			"%s_source names %zu file%s and %s_target %zu: give the same number, file "
			"by file",
			f->option, source->n, text_plural(source->n), f->option, target->n);
	for (size_t i = 0; i < source->n; i++) {
		const char *from = source->items[i], *to = target->items[i];
		struct text_pair p = { .is_general = f->is_general };

		p.source.file = texts_find_file(t, c, from, f->set, false, e);
		if (p.source.file < 0)
			return e->code;
		p.target.file = texts_find_file(t, c, to, f->set, false, e);
		if (p.target.file < 0)
			return e->code;
		if (add_named_pair(t, &p, f->set, from, to, tag_of_file(f, i), e))
			return e->code;
	}
	return 0;
}

/* Files that hold both sides. Their tags follow those of the other files. */
static int texts_add_bilingual(struct texts *t, const struct conf *c, const struct set_files *f,
			       struct err *e)
{
	for (size_t i = 0; i < f->both->n; i++) {
		const char *name = f->both->items[i];
		const int file = texts_find_file(t, c, name, f->set, true, e);
		struct text_pair p = { .source.file = file,
				       .target.file = file,
				       .is_bilingual = true };

		if (file < 0 ||
		    add_named_pair(t, &p, f->set, name, name, tag_of_file(f, f->source->n + i), e))
			return e->code;
	}
	return 0;
}

/* All files of a set: those of one side each, then those of both. */
static int texts_add_set(struct texts *t, const struct conf *c, const struct set_files *f,
			 struct err *e)
{
	if ((!f->is_general && check_tags(f, e)) || texts_add_files(t, c, f, e))
		return e->code;
	return texts_add_bilingual(t, c, f, e);
}

/* ---- archives ---- */

static bool is_member_of(const struct manifest_member *m, const char *set, const char *language)
{
	return !strcmp(m->set, set) && !strcmp(m->language, language);
}

/* The n-th member (from 0) of a set in a language; NULL: there are fewer. */
static const struct manifest_member *nth_member(const struct manifest_archive *a, const char *set,
						const char *language, size_t n)
{
	for (size_t i = 0; i < a->n_members; i++)
		if (is_member_of(&a->members[i], set, language) && !n--)
			return &a->members[i];
	return NULL;
}

static int member_text(struct source_text *t, int file, const struct manifest_archive *a,
		       const struct manifest_member *m, struct err *e)
{
	t->file = file;
	t->member = mem_strdup(m->path, e);
	t->name = t->member ? file_path(e, "%s:%s", a->name, m->path) : NULL;
	return t->name ? 0 : e->code;
}

/* Pair the n-th member of the source language with the n-th member of the target language. */
static int pair_members(struct texts *t, int file, const struct manifest_archive *a,
			const char *set, const struct conf *c, struct err *e)
{
	const struct manifest_member *from, *to;

	for (size_t n = 0;; n++) {
		struct text_pair p = { .source.file = file };

		from = nth_member(a, set, c->source_language, n);
		to = nth_member(a, set, c->target_language, n);
		if (!from && !to)
			return 0;
		if (!from || !to)
			return err_set(e, ERR_CONFIG,
				       "the manifest gives %s more %s members in %s than in %s: "
				       "each needs its translation",
				       a->name, set, from ? c->source_language : c->target_language,
				       from ? c->target_language : c->source_language);
		set_name(&p, set);
		if (!member_text(&p.source, file, a, from, e) &&
		    !member_text(&p.target, file, a, to, e))
			p.name = mem_strdup(p.source.name, e);
		if (texts_add_pair(t, &p, e))
			return e->code;
	}
}

/* Add the pairs of all sets of an archive, in the order of the first member of each set. */
static int add_members(struct texts *t, int file, const struct manifest_archive *a,
		       const struct conf *c, struct err *e)
{
	for (size_t i = 0; i < a->n_members; i++) {
		const char *set = a->members[i].set;
		size_t k = 0;

		while (strcmp(a->members[k].set, set))
			k++;
		if (k == i && pair_members(t, file, a, set, c, e))
			return e->code;
	}
	return 0;
}

/* Takes ownership of the path and URL of `from`. */
static int add_archive(struct texts *t, const struct manifest_archive *a,
		       struct obtained_archive *from, struct err *e)
{
	struct text_file *f = texts_add_file(t, e);

	if (!f)
		return e->code;
	f->path = from->path;
	f->url = from->url;
	f->bytes = from->bytes;
	f->text_bytes = a->text_bytes;
	memcpy(f->sha256, from->sha256, sizeof(f->sha256));
	from->path = from->url = NULL;
	f->archive = mem_strdup(a->name, e);
	return f->archive ? 0 : e->code;
}

/* obtain_offline(), or obtain_all() with again = false. */
typedef int (*archives_find)(const struct manifest *m, const struct conf *c, struct progress *p,
			     struct obtained_archive *list, struct err *e);

static int texts_fetch_archives(const struct manifest *m, const struct conf *c, struct progress *p,
				struct obtained_archive *list, struct err *e)
{
	return obtain_all(m, c, false, p, list, e);
}

static int add_manifest(struct texts *t, const struct conf *c, archives_find find,
			struct progress *p, struct err *e)
{
	struct manifest m;
	struct obtained_archive *list = NULL;
	int rc = manifest_read(&m, c->manifest, e);

	if (rc)
		return rc;
	list = mem_alloc(m.n, sizeof(*list), e);
	rc = list ? find(&m, c, p, list, e) : e->code;
	for (size_t i = 0; !rc && i < m.n; i++) {
		rc = add_archive(t, &m.archives[i], &list[i], e);
		if (!rc)
			rc = add_members(t, (int)t->n_files - 1, &m.archives[i], c, e);
	}
	for (size_t i = 0; list && i < m.n; i++)
		obtained_archive_free(&list[i]);
	free(list);
	manifest_free(&m);
	return rc;
}

/* ---- sets ---- */

int texts_find_set(const struct texts *t, const char *set)
{
	for (int i = 0; i < t->n_sets; i++)
		if (!strcmp(t->sets[i], set))
			return i;
	return -1;
}

/* Fill t->sets: train, dev, test, then the others in the order of their first pair. */
static void name_sets(struct texts *t)
{
	static const char *const first[] = { "train", "dev", "test" };

	t->n_sets = 0;
	for (size_t k = 0; k <= ARRAY_LEN(first); k++)
		for (size_t i = 0; i < t->n; i++) {
			const char *set = t->pairs[i].set;

			if ((k == ARRAY_LEN(first) || !strcmp(set, first[k])) &&
			    texts_find_set(t, set) < 0 && t->n_sets < TEXTS_MAX_SETS)
				t->sets[t->n_sets++] = set;
		}
}

/* Sort the pairs by set (stable) and count those of train. */
static int order_pairs(struct texts *t, struct err *e)
{
	struct text_pair *ordered = mem_alloc(MAX(t->n, 1), sizeof(*ordered), e);
	size_t n = 0;

	if (!ordered)
		return e->code;
	name_sets(t);
	for (int k = 0; k < t->n_sets; k++)
		for (size_t i = 0; i < t->n; i++)
			if (texts_find_set(t, t->pairs[i].set) == k)
				ordered[n++] = t->pairs[i];
	assert(n == t->n); /* every pair belongs to exactly one set */
	free(t->pairs);
	t->pairs = ordered;
	t->cap = MAX(t->n, 1);
	name_sets(t); /* t->sets pointed into the freed array */
	for (t->n_train = 0; t->n_train < t->n; t->n_train++)
		if (strcmp(t->pairs[t->n_train].set, "train"))
			break;
	return 0;
}

/* ---- all sources ---- */

static int texts_find_all(struct texts *t, const struct conf *c, const char *work,
			  archives_find find, struct progress *p, struct err *e)
{
	static const struct conf_list none;
	const struct set_files sets[] = {
		{ "train", "train", &c->train_source, &c->train_target, &c->train_pairs,
		  &c->train_tags, false },
		{ "train", "general", &c->general_source, &c->general_target, &none, &c->train_tags,
		  true },
		{ "dev", "dev", &c->dev_source, &c->dev_target, &c->dev_pairs, &c->dev_tags,
		  false },
		{ "test", "test", &c->test_source, &c->test_target, &c->test_pairs, &c->test_tags,
		  false },
		{ TEXTS_GENERAL_SET, "general_test", &c->general_test_source,
		  &c->general_test_target, &none, &c->train_tags, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		if (texts_add_set(t, c, &sets[i], e))
			return e->code;
	if ((c->demo_pairs && texts_add_demo(t, c, work, e)) ||
	    (c->manifest && add_manifest(t, c, find, p, e)) || texts_add_splits(t, c, e) ||
	    order_pairs(t, e))
		return e->code;
	if (!t->n_train)
		return err_set(e, ERR_CONFIG, "manifest %s has no training text in %s and %s",
			       c->manifest, c->source_language, c->target_language);
	return 0;
}

static int texts_check_and_find(struct texts *t, const struct conf *c, const char *work,
				archives_find find, struct progress *p, struct err *e)
{
	int ways = (c->demo_pairs > 0) + (c->manifest != NULL) +
		   (c->train_source.n + c->train_target.n + c->train_pairs.n > 0);

	*t = (struct texts){ 0 };
	if (encoding_check(c->encoding, e))
		return e->code;
	if (!ways)
		return err_set(
			e, ERR_CONFIG,
			"the recipe names no training text: give train_source and train_target, "
			"train_pairs, a manifest, or demo_pairs");
	if (ways > 1)
		return err_set(
			e, ERR_CONFIG,
			"demo_pairs, manifest and files (train_source, train_pairs) exclude each "
			"other: give one of them");
	if (c->demo_pairs > 0 && c->dev_source.n + c->dev_target.n + c->dev_pairs.n +
						 c->test_source.n + c->test_target.n +
						 c->test_pairs.n >
					 0)
		return err_set(e, ERR_CONFIG,
			       "demo_pairs makes the sets dev and test, too: omit dev_source, "
			       "dev_target, dev_pairs, test_source, test_target and test_pairs");
	if (!strcmp(c->source_language, c->target_language))
		return err_set(e, ERR_CONFIG, "source_language and target_language are both %s",
			       c->source_language);
	if (texts_find_all(t, c, work, find, p, e)) {
		texts_free(t);
		return e->code;
	}
	return 0;
}

int texts_find(struct texts *t, const struct conf *c, const char *work, struct progress *p,
	       struct err *e)
{
	return texts_check_and_find(t, c, work, texts_fetch_archives, p, e);
}

int texts_find_offline(struct texts *t, const struct conf *c, const char *work, struct progress *p,
		       struct err *e)
{
	return texts_check_and_find(t, c, work, obtain_offline, p, e);
}

static void describe_text(const struct texts *t, const struct source_text *text, bool is_bilingual,
			  struct buf *out)
{
	buf_printf(out, "\t%s\t%s", t->files[text->file].sha256,
		   is_bilingual	  ? "both sides"
		   : text->member ? text->member
				  : "");
}

void texts_describe(const struct texts *t, struct buf *out)
{
	for (size_t i = 0; i < t->n; i++) {
		buf_add_str(out, t->pairs[i].set);
		if (t->pairs[i].is_general)
			buf_add_str(out, "\tgeneral");
		describe_text(t, &t->pairs[i].source, t->pairs[i].is_bilingual, out);
		describe_text(t, &t->pairs[i].target, t->pairs[i].is_bilingual, out);
		buf_add_char(out, '\n');
	}
}

void texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free_pair(&t->pairs[i]);
	for (size_t i = 0; i < t->n_files; i++) {
		free(t->files[i].path);
		free(t->files[i].archive);
		free(t->files[i].url);
	}
	free(t->pairs);
	free(t->files);
	*t = (struct texts){ 0 };
}
