/* mpirun.c - see mpirun.h */
#include "train/launch/remote/mpirun.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "share/base/proc.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_VARIABLE 128  /* longest name of a variable that is passed on */
#define MAX_VERSION  1024 /* bytes of the answer to --version */

extern char **environ;

/* ---- encoding of words in plm_rsh_agent ---- */

static bool is_plain_shell_char(char ch)
{
	return isalnum((unsigned char)ch) || (ch && strchr("_-./=,@+", ch));
}

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
	struct buf text = { 0 };
	struct proc p;
	int status, waited, rc = proc_start(&p, argv, PROC_PIPE_OUT, e);

	if (rc)
		return err_prefix(e, "several ranks or hosts need Open MPI");
	rc = proc_read_output(&p, MAX_VERSION, &text, e);
	waited = proc_wait(&p, &status, e);
	rc = rc ? rc : waited;
	if (!rc)
		rc = parse_mpirun_version(name, buf_text(&text), e);
	buf_free(&text);
	return rc;
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

/* What the versions of Open MPI call the same things. */
static const struct mpi_names {
	const char *option; /* sets a parameter of mpirun and its daemons */
	const char *shell;  /* component that starts the daemons by a remote shell … */
	const char *agent, *no_tree_spawn;
	const char *daemon, *launch_agent, *full_names, *network;
} MPI_4 = { "--mca",
	    "rsh",
	    "plm_rsh_agent",
	    "plm_rsh_no_tree_spawn",
	    "orted",
	    "orte_launch_agent",
	    "orte_keep_fqdn_hostnames",
	    "oob_tcp_if_include" },
  MPI_5 = { "--prtemca",
	    "ssh",
	    "plm_ssh_agent",
	    "plm_ssh_no_tree_spawn",
	    "prted",
	    "prte_launch_agent",
	    "prte_keep_fqdn_hostnames",
	    "prte_if_include" };

const char *mpirun_variable(const struct mpirun_options *how, const char *name)
{
	const char *const *all = how->environment ? how->environment : (const char *const *)environ;
	const size_t n = strlen(name);

	for (; *all; all++)
		if (!strncmp(*all, name, n) && (*all)[n] == '=')
			return *all + n + 1;
	return NULL;
}

static const char *launcher_path(const struct mpirun_options *how)
{
	return how->launcher ? how->launcher : "werkbank-launch";
}

/* mpirun starts its daemons through rsh_agent.c, which knows the ports and never prompts. */
static int add_rsh_agent(struct command_line *c, const struct mpirun_options *how,
			 const struct mpi_names *mpi, struct err *e)
{
	struct buf agent = { 0 };
	int rc;

	buf_printf(&agent, "%s _ssh --ssh=", launcher_path(how));
	mpirun_encode_word(how->ssh && *how->ssh ? how->ssh : "ssh", &agent);
	buf_add_char(&agent, ' ');
	mpirun_encode_word(how->hostfile ? how->hostfile : "", &agent);
	rc = buf_check(&agent, e);
	/* in a Slurm allocation mpirun would take Slurm's launcher and refuse other hosts */
	if (mpirun_variable(how, "SLURM_JOB_NODELIST"))
		COMMAND_LINE_ADD(c, mpi->option, "plm", mpi->shell, mpi->option, "ras", "^slurm");
	COMMAND_LINE_ADD(c, mpi->option, mpi->agent, buf_text(&agent), mpi->option,
			 mpi->no_tree_spawn, "1");
	buf_free(&agent);
	return rc;
}

/*
 * Start the daemons on other hosts with SIGTERM blocked: otherwise a daemon ends its ranks within
 * two seconds when a batch system or a shutdown sends SIGTERM to all processes of its host.
 */
static int add_daemon_hold(struct command_line *c, const struct mpirun_options *how,
			   const struct mpi_names *mpi, struct err *e)
{
	const char *launcher = launcher_path(how);

	if (launcher[strcspn(launcher, " \t\n:")])
		return err_set(e, ERR_CONFIG,
			       "%s: mpirun cannot run a program with a blank or a colon in its "
			       "path: install Werkbank elsewhere",
			       launcher);
	COMMAND_LINE_ADD(c, mpi->option, mpi->launch_agent);
	command_line_printf(c, "%s _hold %s", launcher, mpi->daemon);
	return 0;
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
static void add_network_options(struct command_line *c, const char *network,
				const struct mpi_names *mpi)
{
	if (mpirun_is_ipv6_network(network))
		COMMAND_LINE_ADD(c, "--mca", "btl_tcp_disable_family", "4", mpi->option,
				 "oob_tcp_disable_ipv4_family", "1");
	else if (network && *network)
		COMMAND_LINE_ADD(c, "--mca", "btl_tcp_if_include", network, mpi->option,
				 mpi->network, network);
}

/*
 * TCP keep-alive: mpirun's daemons notice a host that vanished after 20 s + 4 * 5 s, instead of
 * the default of eight minutes.
 */
static void add_daemon_options(struct command_line *c, const struct mpirun_options *how,
			       const struct mpi_names *mpi)
{
	COMMAND_LINE_ADD(c, mpi->option, "oob_tcp_keepalive_time", "20");
	COMMAND_LINE_ADD(c, mpi->option, "oob_tcp_keepalive_intvl", "5");
	COMMAND_LINE_ADD(c, mpi->option, "oob_tcp_keepalive_probes", "4");
	if (has_domain_name(how->hosts))
		COMMAND_LINE_ADD(c, mpi->option, mpi->full_names, "1");
	add_network_options(c, how->network, mpi);
}

static bool starts_with_any(const char *text, const char *const *prefixes)
{
	while (*prefixes && !text_starts_with(text, *prefixes))
		prefixes++;
	return *prefixes != NULL;
}

/*
 * Variables that mpirun passes on to ranks on other hosts, where a remote shell does not set them.
 */
static void add_rank_environment(struct command_line *c, const struct mpirun_options *how)
{
	static const char *const wanted[] = { "WERKBANK_", "LD_LIBRARY_PATH", "NCCL_", NULL };
	static const char *const kept[] = { "WERKBANK_SSH=", "WERKBANK_NETWORK=", "WERKBANK_HOSTS=",
					    NULL };
	const char *const *all = how->environment ? how->environment : (const char *const *)environ;

	for (; *all; all++) {
		size_t n = strcspn(*all, "=");

		if (!starts_with_any(*all, wanted) || starts_with_any(*all, kept) || !(*all)[n] ||
		    n >= MAX_VARIABLE)
			continue;
		command_line_add(c, "-x");
		command_line_printf(c, "%.*s", (int)n, *all);
	}
	if (how->network && *how->network) {
		command_line_add(c, "-x");
		command_line_printf(c, "WERKBANK_NETWORK=%s", how->network);
	}
}

static int add_host_options(struct command_line *c, const struct mpirun_options *how,
			    const struct mpi_names *mpi, struct err *e)
{
	char prefix[PATH_MAX];
	bool over = mpirun_rank_count(how) > hosts_total_slots(how->hosts);
	int rc = 0;

	COMMAND_LINE_ADD(c, "--hostfile", how->hostfile ? how->hostfile : "", "--map-by",
			 over && mpi == &MPI_5 ? "slot:OVERSUBSCRIBE" : "slot", "--bind-to",
			 "none");
	if (over && mpi == &MPI_4)
		command_line_add(c, "--oversubscribe");
	if (find_mpirun_prefix(how->program, prefix))
		COMMAND_LINE_ADD(c, "--prefix", prefix);
	if (how->starter == LAUNCHER_SLURM)
		COMMAND_LINE_ADD(c, mpi->option, "plm", "slurm");
	else
		rc = add_rsh_agent(c, how, mpi, e);
	if (!rc)
		rc = add_daemon_hold(c, how, mpi, e);
	add_daemon_options(c, how, mpi);
	add_rank_environment(c, how);
	return rc;
}

int mpirun_append_words(struct command_line *c, const struct mpirun_options *how, struct err *e)
{
	const int major = how->major ? how->major : mpirun_major_version(how->program, e);
	const struct mpi_names *mpi = major >= 5 ? &MPI_5 : &MPI_4;
	int rc = 0;

	if (major < 0)
		return major;
	assert(mpirun_rank_count(how) >= 1);
	COMMAND_LINE_ADD(c, how->program ? how->program : "mpirun", "-n");
	command_line_printf(c, "%lld", (long long)mpirun_rank_count(how));
	if (geteuid() == 0)
		command_line_add(c, "--allow-run-as-root");
	if (!hosts_are_local(how->hosts))
		rc = add_host_options(c, how, mpi, e);
	else if (mpi == &MPI_5)
		COMMAND_LINE_ADD(c, "--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none");
	else
		COMMAND_LINE_ADD(c, "--oversubscribe", "--bind-to", "none");
	if (how->kill_after_s && mpi == &MPI_4) {
		COMMAND_LINE_ADD(c, "--mca", "odls_base_sigkill_timeout");
		command_line_printf(c, "%d", how->kill_after_s);
	}
	if (how->oversubscribed)
		COMMAND_LINE_ADD(c, "--mca", "mpi_yield_when_idle", "1");
	return rc ? rc : command_line_check(c, e);
}
