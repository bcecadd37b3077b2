/* follow_address.c - see follow_address.h */
#include "train/launch/follow/follow_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/workspace/paths.h"

static bool is_address_name(const char *text, size_t n)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-:%@";

	return n && n < 256 && *text != '-' && *text != '@' && strspn(text, allowed) >= n;
}

/* Cut "/runs/NAME" off the path. */
static int cut_run_name(struct follow_address *a, struct err *e)
{
	size_t n = strlen(a->folder);
	char *name, *runs;

	while (n > 1 && a->folder[n - 1] == '/')
		a->folder[--n] = 0;
	name = strrchr(a->folder, '/');
	runs = name && name - a->folder >= 4 ? name - 4 : NULL;
	if (!runs || strncmp(runs, "runs", 4) != 0 || (runs > a->folder && runs[-1] != '/'))
		return 0;
	if (paths_check_name("run", name + 1, e))
		return e->code;
	snprintf(a->run, sizeof(a->run), "%s", name + 1);
	if (runs == a->folder)
		*runs++ = '.'; /* runs/NAME below the home folder */
	else if (runs - 1 > a->folder)
		runs--; /* the slash, but not that of the root folder */
	*runs = 0;
	return 0;
}

int follow_address_parse(struct follow_address *a, const char *text, struct err *e)
{
	const char *host = text_starts_with(text, "ssh://") ? text + 6 : "", *path, *colon, *end;
	int64_t port = 0;
	char number[8];

	*a = (struct follow_address){ 0 };
	path = strchr(host, '/');
	end = path ? path : host;
	colon = end;
	while (colon > host && colon[-1] >= '0' && colon[-1] <= '9')
		colon--;
	if (colon > host && colon < end && colon[-1] == ':') {
		if ((size_t)snprintf(number, sizeof(number), "%.*s", (int)(end - colon), colon) >=
			    sizeof(number) ||
		    !text_to_int(number, &port) || port < 1 || port > 65535)
			return err_set(e, ERR_USAGE, "%.200s: the port must be 1 to 65535", text);
		end = colon - 1;
	}
	if (end - host > 2 && host[0] == '[' && end[-1] == ']') /* an IPv6 address */
		host++, end--;
	if (text_has_password(text))
		return err_set(e, ERR_USAGE,
			       "an ssh:// address must hold no password: ssh uses keys, or asks");
	if (!path || !is_address_name(host, (size_t)(end - host)))
		return err_set(e, ERR_USAGE,
			       "%.200s: expected ssh://[USER@]HOST[:PORT]/PATH, PATH being a "
			       "workspace or a run in it, such as /data/werkbank.d/runs/demo",
			       text);
	a->host.port = (int32_t)port;
	a->host.slots = 1;
	a->host.name = file_path(e, "%.*s", (int)(end - host), host);
	if (!strcmp(path, "/~") || text_starts_with(path, "/~/"))
		path = path[2] && path[3] ? path + 3 : ".";
	a->folder = mem_strdup(path, e);
	return a->host.name && a->folder ? cut_run_name(a, e) : e->code;
}

void follow_address_free(struct follow_address *a)
{
	free(a->host.name);
	free(a->folder);
	*a = (struct follow_address){ 0 };
}
