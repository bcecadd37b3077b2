/* rsh_agent.c - see rsh_agent.h */
#include "train/launch/remote/rsh_agent.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/text.h"
#include "share/base/util.h"

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

/* Read one word of a command like a shell. Returns the text after the word; NULL: open quote. */
static const char *next_shell_word(const char *p, struct buf *word)
{
	char quote = 0;

	buf_clear(word);
	for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"')
			quote = quote ? 0 : *p;
		else if (*p == '\\' && quote != '\'' && p[1])
			buf_add_char(word, *++p);
		else
			buf_add_char(word, *p);
	}
	return quote ? NULL : p;
}

int rsh_agent_split_words(struct command_line *c, const char *command, struct err *e)
{
	struct buf word = { 0 };
	const char *p = command;
	int rc = 0;

	for (p += strspn(p, " \t\n"); !rc && p && *p; p += p ? strspn(p, " \t\n") : 0) {
		p = next_shell_word(p, &word);
		rc = buf_check(&word, e);
		if (!rc && !p)
			rc = err_set(e, ERR_USAGE, "--ssh \"%s\": a closing quote is missing",
				     command);
		if (!rc)
			rc = command_line_add(c, buf_text(&word), e);
		if (!p)
			break;
	}
	buf_free(&word);
	if (!rc && !c->n)
		rc = err_set(e, ERR_USAGE, "--ssh is empty: expected for example ssh");
	return rc;
}

/* The port of a host in a hostfile of mpirun_write_hostfile(); 0: none. Changes text. */
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
	char word[24];
	int64_t port = 0;
	int rc = file_read_all(hostfile, HOSTFILE_MAX_BYTES, &text, e);

	if (!rc && text.len)
		port = hostfile_port(text.data, host);
	buf_free(&text);
	if (rc || !port)
		return rc;
	snprintf(word, sizeof(word), "%lld", (long long)port);
	rc = command_line_add(c, "-p", e);
	return rc ? rc : command_line_add(c, word, e);
}

int rsh_agent_build_line(struct command_line *c, const char *ssh, const char *hostfile,
			 const char *const *rest, struct err *e)
{
	static const char *const options[] = { "-x", "-o", "BatchMode=yes", "-o" };
	char connect[40];
	int rc = rsh_agent_split_words(c, ssh, e);

	assert(rest[0]); /* HOST */
	if (!rc && hostfile && *hostfile)
		rc = add_ssh_port(c, hostfile, rest[0], e);
	for (size_t i = 0; !rc && i < ARRAY_LEN(options); i++)
		rc = command_line_add(c, options[i], e);
	snprintf(connect, sizeof(connect), "ConnectTimeout=%d", SSH_CONNECT_TIMEOUT_S);
	if (!rc)
		rc = command_line_add(c, connect, e);
	for (; !rc && *rest; rest++)
		rc = command_line_add(c, *rest, e);
	return rc;
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
		execvp(c.all[0], c.all);
		rc = err_set_errno(e, ERR_UNAVAILABLE, "%s: cannot run this program", c.all[0]);
	}
	command_line_free(&c);
	return rc;
}
