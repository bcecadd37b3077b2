/* hosts_command.c - see hosts_command.h */
#include "train/launch/hosts/hosts_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/workspace/paths.h"
#include "train/launch/preflight/preflight.h"
#include "train/launch/remote/hosts.h"
#include "train/launch/remote/launcher.h"

#define SSH_PORT 22 /* printed if a host has no port of its own */

/* ---- list ---- */

static void print_hosts_table(const struct hosts *h, struct buf *out)
{
	int width = (int)strlen("host");

	for (size_t i = 0; i < h->n; i++)
		width = MAX(width, (int)strlen(h->all[i].name));
	buf_printf(out, "%-*s  slots  port\n", width, "host");
	for (size_t i = 0; i < h->n; i++)
		buf_printf(out, "%-*s  %5d  %4d\n", width, h->all[i].name, h->all[i].slots,
			   h->all[i].port ? h->all[i].port : SSH_PORT);
}

static void print_hosts_json(const struct hosts *h, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '[');
	for (size_t i = 0; i < h->n; i++) {
		json_open(&w, '{');
		json_put_str(&w, "host", h->all[i].name);
		json_put_int(&w, "slots", h->all[i].slots);
		json_put_int(&w, "port", h->all[i].port ? h->all[i].port : SSH_PORT);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	buf_add_char(out, '\n');
}

static int list_hosts(const struct hosts_task *t, int *status, struct err *e)
{
	struct buf out = { 0 };
	int rc;

	(void)status;
	if (t->conf->json)
		print_hosts_json(t->hosts, &out);
	else
		print_hosts_table(t->hosts, &out);
	rc = file_put_stdout(&out, e);
	buf_free(&out);
	return rc;
}

/* ---- check ---- */

static int check_hosts(const struct hosts_task *t, int *status, struct err *e)
{
	const struct preflight_options how = preflight_options_of(t->conf, t->workspace);
	struct preflight_check p;
	bool any = false;
	int rc = preflight_run(&p, t->hosts, &how, e);

	if (rc)
		return rc;
	if (t->conf->json)
		rc = preflight_print_json(&p, e);
	else
		preflight_print(&p, stdout);
	for (size_t i = 0; i < p.n; i++)
		any = any || p.hosts[i].alive;
	*status = !any ? err_exit_status(ERR_NOHOST) : p.worst == FINDING_ERROR;
	preflight_free(&p);
	return rc;
}

/* ---- the table of actions ---- */

static const struct {
	const char *name;
	int (*run_hosts_action)(const struct hosts_task *t, int *status, struct err *e);
} actions[] = {
	/* clang-format off */
	{ "list", list_hosts },
	{ "check", check_hosts },
	{ "sync", hosts_sync },
	{ "bandwidth", hosts_bandwidth },
	{ "clean", hosts_clean },
	/* clang-format on */
};

/* Absolute path of the workspace, because commands on other hosts run in another folder. */
static char *absolute_workspace(const struct conf *c, struct err *e)
{
	char *path = paths_workspace(c->workspace, e), *real = path ? realpath(path, NULL) : NULL;

	if (path && !real)
		real = paths_absolute(path, e);
	free(path);
	return real;
}

static int run_hosts_action(size_t action, struct conf *c, int *status, struct err *e)
{
	const struct hosts_env env = hosts_env_get();
	struct hosts h = { 0 };
	struct hosts_task t = { .conf = c, .hosts = &h };
	char *workspace = absolute_workspace(c, e), why[LAUNCHER_WHY];
	int rc = workspace ? 0 : e->code;

	t.workspace = workspace;
	for (int i = 1; !rc && i < c->n_arguments; i++)
		rc = hosts_read(&h, c->arguments[i], &env, e);
	if (!rc && actions[action].run_hosts_action != list_hosts)
		rc = launcher_choose(c, &h, &env, why, e);
	if (!rc)
		rc = actions[action].run_hosts_action(&t, status, e);
	if (!rc)
		rc = file_flush_stdout(e);
	hosts_free(&h);
	free(workspace);
	return rc;
}

int hosts_command_run(struct conf *c, int *status, struct err *e)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		buf_printf(&names, "%s%s", i ? ", " : "", actions[i].name);
		if (!c->n_arguments || strcmp(c->arguments[0], actions[i].name) != 0)
			continue;
		buf_free(&names);
		if (c->n_arguments < 2)
			return err_set(e, ERR_USAGE,
				       "%s: name the hosts: a:2,b:2, a hostfile, "
				       "pbs or slurm",
				       actions[i].name);
		return run_hosts_action(i, c, status, e);
	}
	if (c->n_arguments)
		err_set(e, ERR_USAGE, "unknown action \"%.100s\": expected one of %.100s",
			c->arguments[0], buf_text(&names));
	else
		err_set(e, ERR_USAGE, "give an action: %.100s", buf_text(&names));
	buf_free(&names);
	return e->code;
}
