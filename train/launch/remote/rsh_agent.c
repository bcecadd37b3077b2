/* rsh_agent.c - see rsh_agent.h */
#include "train/launch/remote/rsh_agent.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/text.h"

#define HOSTFILE_MAX_BYTES (16 << 20)

int rsh_agent_host_index(int argc, const char *const *argv)
{
	bool hostfile = false;

	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--ssh"))
			i++;
		else if (argv[i][0] != '-' && hostfile)
			return i;
		else if (argv[i][0] != '-')
			hostfile = true;
	}
	return argc;
}

/* The port of a host in a hostfile of rank_launch_write_hostfile(); 0: none. Changes text. */
static int64_t hostfile_port(char *text, const char *host)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		size_t n = strcspn(line, " \t");
		const char *mark = strstr(line, "# port ");
		int64_t port;

		if (strncasecmp(line, host, n) || host[n] || !mark)
			continue;
		return text_to_int(mark + strlen("# port "), &port) ? port : 0;
	}
	return 0;
}

static int add_ssh_port(struct command_line *c, const char *hostfile, const char *host,
			struct err *e)
{
	struct buf text = { 0 };
	int64_t port = 0;
	int rc = file_read_all(hostfile, HOSTFILE_MAX_BYTES, &text, e);

	if (!rc && text.len)
		port = hostfile_port(text.data, host);
	buf_free(&text);
	if (port) {
		command_line_add(c, "-p");
		command_line_printf(c, "%lld", (long long)port);
	}
	return rc;
}

int rsh_agent_build_line(struct command_line *c, const char *ssh, const char *hostfile,
			 const char *const *rest, struct err *e)
{
	int rc = command_line_split(c, ssh, e);

	assert(rest[0]); /* HOST */
	if (!rc && hostfile && *hostfile)
		rc = add_ssh_port(c, hostfile, rest[0], e);
	COMMAND_LINE_ADD(c, "-x", "-o", "BatchMode=yes", "-o");
	command_line_printf(c, "ConnectTimeout=%d", SSH_CONNECT_TIMEOUT_S);
	command_line_add_all(c, rest);
	return rc ? rc : command_line_check(c, e);
}

int rsh_agent_exec(const char *ssh, const char *hostfile, const char *const *rest, struct err *e)
{
	struct command_line c = { 0 };
	int rc = rsh_agent_build_line(&c, ssh, hostfile, rest, e);

	/*
	 * A master connection that ssh keeps open must not inherit the descriptor of the run's
	 * lock.
	 */
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	if (!rc) {
		execvp(c.all[0], (char *const *)(uintptr_t)c.all);
		rc = err_set_errno(e, ERR_UNAVAILABLE, "%s: cannot run this program", c.all[0]);
	}
	command_line_free(&c);
	return rc;
}
