/* path_completion.c - see path_completion.h */
#include "tui/context/path_completion.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "share/base/file.h"
#include "share/base/text.h"

/* Shortens the common part to what the name shares with it, not inside a letter. */
static void keep_common(struct buf *common, const char *name)
{
	size_t n = 0;

	while (n < common->len && common->data[n] == name[n])
		n++;
	while (n > 0 && !utf8_valid(common->data, n))
		n--;
	buf_truncate(common, n);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

void path_complete(const char *typed, struct buf *out)
{
	const char *slash = strrchr(typed, '/'), *begin = slash ? slash + 1 : typed;
	const size_t n_folder = (size_t)(begin - typed), n = strlen(begin);
	struct buf folder = { 0 }, common = { 0 };
	size_t n_found = 0;
	struct dirent *entry;
	DIR *d;

	buf_add(&folder, typed, n_folder);
	d = opendir(n_folder ? buf_text(&folder) : ".");
	while (d && (entry = readdir(d)) != NULL) {
		if (strncmp(entry->d_name, begin, n) != 0 || (!n && *entry->d_name == '.') ||
		    !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (n_found++)
			keep_common(&common, entry->d_name);
		else
			buf_add_str(&common, entry->d_name);
	}
	if (d)
		closedir(d);
	buf_add_str(&folder, n_found ? buf_text(&common) : begin);
	if (n_found == 1 && is_folder(buf_text(&folder)))
		buf_add_char(&folder, '/');
	buf_add_str(out, folder.failed ? typed : buf_text(&folder));
	buf_free(&folder);
	buf_free(&common);
}
