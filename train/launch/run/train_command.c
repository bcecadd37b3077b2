/*
 * train_command.c - see train_command.h
 *
 *	load_training()		recipe, corpus, start model
 *	read_training_hosts()	hosts and number of ranks
 *	start_training()	preflight, lock, recipe.ini; then one of
 *	  supervise_in_process()	this process is the supervisor
 *	  train_detached()		fork: run_supervisor() in the new process,
 *					follow_detached() in this one
 */
#include "train/launch/run/train_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "config.h"
#include "share/base/cores.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_facts.h"
#include "share/workspace/paths.h"
#include "share/workspace/workspace_names.h"
#include "train/common/leftover.h"
#include "train/common/start_from.h"
#include "train/launch/preflight/preflight.h"
#include "train/launch/preflight/probe.h"
#include "train/launch/remote/launcher.h"
#include "train/launch/run/attempts.h"
#include "train/launch/run/console_follow.h"
#include "train/launch/run/detach.h"
#include "train/launch/run/run_handle.h"
#include "train/launch/run/rundir.h"
#include "train/launch/run/supervise.h"

/* Everything that the command owns. */
struct training {
	struct conf *conf; /* borrowed */
	struct rundir dir;
	struct hosts hosts;
	char *workspace, *trainer, *launcher;
	char *record;	  /* of leftover_record() */
	char network[64]; /* CIDR or interface; "": unknown */
	const char *run;  /* borrowed: from --run, else the recipe's name */
	char name[200];	  /* the recipe's name */
	struct attempts attempts;
	char launcher_reason[LAUNCHER_WHY]; /* of the choice of --launcher; "": only this host */
};

/* ---- checks ---- */

static bool has_text(const struct conf *c)
{
	return c->manifest || c->demo_pairs ||
	       strcmp(conf_origin(c, "train_source"), "default") != 0 ||
	       strcmp(conf_origin(c, "train_pairs"), "default") != 0;
}

/* A corpus without manifest.json: its preparation stopped or still runs, or there is none. */
static void describe_missing_corpus(const struct training *t, struct buf *out)
{
	const char *name = t->conf->corpus;
	struct err ignored;
	char *folder = file_path(&ignored, "%s/corpora/%s", t->workspace, name);

	if (folder && file_exists(folder))
		buf_printf(out, "the preparation of the corpus %s in %s did not end", name,
			   t->workspace);
	else if (has_text(t->conf))
		buf_printf(out, "the corpus %s is not prepared in %s", name, t->workspace);
	else
		buf_printf(out, "%s has no corpus %s", t->workspace, name);
	free(folder);
}

/* The corpus does not exist: say how to name or prepare one. */
static int refuse_missing_corpus(const struct training *t, struct err *e)
{
	const struct conf *c = t->conf;
	const bool is_named = conf_is_given(c, "corpus");
	struct workspace_names l = { 0 };
	struct buf others = { 0 }, what = { 0 }, prep = { 0 };

	if (!workspace_corpus_names(&l, t->workspace, e))
		for (size_t i = 0; i < l.n; i++)
			buf_printf(&others, "%s%s",
				   i ? ", " : "; or name another --corpus: ", l.items[i]);
	workspace_names_free(&l);
	describe_missing_corpus(t, &what);
	buf_add_str(&prep, "werkbank prep -C ");
	text_quote_shell(&prep, t->workspace);
	buf_add_str(&prep, " ");
	text_quote_shell(&prep, c->arguments[0]);
	if (is_named || !has_text(c))
		buf_printf(&prep, " --corpus %s", is_named ? c->corpus : "NAME");
	if (has_text(c))
		err_set(e, ERR_NOINPUT, "%s: type: %s%s", buf_text(&what), buf_text(&prep),
			buf_text(&others));
	else
		err_set(e, ERR_NOINPUT,
			"the recipe %s names no text, and %s: type: %s --train-source FILE "
			"--train-target FILE --dev-source FILE --dev-target FILE%s",
			c->arguments[0], buf_text(&what), buf_text(&prep), buf_text(&others));
	buf_free(&prep);
	buf_free(&what);
	buf_free(&others);
	return e->code;
}

/* Takes the facts of the text from the corpus: its languages, tokenisation and so on. */
static int adopt_corpus(const struct training *t, struct err *e)
{
	const char *name = t->conf->corpus;
	struct json *manifest = NULL;
	char *folder = NULL, *recipe = NULL;
	int rc = paths_check_name("corpus", name, e);

	if (rc)
		return rc;
	folder = file_path(e, "%s/corpora/%s", t->workspace, name);
	recipe = folder ? file_path(e, "%s/recipe.ini", folder) : NULL;
	rc = recipe ? text_corpus_manifest(&manifest, folder, e) : e->code;
	if (!rc)
		rc = manifest ? text_facts_adopt(t->conf, name, recipe, e)
			      : refuse_missing_corpus(t, e);
	json_free(manifest);
	free(recipe);
	free(folder);
	return rc;
}

/* Other hosts and a detached supervisor have another current folder. */
static int make_path_absolute(char **path, struct err *e)
{
	char *whole = paths_absolute(*path, e);

	if (!whole)
		return e->code;
	free(*path);
	*path = whole;
	return 0;
}

static int make_share_absolute(struct err *e)
{
	const char *given = getenv("WERKBANK_SHARE");
	char *share = given && *given ? file_path(e, "%s", given) : NULL;
	int rc = !given || !*given ? 0 : share ? make_path_absolute(&share, e) : e->code;

	if (!rc && share && setenv("WERKBANK_SHARE", share, 1))
		rc = err_set_errno(e, ERR_NOMEM, "cannot set the environment of the ranks");
	free(share);
	return rc;
}

/* --ssh may begin with a relative path, followed by options. */
static int make_ssh_absolute(char **ssh, struct err *e)
{
	const char *first = *ssh ? *ssh : "";
	const bool is_path = memchr(first, '/', strcspn(first, " \t\n'\"\\")) != NULL;

	return is_path ? make_path_absolute(ssh, e) : 0;
}

static int make_paths_absolute(struct training *t, struct err *e)
{
	if (make_path_absolute(&t->workspace, e) || make_path_absolute(&t->trainer, e) ||
	    make_path_absolute(&t->launcher, e) || make_ssh_absolute(&t->conf->ssh, e))
		return e->code;
	return make_share_absolute(e);
}

/*
 * The folder of the model that the run begins with; *own: its own newest checkpoint, once it has
 * one. Owned by the caller; NULL with e->code 0: random weights.
 */
static char *find_start_model(struct training *t, bool *own, struct err *e)
{
	struct conf *c = t->conf;
	char *newest = file_path(e, "%s/runs/%s/checkpoints/last", t->workspace, t->run);

	if (!newest || (c->start_from && strchr(c->start_from, '/') &&
			make_path_absolute(&c->start_from, e))) {
		free(newest);
		return NULL;
	}
	e->code = 0;
	*own = file_exists(newest);
	if (*own && c->start_from)
		return newest;
	free(newest);
	return c->start_from ? paths_model(c->workspace, c->start_from, e) : NULL;
}

/* Check before the run folder exists, so that a failure leaves no run behind. */
static int check_start_model(struct training *t, struct err *e)
{
	bool own = false;
	char *folder = find_start_model(t, &own, e),
	     *corpus = file_path(e, "%s/corpora/%s", t->workspace, t->conf->corpus);
	int rc = corpus ? 0 : e->code;

	if (!folder && !rc)
		rc = e->code;
	if (folder && !rc)
		rc = start_from_adopt(folder, t->conf, e);
	conf_apply_size(t->conf);
	if (folder && !rc && !own)
		rc = start_from_check(folder, corpus, t->conf, e);
	free(corpus);
	free(folder);
	return rc;
}

int train_check_precision(const struct conf *c, struct err *e)
{
	if (c->precision != PRECISION_INT8)
		return 0;
	return err_set(e, ERR_CONFIG,
		       "precision = int8 is for translation only: train with auto, fp32 or bf16, "
		       "then use --precision int8 with translate");
}

static int load_training(struct training *t, struct err *e)
{
	struct conf *c = t->conf;
	int rc = conf_load_named_recipe(c, c->arguments[0], e);

	if (rc)
		return rc;
	if (train_check_precision(c, e))
		return e->code;
	conf_recipe_name(c->recipe, t->name, sizeof(t->name));
	t->run = c->run ? c->run : t->name;
	t->workspace = paths_workspace(c->workspace, e);
	rc = t->workspace ? paths_check_name("run", t->run, e) : e->code;
	if (!rc)
		rc = adopt_corpus(t, e);
	return rc ? rc : check_start_model(t, e);
}

/* ---- hosts ---- */

/* More ranks than cores on a host? Assumes that other hosts have as many cores as this one. */
static bool is_oversubscribed(const struct training *t)
{
	int64_t most = hosts_are_local(t->attempts.hosts)
			       ? attempts_rank_count(&t->attempts, t->attempts.hosts)
			       : 0;

	for (size_t i = 0; i < t->hosts.n; i++)
		most = MAX(most, t->hosts.all[i].slots);
	return most > cores_count();
}

/* The ranks that --ranks asks for; 0: as many as the hosts have slots. */
static int64_t count_asked_ranks(const struct conf *c)
{
	int64_t gpus = 0;

	if (c->hosts)
		return conf_is_given(c, "ranks") ? c->ranks : 0;
	if (c->ranks > 0)
		return c->ranks;
#ifdef HAVE_CUDA
	if (c->backend == BACKEND_AUTO || c->backend == BACKEND_CUDA)
		gpus = probe_gpu_count();
#endif
	return gpus > 0 ? gpus : cores_node_count();
}

static int read_training_hosts(struct training *t, struct err *e)
{
	const struct hosts_env env = hosts_env_get();
	struct conf *c = t->conf;
	struct attempts *a = &t->attempts;
	int rc = c->hosts ? hosts_read(&t->hosts, c->hosts, &env, e) : 0;

	if (!rc && !hosts_are_local(&t->hosts))
		rc = launcher_choose(c, &t->hosts, &env, t->launcher_reason, e);
	if (rc)
		return rc;
	if (c->network)
		snprintf(t->network, sizeof(t->network), "%s", c->network);
	*a = (struct attempts){
		.conf = c,
		.dir = &t->dir,
		.workspace = t->workspace,
		.run = t->run,
		.trainer = t->trainer,
		.launcher = t->launcher,
		.hosts = t->hosts.n ? &t->hosts : NULL,
		.network = t->network[0] ? t->network : NULL,
		.ranks = count_asked_ranks(c),
		.is_unchecked = true,
	};
	a->oversubscribed = is_oversubscribed(t);
	return 0;
}

/*
 * A resumed run keeps its number of ranks, like its options, unless --ranks or --hosts says otherwise. Of a run
 * over several hosts only the user knows which of them are there.
 */
static void keep_former_ranks(struct training *t)
{
	const struct conf *c = t->conf;
	const struct run_size was = run_handle_former_size(t->dir.path);

	if (c->hosts || conf_is_given(c, "ranks") || was.ranks <= 1)
		return;
	if (was.hosts <= 1)
		t->attempts.ranks = was.ranks;
	else if (!c->quiet)
		fprintf(stderr,
			"werkbank train: %s had %lld ranks on %lld hosts, and goes on with one "
			"rank on this "
			"host: give --hosts to use several\n",
			t->run, (long long)was.ranks, (long long)was.hosts);
	t->attempts.oversubscribed = is_oversubscribed(t);
}

static int check_rank_count(const struct training *t, struct err *e)
{
	const struct conf *c = t->conf;
	const int64_t ranks = attempts_rank_count(&t->attempts, t->attempts.hosts),
		      slots = hosts_total_slots(&t->hosts);

	if (t->hosts.n && ranks > slots)
		return err_set(e, ERR_CONFIG,
			       "%lld ranks do not fit on hosts with %lld slot%s: lower --ranks, or "
			       "give --hosts more slots, as in %s:%lld",
			       (long long)ranks, (long long)slots, text_plural(slots),
			       t->hosts.all[0].name,
			       (long long)(t->hosts.all[0].slots + ranks - slots));
	if (ranks > c->micro_batches)
		return err_set(e, ERR_CONFIG,
			       "%lld ranks share the micro-batches of a step, but micro_batches is "
			       "%lld: set micro_batches to %lld or a multiple",
			       (long long)ranks, (long long)c->micro_batches, (long long)ranks);
	return 0;
}

/*
 * One line for each error and, without --quiet, each warning. With --no-preflight only those of
 * hosts that do not answer. Returns whether there was an error.
 */
static bool print_preflight_findings(const struct preflight_check *p, const struct conf *c)
{
	bool has_error = false;

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->hosts[i].n_findings; k++) {
			const struct finding *f = &p->hosts[i].findings[k];

			if (!c->preflight && p->hosts[i].alive)
				continue;
			has_error = has_error || f->level == FINDING_ERROR;
			if (f->level == FINDING_ERROR || (f->level == FINDING_WARNING && !c->quiet))
				fprintf(stderr, "%s: %s: %s: %s\n", p->hosts[i].host->name,
					f->level == FINDING_ERROR ? "error" : "warning", f->what,
					f->text);
		}
	return has_error;
}

static void apply_preflight_findings(struct training *t, const struct preflight_check *p)
{
	if (p->network[0])
		snprintf(t->network, sizeof(t->network), "%s", p->network);
	t->attempts.network = t->network[0] ? t->network : NULL;
	t->attempts.is_unchecked = false;
	for (size_t i = 0; i < p->n; i++) {
		if (p->hosts[i].cores > 0 && p->hosts[i].host->slots > p->hosts[i].cores)
			t->attempts.oversubscribed = true;
		if (p->hosts[i].alive && !host_is_local(p->hosts[i].host))
			t->attempts.login_s = MAX(t->attempts.login_s, p->hosts[i].login_s);
	}
}

/* Check the hosts and find the network between them. */
static int preflight_check(struct training *t, struct err *e)
{
	const struct preflight_options how = preflight_options_of(t->conf, t->workspace);
	struct preflight_check p;
	int rc;

	/*
	 * Even with --no-preflight find the network, otherwise MPI tries all interfaces; and a host
	 * that does not answer is an error, because mpirun would wait for it without a word.
	 */
	if ((!t->conf->preflight && t->conf->network) || hosts_are_local(t->attempts.hosts))
		return 0;
	rc = preflight_run(&p, &t->hosts, &how, e);
	if (rc)
		return rc;
	apply_preflight_findings(t, &p);
	if (print_preflight_findings(&p, t->conf))
		rc = err_set(e, ERR_UNAVAILABLE,
			     "the hosts are not ready, see above; \"werkbank hosts check\" shows "
			     "more%s",
			     t->conf->preflight ? "; --no-preflight skips this check" : "");
	preflight_free(&p);
	return rc;
}

/* A tag in the environment of all processes of this run identifies their launcher (leftover.h). */
static int set_run_tag(struct err *e)
{
	char host[256] = "", tag[320];
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_set_errno(e, ERR_INTERNAL, "cannot get a random number");
	gethostname(host, sizeof(host) - 1);
	snprintf(tag, sizeof(tag), "%s:%ld:%016llx", host, (long)getpid(),
		 (unsigned long long)random);
	if (setenv(LEFTOVER_TAG, tag, 1))
		return err_set_errno(e, ERR_NOMEM, "cannot set the environment of the ranks");
	return 0;
}

/* ---- --show ---- */

static int print_command_line(struct training *t, struct err *e)
{
	char *hostfile = file_path(e, "%s/runs/%s/hosts", t->workspace, t->run);
	struct command_line c = { 0 };
	struct buf text = { 0 };
	int rc = hostfile ? attempts_command_line(&t->attempts, t->attempts.hosts, hostfile, 0, &c,
						  e)
			  : e->code;

	if (!rc && t->launcher_reason[0]) {
		conf_value(t->conf, "launcher", &text);
		fprintf(stderr, "werkbank: launcher %s: %s\n", buf_text(&text), t->launcher_reason);
		buf_clear(&text);
	}
	if (!rc) {
		command_line_quote(c.all, &text);
		buf_add_char(&text, '\n');
		rc = file_put_stdout(&text, e);
	}
	buf_free(&text);
	command_line_free(&c);
	free(hostfile);
	return rc;
}

/* ---- supervising ---- */

static int supervise_in_process(struct training *t, int *status, struct err *e)
{
	struct err ignored;
	int rc;

	t->record = leftover_record(t->dir.path, t->run, LEFTOVER_LAUNCHER, &ignored);
	rc = attempts_run(&t->attempts, status, e);
	if (!rc)
		rc = rundir_restore_recipe(&t->dir, *status, e);
	leftover_remove_record(t->record);
	t->record = NULL;
	return rc;
}

/* Nobody reads the exit status of this process: state.json and console.log have the result. */
static int run_supervisor(struct training *t, struct detach_supervisor *d, int *status,
			  struct err *e)
{
	const struct run_state starting = {
		.name = "starting",
		.ranks = attempts_rank_count(&t->attempts, t->attempts.hosts),
		.hosts = t->attempts.hosts,
		.network = t->attempts.network,
		.status = -1,
		.detached = true,
	};
	int rc = rundir_write_lock_pid(&t->dir, e);

	t->attempts.detached = true;
	if (!rc)
		rc = rundir_write_state(&t->dir, &starting, e);
	if (!rc)
		rc = set_run_tag(e);
	if (rc) {
		detach_report_failure(d, e);
		return rc;
	}
	detach_report_ready(d);
	return supervise_in_process(t, status, e);
}

/* Follow the run; *status is its exit status. */
static int follow_until_end(struct training *t, struct run_handle *l, int64_t from, int *status,
			    struct err *e)
{
	const struct console_follow f = {
		.run = l, .from = from, .owner = true, .quiet = t->conf->quiet
	};
	bool left;
	int rc = console_follow_run(&f, &left, status, e);

	if (!rc && !left && !strcmp(l->state, "failed") && l->event[0] && t->conf->quiet)
		fprintf(stderr, "werkbank train: %s\n", l->event);
	return rc;
}

/*
 * The ranks have printed the reason; this line says where to read it again. A supervisor
 * without a terminal does not print it: its output is that file.
 */
static void print_end_status(const struct training *t, int status)
{
	if (status && status != err_exit_status(ERR_TEMPFAIL) && !t->conf->quiet)
		fprintf(stderr,
			"werkbank train: the training ended with status %d; see %s/console.log\n",
			status, t->dir.path);
}

static int follow_detached(struct training *t, pid_t pid, int64_t from, int *status, struct err *e)
{
	const struct conf *c = t->conf;
	struct run_handle l = { .pid = -1 };
	char cure[300];
	int rc = 0;

	/* only the supervisor keeps the lock, so that it is free when the supervisor ends */
	rundir_pass_lease(&t->dir);
	if (!c->quiet && detach_ends_at_logout("/proc/self/cgroup", "busctl", cure))
		fprintf(stderr, "werkbank: %s\n", cure);
	if (c->detach) {
		if (!c->quiet)
			fprintf(stderr,
				"%s is being trained by process %ld; see werkbank attach, "
				"status, logs, save, stop\n",
				t->run, (long)pid);
		return 0;
	}
	if (!c->quiet)
		fprintf(stderr,
			"%s is supervised by process %ld, which goes on without this "
			"terminal; Ctrl-C asks it to save and stop\n",
			t->run, (long)pid);
	l.folder = mem_strdup(t->dir.path, e);
	snprintf(l.name, sizeof(l.name), "%.100s", t->run);
	if (!l.folder)
		rc = e->code;
	if (!rc)
		rc = follow_until_end(t, &l, from, status, e);
	if (!rc)
		print_end_status(t, *status);
	run_handle_close(&l);
	return rc;
}

static int train_detached(struct training *t, int *status, struct err *e)
{
	char *console = rundir_file_path(&t->dir, "console.log", e);
	int64_t from = console ? MAX(file_size(console), 0) : 0;
	struct detach_supervisor d;
	int rc = console ? 0 : e->code;

	if (!rc && isatty(STDERR_FILENO) == 1 && setenv("WERKBANK_TERMINAL", "1", 1))
		rc = err_set_errno(e, ERR_NOMEM, "cannot set the environment of the ranks");
	if (!rc)
		rc = detach_supervisor(&d, console, t->dir.path, t->dir.lock, e);
	free(console);
	if (rc == DETACH_SUPERVISOR)
		return run_supervisor(t, &d, status, e);
	return rc == DETACH_STARTED ? follow_detached(t, d.pid, from, status, e) : rc;
}

static int start_training(struct training *t, int *status, struct err *e)
{
	bool detached = t->conf->detach || isatty(STDERR_FILENO) == 1;
	char *folder = file_path(e, "%s/runs/%s", t->workspace, t->run);
	bool exists = folder && file_exists(folder);
	int rc = folder ? 0 : e->code;

	/*
	 * A new run checks the hosts before it creates its folder; an old one takes its lock first,
	 * and has options of its own.
	 */
	if (!rc && !exists)
		rc = check_rank_count(t, e);
	if (!rc && !exists)
		rc = preflight_check(t, e);
	if (!rc)
		rc = rundir_open(&t->dir, t->workspace, t->run, e);
	if (!rc && exists)
		keep_former_ranks(t);
	if (!rc && exists)
		rc = preflight_check(t, e);
	if (!rc)
		rc = rundir_merge_recipe(&t->dir, t->conf, e);
	if (!rc)
		rc = check_rank_count(t, e);
	if (!rc)
		rc = supervise_block_signals(
			e); /* a request from now on waits for the supervisor */
	free(folder);
	if (rc)
		return rc;
	if (detached)
		return train_detached(t, status, e);
	t->attempts.echo = true;
	rc = set_run_tag(e);
	if (!rc)
		rc = supervise_in_process(t, status, e);
	if (!rc)
		print_end_status(t, *status);
	return rc;
}

int train_command_run(struct conf *c, int *status, struct err *e)
{
	struct training t = { .conf = c, .dir = { .lock = -1 } };
	int rc = load_training(&t, e);

	*status = 0;
	if (!rc && !(t.trainer = paths_program("werkbank-train", e)))
		rc = e->code;
	if (!rc && !(t.launcher = paths_program("werkbank-launch", e)))
		rc = e->code;
	if (!rc && (c->hosts || c->detach || isatty(STDERR_FILENO) == 1))
		rc = make_paths_absolute(&t, e);
	if (!rc)
		rc = read_training_hosts(&t, e);
	if (!rc && c->show)
		rc = check_rank_count(&t, e);
	if (!rc)
		rc = c->show ? print_command_line(&t, e) : start_training(&t, status, e);
	rundir_close(&t.dir);
	hosts_free(&t.hosts);
	free(t.workspace);
	free(t.trainer);
	free(t.launcher);
	return rc;
}
