/* texts_demo.c - the texts that the built-in grammar generates (see texts.h) */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/demo/demo.h"
#include "data/source/texts.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/workspace/paths.h"

#define HELD_OUT 500 /* pairs of dev and of test, at most */
#define SHARE	 20  /* training pairs for each held-out pair, at least */

/*
 * Order of generation: held-out sets first, so that they stay the same for any number of training
 * pairs (from HELD_OUT * SHARE on).
 */
static const char *const sets[] = { "dev", "test", "train" };

static int64_t demo_set_pairs(const struct conf *c, const char *set)
{
	if (!strcmp(set, "train"))
		return c->demo_pairs;
	return MAX(MIN(c->demo_pairs / SHARE, HELD_OUT), 1);
}

/* Add the hash of a shipped file to h. */
static int add_shipped(struct hash *h, const char *name, struct err *e)
{
	char *path = paths_shipped(name, e), hex[HASH_SHA256_HEX];
	int rc = path ? hash_file(path, hex, e) : e->code;

	if (!rc)
		rc = hash_add(h, hex, sizeof(hex), e);
	free(path);
	return rc;
}

/* Hash of all that a demo text depends on: grammar, version, seed, size, set, language. */
static int demo_hash_inputs(char hex[HASH_SHA256_HEX], const struct conf *c, const char *set,
			    const char *language, struct err *e)
{
	struct hash *h = hash_new(HASH_SHA256, e);
	char text[200];
	int n, rc = -1;

	if (!h)
		return e->code;
	n = snprintf(text, sizeof(text), "demo 1 %lld %lld %s %s", (long long)c->seed,
		     (long long)c->demo_pairs, set, language);
	if (!hash_add(h, text, (size_t)n, e) && !add_shipped(h, "demo/lexicon.txt", e) &&
	    !add_shipped(h, "demo/patterns.txt", e))
		rc = hash_hex(h, hex, e);
	hash_free(h);
	return rc ? e->code : 0;
}

static int demo_add_text(struct texts *t, struct source_text *text, const struct conf *c,
			 const char *work, const char *set, const char *language, struct err *e)
{
	struct text_file *f;

	if (mem_grow(&t->files, &t->cap_files, t->n_files + 1, sizeof(*t->files), e))
		return e->code;
	text->file = (int)t->n_files;
	f = &t->files[t->n_files++];
	*f = (struct text_file){ .path = file_path(e, "%s/demo-%s.%s", work, set, language) };
	text->name = f->path ? mem_strdup(f->path, e) : NULL;
	return text->name ? demo_hash_inputs(f->sha256, c, set, language, e) : e->code;
}

int texts_add_demo(struct texts *t, const struct conf *c, const char *work, struct err *e)
{
	bool from_german = !strcmp(c->source_language, "de") && !strcmp(c->target_language, "en");

	if (!from_german && (strcmp(c->source_language, "en") || strcmp(c->target_language, "de")))
		return err_set(e, ERR_CONFIG,
			       "demo_pairs: the built-in grammar knows en and de, not %s and %s",
			       c->source_language, c->target_language);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		struct text_pair *p;

		if (mem_grow(&t->pairs, &t->cap, t->n + 1, sizeof(*p), e))
			return e->code;
		p = &t->pairs[t->n++];
		*p = (struct text_pair){ .name = mem_strdup("demo", e) };
		snprintf(p->set, sizeof(p->set), "%s", sets[i]);
		if (!p->name ||
		    demo_add_text(t, &p->source, c, work, sets[i], c->source_language, e) ||
		    demo_add_text(t, &p->target, c, work, sets[i], c->target_language, e))
			return e->code;
	}
	t->is_demo = true;
	return 0;
}

/* ---- generation ---- */

/* The file of one side of a demo set. The set must exist. */
static struct text_file *demo_text_file(struct texts *t, const char *set, bool target)
{
	size_t i = 0;

	while (i < t->n && strcmp(t->pairs[i].set, set))
		i++;
	assert(i < t->n);
	return &t->files[target ? t->pairs[i].target.file : t->pairs[i].source.file];
}

static int write_set(struct demo *d, int64_t pairs, struct text_file *const files[2], struct err *e)
{
	struct outfile out[2] = { { 0 }, { 0 } };
	struct buf text[2] = { { 0 }, { 0 } };
	int rc = -1;

	if (outfile_open(&out[0], files[0]->path, e) || outfile_open(&out[1], files[1]->path, e))
		goto out;
	for (; pairs > 0; pairs--) {
		if (demo_next(d, &text[0], &text[1], e))
			goto out;
		for (int k = 0; k < 2; k++) {
			buf_add_char(&text[k], '\n');
			if (buf_check(&text[k], e))
				goto out;
			/* outfile_commit() reports write errors */
			fwrite(text[k].data, 1, text[k].len, out[k].stream);
		}
	}
	rc = outfile_commit(&out[0], e);
	if (!rc)
		rc = outfile_commit(&out[1], e);
	for (int k = 0; !rc && k < 2; k++)
		files[k]->bytes = file_size(files[k]->path);
out:
	for (int k = 0; k < 2; k++) {
		outfile_abandon(&out[k]);
		buf_free(&text[k]);
	}
	return rc ? e->code : 0;
}

int texts_write_demo(struct texts *t, const struct conf *c, struct err *e)
{
	struct demo *d;
	int rc = 0;

	if (!t->is_demo)
		return 0;
	d = demo_open((uint64_t)c->seed, e);
	if (!d)
		return e->code;
	for (size_t i = 0; !rc && i < ARRAY_LEN(sets); i++) {
		bool from_german = !strcmp(c->source_language, "de");
		struct text_file *const files[2] = { demo_text_file(t, sets[i], from_german),
						     demo_text_file(t, sets[i], !from_german) };

		rc = write_set(d, demo_set_pairs(c, sets[i]), files, e);
	}
	demo_close(d);
	return rc;
}
