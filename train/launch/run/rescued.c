/* rescued.c - see rescued.h */
#include "train/launch/run/rescued.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "train/launch/remote/launcher.h"
#include "train/launch/remote/remote.h"

#define COPY_S	  3600.0
#define TEMPORARY "0.collected.tmp" /* the trainer removes it if a copy was interrupted */

/* A checkpoint on another host. */
struct rescued {
	const struct host *host; /* NULL: none */
	char id[20];		 /* of the lease: a part of the folder's name */
	int64_t step;
};

/* Prints ID/STEP for each checkpoint of $2 and $3. */
static const char list_script[] =
	"cd \"$1\" 2>/dev/null || exit 0; for i in \"$2\" \"$3\"; do for d in "
	"rescued-\"$i\"/checkpoints/[0-9]*; do "
	"[ -f \"$d/SHA256SUMS\" ] && echo \"$i/${d##*/}\"; done; done; exit 0";

/* Keep the newest checkpoint that this host names. */
static void read_list(struct rescued *best, const struct host *host, char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		char *slash = strchr(line, '/');
		int64_t step;

		if (!slash || (size_t)(slash - line) >= sizeof(best->id) ||
		    !text_to_int(slash + 1, &step) || step <= best->step)
			continue;
		*slash = 0;
		*best = (struct rescued){ .host = host, .step = step };
		snprintf(best->id, sizeof(best->id), "%s", line);
	}
}

static int run_everywhere(struct remote_job *jobs, const struct conf *c, const struct hosts *hosts,
			  const char *const *argv, double deadline_s, struct err *e)
{
	struct remote_options how = launcher_remote_options(c, deadline_s);

	for (size_t i = 0; i < hosts->n; i++) {
		jobs[i].host = &hosts->all[i];
		jobs[i].argv = argv;
	}
	return remote_run(jobs, hosts->n, &how, e);
}

static int find_rescued(struct rescued *best, const struct rundir *dir, const struct conf *c,
			const struct hosts *hosts, double deadline_s, struct err *e)
{
	const char *const argv[] = { "sh",
				     "-c",
				     list_script,
				     "sh",
				     dir->path,
				     dir->lease.id,
				     dir->former.id[0] ? dir->former.id : dir->lease.id,
				     NULL };
	struct remote_job *jobs = mem_alloc(hosts->n, sizeof(*jobs), e);
	int rc = jobs ? run_everywhere(jobs, c, hosts, argv, deadline_s, e) : e->code;

	*best = (struct rescued){ .step = rundir_last_checkpoint(dir) };
	for (size_t i = 0; !rc && i < hosts->n; i++)
		if (!jobs[i].status && !host_is_local(&hosts->all[i]) && jobs[i].out.len)
			read_list(best, &hosts->all[i], jobs[i].out.data);
	if (jobs)
		remote_free(jobs, hosts->n);
	free(jobs);
	return rc;
}

/* The line for a shell that copies the checkpoint to FOLDER/checkpoints/TEMPORARY. */
static int write_copy_line(const struct rescued *r, const struct rundir *dir, const struct conf *c,
			   struct buf *line, struct err *e)
{
	const struct remote_options how = launcher_remote_options(c, COPY_S);
	char *from = file_path(e, "%s/rescued-%s/checkpoints", dir->path, r->id), step[32];
	const char *const argv[] = { "tar", "-C", from, "-cf", "-", step, NULL };
	struct command_line words = { 0 };
	int rc = from ? 0 : e->code;

	snprintf(step, sizeof(step), "%lld", (long long)r->step);
	if (!rc)
		rc = remote_append_words(&words, r->host, &how, argv, e);
	if (!rc)
		rc = command_line_check(&words, e);
	if (!rc) {
		command_line_quote(words.all, line);
		buf_add_str(line, " | tar -C ");
		text_quote_shell(line, dir->path);
		buf_add_str(line, "/checkpoints/" TEMPORARY " -xf -");
		rc = buf_check(line, e);
	}
	command_line_free(&words);
	free(from);
	return rc;
}

/* Copy, then give it its name; another checkpoint of this name stays. */
static int copy_rescued(const struct rescued *r, const struct rundir *dir, const struct conf *c,
			struct err *e)
{
	char *temporary = file_path(e, "%s/checkpoints/" TEMPORARY, dir->path);
	char *from =
		file_path(e, "%s/checkpoints/" TEMPORARY "/%lld", dir->path, (long long)r->step);
	char *to = file_path(e, "%s/checkpoints/%lld", dir->path, (long long)r->step);
	char *last = file_path(e, "%s/checkpoints/last", dir->path);
	struct buf line = { 0 };
	struct remote_job job = { 0 };
	int rc = temporary && from && to && last ? file_make_folders(temporary, e) : e->code;

	if (!rc)
		rc = write_copy_line(r, dir, c, &line, e);
	if (!rc) {
		const char *const argv[] = { "sh", "-c", buf_text(&line), NULL };

		job.argv = argv;
		rc = remote_run_here(&job, 1, COPY_S, e);
		if (!rc && (job.status || !file_exists(from)))
			rc = err_set(e, ERR_IO, "%.300s",
				     job.trouble[0] ? job.trouble : "the copy is not complete");
		remote_free(&job, 1);
	}
	if (!rc && rename(from, to))
		rc = err_set_errno(e, ERR_CANTCREAT, "cannot make %s", to);
	if (!rc)
		rc = file_make_link(last, strrchr(to, '/') + 1, e);
	if (temporary)
		file_remove_tree(temporary, &(struct err){ 0 });
	buf_free(&line);
	free(last);
	free(to);
	free(from);
	free(temporary);
	return rc;
}

static void remove_rescued(const struct rundir *dir, const struct conf *c,
			   const struct hosts *hosts, double deadline_s)
{
	const char *const argv[] = { "sh", "-c", "rm -rf \"$1\"/rescued-*", "sh", dir->path, NULL };
	struct err ignored;
	struct remote_job *jobs = mem_alloc(hosts->n, sizeof(*jobs), &ignored);

	if (jobs && !run_everywhere(jobs, c, hosts, argv, deadline_s, &ignored))
		remote_free(jobs, hosts->n);
	free(jobs);
}

int rescued_collect(const struct rundir *dir, const struct conf *c, const struct hosts *hosts,
		    double deadline_s, char news[400], struct err *e)
{
	struct err why = { 0 };
	struct rescued best;

	news[0] = 0;
	if (find_rescued(&best, dir, c, hosts, deadline_s, e))
		return e->code;
	if (!best.host)
		return 0;
	if (copy_rescued(&best, dir, c, &why)) {
		snprintf(news, 400,
			 "host %.60s has a checkpoint of step %lld, which a rank saved there, but "
			 "it "
			 "cannot be copied: %.200s",
			 best.host->name, (long long)best.step, why.text);
		return 0;
	}
	snprintf(news, 400, "took the checkpoint of step %lld, which a rank saved on %.60s",
		 (long long)best.step, best.host->name);
	remove_rescued(dir, c, hosts, deadline_s);
	return 0;
}
