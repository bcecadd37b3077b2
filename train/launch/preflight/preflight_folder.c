/* preflight_folder.c - see preflight_folder.h */
#include "train/launch/preflight/preflight_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/workspace/lock_file.h"
#include "share/workspace/run_lease.h"

static const char *const lock_words[] = {
	[LOCK_FREE] = "free", [LOCK_HELD] = "held", [LOCK_UNKNOWN] = "unknown"
};

void folder_marker_make(struct folder_marker *m, const char *workspace)
{
	char host[256] = "";
	struct err ignored;

	*m = (struct folder_marker){ .lock = -1 };
	if (!workspace || access(workspace, W_OK | X_OK) || gethostname(host, sizeof(host) - 1))
		return;
	snprintf(m->text, sizeof(m->text), "%ld %.6f", (long)getpid(), clock_wall_s());
	m->path = file_path(&ignored, "%s/.lock-test-%s-%ld", workspace, host, (long)getpid());
	if (!m->path)
		return;
	if (lock_file_open(&m->lock, m->path, &ignored) || flock(m->lock, LOCK_EX | LOCK_NB) ||
	    file_write_fd(m->lock, m->text, strlen(m->text)))
		folder_marker_remove(m);
}

void folder_marker_remove(struct folder_marker *m)
{
	if (m->path)
		unlink(m->path);
	if (m->lock >= 0)
		close(m->lock);
	free(m->path);
	*m = (struct folder_marker){ .lock = -1 };
}

void folder_marker_answer(const char *path, struct json_writer *w)
{
	struct err ignored;
	char text[48] = "";
	size_t n = 0;

	if (!file_exists(path))
		return;
	json_put_open(w, "marker", '{');
	if (!file_read_head(path, text, sizeof(text) - 1, &n, &ignored)) {
		text[n] = 0;
		json_put_str(w, "text", text);
	}
	json_put_str(w, "lock", lock_words[lock_file_state(path)]);
	json_close(w, '}');
}

void preflight_compare_folder(struct preflight_host *h, const struct json *facts,
			      const struct preflight_options *how, const char *text)
{
	const struct json *marker = json_get(json_get(facts, "workspace"), "marker");
	const char *name = h->host->name, *lock = json_text(json_get(marker, "lock"), "");

	if (!marker || !text)
		return;
	if (strcmp(json_text(json_get(marker, "text"), ""), text) != 0)
		add_warning(h, "lease",
			    "%s shares %.100s, but does not see what this host has just written "
			    "there, so it may not see the lease of a run: mount the file system "
			    "there without caches (NFS: noac), or train each run from one host "
			    "only",
			    name, how->workspace);
	if (!strcmp(lock, lock_words[LOCK_HELD]))
		return;
	add_warning(h, "lock",
		    "%s shares %.100s, but %s the locks of this host there: against a second "
		    "training of a run there is only the lease (up to %.0f s of waiting): mount "
		    "the file system with locks for all hosts (Lustre: flock; NFS: without "
		    "local_lock)",
		    name, how->workspace,
		    !strcmp(lock, lock_words[LOCK_FREE]) ? "does not see" : "cannot test",
		    LEASE_TERM_S);
}
