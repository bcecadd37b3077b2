/* remote_explain.c - what ssh's words mean, and what helps; see remote.h */
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "train/launch/hosts/remote.h"

#define SSH_FAILED 255
#define NOT_RUN	   126
#define NOT_FOUND  127

/* In a text @ stands for the host, ^ for it as known_hosts names it. The first that fits counts. */
static const struct {
	const char *words; /* on standard error */
	const char *text;
} reasons[] = {
	{ "REMOTE HOST IDENTIFICATION HAS CHANGED",
	  "the host key of @ has changed since ssh saw it last: if the host was set up anew, type "
	  "ssh-keygen -R '^' and then ssh @ once; if not, somebody may be in between" },
	{ "Host key verification failed",
	  "ssh does not know the host key of @ yet: type ssh @ once and accept it, or add it with "
	  "ssh-keyscan" },
	{ "No RSA host key is known", "ssh does not know the host key of @ yet: type ssh @ once" },
	{ "UNPROTECTED PRIVATE KEY FILE",
	  "ssh does not use its private key for @ because others may read it: chmod 600 it" },
	{ "Bad owner or permissions",
	  "ssh refuses its own configuration because others may write it: chmod 600 "
	  "~/.ssh/config" },
	{ "Too many authentication failures",
	  "@ was offered too many keys: name the right one with IdentityFile and IdentitiesOnly "
	  "in ~/.ssh/config" },
	{ "Permission denied",
	  "@ wants a password or another key: put your public key there with ssh-copy-id @" },
	{ "Could not resolve hostname",
	  "no address is known for @: correct the name, or put it into /etc/hosts or "
	  "~/.ssh/config" },
	{ "Connection refused",
	  "@ is there, but no sshd listens on that port: start sshd, or give its port in a "
	  "hostfile (NAME:PORT slots=N)" },
	{ "No route to host",
	  "no way leads to @ (no route to host): is it switched on, and in this network?" },
	{ "Network is unreachable", "no way leads to @ (network is unreachable): is the network "
				    "of this host up?" },
	{ "Connection timed out",
	  "@ does not answer: is it switched on, is its address right, does a firewall drop "
	  "ssh?" },
	{ "Operation timed out",
	  "@ does not answer: is it switched on, is its address right, does a firewall drop "
	  "ssh?" },
	{ "banner exchange",
	  "what listens on ssh's port of @ is no sshd, or too busy: check the port" },
	{ "no matching ",
	  "@ and this host have no way of encryption in common: one of them has an old ssh" },
	{ "Bad configuration option", "--ssh has an option that ssh does not know" },
	{ "unknown option", "--ssh has an option that ssh does not know" },
	{ "illegal option", "--ssh has an option that ssh does not know" },
	{ "Identity file", "the key that --ssh names cannot be read" },
	{ "kex_exchange_identification",
	  "@ closed the connection at once: too many at the same time (MaxStartups of its sshd), "
	  "or its rules forbid this host" },
	{ "Connection closed", "@ closed the connection: look into its sshd's log" },
	{ "Connection reset", "@ broke the connection off: look into its sshd's log" },
	{ "This account is", "@ does not let this account in: look into its sshd's log" },
	{ "Broken pipe", "the connection to @ was lost" },
};

/* The last line that says something, without what a terminal would take as orders. */
static void last_output_line(const struct buf *from, char *to, size_t size)
{
	const char *text = buf_text(from);
	size_t end = from->len, begin;

	while (end && (unsigned char)text[end - 1] <= ' ')
		end--;
	for (begin = end; begin && text[begin - 1] != '\n'; begin--)
		;
	end = MIN(end, begin + size - 1);
	end = begin + utf8_valid_prefix(text + begin, end - begin);
	for (size_t i = begin; i < end; i++)
		to[i - begin] = (unsigned char)text[i] < ' ' || text[i] == 127 ? ' ' : text[i];
	to[end - begin] = 0;
}

static void write_ssh_reason(struct remote_job *job, const char *text)
{
	const struct host *h = job->host;
	size_t n = 0, size = sizeof(job->trouble);

	for (; *text && n + 1 < size; text++) {
		char *to = job->trouble + n;

		if (*text == '@')
			snprintf(to, size - n, "%s", h->name);
		else if (*text == '^' && h->port)
			snprintf(to, size - n, "[%s]:%d", h->name, h->port);
		else if (*text == '^')
			snprintf(to, size - n, "%s", h->name);
		else
			snprintf(to, size - n, "%c", *text);
		n += strlen(to);
	}
	job->trouble[MIN(n, size - 1)] = 0;
}

/* The program itself was not there, or could not run. */
static void explain_program_failure(struct remote_job *job)
{
	const char *program = job->argv[0], *name = job->host->name;
	const char *library = strstr(buf_text(&job->err), "loading shared libraries: ");
	char words[120];

	last_output_line(&job->err, words, sizeof(words));
	if (library) {
		library += strlen("loading shared libraries: ");
		snprintf(job->trouble, sizeof(job->trouble),
			 "%s of %.80s needs %.*s, which is not installed there: install it",
			 strrchr(program, '/') ? strrchr(program, '/') + 1 : program, name,
			 (int)MIN(strcspn(library, ":\n"), 60), library);
	} else if (job->status == NOT_FOUND) {
		bool ours = strstr(program, "werkbank") != NULL;

		snprintf(job->trouble, sizeof(job->trouble),
			 "%.80s has no %.100s: install it at the same path as here%s", name,
			 program, ours ? ", or type: werkbank hosts sync" : "");
	} else {
		snprintf(job->trouble, sizeof(job->trouble),
			 "%.80s cannot run %.100s (%.80s): is it of the same kind of machine?",
			 name, program, words);
	}
}

void remote_explain(struct remote_job *job, double deadline_s)
{
	const char *said = buf_text(&job->err), *name = job->host->name;
	char words[150];

	if (job->timed_out) {
		last_output_line(&job->err, words, sizeof(words));
		snprintf(job->trouble, sizeof(job->trouble),
			 "%.80s did not answer within %g s%s%s%s: is it busy, or its disk hanging? "
			 "--deadline gives it longer",
			 name, deadline_s, words[0] ? " (" : "", words, words[0] ? ")" : "");
		return;
	}
	if (job->status == NOT_FOUND || job->status == NOT_RUN) {
		explain_program_failure(job);
		return;
	}
	if (job->status != SSH_FAILED || (remote_is_local(job->host) && !job->err.len))
		return;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strstr(said, reasons[i].words)) {
			write_ssh_reason(job, reasons[i].text);
			return;
		}
	last_output_line(&job->err, words, sizeof(words));
	snprintf(job->trouble, sizeof(job->trouble), "%.80s cannot be reached: %s", name,
		 words[0] ? words : "ssh failed and said nothing");
}
