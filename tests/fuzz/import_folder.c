/*
 * import_folder.c - a target for "werkbank import": all files of a folder, up to the written model; see fuzz.h
 *
 * An input is the files, before each a line "== NAME". The line feed before that line belongs to no file. The file
 * package.argosmodel is imported instead of the folder.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/import/import_model.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/fuzz/fuzz.h"

#define MAX_NAME 60
#define PACKAGE	 "package.argosmodel"

/* The bytes of a line "== NAME" between line feeds at these bytes; 0: they are no such line. */
static size_t find_name(const uint8_t *at, size_t n, char name[MAX_NAME + 1])
{
	static const char mark[] = "\n== ", letters[] = "abcdefghijklmnopqrstuvwxyz"
							"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							"0123456789-_.";
	const size_t head = sizeof(mark) - 1;
	size_t length = 0;

	if (n <= head || memcmp(at, mark, head) != 0 || at[head] == '.')
		return 0;
	while (head + length < n && length < MAX_NAME && at[head + length] &&
	       strchr(letters, at[head + length]))
		length++;
	if (!length || head + length >= n || at[head + length] != '\n')
		return 0;
	snprintf(name, MAX_NAME + 1, "%.*s", (int)length, (const char *)at + head);
	return head + length + 1;
}

static void write_part(const char *folder, const char *name, const uint8_t *at, size_t n)
{
	struct err e = { 0 };
	char path[FUZZ_FOLDER_BYTES + MAX_NAME + 2];

	if (!*name)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	property(!file_write_all(path, at, n, &e));
}

static void write_files(const char *folder, const uint8_t *data, size_t n)
{
	char name[MAX_NAME + 1] = "", next[MAX_NAME + 1];
	size_t start = 0, length;

	for (size_t i = 0; i < n; i++)
		if ((length = find_name(data + i, n - i, next)) != 0) {
			write_part(folder, name, data + start, i - start);
			snprintf(name, sizeof(name), "%s", next);
			start = i + length;
			i = start - 1;
		}
	write_part(folder, name, data + start, n - start);
}

FUZZ(import)
{
	char folder[FUZZ_FOLDER_BYTES], out[FUZZ_FOLDER_BYTES + 8],
		package[FUZZ_FOLDER_BYTES + sizeof(PACKAGE) + 1];
	const struct import_format *format;
	struct err e = { 0 };
	struct import_source source;
	struct conf c;

	fuzz_make_folder(folder);
	snprintf(out, sizeof(out), "%s/.out", folder);
	snprintf(package, sizeof(package), "%s/%s", folder, PACKAGE);
	write_files(folder, data, n);
	property(!conf_init(&c, &e) && !conf_set(&c, "output", out, "a test", &e));
	c.quiet = true;
	if (import_find_format(file_exists(package) ? package : folder, &source, &format, &e))
		format = NULL;
	if (format == &import_openseq2seq) /* its files do not have the heads */
		property(!conf_set(&c, "heads", "2", "a test", &e));
	if (format)
		property(!import_model(&c, format, &source, &e) == file_exists(out));
	import_source_close(&source);
	conf_free(&c);
	property(!file_remove_tree(folder, &e));
	return 0;
}
