/*
 * files.c - targets for small files: state of runs, receipts, records of stages, measured links, host
 * lists, answers of AWS, themes, key maps; see fuzz.h
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/prep/prep_plan.h"
#include "data/source/receipt.h"
#include "share/base/mem.h"
#include "share/format/json.h"
#include "share/workspace/journal.h"
#include "tests/fuzz/fuzz.h"
#include "train/common/linkfile.h"
#include "train/launch/remote/hosts.h"
#include "tui/run/status.h"
#include "tui/term/keys.h"
#include "tui/term/theme.h"

/* The bytes as a NUL-terminated text; free it. */
static char *text_of(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1);

	property(text);
	if (n)
		memcpy(text, data, n);
	text[n] = 0;
	return text;
}

/* ---- files that a reader finds in a folder ---- */

static char folder[FUZZ_FOLDER_BYTES], state_path[100], link_path[100], work_path[100],
	record_path[110], journal_path[100];

static void remove_folder(void)
{
	unlink(state_path);
	unlink(link_path);
	unlink(record_path);
	unlink(journal_path);
	rmdir(work_path);
	rmdir(folder);
}

/* One folder for all inputs. *path gets the bytes. */
static const char *folder_with(const char *path, const uint8_t *data, size_t n)
{
	FILE *out;

	if (!*folder) {
		fuzz_make_folder(folder);
		snprintf(state_path, sizeof(state_path), "%s/state.json", folder);
		snprintf(link_path, sizeof(link_path), "%s/network.json", folder);
		snprintf(work_path, sizeof(work_path), "%s/work", folder);
		snprintf(record_path, sizeof(record_path), "%s/read.json", work_path);
		snprintf(journal_path, sizeof(journal_path), "%s/journal.jsonl", folder);
		property(!mkdir(work_path, 0700));
		atexit(remove_folder);
	}
	out = fopen(path, "we");
	property(out && fwrite(data, 1, n, out) == n && !fclose(out));
	return folder;
}

FUZZ(state)
{
	struct run_status s;
	struct err e = { 0 };

	status_init(&s, "r");
	if (!status_read_files(&s, folder_with(state_path, data, n), &e))
		status_get_end(&s);
	return 0;
}

FUZZ(links)
{
	struct link_curve c;
	struct link_speed s;
	struct err e = { 0 };

	folder_with(link_path, data, n);
	if (!linkfile_read_curve(&c, folder, &e)) {
		property(c.n <= LINK_POINTS);
		for (int wire = 0; wire < LINK_WIRES; wire++)
			for (double bytes = 1; bytes < 1e12; bytes *= 1000)
				link_curve_seconds(&c, wire, bytes);
	}
	linkfile_read(&s, folder, &e);
	return 0;
}

FUZZ(receipt)
{
	struct receipt r;
	struct err e = { 0 };

	if (!receipt_read(&r, fuzz_file(data, n), &e) && r.url)
		property(strlen(r.sums.sha256) < sizeof(r.sums.sha256) &&
			 strlen(r.sums.md5) < sizeof(r.sums.md5));
	receipt_free(&r);
	return 0;
}

/* A record cannot name a file outside of its folder. */
FUZZ(record)
{
	struct prep p = { 0 };
	struct prep_files files = { 0 };
	struct err e = { 0 };
	struct json *record;

	folder_with(record_path, data, n);
	p.folder = folder;
	property(!prep_record_read(&p, "read", &record, &e));
	prep_record_load_numbers(record, &p.numbers);
	if (record && !prep_files_add_json(record, &files, &e))
		for (size_t i = 0; i < files.n; i++) {
			const char *name = files.items[i].name;

			property(*name && *name != '/' && strcmp(name, "..") &&
				 strncmp(name, "../", 3) && !strstr(name, "/../"));
			property(strlen(files.items[i].sha256) < sizeof(files.items[i].sha256));
		}
	prep_files_free(&files);
	json_free(record);
	return 0;
}

/*
 * A writer that was killed leaves a tail without its end. The next writer ends the tail, and the
 * readers skip it: they find every record before it, and the one after it.
 */
static int64_t count_records(const char *path, int64_t *last_step)
{
	struct err e = { 0 };
	struct journal_reader *r = journal_reader_open(path, &e);
	const struct json *record;
	int64_t n = 0;

	property(r);
	for (; journal_next(r, &record, &e) > 0; n++)
		*last_step = json_integer(json_get(record, "step"), -1);
	property(!e.code);
	journal_reader_free(r);
	return n;
}

FUZZ(tail)
{
	struct err e = { 0 };
	int64_t step = -1, before;
	struct journal *j;

	folder_with(journal_path, data, n);
	before = count_records(journal_path, &step);
	j = journal_open(journal_path, &e);
	property(j && journal_begin(j, "event", 77));
	property(!journal_end(j, &e));
	journal_free(j);
	/* a tail may be a whole record that lacked nothing but its line feed */
	before = count_records(journal_path, &step) - before;
	property(before >= 1 && before <= 2 && step == 77);
	return 0;
}

/* ---- hosts ---- */

static void check_hosts(struct hosts *h)
{
	property(hosts_total_slots(h) >= 0);
	for (size_t i = 0; i < h->n; i++)
		property(h->all[i].name && *h->all[i].name && h->all[i].name[0] != '-' &&
			 h->all[i].port >= 0 && h->all[i].port <= 65535);
	hosts_free(h);
}

/* The same text as a list, as a file, and as variables of Slurm and PBS. */
FUZZ(hosts)
{
	char *text = text_of(data, n);
	const char *path = fuzz_file(data, n);
	const struct hosts_env none = { 0 }, slurm = { .slurm_nodelist = text, .slurm_tasks = "2" },
			       tasks = { .slurm_nodelist = "a,b", .slurm_tasks = text },
			       pbs = { .pbs_nodefile = path };
	const struct {
		const char *spec;
		const struct hosts_env *env;
	} ways[] = { { text, &none },	  { path, &none },     { "auto", &slurm },
		     { "slurm", &slurm }, { "slurm", &tasks }, { "pbs", &pbs } };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct hosts h = { 0 };
		struct err e = { 0 };

		/* a list may name other files: only those of this input are read */
		if (ways[i].spec == text && strpbrk(text, "/"))
			continue;
		hosts_read(&h, ways[i].spec, ways[i].env, &e);
		check_hosts(&h);
	}
	free(text);
	return 0;
}

FUZZ(aws)
{
	struct hosts h = { 0 };
	struct err e = { 0 };

	hosts_read_aws(&h, (const char *)data, n, "aws.json", &e);
	check_hosts(&h);
	return 0;
}

/* ---- the workbench ---- */

FUZZ(theme)
{
	char *text = text_of(data, n);
	struct theme t;
	struct err e = { 0 };

	property(theme_builtin(&t, "dark"));
	theme_read(&t, "theme", text, &e);
	for (int i = 0; i < STYLE_COUNT; i++)
		for (int depth = 0; depth < THEME_DEPTHS; depth++) {
			property(t.styles[i].colour[depth] >= -1 &&
				 t.styles[i].colour[depth] < 256);
			property(t.styles[i].ground[depth] >= -1 &&
				 t.styles[i].ground[depth] < 256);
		}
	free(text);
	return 0;
}

FUZZ(keymap)
{
	char *text = text_of(data, n), shown[80];
	struct keymap map = { 0 };
	struct err e = { 0 };

	keymap_read(&map, "keys", text, &e);
	for (int a = 1; a < ACTION_COUNT; a++) {
		const char *keys = keymap_keys(&map, (enum action)a);

		for (int key; (key = keys_next(&keys)) != 0;)
			property(key > 0);
		keys_describe(&map, (enum action)a, shown, sizeof(shown));
		property(strlen(shown) < sizeof(shown));
	}
	keymap_free(&map);
	free(text);
	return 0;
}
