/* hosts_command.c - see hosts_command.h */
#include "train/hosts_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/json.h"
#include "share/base/util.h"
#include "train/hosts.h"

#define SSH_PORT 22	/* where nothing else is said */

/* ---- list ---- */

static void print_table(const struct hosts *h, struct buf *out)
{
	int width = (int)strlen("host");

	for (size_t i = 0; i < h->n; i++)
		width = MAX(width, (int)strlen(h->all[i].name));
	buf_printf(out, "%-*s  slots  port\n", width, "host");
	for (size_t i = 0; i < h->n; i++)
		buf_printf(out, "%-*s  %5d  %4d\n", width, h->all[i].name, h->all[i].slots,
			   h->all[i].port ? h->all[i].port : SSH_PORT);
}

static void print_json(const struct hosts *h, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '[');
	for (size_t i = 0; i < h->n; i++) {
		json_open(&w, '{');
		json_key(&w, "host");
		json_str(&w, h->all[i].name);
		json_key(&w, "slots");
		json_int(&w, h->all[i].slots);
		json_key(&w, "port");
		json_int(&w, h->all[i].port ? h->all[i].port : SSH_PORT);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	buf_add_char(out, '\n');
}

static int list(const struct conf *c, struct err *e)
{
	const struct hosts_env env = { getenv("PBS_NODEFILE"), getenv("SLURM_JOB_NODELIST"),
				       getenv("SLURM_TASKS_PER_NODE") };
	struct hosts h = { 0 };
	struct buf out = { 0 };
	int rc = 0;

	for (int i = 1; !rc && i < c->n_arguments; i++)
		rc = hosts_read(&h, c->arguments[i], &env, e);
	if (!rc) {
		if (c->json)
			print_json(&h, &out);
		else
			print_table(&h, &out);
		rc = buf_check(&out, e);
	}
	if (!rc && (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout)))
		rc = err_set_errno(e, ERR_IO, "standard output cannot be written");
	buf_free(&out);
	hosts_free(&h);
	return rc;
}

/* ---- which ---- */

static const struct {
	const char *name;
	int (*run)(const struct conf *c, struct err *e);
} actions[] = {
	{ "list", list },
};

int hosts_command_run(const struct conf *c, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(actions); i++)
		if (c->n_arguments && !strcmp(c->arguments[0], actions[i].name)) {
			if (c->n_arguments < 2)
				return err_set(e, ERR_USAGE,
					       "hosts %s needs the hosts: a:2,b:2, a file, pbs or "
					       "slurm", actions[i].name);
			return actions[i].run(c, e);
		}
	return err_set(e, ERR_USAGE, "hosts can do: list%s%.100s",
		       c->n_arguments ? ", not " : "", c->n_arguments ? c->arguments[0] : "");
}
