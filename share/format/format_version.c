/* format_version.c - see format_version.h */
#include "config.h"

#include "share/format/format_version.h"

#include <stdio.h>
#include <string.h>

#include "share/base/buf.h"

void format_put_version(struct json_writer *w, const struct file_format *f,
			const char *const *needs)
{
	json_put_int(w, "v", f->version);
	json_put_str(w, "program", PACKAGE_VERSION);
	if (!needs || !*needs)
		return;
	json_put_open(w, "needs", '[');
	for (; *needs; needs++)
		json_str(w, *needs);
	json_close(w, ']');
}

int format_refuse(const struct json *root, const struct file_format *f, const char *path,
		  const char *reason, struct err *e)
{
	const char *program = json_text(json_get(root, "program"), "");

	if (*program)
		return err_set(e, ERR_CONFIG,
			       "%.300s: this %s %.160s, which Werkbank " PACKAGE_VERSION
			       " does not know: use Werkbank %.20s, which wrote it, or a newer one",
			       path, f->what, reason, program);
	return err_set(e, ERR_CONFIG,
		       "%.300s: this %s %.160s, which Werkbank " PACKAGE_VERSION
		       " does not know: use the Werkbank that wrote it, or a newer one",
		       path, f->what, reason);
}

static bool is_known_feature(const struct file_format *f, const char *feature)
{
	for (const char *const *known = f->features; known && *known; known++)
		if (!strcmp(*known, feature))
			return true;
	return false;
}

int format_check_version(const struct json *root, const struct file_format *f, const char *path,
			 struct err *e)
{
	const int64_t version = json_integer(json_get(root, "v"), 0);
	const struct json *needs = json_get(root, "needs");
	char reason[200];

	if (version > f->version) {
		snprintf(reason, sizeof(reason), "has version %lld", (long long)version);
		return format_refuse(root, f, path, reason, e);
	}
	for (const struct json *c = json_first(needs); c; c = json_next(needs, c)) {
		const char *feature = json_text(c, "");

		if (is_known_feature(f, feature))
			continue;
		snprintf(reason, sizeof(reason), "needs \"%.60s\"", feature);
		return format_refuse(root, f, path, reason, e);
	}
	return 0;
}

int format_check_keys(const struct json *root, const char *name, const char *const *keys, size_t n,
		      const struct file_format *f, const char *path, struct err *e)
{
	const struct json *object = json_get(root, name);
	char reason[200];

	for (const struct json *c = json_first(object); c; c = json_next(object, c)) {
		const char *key = json_child_key(c);
		size_t i = 0;

		while (i < n && strcmp(keys[i], key) != 0)
			i++;
		if (i < n)
			continue;
		snprintf(reason, sizeof(reason), "has \"%.60s\" in \"%.30s\"", key, name);
		return format_refuse(root, f, path, reason, e);
	}
	return 0;
}
