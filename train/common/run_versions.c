/* run_versions.c - see run_versions.h */
#include "train/common/run_versions.h"

#include <stdlib.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"

#define FILE_MAX_BYTES (16 << 20)

const struct file_format run_state_format = { .what = "state of a run", .version = 1 };
const struct file_format run_evaluations_format = { .what = "list of evaluations", .version = 2 };

static int check_journal_version(const char *folder, struct err *e)
{
	struct err found = { 0 };
	const struct json *record;
	char *path = file_path(e, "%s/journal.jsonl", folder);
	struct journal_reader *r = path && file_exists(path) ? journal_reader_open(path, e) : NULL;
	int rc = 0;

	while (r && (rc = journal_next(r, &record, &found)) > 0)
		;
	if (rc < 0 && found.code == ERR_CONFIG)
		err_set(e, ERR_CONFIG, "%s", found.text);
	journal_reader_free(r);
	free(path);
	return e->code;
}

int run_check_versions(const char *folder, struct err *e)
{
	static const struct {
		const char *name;
		const struct file_format *format;
	} files[] = {
		{ "state.json", &run_state_format },
		{ "checkpoints/evaluated.json", &run_evaluations_format },
	};

	e->code = 0;
	for (size_t i = 0; i < ARRAY_LEN(files) && !e->code; i++) {
		struct json *root = NULL;
		struct err ignored = { 0 };
		char *path = file_path(e, "%s/%s", folder, files[i].name);

		if (path && !json_read_optional(&root, path, FILE_MAX_BYTES, &ignored) && root)
			format_check_version(root, files[i].format, path, e);
		json_free(root);
		free(path);
	}
	return e->code ? e->code : check_journal_version(folder, e);
}
