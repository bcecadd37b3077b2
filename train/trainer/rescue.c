/* rescue.c - see rescue.h */
#include "train/trainer/rescue.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "data/shard/shortlist.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/util.h"
#include "share/workspace/model_files.h"

#define POLL_S	 0.1  /* interval of the thread */
#define SLOWER_S 0.3  /* after a signal: how much later than this rank others may agree */
#define SIGNAL_S 10.0 /* a SIGCONT counts for this time */
#define AGAIN_S	 60.0 /* between two rescues because of a missing heartbeat */

#define STAGGER_S   0.1 /* a rank notices so much later than the one before … */
#define STAGGER_MAX 20	/* … up to this rank */
#define CLAIM_S	    3.0 /* and two checkpoints: age of a claim whose owner may be dead */
#define CLAIMS	    8	/* of one step */

struct rescue {
	struct rescue_options how;
	pthread_mutex_t lock; /* protects all below, and the state while it is saved */
	pthread_cond_t wake;
	pthread_t thread;
	bool quit;
	bool is_saving;	     /* the first rank saves: earlier signs of a loss do not count */
	bool is_allowed;     /* the state is that of state.step, and stays so */
	double allowed_at;   /* monotonic seconds, as below: since when */
	double agree_s;	     /* time until living ranks agree on a stop */
	double signal_at;    /* of the signal that tells of a loss; 0: none */
	int64_t step;	     /* of the last rescue; -1: none */
	double saved_at;     /* of the last rescue; 0: none */
	int64_t claim_step;  /* the step that another rank claimed */
	int claims;	     /* of this step, by others */
	double claimed_at;   /* when the last one was seen */
	int continued;	     /* SIGCONTs seen so far */
	double continued_at; /* of the last SIGCONT; 0: none */
};

/* The folder that gets the checkpoint. */
static const char *rescue_folder(const struct rescue *r)
{
	return r->how.own_folder ? r->how.own_folder : r->how.folder;
}

/* A folder of this host, with the files of a run that each checkpoint gets. */
static int make_own_folder(const struct rescue_options *t, struct err *e)
{
	static const char *const names[] = { MODEL_FILE_NAMES SHORTLIST_FILE };
	char *recipe = file_path(e, "%s/recipe.ini", t->own_folder);
	struct buf text = { 0 };
	int rc = recipe ? file_make_folders(t->own_folder, e) : e->code;

	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++)
		rc = ckpt_copy_file(t->corpus, t->own_folder, names[i], e);
	conf_write_recipe(t->conf, &text);
	if (!rc)
		rc = buf_check(&text, e);
	if (!rc)
		rc = file_write_all(recipe, text.data, text.len, e);
	buf_free(&text);
	free(recipe);
	return rc;
}

/* Save, and record it. */
static void save_alone(struct rescue *r, struct run_records *records, const char *why)
{
	const struct rescue_options *t = &r->how;
	const double begun = clock_mono_s();
	struct err e = { 0 };
	int64_t bytes;

	t->state->seconds = time_limit_seconds(t->time);
	if ((t->own_folder && make_own_folder(t, &e)) ||
	    ckpt_save_claimed(rescue_folder(r), t->state, t->adam->model, t->adam->first,
			      t->adam->second, (int)t->conf->keep, &bytes, &e)) {
		if (ckpt_exists(rescue_folder(r), t->state->step))
			return;
		/* a full disk, say, takes no record, and a rank without the folder has no journal */
		if (records->is_quiet || !records->journal)
			fprintf(stderr,
				"werkbank: rank %d cannot save the state of step %lld: %.300s\n",
				t->rank, (long long)t->state->step, e.text);
		run_records_event(records, "warning",
				  "rank %d cannot save the state of step %lld alone (%s): %.300s",
				  t->rank, (long long)t->state->step, why, e.text);
		return;
	}
	run_records_checkpoint(records, bytes, clock_mono_s() - begun, true);
	run_records_event(records, "info", "rank %d saved the state of step %lld alone: %s",
			  t->rank, (long long)t->state->step, why);
}

/* Other ranks than the first have no journals so far. */
static void save_with_records(struct rescue *r, const char *why)
{
	const struct rescue_options *t = &r->how;
	struct run_records own = { .step = &t->state->step, .is_quiet = t->conf->quiet };
	struct err ignored;

	if (!t->rank) {
		save_alone(r, t->records, why);
		return;
	}
	if (!t->own_folder) /* the checkpoint does not need it */
		run_records_open(&own, t->folder, &ignored);
	save_alone(r, &own, why);
	run_records_close(&own);
}

/*
 * May this rank save the step? false with *wait: another rank has claimed it, and perhaps lives; without:
 * there is a checkpoint, or the run has gone on without this rank.
 */
static bool claim_step(struct rescue *r, bool *wait)
{
	const struct rescue_options *t = &r->how;
	const double now = clock_mono_s();
	struct err e = { 0 };
	bool is_mine = false;

	*wait = false;
	if (ckpt_exists(rescue_folder(r), t->state->step) ||
	    (!t->own_folder && run_lease_check(t->folder, t->lease->id, t->lease->attempt, &e)))
		return false;
	if (r->claim_step != t->state->step) {
		r->claim_step = t->state->step;
		r->claims = 0;
	} else if (r->claims && now - r->claimed_at < CLAIM_S + 2 * *t->save_s) {
		*wait = true;
		return false;
	}
	while (r->claims < CLAIMS && !is_mine) {
		if (ckpt_claim(rescue_folder(r), t->state->step, r->claims, &is_mine, &e))
			return false;
		r->claims++;
	}
	r->claimed_at = now;
	*wait = !is_mine;
	return is_mine;
}

/* Under the lock. */
static void rescue_state(struct rescue *r, const char *why)
{
	bool wait;

	if (claim_step(r, &wait)) {
		heartbeat_hold(r->how.heartbeat, true);
		save_with_records(r, why);
		heartbeat_hold(r->how.heartbeat, false);
	}
	if (wait)
		return;
	r->step = r->how.state->step;
	r->saved_at = clock_mono_s();
}

/* The launcher is gone, other ranks do not answer, and the state is safe: nothing else ends this process. */
static void end_orphan(const struct rescue *r)
{
	static const char text[] =
		"werkbank: a rank ends, because mpirun or its daemon has ended\n";

	if (r->step != r->how.state->step)
		return;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(err_exit_status(ERR_NOHOST));
	_exit(err_exit_status(ERR_NOHOST));
}

static bool is_state_unsaved(const struct rescue *r)
{
	return r->is_allowed && r->step != r->how.state->step &&
	       *r->how.saved_step != r->how.state->step;
}

/* Time until living ranks agree on a stop, and until this rank is the lowest that noticed. */
static double agree_s(const struct rescue *r)
{
	return r->agree_s + STAGGER_S * MIN(r->how.rank, STAGGER_MAX);
}

static void rescue_signalled_state(struct rescue *r)
{
	char why[160];

	snprintf(why, sizeof(why),
		 "it got a signal or lost its launcher, and the ranks did not agree on a stop "
		 "within "
		 "%.1f s",
		 agree_s(r));
	rescue_state(r, why);
}

static void check_for_loss(struct rescue *r, double now)
{
	const struct rescue_options *t = &r->how;
	const int number = (int)t->signals->stop, continued = (int)t->signals->continued;
	const double unchanged_s = now - r->allowed_at;
	bool has_signal, is_orphan;

	if (continued != r->continued)
		r->continued_at = now;
	r->continued = continued;
	is_orphan = stop_requests_lost_parent(t->stopping);
	has_signal = number == SIGTERM || number == SIGINT || is_orphan ||
		     (r->continued_at > 0 && now - r->continued_at < SIGNAL_S);
	if (!has_signal)
		r->signal_at = 0;
	else if (!(r->signal_at > 0))
		r->signal_at = now;
	if (!is_state_unsaved(r))
		return;
	if (has_signal && now - fmax(r->signal_at, r->allowed_at) >= agree_s(r) &&
	    !(r->is_saving && r->signal_at < r->allowed_at))
		rescue_signalled_state(r);
	else if (unchanged_s >= t->conf->late_after + STAGGER_S * MIN(r->how.rank, STAGGER_MAX) &&
		 heartbeat_misses_rank(t->heartbeat) &&
		 (!(r->saved_at > 0) || now - r->saved_at >= AGAIN_S))
		rescue_state(r, r->how.rank ? "the first rank answers no heartbeats"
					    : "another rank sends no heartbeats");
	if (is_orphan)
		end_orphan(r);
}

static void *rescue_thread(void *arg)
{
	struct rescue *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->quit) {
		struct timespec until;

		check_for_loss(r, clock_mono_s());
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += (long)(POLL_S * 1e9);
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&r->wake, &r->lock, &until);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

struct rescue *rescue_open(const struct rescue_options *how, struct err *e)
{
	pthread_condattr_t monotonic;
	struct rescue *r = mem_alloc(1, sizeof(*r), e);

	if (!r)
		return NULL;
	*r = (struct rescue){
		.how = *how, .step = -1, .claim_step = -1, .continued = (int)how->signals->continued
	};
	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (proc_start_thread(&r->thread, rescue_thread, r,
			      "saves the state of a job that lost a rank", e)) {
		pthread_cond_destroy(&r->wake);
		pthread_mutex_destroy(&r->lock);
		free(r);
		return NULL;
	}
	return r;
}

void rescue_close(struct rescue *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->quit = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void rescue_allow(struct rescue *r, bool allow, int64_t step_ms)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_allowed = allow;
	r->is_saving = false;
	r->allowed_at = clock_mono_s();
	r->agree_s = SLOWER_S +
		     0.001 * (double)(step_ms > 0 ? MIN(step_ms, STOP_AGREE_MS) : STOP_AGREE_MS);
	pthread_mutex_unlock(&r->lock);
}

void rescue_allow_save(struct rescue *r)
{
	if (!r || !r->how.rank)
		return;
	pthread_mutex_lock(&r->lock);
	r->is_allowed = r->is_saving = true;
	r->allowed_at = clock_mono_s();
	pthread_mutex_unlock(&r->lock);
}

void rescue_after(struct rescue *r, int code)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	while (code == ERR_NOHOST && is_state_unsaved(r)) { /* again while another rank saves */
		rescue_state(r, "the connection to other ranks failed");
		if (is_state_unsaved(r))
			usleep((useconds_t)(POLL_S * 1e6));
	}
	r->is_allowed = false;
	pthread_mutex_unlock(&r->lock);
}
