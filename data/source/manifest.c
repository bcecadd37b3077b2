/* manifest.c - builds the manifest of a corpus, and checks each part of it (see manifest.h) */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "data/source/fetch.h"
#include "data/source/manifest_internal.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"

#define MAX_MEMBER 1000 /* bytes of a member's path */

/* ---- sets and languages ---- */

bool manifest_set_is_extra(const char *set)
{
	return strcmp(set, "train") && strcmp(set, "dev") && strcmp(set, "test");
}

/* SET.LANGUAGE is a file in the corpus folder: these names would collide with other files there. */
static bool is_reserved(const char *set)
{
	static const char *const names[] = { "bpe",    "ledger",	"lock",	 "manifest",
					     "recipe", "sentencepiece", "shard", "stats",
					     "vocab",  "work" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(set, names[i]))
			return true;
	return false;
}

static bool is_set_name(const char *set)
{
	return *set && strspn(set, "abcdefghijklmnopqrstuvwxyz0123456789.-") == strlen(set) &&
	       isalnum((unsigned char)*set) && !is_reserved(set);
}

/* An ISO 639 code of two or three letters, optionally with a region or script: de, nds, pt-BR. */
static bool is_language(const char *language)
{
	size_t n = strspn(language, "abcdefghijklmnopqrstuvwxyz");

	if (n < 2 || n > 3)
		return false;
	if (!language[n])
		return true;
	if (language[n] != '-' && language[n] != '_')
		return false;
	language += n + 1;
	n = strlen(language);
	while (isalnum((unsigned char)*language))
		language++;
	return n && !*language;
}

size_t manifest_count_sets(const struct manifest *m)
{
	char seen[MANIFEST_MAX_SETS + 1][32];
	size_t n = 0, i, j, k;

	for (i = 0; i < m->n; i++) {
		for (j = 0; j < m->archives[i].n_members && n <= MANIFEST_MAX_SETS; j++) {
			const char *set = m->archives[i].members[j].set;

			for (k = 0; k < n && strcmp(seen[k], set); k++)
				;
			assert(k <= n && n <= MANIFEST_MAX_SETS);
			if (k == n && manifest_set_is_extra(set))
				memcpy(seen[n++], set, sizeof(seen[0]));
		}
	}
	return n + 3;
}

/* ---- parts ---- */

bool manifest_has_control_byte(const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text))
			return true;
	return false;
}

/* NAME.json, NAME.part, ... are files beside an archive: an archive must not have such a name. */
static bool is_archive_name(const char *name)
{
	static const char *const taken[] = { ".json", ".part", ".tmp" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(taken); i++)
		if (text_ends_with(name, taken[i]))
			return false;
	return strcmp(name, "lock") != 0;
}

int manifest_add_archive(struct manifest *m, const char *name, struct err *e)
{
	struct manifest_archive *a;

	if (paths_check_name("archive", name, e))
		return e->code = ERR_CONFIG;
	if (!is_archive_name(name))
		return err_set(e, ERR_CONFIG,
			       "%s is reserved: an archive must not be called lock or end with "
			       ".json, .part or .tmp",
			       name);
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->archives[i].name, name))
			return err_set(e, ERR_CONFIG, "archive %s is listed twice", name);
	if (m->n == MANIFEST_MAX_ARCHIVES)
		return err_set(e, ERR_CONFIG, "more than %d archives", MANIFEST_MAX_ARCHIVES);
	if (mem_grow(&m->archives, &m->cap, m->n + 1, sizeof(*a), e))
		return e->code;
	a = &m->archives[m->n];
	*a = (struct manifest_archive){ .sums = { .bytes = -1 }, .text_bytes = -1 };
	a->name = mem_strdup(name, e);
	if (!a->name)
		return e->code;
	m->n++;
	return 0;
}

int manifest_add_url(struct manifest_archive *a, const char *request,
		     const struct manifest_sums *sums, struct err *e)
{
	struct manifest_url u = { .sums = *sums };

	if (!text_starts_with(request, "https://") && !text_starts_with(request, "http://") &&
	    !text_starts_with(request, "file://"))
		return err_set(e, ERR_CONFIG,
			       "a url must begin with https://, http:// or file://, not '%.*s'",
			       (int)MIN(strcspn(request, ":/@"), 80), request);
	if (a->n_urls == MANIFEST_MAX_URLS)
		return err_set(e, ERR_CONFIG, "%s: more than %d urls", a->name, MANIFEST_MAX_URLS);
	u.url = fetch_public_url(request, e);
	u.request = u.url ? mem_strdup(request, e) : NULL;
	if (!u.request || mem_grow(&a->urls, &a->cap_urls, a->n_urls + 1, sizeof(u), e)) {
		free(u.url);
		free(u.request);
		return e->code;
	}
	a->urls[a->n_urls++] = u;
	return 0;
}

int manifest_add_member(struct manifest_archive *a, const char *key, const char *path,
			struct err *e)
{
	const char *dot = strrchr(key, '.');
	struct manifest_member m = { 0 };
	size_t set = dot ? (size_t)(dot - key) : 0;

	if (!dot || set >= sizeof(m.set) || strlen(dot + 1) >= sizeof(m.language))
		return err_set(e, ERR_CONFIG,
			       "'%.80s' is none of url, bytes, sha256, md5, text, SET.LANGUAGE "
			       "(such as train.en)",
			       key);
	memcpy(m.set, key, set);
	memcpy(m.language, dot + 1, strlen(dot + 1));
	if (!is_set_name(m.set) || !is_language(m.language))
		return err_set(e, ERR_CONFIG,
			       "'%s' is no SET.LANGUAGE: a set is train, dev, test or another name "
			       "of a-z 0-9 . -, a language is two or three letters",
			       key);
	if (!*path || strlen(path) > MAX_MEMBER)
		return err_set(e, ERR_CONFIG, "%s: expected the path of a member", key);
	if (a->n_members == MANIFEST_MAX_MEMBERS)
		return err_set(e, ERR_CONFIG, "%s: more than %d members", a->name,
			       MANIFEST_MAX_MEMBERS);
	for (size_t i = 0; i < a->n_members; i++)
		if (!strcmp(a->members[i].path, path))
			return err_set(e, ERR_CONFIG,
				       "member %s is in this archive already (%s.%s)", path,
				       a->members[i].set, a->members[i].language);
	m.path = mem_strdup(path, e);
	if (!m.path || mem_grow(&a->members, &a->cap_members, a->n_members + 1, sizeof(m), e)) {
		free(m.path);
		return e->code;
	}
	a->members[a->n_members++] = m;
	return 0;
}

void manifest_free(struct manifest *m)
{
	size_t i, j;

	for (i = 0; i < m->n; i++) {
		struct manifest_archive *a = &m->archives[i];

		for (j = 0; j < a->n_urls; j++) {
			free(a->urls[j].url);
			free(a->urls[j].request);
		}
		for (j = 0; j < a->n_members; j++)
			free(a->members[j].path);
		free(a->urls);
		free(a->members);
		free(a->name);
	}
	free(m->archives);
	*m = (struct manifest){ 0 };
}
