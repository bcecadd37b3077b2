/* preflight_compare.c - compares the facts of each host with the needs of a training */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/model_files.h"
#include "train/launch/preflight/preflight_internal.h"

#define MB	       1e6
#define GB	       1e9
#define LITTLE_DISK    (0.2 * GB) /* bytes; less: no checkpoint fits */
#define SOME_DISK      (5 * GB)
#define LITTLE_SCRATCH (50 * MB) /* bytes in /tmp, for files of Open MPI */
#define SOME_MEMORY    (1 * GB)	 /* bytes for each rank */
#define LOCKABLE       (64 * MB) /* bytes of locked memory, for RDMA */
#define CLOCK_WARNING  1.0	 /* seconds */
#define CLOCK_ERROR    60.0

struct host_check {
	struct preflight_host *h;
	const char *name;	  /* of the host */
	const struct json *facts; /* of the host */
	const struct preflight_facts *all;
};

static const char *nested_text(const struct json *o, const char *a, const char *b)
{
	return json_text(json_get(json_get(o, a), b), "");
}

/* ---- programs ------------------------------------------------------------------- */

static void check_host_build(const struct host_check *o)
{
	const struct json *local_facts = o->all->local_facts,
			  *trainer = json_get(o->facts, "trainer");
	const char *theirs = json_text(json_get(o->facts, "werkbank"), "?");
	const char *ours = json_text(json_get(local_facts, "werkbank"), "?");
	const char *trouble = json_text(json_get(trainer, "trouble"), NULL);

	if (strcmp(theirs, ours) != 0)
		add_error(o->h, "build",
			  "Werkbank on %s is version %.40s, on this host %.40s: type werkbank "
			  "hosts sync",
			  o->name, theirs, ours);
	else if (!trainer)
		add_error(o->h, "build",
			  "%s has no werkbank-train in the folder of werkbank-launch: type "
			  "werkbank hosts sync",
			  o->name);
	else if (trouble)
		add_error(o->h, "build", "werkbank-train does not start on %s: %.*s", o->name,
			  (int)MIN(strcspn(trouble, "\n"), 250), trouble);
	else if (strcmp(nested_text(o->facts, "trainer", "text"),
			nested_text(local_facts, "trainer", "text")))
		add_error(o->h, "build",
			  "%s has %.100s, this host has %.100s: type werkbank hosts sync", o->name,
			  nested_text(o->facts, "trainer", "text"),
			  nested_text(local_facts, "trainer", "text"));
	else if (strcmp(nested_text(o->facts, "trainer", "sha256"),
			nested_text(local_facts, "trainer", "sha256")))
		add_error(o->h, "build",
			  "werkbank-train on %s is a different build of %.40s than on this host "
			  "(SHA-256 %.12s, not %.12s): type werkbank hosts sync",
			  o->name, theirs, nested_text(o->facts, "trainer", "sha256"),
			  nested_text(local_facts, "trainer", "sha256"));
}

static void check_host_mpi(const struct host_check *o)
{
	const char *theirs = nested_text(o->facts, "mpi", "text");
	const char *ours = nested_text(o->all->local_facts, "mpi", "text");

	if (strstr(nested_text(o->all->local_facts, "trainer", "text"), "without MPI"))
		add_error(o->h, "mpi",
			  "this Werkbank was built without MPI and trains on one host only: "
			  "configure --with-mpi");
	else if (!*ours)
		add_error(o->h, "mpi", "this host has no mpirun: install Open MPI");
	else if (!*theirs && !*nested_text(o->facts, "mpi", "daemon"))
		add_error(o->h, "mpi",
			  "%s has no Open MPI (neither mpirun nor orted) in the PATH of a remote "
			  "shell: install %.60s, or set PATH in a start-up file for "
			  "non-interactive shells",
			  o->name, ours);
	else if (*nested_text(o->facts, "mpi", "daemon_trouble"))
		add_error(o->h, "mpi",
			  "%.100s, which mpirun starts on %s, does not run there: %.200s: repair "
			  "Open "
			  "MPI on that host",
			  nested_text(o->facts, "mpi", "daemon"), o->name,
			  nested_text(o->facts, "mpi", "daemon_trouble"));
	else if (*theirs && strcmp(theirs, ours) != 0)
		add_error(
			o->h, "mpi",
			"%s has %.60s, this host has %.60s: install the same version on all hosts",
			o->name, theirs, ours);
}

/* The host with the lowest or highest vector level; NULL: none has told its level. */
static const struct json *find_level(const struct preflight_check *p,
				     const struct preflight_facts *f, bool highest, size_t *at)
{
	const struct json *found = NULL;
	int64_t best = 0;

	for (size_t i = 0; i < p->n; i++) {
		const int64_t level = json_integer(json_get(f->by_host[i], "level"), -1);

		if (level < 0 || (found && (highest ? level <= best : level >= best)))
			continue;
		best = level;
		found = f->by_host[i];
		*at = i;
	}
	return found;
}

/*
 * Ranks with other vector units would round otherwise: all take the lowest level, which the slower
 * hosts have anyway. Hosts with GPUs compute there.
 */
static void check_levels(struct preflight_check *p, const struct preflight_facts *f)
{
	size_t low = 0, high = 0;
	const struct json *lowest = find_level(p, f, false, &low),
			  *highest = find_level(p, f, true, &high);
	const bool is_cuda = strstr(nested_text(f->local_facts, "trainer", "text"), "CUDA") &&
			     json_integer(json_get(lowest, "gpus"), 0) > 0;

	if (!lowest || low == high || is_cuda)
		return;
	add_warning(&p->hosts[low], "processor",
		    "%s computes with %.20s, %s could with %.20s: all ranks take %.20s, so that "
		    "their results stay equal; without %s training is faster if the others can do "
		    "its work",
		    p->hosts[low].host->name, json_text(json_get(lowest, "level_name"), "?"),
		    p->hosts[high].host->name, json_text(json_get(highest, "level_name"), "?"),
		    json_text(json_get(lowest, "level_name"), "?"), p->hosts[low].host->name);
}

/* ---- the machine ------------------------------------------------------------------ */

static void check_host_machine(const struct host_check *o)
{
	struct preflight_host *h = o->h;
	int32_t slots = h->host->slots;
	double memory = json_number(json_get(o->facts, "memory_free"), NAN);
	double lockable = json_number(json_get(o->facts, "lockable"), NAN);
	bool cuda = strstr(nested_text(o->all->local_facts, "trainer", "text"), "CUDA") != NULL;

	h->cores = json_integer(json_get(o->facts, "cores"), -1);
	h->memory = json_integer(json_get(o->facts, "memory"), -1);
	h->gpus = json_integer(json_get(o->facts, "gpus"), -1);
	if (cuda && h->gpus >= 0 && h->gpus < slots)
		add_error(h, "gpu",
			  "%s has %" PRId64 " GPU%s for %d slot%s: give it fewer slots, or look "
			  "for lost GPUs with nvidia-smi and dmesg",
			  o->name, h->gpus, text_plural(h->gpus), slots, text_plural(slots));
	else if (h->cores >= 0 && h->cores < slots)
		add_warning(h, "cores",
			    "%s has %" PRId64
			    " core%s for %d slots, so ranks share cores: give it %" PRId64
			    " slot%s",
			    o->name, h->cores, text_plural(h->cores), slots, h->cores,
			    text_plural(h->cores));
	if (memory < SOME_MEMORY * slots)
		add_warning(h, "memory",
			    "%s has %.2f GB of free memory for %d rank%s: give it fewer slots, or "
			    "end other programs there",
			    o->name, memory / GB, slots, text_plural(slots));
	if (lockable < LOCKABLE)
		add_warning(h, "limits",
			    "%s limits locked memory to %.0f kB, and RDMA needs more: set memlock "
			    "to unlimited in /etc/security/limits.conf",
			    o->name, lockable / 1e3);
	if (json_boolean(json_get(o->facts, "session_kills"), false))
		add_warning(h, "session",
			    "%s ends all processes of a user who logs out (KillUserProcesses=yes): "
			    "type loginctl enable-linger there",
			    o->name);
}

/* first: the host of rank 0, which writes the checkpoints. */
static void check_host_disk(const struct host_check *o, bool first)
{
	const struct json *space = json_get(o->facts, "workspace");
	double free_bytes = json_number(json_get(space, "free"), NAN);
	double scratch = json_number(json_get(o->facts, "temporary_free"), NAN);
	const char *path = o->all->how->workspace ? o->all->how->workspace : "";
	const char *temporary = json_text(json_get(o->facts, "temporary"), "/tmp");
	const char *trouble = json_text(json_get(o->facts, "temporary_trouble"), NULL);

	o->h->disk_free = json_integer(json_get(space, "free"), -1);
	if (trouble)
		add_error(
			o->h, "disk",
			"no file can be written in %.100s on %s (%.60s), but Open MPI writes files "
			"there: make it writable, or set TMPDIR there to a folder of a local disk",
			temporary, o->name, trouble);
	else if (scratch < LITTLE_SCRATCH)
		add_error(o->h, "disk",
			  "%.100s on %s has %.0f MB free, but Open MPI writes files there: remove "
			  "some files",
			  temporary, o->name, scratch / MB);
	if (!space)
		return;
	if (json_boolean(json_get(space, "no_inodes"), false))
		add_error(o->h, "disk",
			  "the file system of %.100s on %s has no free inodes: remove some files",
			  path, o->name);
	else if (free_bytes < LITTLE_DISK)
		add_error(o->h, "disk",
			  "%.100s on %s has %.0f MB free, too little for a checkpoint: remove some "
			  "files, or use another workspace",
			  path, o->name, free_bytes / MB);
	else if (first && free_bytes < SOME_DISK)
		add_warning(o->h, "disk",
			    "%.100s on %s has %.1f GB free for checkpoints: a checkpoint of a base "
			    "model needs 0.7 GB",
			    path, o->name, free_bytes / GB);
	if (first && json_boolean(json_get(space, "there"), false) &&
	    !json_boolean(json_get(space, "writable"), true))
		add_error(
			o->h, "disk",
			"%.100s on %s is not writable: the first host writes the checkpoints there",
			path, o->name);
}

static void check_host_clock(const struct host_check *o)
{
	double skew = o->h->clock_skew_s;

	if (fabs(skew) >= CLOCK_WARNING)
		preflight_add_finding(
			o->h, fabs(skew) >= CLOCK_ERROR ? FINDING_ERROR : FINDING_WARNING, "clock",
			"the clock of %s is %.1f s %s the clock of this host: start chronyd or "
			"systemd-timesyncd there",
			o->name, fabs(skew), skew > 0 ? "ahead of" : "behind");
}

/* ---- corpus ----------------------------------------------------------------------- */

static const struct json *find_corpus_file(const struct json *facts, const char *name)
{
	const struct json *files = json_get(json_get(facts, "workspace"), "corpus");

	for (size_t i = 0; i < json_len(files); i++)
		if (!strcmp(json_text(json_get(json_at(files, i), "name"), ""), name))
			return json_at(files, i);
	return NULL;
}

static bool is_same_corpus_file(const struct json *a, const struct json *b)
{
	static const char *const sums[] = { "sha256", "sampled" };
	bool same =
		json_integer(json_get(a, "bytes"), -1) == json_integer(json_get(b, "bytes"), -2);

	for (size_t i = 0; i < ARRAY_LEN(sums); i++)
		same = same && !strcmp(json_text(json_get(a, sums[i]), ""),
				       json_text(json_get(b, sums[i]), ""));
	return same;
}

static void check_corpus_file(const struct host_check *o, const struct json *reference,
			      const char *name, const char *whose)
{
	const struct json *theirs = find_corpus_file(o->facts, name),
			  *ours = find_corpus_file(reference, name);
	const char *corpus = o->all->how->corpus;

	if (!ours && !theirs)
		return;
	if (!theirs)
		add_error(o->h, "corpus",
			  "%s has no corpora/%s/%s in %.120s: type werkbank hosts sync --corpus %s",
			  o->name, corpus, name, o->all->how->workspace, corpus);
	else if (!ours || !is_same_corpus_file(ours, theirs))
		add_error(o->h, "corpus",
			  "corpora/%s/%s on %s differs from the file %s: type werkbank hosts sync "
			  "--corpus %s",
			  corpus, name, o->name, whose, corpus);
}

/* Compare with this machine's corpus; if it has none, with that of the first host that has one. */
static void check_host_corpus(const struct host_check *o, const struct preflight_check *p)
{
	static const char *const names[] = { "train.shard", MODEL_FILE_NAMES "manifest.json" };
	const struct json *reference = o->all->local_facts;
	const char *whose = "on this host";
	char words[300];
	size_t before = o->h->n_findings;

	if (!o->all->how->corpus || !o->all->how->workspace)
		return;
	for (size_t i = 0; i < p->n && !find_corpus_file(reference, "train.shard"); i++)
		if (o->all->by_host[i] && find_corpus_file(o->all->by_host[i], "train.shard")) {
			reference = o->all->by_host[i];
			snprintf(words, sizeof(words), "on %s", p->hosts[i].host->name);
			whose = words;
		}
	if (!find_corpus_file(reference, "train.shard")) {
		add_error(o->h, "corpus",
			  "the corpus %s is not prepared in %.150s, neither on this host nor on "
			  "%s: type werkbank prep",
			  o->all->how->corpus, o->all->how->workspace, o->name);
		return;
	}
	/* One finding is enough: hosts sync repairs all files. */
	for (size_t i = 0; i < ARRAY_LEN(names) && o->h->n_findings == before; i++)
		check_corpus_file(o, reference, names[i], whose);
}

/* ---- all checks --------------------------------------------------------------------- */

/* Two names of one machine: Open MPI would count its cores twice. */
static void check_same_machine(struct preflight_check *p, const struct preflight_facts *f, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (f->by_host[j] &&
		    !strcmp(json_text(json_get(f->by_host[i], "boot"), "?"),
			    json_text(json_get(f->by_host[j], "boot"), "!")) &&
		    !strcmp(json_text(json_get(f->by_host[i], "host"), "?"),
			    json_text(json_get(f->by_host[j], "host"), "!"))) {
			add_warning(&p->hosts[i], "names",
				    "%s and %s are the same machine (%s): list it once, with the "
				    "sum of the slots",
				    p->hosts[i].host->name, p->hosts[j].host->name,
				    json_text(json_get(f->by_host[i], "host"), ""));
			return;
		}
}

void preflight_compare_hosts(struct preflight_check *p, const struct preflight_facts *f)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct host_check o = { .h = &p->hosts[i],
					      .name = p->hosts[i].host->name,
					      .facts = f->by_host[i],
					      .all = f };

		if (!f->by_host[i])
			continue;
		check_host_build(&o);
		check_host_mpi(&o);
		check_host_machine(&o);
		check_host_disk(&o, i == 0);
		check_host_clock(&o);
		check_host_corpus(&o, p);
		check_same_machine(p, f, i);
	}
	check_levels(p, f);
}
