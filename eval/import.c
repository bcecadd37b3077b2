/* import.c - see import.h */
#include "eval/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eval/export.h"
#include "share/base/file.h"
#include "share/base/json.h"
#include "share/base/paths.h"
#include "train/openseq2seq.h"

static int write_into(const char *folder, const char *name, struct buf *text, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, name);
	int code = path ? buf_check(text, e) : e->code;

	if (!code)
		code = file_write_all(path, buf_text(text), text->len, e);
	free(path);
	return code;
}

static int write_state(const char *folder, const struct openseq2seq *seen, struct err *e)
{
	struct buf text = {0};
	struct json_writer w = {.out = &text};
	int code;

	json_open(&w, '{');
	json_key(&w, "state");
	json_str(&w, seen->finished ? "finished" : "unknown");
	json_key(&w, "attempt");
	json_int(&w, seen->starts);
	json_key(&w, "event");
	json_str(&w, "imported from a log of OpenSeq2Seq");
	json_close(&w, '}');
	buf_add_char(&text, '\n');
	code = write_into(folder, "state.json", &text, e);
	buf_free(&text);
	return code;
}

/* The log's journal; the file was written to for the last time when the training ended. */
static int read_log(const char *path, const char *run, struct buf *journal,
		    struct openseq2seq *seen, struct err *e)
{
	struct stat st;
	struct map map;
	struct err why = {0};
	int code;

	if (stat(path, &st) != 0)
		return err_set_errno(e, ERR_NOINPUT, "%s cannot be read", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE,
			       "%s is not a file: import takes the output of a training of "
			       "OpenSeq2Seq, nohup.out",
			       path);
	if (map_open(&map, path, e))
		return e->code;
	code = openseq2seq_read((const char *)map.data, map.len, run, (double)st.st_mtime, journal,
				seen, &why);
	map_close(&map);
	return code ? err_set(e, code, "%s: %s", path, why.text) : 0;
}

static void tell(const char *run, const struct openseq2seq *seen)
{
	fprintf(stderr,
		"run %s: %lld training records up to step %lld, %lld evaluations (teacher-forced "
		"BLEU, no translation's)\n",
		run, (long long)seen->trains, (long long)seen->last_step, (long long)seen->evals);
}

int import_run(const struct conf *c, struct err *e)
{
	struct buf journal = {0};
	struct openseq2seq seen;
	char *workspace = NULL, *to = NULL, *temporary = NULL, *runs = NULL;
	int code;

	if (!c->run)
		return err_set(e, ERR_USAGE, "import as which run? give --run NAME");
	if (paths_check_name("run", c->run, e))
		return e->code;
	workspace = paths_workspace(c->workspace, e);
	runs = workspace ? file_path(e, "%s/runs", workspace) : NULL;
	to = runs ? file_path(e, "%s/%s", runs, c->run) : NULL;
	temporary = to ? file_path(e, "%s/import.%ld.tmp", workspace, (long)getpid()) : NULL;
	if (!temporary)
		code = e->code;
	else if (file_exists(to))
		code = err_set(e, ERR_CANTCREAT,
			       "there is a run called %s already: give another --run", c->run);
	else
		code = read_log(c->arguments[0], c->run, &journal, &seen, e);
	if (!code && !(code = file_make_folders(runs, e)) &&
	    !(code = file_make_folders(temporary, e))) {
		code = write_into(temporary, "journal.jsonl", &journal, e);
		if (!code)
			code = write_state(temporary, &seen, e);
		if (!code)
			code = export_put_in_place(temporary, to, e);
		if (code)
			file_remove_tree(temporary, &(struct err){0});
	}
	if (!code && !c->quiet)
		tell(c->run, &seen);
	buf_free(&journal);
	free(temporary);
	free(to);
	free(runs);
	free(workspace);
	return code;
}
