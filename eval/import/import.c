/* import.c - imports a training log; formats: import_formats.c, weights: import_model.c; see import.h */
#include "eval/import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eval/import/import_model.h"
#include "share/base/file.h"
#include "share/base/text.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"
#include "train/record/openseq2seq.h"

static int write_import_state(const char *folder, const struct openseq2seq *seen, struct err *e)
{
	struct buf text = { 0 };
	struct json_writer w = { .out = &text };
	int rc;

	json_open(&w, '{');
	json_put_str(&w, "state", seen->finished ? "finished" : "unknown");
	json_put_int(&w, "attempt", seen->starts);
	json_put_str(&w, "event", "imported from a log of OpenSeq2Seq");
	json_close(&w, '}');
	buf_add_char(&text, '\n');
	rc = file_write_into(folder, "state.json", &text, e);
	buf_free(&text);
	return rc;
}

/* Converts the log to a journal. The file's modification time is the time of the last record. */
static int read_log(const char *path, const char *run, struct buf *journal,
		    struct openseq2seq *seen, struct err *e)
{
	struct stat st;
	struct map map;
	struct err why = { 0 };
	int rc;

	if (stat(path, &st) != 0)
		return err_set_errno(e, ERR_NOINPUT, "cannot read %s", path);
	if (map_open(&map, path, e))
		return e->code;
	rc = openseq2seq_read((const char *)map.data, map.len, run, (double)st.st_mtime, journal,
			      seen, &why);
	map_close(&map);
	return rc ? err_set(e, rc, "%s: %s", path, why.text) : 0;
}

static void report_log_import(const char *run, const struct openseq2seq *seen)
{
	fprintf(stderr,
		"run %s: %lld training record%s up to step %lld, %lld evaluation%s (their BLEU is "
		"teacher-forced, not that of translations)\n",
		run, (long long)seen->trains, text_plural(seen->trains), (long long)seen->last_step,
		(long long)seen->evals, text_plural(seen->evals));
}

/* ---- a log ------------------------------------------------------------- */

/* Makes the run in a temporary folder and renames the folder when it is complete. */
static int import_log(const struct conf *c, struct err *e)
{
	struct buf journal = { 0 };
	struct openseq2seq seen;
	char *workspace = NULL, *to = NULL, *beside = NULL;
	struct outfolder out = { 0 };
	int rc;

	if (!c->run && c->output)
		return err_set(e, ERR_USAGE,
			       "%s does not hold weights (safetensors or model.bin), which "
			       "--output needs; for a training log give --run NAME instead; "
			       "unpack an archive and give its folder",
			       c->arguments[0]);
	if (!c->run)
		return err_set(e, ERR_USAGE, "a training log becomes a run: give --run NAME");
	if (paths_check_name("run", c->run, e))
		return e->code;
	workspace = paths_workspace(c->workspace, e);
	to = workspace ? file_path(e, "%s/runs/%s", workspace, c->run) : NULL;
	beside = to ? file_path(e, "%s/import", workspace) : NULL;
	if (!beside)
		rc = e->code;
	else if (file_exists(to))
		rc = err_set(e, ERR_CANTCREAT, "a run called %s already exists: give another --run",
			     c->run);
	else
		rc = read_log(c->arguments[0], c->run, &journal, &seen, e);
	if (!rc)
		rc = outfolder_open(&out, to, beside, e);
	if (!rc)
		rc = file_write_into(out.temporary, "journal.jsonl", &journal, e);
	if (!rc)
		rc = write_import_state(out.temporary, &seen, e);
	if (!rc)
		rc = outfolder_commit(&out, e);
	outfolder_abandon(&out);
	if (!rc && !c->quiet)
		report_log_import(c->run, &seen);
	buf_free(&journal);
	free(beside);
	free(to);
	free(workspace);
	return rc;
}

int import_run(struct conf *c, struct err *e)
{
	const struct import_format *format;
	struct import_source source;
	int rc = import_find_format(c->arguments[0], &source, &format, e);

	if (!rc)
		rc = format ? import_model(c, format, &source, e) : import_log(c, e);
	import_source_close(&source);
	return rc;
}
