/* main.c - the program werkbank-train: one rank of a training, the tensors of a model, doctor. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "kernels/ops/cpu_level.h"
#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/text.h"
#include "share/conf/conf.h"
#include "share/format/json.h"
#include "share/guard/terminal_text.h"
#include "share/help/help.h"
#include "share/workspace/paths.h"
#include "train/bandwidth.h"
#include "train/ckpt/ckpt.h"
#include "train/comm/comm.h"
#include "train/common/leftover.h"
#include "train/doctor.h"
#include "train/model/model.h"
#include "train/trainer/trainer.h"

static struct trainer_signals train_signals;

/* The launcher's request, SIGUSR1, counts more than a SIGTERM before or after it. */
static void on_signal(int number)
{
	if (number == SIGCONT)
		train_signals.continued++;
	else if (train_signals.stop != SIGUSR1)
		train_signals.stop = number;
}

/*
 * SIGUSR1 is the launcher's request: mpirun forwards it to the ranks. SIGTERM and SIGINT come from
 * elsewhere: stop_requests.h says what they mean, rescue.h what SIGCONT means. The launcher starts a rank with
 * SIGTERM blocked.
 */
static void train_catch_signals(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGUSR1, SIGCONT };
	struct sigaction how;
	sigset_t caught;

	memset(&how, 0, sizeof(how));
	how.sa_handler = on_signal;
	how.sa_flags =
		SA_RESTART; /* a repeated request must not disturb a checkpoint being written */
	sigemptyset(&how.sa_mask);
	sigemptyset(&caught);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		sigaction(signals[i], &how, NULL);
		sigaddset(&caught, signals[i]);
	}
	signal(SIGHUP, SIG_IGN);  /* the terminal may go away */
	signal(SIGPIPE, SIG_IGN); /* the reader of our output may end */
	sigaddset(&caught, SIGHUP);
	sigprocmask(SIG_UNBLOCK, &caught, NULL);
}

/* ---- model ------------------------------------------------------------- */

static void print_tensors_table(const struct model_param *params, size_t n, int64_t floats)
{
	for (size_t i = 0; i < n; i++)
		printf("%-32s %6lld x %-6lld %15s\n", params[i].name, (long long)params[i].rows,
		       (long long)params[i].cols, COUNT_TEXT(params[i].rows * params[i].cols));
	printf("%-32s %15s %15s\n", "total", "", COUNT_TEXT(floats));
}

static int print_tensors_json(const struct model_param *params, size_t n, int64_t floats,
			      struct err *e)
{
	struct buf b = { 0 };
	struct json_writer w = { .out = &b };
	int rc;

	json_open(&w, '{');
	json_put_open(&w, "tensors", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(&w, '{');
		json_put_str(&w, "name", params[i].name);
		json_put_open(&w, "shape", '[');
		json_int(&w, params[i].rows);
		json_int(&w, params[i].cols);
		json_close(&w, ']');
		json_put_int(&w, "count", params[i].rows * params[i].cols);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_put_int(&w, "total", floats);
	json_close(&w, '}');
	rc = buf_check(&b, e);
	if (!rc)
		puts(buf_text(&b));
	buf_free(&b);
	return rc;
}

/* The shape that --size and other options describe. */
static int shape_of_options(struct conf *c, struct model_shape *shape, struct err *e)
{
	int64_t vocabulary;

	if (!c->vocabulary)
		return err_set(
			e, ERR_USAGE,
			"the size of the vocabulary is missing: add --vocabulary N, or name a "
			"model with --run NAME or --model FOLDER");
	if (!text_to_int(c->vocabulary, &vocabulary) || vocabulary < 8 || vocabulary > 10000000)
		return err_set(e, ERR_USAGE,
			       "--vocabulary \"%s\": a number of entries in 8..10000000 is needed",
			       c->vocabulary);
	conf_apply_size(c);
	shape->vocabulary = shape->real_vocabulary = (int32_t)vocabulary;
	shape->source_vocabulary = shape->real_source_vocabulary = 0;
	return model_shape_from_conf(shape, c, e);
}

/* Reads the shape of a trained model: of --model, or of --run with --checkpoint. */
static int shape_of_checkpoint(const struct conf *c, struct model_shape *shape, struct err *e)
{
	struct buf name = { 0 };
	struct ckpt_state state;
	char *folder = NULL;
	int rc;

	buf_add_str(&name, c->model ? c->model : c->run);
	if (!c->model && strcmp(conf_origin(c, "checkpoint"), "default") != 0)
		buf_printf(&name, ":%s", c->checkpoint);
	rc = buf_check(&name, e);
	if (!rc && !(folder = paths_model(c->workspace, buf_text(&name), e)))
		rc = e->code;
	if (!rc)
		rc = ckpt_read_state(folder, false, &state, e);
	if (!rc)
		*shape = state.shape;
	buf_free(&name);
	free(folder);
	return rc;
}

/* A checkpoint has its own sizes: options that describe others contradict it. */
static int refuse_sizes(const struct conf *c, struct err *e)
{
	const char *names[32] = { "size", "vocabulary" };
	char dashed[CONF_NAME_MAX];
	const struct arch_row *row;
	size_t n = 2;

	for (size_t i = 0; (row = arch_at(i)) != NULL; i++)
		if (row->is_option && n < ARRAY_LEN(names))
			names[n++] = row->name;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(conf_origin(c, names[i]), "command line"))
			return err_set(e, ERR_USAGE,
				       "--%s contradicts the model that --%s names: leave one of "
				       "them out",
				       conf_dashed(names[i], dashed), c->model ? "model" : "run");
	return 0;
}

static int run_model(struct conf *c, struct err *e)
{
	const bool is_saved = c->model || c->run;
	struct model_shape shape;
	struct model_param *params;
	size_t n;
	int64_t floats;
	int rc = is_saved ? refuse_sizes(c, e) : shape_of_options(c, &shape, e);

	if (!rc && is_saved)
		rc = shape_of_checkpoint(c, &shape, e);
	if (rc || model_params(&shape, &params, &n, &floats, e))
		return e->code;
	if (c->json)
		rc = print_tensors_json(params, n, floats, e);
	else
		print_tensors_table(params, n, floats);
	free(params);
	if (!rc)
		rc = file_flush_stdout(e);
	return rc;
}

/* ---- _rank ------------------------------------------------------------- */

#define RECIPE_MAX (1u << 20) /* bytes */

/* runs/NAME, owned by the caller; NULL: failure. */
static char *run_folder(const struct conf *c, struct err *e)
{
	char *workspace, *folder;

	if (!c->run) {
		err_set(e, ERR_USAGE, "no run given: add --run NAME");
		return NULL;
	}
	if (paths_check_name("run", c->run, e))
		return NULL;
	workspace = paths_workspace(c->workspace, e);
	folder = workspace ? file_path(e, "%s/runs/%s", workspace, c->run) : NULL;
	free(workspace);
	return folder;
}

/* Broadcast the first rank's recipe: other hosts may not see the run's folder. */
static int share_recipe(struct conf *c, struct comm *comm, const char *folder, struct err *e)
{
	struct {
		int64_t code, n;
	} head = { 0 };
	struct err unread = { 0 };
	struct buf text = { 0 };
	char *path = file_path(e, "%s/recipe.ini", folder);
	int rc = path ? 0 : e->code;

	if (!rc && comm->rank == 0) {
		head.code = file_read_all(path, RECIPE_MAX, &text, &unread);
		head.n = (int64_t)text.len;
	}
	if (!rc)
		rc = comm->broadcast(comm, &head, sizeof(head), 0, e);
	if (!rc && head.code) {
		*e = unread;
		if (comm->rank)
			err_set(e, (int)head.code,
				"the first rank cannot read the recipe of the run: see its "
				"message");
		rc = e->code;
	}
	if (!rc && comm->rank) {
		buf_reserve(&text, (size_t)head.n);
		rc = buf_check(&text, e);
		text.len = (size_t)head.n;
	}
	if (!rc)
		rc = comm->broadcast(comm, text.data, (size_t)head.n, 0, e);
	if (!rc)
		rc = conf_load_recipe_text(c, path, text.data ? text.data : "", (size_t)head.n, e);
	buf_free(&text);
	free(path);
	if (!rc)
		conf_apply_size(c);
	return rc;
}

static int run_rank(struct conf *c, int *argc, char ***argv, struct err *e)
{
	struct comm comm;
	struct err no_record;
	char *folder = run_folder(c, e), *record;
	bool is_orderly;
	int rc;

	train_catch_signals();
	if (!folder || comm_open(&comm, "auto", argc, argv, e)) {
		free(folder);
		return e->code;
	}
	train_catch_signals(); /* a second time: MPI_Init has replaced the handlers */
	record = leftover_record(folder, c->run, comm.rank, &no_record);
	rc = share_recipe(c, &comm, folder, e);
	if (!rc)
		rc = trainer_run(c, &comm, &train_signals, e);
	leftover_remove_record(record);
	free(folder);
	is_orderly = rc == ERR_TEMPFAIL || rc == ERR_DIVERGED; /* all ranks saved and stopped */
	if (rc && !is_orderly && comm.size > 1) {
		fprintf(stderr, "werkbank: rank %d: %s\n", comm.rank, e->text);
		comm.abort(&comm, err_exit_status(rc));
	}
	comm.close(&comm);
	/* exit with 0 then: mpirun would report any other status as a crash */
	if (is_orderly && comm.size > 1) {
		if (!comm.rank)
			fprintf(stderr, "werkbank: %s\n", e->text);
		rc = 0;
	}
	return rc;
}

/* ---- _bandwidth -------------------------------------------------------- */

static int run_bandwidth(int *argc, char ***argv, struct err *e)
{
	struct comm comm;
	struct buf out = { 0 };
	int rc = comm_open(&comm, "auto", argc, argv, e);

	if (rc)
		return rc;
	rc = bandwidth_measure(&comm, &out, e);
	buf_add_char(&out, '\n');
	if (!rc && comm.rank == 0)
		rc = file_put_stdout(&out, e);
	if (rc && comm.size > 1) {
		fprintf(stderr, "werkbank: rank %d: %s\n", comm.rank, e->text);
		comm.abort(&comm, err_exit_status(rc));
	}
	comm.close(&comm);
	buf_free(&out);
	return rc;
}

/* ---- _level ------------------------------------------------------------ */

/* For the check of hosts: the vector instructions that trainings use here. */
static int print_level(struct err *e)
{
	const enum cpu_level level = ops_cpu_level();

	printf("%d %s\n", (int)level, ops_cpu_level_name(level));
	return file_flush_stdout(e);
}

/* ---- _memory ----------------------------------------------------------- */

static int print_memory(struct conf *c, struct err *e)
{
	struct trainer_forecast f;

	if (conf_load_named_recipe(c, c->arguments[0], e))
		return e->code;
	conf_apply_size(c);
	if (trainer_forecast_memory(c, (int)MAX(c->ranks, 1), &f, e))
		return e->code;
	printf("%.0f\n%.0f\n%.0f\n%.0f\n%.0f\n", f.host, f.parameters, f.host_total, f.gpu,
	       f.gpu_total);
	return file_flush_stdout(e);
}

/* ---- main -------------------------------------------------------------- */

static void print_version(void)
{
#ifdef HAVE_MPI
	const char *mpi = "with MPI";
#else
	const char *mpi = "without MPI";
#endif
	printf("werkbank-train %s (%s)\n", PACKAGE_VERSION, mpi);
}

static int train_run_command(struct conf *c, int *argc, char ***argv, struct err *e)
{
	int rc;

	if (conf_parse_command(c, "train", *argc, *argv, e))
		return e->code;
	if (c->version) {
		print_version();
		return file_flush_stdout(e);
	}
	rc = conf_print_requested(c, e);
	if (rc)
		return rc < 0 ? rc : 0;
	if (!c->command)
		return err_set(e, ERR_USAGE,
			       "no command given: use model to print the tensors of a model, or "
			       "doctor");
	if (!strcmp(c->command, "model"))
		return run_model(c, e);
	if (!strcmp(c->command, "doctor"))
		return doctor_run(c, e);
	if (!strcmp(c->command, "_bandwidth"))
		return run_bandwidth(argc, argv, e);
	if (!strcmp(c->command, "_level"))
		return print_level(e);
	if (!strcmp(c->command, "_memory"))
		return print_memory(c, e);
	return run_rank(c, argc, argv, e);
}

int main(int argc, char **argv)
{
	struct conf c;
	struct err e = { 0 };
	int rc;

	file_limit_as_error();
	terminal_guard_streams();
	rc = conf_init(&c, &e);
	if (!rc)
		rc = train_run_command(&c, &argc, &argv, &e);
	rc = conf_exit_status(&c, rc, &e);
	conf_free(&c);
	return rc;
}
