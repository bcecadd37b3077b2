/* sources.c - see sources.h */
#include "data/sources.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/archive.h"
#include "data/demo.h"
#include "share/base/file.h"
#include "share/base/mem.h"

#define DEMO_HELD_OUT 500	/* pairs in dev and in test of the built-in corpus, … */
#define UNPACK_BLOCK  (256u << 10)	/* bytes of a member that are moved at once */
#define DEMO_SHARE    20	/* … but no more than one for so many of training */

static const char *const set_names[N_SETS] = { "train", "dev", "test" };

const char *corpus_set_name(enum corpus_set set)
{
	return set_names[set];
}

/* Takes over the two paths, also on failure. name NULL: the source's path. */
static int add_pair(struct sources *s, enum corpus_set set, char *source, char *target,
		    const char *name, struct err *e)
{
	struct source_pair p = { .set = set, .source = source, .target = target };

	p.name = source && target ? mem_strdup(name ? name : source, e) : NULL;
	if (!p.name || mem_grow(&s->pairs, &s->cap, s->n + 1, sizeof(p), e)) {
		free(p.source);
		free(p.target);
		free(p.name);
		return e->code;
	}
	s->pairs[s->n++] = p;
	return 0;
}

/* ---- files ---- */

static int add_files(struct sources *s, enum corpus_set set, const struct conf_list *source,
		     const struct conf_list *target, struct err *e)
{
	const char *name = corpus_set_name(set);
	size_t i;

	if (source->n != target->n)
		return err_set(
			e, ERR_CONFIG,
			"%s_source names %zu files and %s_target %zu: each needs its other side",
			name, source->n, name, target->n);
	for (i = 0; i < source->n; i++) {
		if (file_size(source->items[i]) < 0 || file_size(target->items[i]) < 0)
			return err_set(e, ERR_NOINPUT, "%s: there is no such file (%s text)",
				       file_size(source->items[i]) < 0 ? source->items[i]
								       : target->items[i],
				       name);
		if (add_pair(s, set, mem_strdup(source->items[i], e),
			     mem_strdup(target->items[i], e), NULL, e))
			return e->code;
	}
	return 0;
}

/* ---- the built-in grammar ---- */

static int write_demo(struct demo *d, int64_t pairs, const char *english, const char *german,
		      struct err *e)
{
	struct outfile en = { 0 }, de = { 0 };
	struct buf a = { 0 }, b = { 0 };
	int rc = -1;

	if (outfile_open(&en, english, e) || outfile_open(&de, german, e))
		goto out;
	for (; pairs > 0; pairs--) {
		if (demo_next(d, &a, &b, e))
			goto out;
		buf_add_char(&a, '\n');
		buf_add_char(&b, '\n');
		if (fputs(buf_text(&a), en.stream) == EOF || fputs(buf_text(&b), de.stream) == EOF)
			break;		/* the commit says why */
	}
	rc = outfile_commit(&en, e);
	if (!rc)
		rc = outfile_commit(&de, e);
out:
	outfile_abandon(&en);
	outfile_abandon(&de);
	buf_free(&a);
	buf_free(&b);
	return rc ? e->code : 0;
}

/*
 * The held-out sets come first from the grammar, so that they stay the same however many pairs
 * train.
 */
static int add_demo(struct sources *s, const struct conf *c, const char *work, struct err *e)
{
	static const enum corpus_set order[] = { SET_DEV, SET_TEST, SET_TRAIN };
	int64_t held_out = MAX(MIN(c->demo_pairs / DEMO_SHARE, DEMO_HELD_OUT), 1);
	bool from_german = !strcmp(c->source_language, "de") && !strcmp(c->target_language, "en");
	struct demo *d;
	size_t i;
	int rc = 0;

	if (!from_german && (strcmp(c->source_language, "en") || strcmp(c->target_language, "de")))
		return err_set(e, ERR_CONFIG, "the built-in grammar knows en and de, not %s and %s",
			       c->source_language, c->target_language);
	d = demo_open((uint64_t)c->seed, e);
	if (!d)
		return e->code;
	for (i = 0; !rc && i < ARRAY_LEN(order); i++) {
		char *en = file_path(e, "%s/demo-%s.en", work, corpus_set_name(order[i]));
		char *de =
			en ? file_path(e, "%s/demo-%s.de", work, corpus_set_name(order[i])) : NULL;

		rc = de ? write_demo(d, order[i] == SET_TRAIN ? c->demo_pairs : held_out, en, de, e)
			: e->code;
		if (rc) {
			free(en);
			free(de);
		} else {
			rc = add_pair(s, order[i], from_german ? de : en, from_german ? en : de,
				      "demo", e);
		}
	}
	demo_close(d);
	return rc;
}

/* ---- archives ---- */

/*
 * The text that a member becomes: its own name at the end, so that messages and .sgm are
 * recognised.
 */
static char *member_file(const char *work, size_t archive, size_t member, const char *path,
			 struct err *e)
{
	const char *slash = strrchr(path, '/');

	return file_path(e, "%s/%zu-%zu-%s", work, archive, member, slash ? slash + 1 : path);
}

static bool is_in(const struct manifest_member *m, enum corpus_set set)
{
	return !strcmp(m->set, corpus_set_name(set));
}

/*
 * Pair the members of one set: the n-th of the source language with the n-th of the target
 * language.
 */
static int pair_members(struct sources *s, const struct manifest_archive *a,
			char *const *files, enum corpus_set set, const struct conf *c,
			struct err *e)
{
	size_t i, j = 0, sources = 0, targets = 0;
	char *name;
	int rc;

	for (i = 0; i < a->n_members; i++) {
		if (!is_in(&a->members[i], set))
			continue;
		sources += !strcmp(a->members[i].language, c->source_language);
		targets += !strcmp(a->members[i].language, c->target_language);
	}
	if (sources != targets)
		return err_set(e, ERR_CONFIG,
			       "the manifest gives %s %zu %s members in %s and %zu in %s: each "
			       "needs its other side",
			       a->name, sources, corpus_set_name(set), c->source_language, targets,
			       c->target_language);
	for (i = 0; i < a->n_members; i++) {
		if (!is_in(&a->members[i], set) ||
		    strcmp(a->members[i].language, c->source_language))
			continue;
		while (!is_in(&a->members[j], set) ||
		       strcmp(a->members[j].language, c->target_language))
			j++;
		name = file_path(e, "%s:%s", a->name, a->members[i].path);
		rc = name ? add_pair(s, set, mem_strdup(files[i], e), mem_strdup(files[j], e), name,
				     e)
			  : e->code;
		free(name);
		if (rc)
			return rc;
		j++;
	}
	return 0;
}

/* The member at hand becomes the file to. */
static int write_member(struct archive_reader *r, const char *to, int64_t *bytes,
			struct progress *p, struct err *e)
{
	static char block[UNPACK_BLOCK];
	struct outfile out;
	int64_t got;

	if (outfile_open(&out, to, e))
		return e->code;
	while ((got = archive_read(r, block, sizeof(block), e)) > 0) {
		if (fwrite(block, 1, (size_t)got, out.stream) != (size_t)got)
			break;		/* the commit says why */
		*bytes += got;
		progress_at(p, archive_position(r));
	}
	if (got >= 0)
		return outfile_commit(&out, e);
	outfile_abandon(&out);
	return e->code;
}

static int write_members(const struct manifest_archive *a, const char *path, char *const *files,
			 struct progress *p, struct err *e)
{
	const char **names = mem_alloc(a->n_members, sizeof(*names), e);
	struct archive_reader *r = NULL;
	int64_t bytes = 0;
	size_t i;
	int rc = -1;

	for (i = 0; names && i < a->n_members; i++)
		names[i] = a->members[i].path;
	progress_begin(p, a->name, file_size(path), "bytes");
	if (names)
		r = archive_open(path, names, a->n_members, e);
	while (r && (rc = archive_next(r, &i, e)) > 0)
		if (write_member(r, files[i], &bytes, p, e)) {
			rc = e->code;
			break;
		}
	archive_close(r);
	free(names);
	for (i = 0; rc && i < a->n_members; i++)
		unlink(files[i]);
	if (!rc)
		progress_end(p, "%zu members unpacked, %lld bytes", a->n_members, (long long)bytes);
	return rc ? e->code : 0;
}

static int unpack(struct sources *s, const struct manifest_archive *a, size_t number,
		  const char *path, const struct conf *c, const char *work, struct progress *p,
		  struct err *e)
{
	char **files = mem_alloc(a->n_members, sizeof(*files), e);
	enum corpus_set set;
	size_t i;
	int rc = files ? 0 : e->code;

	for (i = 0; !rc && i < a->n_members; i++) {
		files[i] = member_file(work, number, i, a->members[i].path, e);
		rc = files[i] ? 0 : e->code;
	}
	if (!rc)
		rc = write_members(a, path, files, p, e);
	for (set = SET_TRAIN; !rc && set < N_SETS; set++)
		rc = pair_members(s, a, files, set, c, e);
	for (i = 0; files && i < a->n_members; i++)
		free(files[i]);
	free(files);
	return rc;
}

static int add_archives(struct sources *s, const struct manifest *m, const struct conf *c,
			struct progress *p, struct err *e)
{
	struct obtained *list = mem_alloc(m->n, sizeof(*list), e);
	size_t i;
	int rc = list ? obtain_all(m, c, false, p, list, e) : e->code;

	if (list && !rc)
		rc = mem_grow(&s->archives, &s->cap_archives, m->n, sizeof(*s->archives), e);
	for (i = 0; list && i < m->n; i++) {
		if (rc) {
			obtained_free(&list[i]);
			continue;
		}
		s->archives[s->n_archives++] = (struct source_archive){
			.name = mem_strdup(m->archives[i].name, e), .from = list[i] };
		if (!s->archives[i].name)
			rc = e->code;
	}
	free(list);
	return rc;
}

/* Only train, dev and test are read as yet. */
static void drop_extra_sets(struct manifest_archive *a)
{
	size_t i, n = 0;

	for (i = 0; i < a->n_members; i++) {
		if (manifest_set_is_extra(a->members[i].set))
			free(a->members[i].path);
		else
			a->members[n++] = a->members[i];
	}
	a->n_members = n;
}

static int add_manifest(struct sources *s, const struct conf *c, const char *work,
			struct progress *p, struct err *e)
{
	struct manifest m;
	size_t i;
	int rc = manifest_read(&m, c->manifest, e);

	if (rc)
		return rc;
	/* all of them first: a missing one is known before hours of unpacking */
	rc = add_archives(s, &m, c, p, e);
	for (i = 0; !rc && i < m.n; i++)
		drop_extra_sets(&m.archives[i]);
	for (i = 0; !rc && i < m.n; i++)
		if (m.archives[i].n_members)
			rc = unpack(s, &m.archives[i], i, s->archives[i].from.path, c, work, p, e);
	manifest_free(&m);
	return rc;
}

/* ---- all together ---- */

static bool has_set(const struct sources *s, enum corpus_set set)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->pairs[i].set == set)
			return true;
	return false;
}

int sources_find(struct sources *s, const struct conf *c, const char *folder, const char *work,
		 struct progress *p, struct err *e)
{
	int ways = (c->demo_pairs > 0) + (c->manifest != NULL) +
		   (c->train_source.n + c->train_target.n > 0);

	(void)folder;
	*s = (struct sources){ 0 };
	if (!ways)
		return err_set(
			e, ERR_CONFIG,
			"the recipe names no training text: give train_source and train_target, "
			"a manifest, or demo_pairs");
	if (ways > 1)
		return err_set(
			e, ERR_CONFIG,
			"demo_pairs, manifest and train_source exclude each other: give one of "
			"them");
	if (add_files(s, SET_TRAIN, &c->train_source, &c->train_target, e) ||
	    add_files(s, SET_DEV, &c->dev_source, &c->dev_target, e) ||
	    add_files(s, SET_TEST, &c->test_source, &c->test_target, e))
		goto fail;
	if ((c->demo_pairs && add_demo(s, c, work, e)) ||
	    (c->manifest && add_manifest(s, c, work, p, e)))
		goto fail;
	if (!has_set(s, SET_TRAIN)) {
		err_set(e, ERR_CONFIG, "manifest %s has no training text in %s and %s", c->manifest,
			c->source_language, c->target_language);
		goto fail;
	}
	return 0;
fail:
	sources_free(s);
	return e->code;
}

void sources_free(struct sources *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		free(s->pairs[i].source);
		free(s->pairs[i].target);
		free(s->pairs[i].name);
	}
	for (i = 0; i < s->n_archives; i++) {
		free(s->archives[i].name);
		obtained_free(&s->archives[i].from);
	}
	free(s->pairs);
	free(s->archives);
	*s = (struct sources){ 0 };
}
