/* mpirun.c - see mpirun.h */
#include "train/launch/remote/mpirun.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/proc.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "train/launch/remote/launcher.h"

extern char **environ;

/* ---- the argument vector ---- */

int command_line_add(struct command_line *c, const char *word, struct err *e)
{
	int rc = mem_grow(&c->all, &c->cap, c->n + 2, sizeof(*c->all), e);
	char *copy = rc ? NULL : mem_strdup(word, e);

	if (!copy)
		return e->code;
	assert(c->n + 2 <= c->cap); /* the word and the NULL at the end */
	c->all[c->n++] = copy;
	c->all[c->n] = NULL;
	return 0;
}

void command_line_free(struct command_line *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->all[i]);
	free(c->all);
	*c = (struct command_line){ 0 };
}

static int add_mpirun_words(struct command_line *c, const char *const *words, struct err *e)
{
	int rc = 0;

	assert(words);
	for (; !rc && *words; words++)
		rc = command_line_add(c, *words, e);
	return rc;
}

#define ADD(c, e, ...) add_mpirun_words(c, (const char *const[]){ __VA_ARGS__, NULL }, e)

static bool is_plain_shell_char(char ch)
{
	return isalnum((unsigned char)ch) || (ch && strchr("_-./=,@+", ch));
}

void command_line_quote(const struct command_line *c, struct buf *out)
{
	for (size_t i = 0; i < c->n; i++) {
		if (i)
			buf_add_char(out, ' ');
		text_quote_shell(out, c->all[i]);
	}
}

/* ---- encoding of words in plm_rsh_agent ---- */

void mpirun_encode_word(const char *word, struct buf *out)
{
	for (; *word; word++)
		if (is_plain_shell_char(*word))
			buf_add_char(out, *word);
		else
			buf_printf(out, "%%%02X", (unsigned)(unsigned char)*word);
}

static int hex_digit_value(char ch)
{
	const char *digits = "0123456789ABCDEF";
	const char *at = ch ? strchr(digits, toupper((unsigned char)ch)) : NULL;

	return at ? (int)(at - digits) : -1;
}

void mpirun_decode_word(char *word)
{
	char *to = word;

	while (*word) {
		if (*word == '%' && hex_digit_value(word[1]) >= 0 &&
		    hex_digit_value(word[2]) >= 0) {
			*to++ = (char)(hex_digit_value(word[1]) * 16 + hex_digit_value(word[2]));
			word += 3;
		} else {
			*to++ = *word++;
		}
	}
	assert(to <= word); /* a decoded word is never longer */
	*to = 0;
}

/* ---- hosts ---- */

int mpirun_write_hostfile(const struct mpirun_options *how, struct err *e)
{
	const struct hosts *h = how->hosts;
	struct buf text = { 0 };
	size_t n_nodes;
	int rc;

	if (how->starter == LAUNCHER_SRUN)
		launcher_list_tasks(how, &text, &n_nodes);
	for (size_t i = 0; i < h->n && how->starter != LAUNCHER_SRUN; i++) {
		buf_printf(&text, "%s slots=%d", h->all[i].name, h->all[i].slots);
		if (h->all[i].port)
			buf_printf(&text, " # port %d", h->all[i].port);
		buf_add_char(&text, '\n');
	}
	rc = buf_check(&text, e);
	if (!rc)
		rc = file_write_all(how->hostfile, buf_text(&text), text.len, e);
	buf_free(&text);
	return rc;
}

/* The short name of this host ("node7" of "node7.cluster.example") counts as this host, too. */
static bool is_local_host_name(const char *name)
{
	static const char *const always[] = { "localhost", "127.0.0.1", "::1" };
	char ours[256] = "";
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		if (!strcasecmp(name, always[i]))
			return true;
	if (gethostname(ours, sizeof(ours) - 1) || !ours[0])
		return false;
	n = strcspn(ours, ".");
	return !strcasecmp(name, ours) || (!strncasecmp(name, ours, n) && !name[n]);
}

bool mpirun_is_local(const struct hosts *h)
{
	return !h || h->n == 0 || (h->n == 1 && is_local_host_name(h->all[0].name));
}

int64_t mpirun_rank_count(const struct mpirun_options *how)
{
	return how->ranks ? how->ranks : how->hosts ? hosts_total_slots(how->hosts) : 1;
}

/* ---- version and place of mpirun ---- */

static int parse_mpirun_version(const char *program, const char *text, struct err *e)
{
	const char *name = strstr(text, "Open MPI"), *digits = name;

	while (digits && *digits && *digits != '\n' && !isdigit((unsigned char)*digits))
		digits++;
	if (!digits || !isdigit((unsigned char)*digits))
		return err_set(
			e, ERR_UNAVAILABLE,
			"%s is not part of Open MPI (--version prints \"%.*s\"): install Open "
			"MPI 4 or 5 and put its bin folder first in PATH",
			program, (int)MIN(strcspn(text, "\n"), 60u), text);
	return *digits >= '5' || isdigit((unsigned char)digits[1]) ? 5 : 4;
}

int mpirun_major_version(const char *program, struct err *e)
{
	const char *name = program ? program : "mpirun";
	const char *argv[] = { name, "--version", NULL };
	char text[1024], rest[1024];
	size_t n = 0;
	struct proc p;
	ssize_t got;
	int status, rc = proc_start(&p, argv, PROC_PIPE_OUT, e);

	if (rc)
		return err_prefix(e, "several ranks or hosts need Open MPI");
	while ((got = read(p.out, n < sizeof(text) - 1 ? text + n : rest,
			   n < sizeof(text) - 1 ? sizeof(text) - 1 - n : sizeof(rest))) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		if (got > 0 && n < sizeof(text) - 1)
			n += (size_t)got;
	}
	text[n] = 0;
	rc = proc_wait(&p, &status, e);
	return rc ? rc : parse_mpirun_version(name, text, e);
}

/*
 * The installation prefix of mpirun for --prefix: needed unless mpirun is in /usr, which is in the
 * PATH of every host. false: not needed, or mpirun was not found.
 */
static bool find_mpirun_prefix(const char *program, char prefix[PATH_MAX])
{
	const char *name = program ? program : "mpirun";
	bool found = strchr(name, '/') != NULL;
	char *cut;

	if (found)
		snprintf(prefix, PATH_MAX, "%s", name);
	else
		found = proc_find(name, prefix, PATH_MAX);
	if (!found || prefix[0] != '/')
		return false;
	for (int i = 0; i < 2; i++) { /* remove /mpirun, then /bin */
		cut = strrchr(prefix, '/');
		if (!cut || cut == prefix)
			return false;
		*cut = 0;
	}
	return strcmp(prefix, "/usr") != 0;
}

/* ---- the command line ---- */

/* mpirun starts its daemons through rsh_agent.c, which knows the ports and never prompts. */
static int add_rsh_agent(struct command_line *c, const struct mpirun_options *how, int major,
			 struct err *e)
{
	const char *launcher = how->launcher ? how->launcher : "werkbank-launch";
	struct buf agent = { 0 };
	int rc = 0;

	buf_printf(&agent, "%s _ssh --ssh=", launcher);
	mpirun_encode_word(how->ssh && *how->ssh ? how->ssh : "ssh", &agent);
	buf_add_char(&agent, ' ');
	mpirun_encode_word(how->hostfile ? how->hostfile : "", &agent);
	rc = buf_check(&agent, e);
	/* in a Slurm allocation mpirun would take Slurm's launcher and refuse other hosts */
	if (!rc && launcher_variable(how, "SLURM_JOB_NODELIST"))
		rc = major >= 5 ? ADD(c, e, "--prtemca", "plm", "ssh", "--prtemca", "ras", "^slurm")
				: ADD(c, e, "--mca", "plm", "rsh", "--mca", "ras", "^slurm");
	if (!rc && major >= 5)
		rc = ADD(c, e, "--prtemca", "plm_ssh_agent", buf_text(&agent), "--prtemca",
			 "plm_ssh_no_tree_spawn", "1");
	else if (!rc)
		rc = ADD(c, e, "--mca", "plm_rsh_agent", buf_text(&agent), "--mca",
			 "plm_rsh_no_tree_spawn", "1");
	buf_free(&agent);
	return rc;
}

/*
 * Start the daemons on other hosts with SIGTERM blocked: otherwise a daemon ends its ranks within
 * two seconds when a batch system or a shutdown sends SIGTERM to all processes of its host.
 */
static int add_daemon_hold(struct command_line *c, const struct mpirun_options *how, int major,
			   struct err *e)
{
	const char *launcher = how->launcher ? how->launcher : "werkbank-launch";
	char *words;
	int rc;

	if (launcher[strcspn(launcher, " \t\n:")])
		return err_set(e, ERR_CONFIG,
			       "%s: mpirun cannot run a program with a blank or a colon in its "
			       "path: install Werkbank elsewhere",
			       launcher);
	words = file_path(e, "%s _hold %s", launcher, major >= 5 ? "prted" : "orted");
	rc = words ? 0 : e->code;
	if (!rc)
		rc = ADD(c, e, major >= 5 ? "--prtemca" : "--mca",
			 major >= 5 ? "prte_launch_agent" : "orte_launch_agent", words);
	free(words);
	return rc;
}

static bool is_ip_address(const char *name)
{
	return strchr(name, ':') || !name[strspn(name, "0123456789.")];
}

/* Then Open MPI must not shorten "node7.example.org" to "node7", which may not resolve. */
static bool has_domain_name(const struct hosts *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (strchr(h->all[i].name, '.') && !is_ip_address(h->all[i].name))
			return true;
	return false;
}

bool mpirun_is_ipv6_network(const char *network)
{
	return network && strchr(network, ':');
}

/*
 * Restrict ranks and daemons to the network between the hosts. Open MPI parses networks of IPv4
 * only, so for one of IPv6 the other family is switched off: many hosts have a bridge of containers
 * with an IPv4 address, and Open MPI would try to reach other hosts through it for ever.
 */
static int add_network_options(struct command_line *c, const char *network, int major,
			       struct err *e)
{
	const char *option = major >= 5 ? "--prtemca" : "--mca";

	if (!network || !*network)
		return 0;
	if (mpirun_is_ipv6_network(network))
		return ADD(c, e, "--mca", "btl_tcp_disable_family", "4", option,
			   "oob_tcp_disable_ipv4_family", "1");
	return ADD(c, e, "--mca", "btl_tcp_if_include", network, option,
		   major >= 5 ? "prte_if_include" : "oob_tcp_if_include", network);
}

/*
 * TCP keep-alive: mpirun's daemons notice a host that vanished after 20 s + 4 * 5 s, instead of
 * the default of eight minutes.
 */
static int add_daemon_options(struct command_line *c, const struct mpirun_options *how, int major,
			      struct err *e)
{
	static const char *const set[][2] = {
		{ "oob_tcp_keepalive_time", "20" },
		{ "oob_tcp_keepalive_intvl", "5" },
		{ "oob_tcp_keepalive_probes", "4" },
	};
	const char *option = major >= 5 ? "--prtemca" : "--mca";
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(set); i++)
		rc = ADD(c, e, option, set[i][0], set[i][1]);
	if (!rc && has_domain_name(how->hosts))
		rc = ADD(c, e, option,
			 major >= 5 ? "prte_keep_fqdn_hostnames" : "orte_keep_fqdn_hostnames", "1");
	return rc ? rc : add_network_options(c, how->network, major, e);
}

/*
 * Variables that mpirun passes on to ranks on other hosts, where a remote shell does not set them.
 */
static int add_rank_environment(struct command_line *c, const struct mpirun_options *how,
				struct err *e)
{
	static const char *const names[] = { "LD_LIBRARY_PATH", "NCCL_" };
	static const char *const kept[] = { "WERKBANK_SSH=", "WERKBANK_NETWORK=",
					    "WERKBANK_HOSTS=" };
	const char *const *all = how->environment ? how->environment : (const char *const *)environ;
	char *network;
	int rc = 0;

	for (; !rc && *all; all++) {
		size_t n = strcspn(*all, "=");
		bool wanted = text_starts_with(*all, "WERKBANK_");
		char name[128];

		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			wanted = wanted || text_starts_with(*all, names[i]);
		for (size_t i = 0; i < ARRAY_LEN(kept); i++)
			wanted = wanted && !text_starts_with(*all, kept[i]);
		if (!wanted || !(*all)[n] || n >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)n, *all);
		rc = ADD(c, e, "-x", name);
	}
	if (rc || !how->network || !*how->network)
		return rc;
	network = file_path(e, "WERKBANK_NETWORK=%s", how->network);
	rc = network ? ADD(c, e, "-x", network) : e->code;
	free(network);
	return rc;
}

static int add_host_options(struct command_line *c, const struct mpirun_options *how, int major,
			    struct err *e)
{
	char prefix[PATH_MAX];
	bool over = mpirun_rank_count(how) > hosts_total_slots(how->hosts);
	int rc = ADD(c, e, "--hostfile", how->hostfile ? how->hostfile : "", "--map-by",
		     over && major >= 5 ? "slot:OVERSUBSCRIBE" : "slot", "--bind-to", "none");

	if (!rc && over && major < 5)
		rc = command_line_add(c, "--oversubscribe", e);
	if (!rc && find_mpirun_prefix(how->program, prefix))
		rc = ADD(c, e, "--prefix", prefix);
	if (!rc && how->starter == LAUNCHER_SLURM)
		rc = ADD(c, e, major >= 5 ? "--prtemca" : "--mca", "plm", "slurm");
	else if (!rc)
		rc = add_rsh_agent(c, how, major, e);
	if (!rc)
		rc = add_daemon_hold(c, how, major, e);
	if (!rc)
		rc = add_daemon_options(c, how, major, e);
	return rc ? rc : add_rank_environment(c, how, e);
}

int mpirun_append_words(struct command_line *c, const struct mpirun_options *how, struct err *e)
{
	const bool is_local = mpirun_is_local(how->hosts);
	char ranks[24], seconds[24];
	int major, rc;

	if (how->starter == LAUNCHER_SRUN && !is_local)
		return launcher_append_srun(c, how, e);
	major = how->major ? how->major : mpirun_major_version(how->program, e);
	if (major < 0)
		return major;
	assert(mpirun_rank_count(how) >= 1);
	snprintf(ranks, sizeof(ranks), "%lld", (long long)mpirun_rank_count(how));
	rc = ADD(c, e, how->program ? how->program : "mpirun", "-n", ranks);
	if (!rc && geteuid() == 0)
		rc = command_line_add(c, "--allow-run-as-root", e);
	if (!rc && is_local)
		rc = major >= 5 ? ADD(c, e, "--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none")
				: ADD(c, e, "--oversubscribe", "--bind-to", "none");
	else if (!rc)
		rc = add_host_options(c, how, major, e);
	if (!rc && how->kill_after_s && major < 5) {
		snprintf(seconds, sizeof(seconds), "%d", how->kill_after_s);
		rc = ADD(c, e, "--mca", "odls_base_sigkill_timeout", seconds);
	}
	if (!rc && how->oversubscribed)
		rc = ADD(c, e, "--mca", "mpi_yield_when_idle", "1");
	return rc;
}
