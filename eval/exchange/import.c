/* import.c - recognises a file and imports a training log; weights: import_model.c; see import.h */
#include "eval/exchange/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eval/exchange/import_model.h"
#include "eval/exchange/import_reader.h"
#include "eval/exchange/model_export.h"
#include "eval/exchange/npz.h"
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

/* ---- recognising ------------------------------------------------------- */

static int recognise_file(const char *path, enum import_kind *kind, struct err *e)
{
	static const char pickle[] = "\x80\x02"; /* opcode PROTO, protocol 2 */
	struct map map;
	int rc = map_open(&map, path, e);

	if (rc)
		return rc;
	*kind = IMPORT_LOG;
	if (import_is_ct2(map.data, map.len))
		*kind = IMPORT_CTRANSLATE2;
	else if (import_is_safetensors(map.data, map.len))
		*kind = IMPORT_SAFETENSORS;
	else if (map.len > 4 && !memcmp(map.data, "PK\3\4", 4))
		rc = npz_explain(path, map.data, map.len, e);
	else if (map.len > 2 && !memcmp(map.data, pickle, 2))
		rc = err_set(e, ERR_DATA,
			     "%s is a pickle, which is a program; Werkbank does not run it. Write "
			     "the weights as safetensors, see werkbank-weights(5)",
			     path);
	map_close(&map);
	return rc;
}

/*
 * Recognises a file by its first bytes, or the weights file in a folder. *file: its path, freed by
 * the caller (NULL after some failures). ERR_NOINPUT: no such path; ERR_USAGE: a folder without
 * weights; ERR_DATA: a known format that cannot be imported, with advice.
 */
static int recognise_import(const char *path, enum import_kind *kind, char **file, struct err *e)
{
	static const char *const names[] = { "model.bin", "model.safetensors", "model.npz" };
	struct stat st;

	*file = NULL;
	if (stat(path, &st) != 0)
		return err_set_errno(e, ERR_NOINPUT, "cannot read %s", path);
	for (size_t i = 0; S_ISDIR(st.st_mode) && i < ARRAY_LEN(names) && !*file; i++) {
		*file = file_path(e, "%s/%s", path, names[i]);
		if (!*file)
			return e->code;
		if (!file_exists(*file)) {
			free(*file);
			*file = NULL;
		}
	}
	if (S_ISREG(st.st_mode))
		*file = file_path(e, "%s", path);
	else if (!*file)
		return err_set(e, ERR_USAGE,
			       "%s is neither a file nor a folder with model.bin or "
			       "model.safetensors: give weights, or nohup.out of an OpenSeq2Seq "
			       "training",
			       path);
	return *file ? recognise_file(*file, kind, e) : e->code;
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
		return err_set(
			e, ERR_USAGE,
			"%s does not hold weights (safetensors or model.bin), which --output "
			"needs; if the file is a training log, give --run NAME instead",
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
	enum import_kind kind = IMPORT_LOG;
	char *file;
	int rc = recognise_import(c->arguments[0], &kind, &file, e);

	if (!rc)
		rc = kind == IMPORT_LOG ? import_log(c, e) : import_model(c, kind, file, e);
	free(file);
	return rc;
}
