/* remote_explain.c - turns error messages of ssh and srun into causes and cures; see remote.h */
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "share/guard/terminal_text.h"
#include "train/launch/remote/remote.h"

#define SSH_FAILED  255
#define SRUN_FAILED 1 /* also the status of many commands: SRUN_ERROR must be there too */
#define SRUN_ERROR  "srun: error: "
#define NOT_RUN	    126
#define NOT_FOUND   127

/* In text, @ is the host and ^ its name in known_hosts. The first row whose words match counts. */
static const struct {
	const char *words; /* on standard error */
	const char *text;
} reasons[] = {
	{ "REMOTE HOST IDENTIFICATION HAS CHANGED",
	  "the host key of @ has changed: if the host was reinstalled, type "
	  "ssh-keygen -R '^' and then ssh @ once; if not, somebody may intercept the connection" },
	{ "Host key verification failed",
	  "ssh does not know the host key of @ yet: type ssh @ once and accept it, or add it with "
	  "ssh-keyscan" },
	{ "No RSA host key is known", "ssh does not know the host key of @ yet: type ssh @ once" },
	{ "UNPROTECTED PRIVATE KEY FILE",
	  "ssh rejects its private key for @ because other users can read the file: chmod 600 it" },
	{ "Bad owner or permissions",
	  "ssh rejects its configuration because other users can write the file: chmod 600 "
	  "~/.ssh/config" },
	{ "Too many authentication failures",
	  "ssh offered too many keys to @: set IdentityFile and IdentitiesOnly "
	  "in ~/.ssh/config" },
	{ "Permission denied",
	  "@ asks for a password or another key: install your public key with ssh-copy-id @" },
	{ "Could not resolve hostname",
	  "the name @ has no address: correct the name, or add it to /etc/hosts or "
	  "~/.ssh/config" },
	{ "Connection refused",
	  "@ answers, but no sshd listens on the port: start sshd, or give its port in a "
	  "hostfile (NAME:PORT slots=N)" },
	{ "No route to host", "there is no route to @: is it switched on, and in this network?" },
	{ "Network is unreachable",
	  "the network of @ is unreachable: is the network of this host up?" },
	{ "Connection timed out",
	  "@ does not answer: is it switched on, is its address right, does a firewall drop "
	  "ssh?" },
	{ "Operation timed out",
	  "@ does not answer: is it switched on, is its address right, does a firewall drop "
	  "ssh?" },
	{ "banner exchange",
	  "no sshd, or one that is too busy, listens on the ssh port of @: check the port" },
	{ "no matching ",
	  "@ and this host have no cipher or key type in common: one of them has an old ssh" },
	{ "Bad configuration option", "--ssh has an option that ssh does not know" },
	{ "unknown option", "--ssh has an option that ssh does not know" },
	{ "illegal option", "--ssh has an option that ssh does not know" },
	{ "Identity file", "ssh cannot read the key file that --ssh names" },
	{ "kex_exchange_identification",
	  "@ closed the connection at once: too many connections (MaxStartups of its sshd), "
	  "or its rules reject this host" },
	{ "Connection closed", "@ closed the connection: look into its sshd's log" },
	{ "Connection reset", "@ reset the connection: look into its sshd's log" },
	{ "This account is", "@ rejects this account: look into its sshd's log" },
	{ "Broken pipe", "the connection to @ was lost" },
	{ "Requested node configuration is not available",
	  "Slurm starts nothing on @: it is down, or not in this job" },
	{ "Invalid node name", "Slurm knows no node @" },
	{ "Job/step already completing or completed", "the Slurm job is ending" },
	{ "Invalid job id", "the Slurm job is over" },
	{ "Unable to contact slurm controller",
	  "slurmctld does not answer: ask the administrator" },
	{ "Node failure on", "the node @ failed: sinfo shows its state" },
	{ "Communication connection failure",
	  "slurmd on @ does not answer: sinfo shows its state" },
	{ "Timed out waiting for job step", "slurmd on @ does not answer: sinfo shows its state" },
};

/* Copy the last line that is not blank, as text that is safe to print. */
static void last_output_line(const struct buf *from, char *to, size_t size)
{
	const char *text = buf_text(from);
	size_t end = from->len, begin, n;
	struct buf shown = { 0 };

	while (end && (unsigned char)text[end - 1] <= ' ')
		end--;
	for (begin = end; begin && text[begin - 1] != '\n'; begin--)
		;
	terminal_add_text(&shown, text + begin, end - begin, TERMINAL_SENTENCE);
	n = utf8_valid_prefix(buf_text(&shown), MIN(shown.len, size - 1));
	memcpy(to, buf_text(&shown), n);
	to[n] = 0;
	buf_free(&shown);
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

/* The program is missing, or cannot run. */
static void explain_program_failure(struct remote_job *job)
{
	const char *program = job->argv[0], *name = job->host->name;
	const char *last = strrchr(program, '/'), *short_name = last ? last + 1 : program;
	const char *library = strstr(buf_text(&job->err), "loading shared libraries: ");
	char words[120];

	last_output_line(&job->err, words, sizeof(words));
	if (library) {
		library += strlen("loading shared libraries: ");
		snprintf(job->trouble, sizeof(job->trouble),
			 "%s on %.80s needs %.*s, which is not installed there: install it",
			 short_name, name, (int)MIN(strcspn(library, ":\n"), 60), library);
	} else if (job->status == NOT_FOUND && words[0] &&
		   !strstr(buf_text(&job->err), short_name)) {
		/* for example "exec: zsh: not found" of .bashrc */
		snprintf(job->trouble, sizeof(job->trouble),
			 "the remote shell on %.80s ended before it started a program (%.100s): "
			 "repair the start-up files of your shell there",
			 name, words);
	} else if (job->status == NOT_FOUND) {
		bool ours = strstr(program, "werkbank") != NULL;

		snprintf(job->trouble, sizeof(job->trouble),
			 "%.80s has no %.100s: install it at the same path as on this host%s", name,
			 program, ours ? ", or type: werkbank hosts sync" : "");
	} else {
		snprintf(job->trouble, sizeof(job->trouble),
			 "%.80s cannot run %.100s (%.80s): is its processor type the same?", name,
			 program, words);
	}
}

/*
 * srun ends with 1 if it fails itself, and with 2 or 13 (errno) if the program cannot be executed.
 * Otherwise it ends with the status of the program and says so.
 */
static void translate_srun_status(struct remote_job *job)
{
	const char *said = buf_text(&job->err);

	if (job->status > 0 && strstr(said, "error: execve(): "))
		job->status = strstr(said, "No such file") ? NOT_FOUND : NOT_RUN;
	else if (job->status == SRUN_FAILED && strstr(said, SRUN_ERROR) &&
		 !strstr(said, "Exited with exit code"))
		job->status = SSH_FAILED;
}

void remote_explain(struct remote_job *job, const struct remote_options *how)
{
	const char *said = buf_text(&job->err), *name = job->host->name;
	char words[150];

	if (how->srun)
		translate_srun_status(job);

	if (job->timed_out) {
		last_output_line(&job->err, words, sizeof(words));
		snprintf(job->trouble, sizeof(job->trouble),
			 "%.80s did not answer within %.3g s%s%s%s: check its load and its disks, "
			 "or set a longer limit with --deadline",
			 name, job->limit_s, words[0] ? " (" : "", words, words[0] ? ")" : "");
		return;
	}
	if (job->status == NOT_FOUND || job->status == NOT_RUN) {
		explain_program_failure(job);
		return;
	}
	if (job->status != SSH_FAILED || (host_is_local(job->host) && !job->err.len))
		return;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strstr(said, reasons[i].words)) {
			write_ssh_reason(job, reasons[i].text);
			return;
		}
	last_output_line(&job->err, words, sizeof(words));
	snprintf(job->trouble, sizeof(job->trouble), "%.80s cannot be reached: %s", name,
		 words[0]    ? words
		 : how->srun ? "srun failed without a message"
			     : "ssh failed without a message");
}
