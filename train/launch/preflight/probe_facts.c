/* probe_facts.c - facts about programs, workspace and corpus of this host; see probe.h */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/proc.h"
#include "share/base/util.h"
#include "share/workspace/model_files.h"
#include "share/workspace/paths.h"
#include "train/launch/preflight/preflight_folder.h"
#include "train/launch/preflight/probe.h"
#include "train/launch/remote/remote.h"

#define WHOLE_BYTES  ((int64_t)64 << 20) /* a larger file is only sampled */
#define SAMPLES	     128
#define SAMPLE_BYTES 65536
#define VERSION_S    10 /* limit for PROGRAM --version */

/* ---- programs --------------------------------------------------------------- */

/* The first line of standard output, or if that is empty of standard error. */
static void put_first_line(struct json_writer *w, const struct remote_job *job)
{
	const struct buf *b = job->out.len ? &job->out : &job->err;

	json_put_strn(w, "text", buf_text(b), strcspn(buf_text(b), "\n"));
}

/* The path of a daemon, and why it cannot run. Any status below 126 is its own answer. */
static void put_daemon(struct json_writer *w, const char *path)
{
	const char *const ask[] = { path, "--help", NULL };
	struct remote_job job = { .argv = ask };
	struct err ignored = { 0 };

	json_put_str(w, "daemon", path);
	if (!remote_run_here(&job, 1, VERSION_S, &ignored) &&
	    (job.status >= 126 || job.status < 0 || job.timed_out)) {
		const char *said = job.err.len ? buf_text(&job.err) : job.trouble;

		json_put_strn(w, "daemon_trouble", said, MIN(strcspn(said, "\n"), (size_t)200));
	}
	remote_free(&job, 1);
}

/* Version of mpirun, and the daemon that it starts on other hosts, as found in this PATH. */
static void put_mpi_version(struct json_writer *w, const struct remote_job *job)
{
	static const char *const daemons[] = { "orted", "prted" };
	char path[4096];

	json_put_open(w, "mpi", '{');
	if (job->status == 0)
		put_first_line(w, job);
	else
		json_put_str(w, "trouble", job->trouble[0] ? job->trouble : "mpirun failed");
	for (size_t i = 0; i < ARRAY_LEN(daemons); i++)
		if (proc_find(daemons[i], path, sizeof(path)))
			put_daemon(w, path);
	if (proc_find("rsync", path, sizeof(path)))
		json_put_bool(w, "rsync", true);
	json_close(w, '}');
}

static void put_trainer_version(struct json_writer *w, const char *program,
				const struct remote_job *job)
{
	struct err e = { 0 };
	char hex[HASH_SHA256_HEX];

	json_put_open(w, "trainer", '{');
	json_put_str(w, "file", program);
	if (!hash_file(program, hex, &e))
		json_put_str(w, "sha256", hex);
	if (job->status == 0)
		put_first_line(w, job);
	else
		json_put_str(w, "trouble", job->trouble[0] ? job->trouble : buf_text(&job->err));
	json_close(w, '}');
}

/* "1 AVX2": the vector level with which trainings compute here. */
static void put_processor_level(struct json_writer *w, const struct remote_job *job)
{
	const char *text = buf_text(&job->out), *name = strchr(text, ' ');

	if (job->status || !name)
		return;
	json_put_int(w, "level", strtol(text, NULL, 10));
	json_put_strn(w, "level_name", name + 1, strcspn(name + 1, "\n"));
}

static int put_program_versions(struct json_writer *w, struct err *e)
{
	struct err none = { 0 };
	char *trainer = paths_program("werkbank-train", &none);
	const char *const ask_mpi[] = { "mpirun", "--version", NULL };
	const char *const ask_trainer[] = { trainer, "--version", NULL };
	const char *const ask_level[] = { trainer, "_level", NULL };
	struct remote_job jobs[] = {
		{ .argv = ask_mpi },
		{ .argv = ask_trainer },
		{ .argv = ask_level },
	};
	int rc = remote_run_here(jobs, trainer ? ARRAY_LEN(jobs) : 1, VERSION_S, e);

	if (!rc) {
		put_mpi_version(w, &jobs[0]);
		if (trainer) {
			put_trainer_version(w, trainer, &jobs[1]);
			put_processor_level(w, &jobs[2]);
		}
	}
	remote_free(jobs, ARRAY_LEN(jobs));
	free(trainer);
	return rc;
}

/* ---- files --------------------------------------------------------------------- */

static int hash_file_samples(struct hash *h, int fd, int64_t bytes, const char *path, struct err *e)
{
	static const int64_t last = SAMPLES - 1;
	char piece[SAMPLE_BYTES];
	int rc = hash_add(h, &bytes, sizeof(bytes), e);

	assert(bytes > WHOLE_BYTES);

	for (int64_t i = 0; !rc && i <= last; i++) {
		int64_t at = (bytes - SAMPLE_BYTES) / last * i;
		ssize_t n = pread(fd, piece, sizeof(piece), at);

		if (n != SAMPLE_BYTES)
			rc = err_set_errno(e, ERR_IO, "%s: cannot read %d bytes at offset %lld",
					   path, SAMPLE_BYTES, (long long)at);
		else
			rc = hash_add(h, piece, sizeof(piece), e);
	}
	return rc;
}

int probe_hash_file(const char *path, char hex[65], bool *sampled, struct err *e)
{
	int64_t bytes = file_size(path);
	struct hash *h;
	int fd, rc;

	*sampled = bytes > WHOLE_BYTES;
	if (!*sampled)
		return hash_file(path, hex, e);
	if (file_open_read(&fd, path, e))
		return e->code;
	h = hash_new(HASH_SHA256, e);
	rc = h ? hash_file_samples(h, fd, bytes, path, e) : e->code;
	if (!rc)
		rc = hash_hex(h, hex, e);
	hash_free(h);
	close(fd);
	return rc;
}

static int put_corpus_sums(struct json_writer *w, const char *workspace, const char *corpus,
			   struct err *e)
{
	/* the files that ranks read, and the manifest of the preparation */
	static const char *const names[] = { "manifest.json", "train.shard", MODEL_FILE_NAMES };

	if (paths_check_name("corpus", corpus, e))
		return e->code;
	json_put_open(w, "corpus", '[');
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = file_path(e, "%s/corpora/%s/%s", workspace, corpus, names[i]);
		struct err trouble = { 0 };
		char hex[HASH_SHA256_HEX];
		bool sampled;

		if (!path)
			return e->code;
		if (file_exists(path)) {
			json_open(w, '{');
			json_put_str(w, "name", names[i]);
			json_put_int(w, "bytes", file_size(path));
			if (probe_hash_file(path, hex, &sampled, &trouble))
				json_put_str(w, "trouble", trouble.text);
			else
				json_put_str(w, sampled ? "sampled" : "sha256", hex);
			json_close(w, '}');
		}
		free(path);
	}
	json_close(w, ']');
	return 0;
}

/* Free bytes of the file system; for a missing folder, of its nearest existing parent. */
static void put_free_space(struct json_writer *w, const char *key, const char *path)
{
	struct statvfs s;
	char folder[4096], *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	while (statvfs(folder, &s) && (slash = strrchr(folder, '/')) &&
	       (slash > folder || slash[1]))
		slash[slash == folder] = 0; /* at last try "/" */
	if (statvfs(folder, &s))
		return;
	json_put_int(w, key, (int64_t)s.f_bavail * (int64_t)s.f_frsize);
	if (s.f_files && !s.f_favail)
		json_put_bool(w, "no_inodes", true);
}

/*
 * Can a file be written in the folder where Open MPI puts its session files, and which one is it? A
 * read-only or full file system shows only when a file is written.
 */
static void put_scratch_facts(struct json_writer *w)
{
	/* the variables that Open MPI reads, in its order */
	static const char *const variables[] = { "OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP",
						 "TMP" };
	const char *folder = NULL;
	char path[4096];
	int fd, error;

	for (size_t i = 0; i < ARRAY_LEN(variables) && (!folder || !*folder); i++)
		folder = getenv(variables[i]);
	folder = folder && *folder ? folder : "/tmp";
	put_free_space(w, "temporary_free", folder);
	json_put_str(w, "temporary", folder);
	snprintf(path, sizeof(path), "%.4000s/werkbank-probe-XXXXXX", folder);
	fd = mkstemp(path);
	error = fd < 0 ? errno : write(fd, path, sizeof(path)) == sizeof(path) ? 0 : errno;
	if (error)
		json_put_str(w, "temporary_trouble", strerror(error));
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
}

static int put_workspace_facts(struct json_writer *w, const struct json *request, struct err *e)
{
	const char *workspace = json_text(json_get(request, "workspace"), NULL);
	const char *corpus = json_text(json_get(request, "corpus"), NULL);
	const char *marker = json_text(json_get(request, "marker"), NULL);
	int rc = 0;

	put_scratch_facts(w);
	if (!workspace)
		return 0;
	json_put_open(w, "workspace", '{');
	json_put_bool(w, "there", !access(workspace, F_OK));
	json_put_bool(w, "writable", !access(workspace, W_OK | X_OK));
	put_free_space(w, "free", workspace);
	if (marker)
		folder_marker_answer(marker, w);
	if (corpus)
		rc = put_corpus_sums(w, workspace, corpus, e);
	json_close(w, '}');
	return rc;
}

int probe_write_facts(const struct json *request, struct json_writer *w, struct err *e)
{
	int rc = put_program_versions(w, e);

	probe_write_machine(w);
	probe_write_network(json_get(request, "peers"), w);
	return rc ? rc : put_workspace_facts(w, request, e);
}
