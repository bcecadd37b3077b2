/*
 * t_mpirun.c - the line that starts ranks for Open MPI 4.1 and 5, and the agent that reaches hosts
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/test.h"
#include "train/launch/remote/rank_launch.h"
#include "train/launch/remote/rsh_agent.h"

static const char *environment[] = { "PATH=/bin",
				     "WERKBANK_SHARE=/s",
				     "WERKBANK_SSH=ssh; x",
				     "LD_LIBRARY_PATH=/opt/lib",
				     "WERKBANK_NETWORK=old",
				     "HOME=/root",
				     "NCCL_DEBUG=INFO",
				     NULL };

/* The command line as --show prints it without "--allow-run-as-root ", or the error message. */
static const char *line(const char *spec, struct mpirun_options how)
{
	static struct buf out;
	const struct hosts_env none = { 0 };
	struct hosts h = { 0 };
	struct command_line c = { 0 };
	struct err e = { 0 };
	char *root;
	int rc = spec ? hosts_read(&h, spec, &none, &e) : 0;

	buf_clear(&out);
	if (spec)
		how.hosts = &h;
	how.program = how.program ? how.program : "/usr/bin/mpirun";
	how.environment = environment;
	if (!rc)
		rc = rank_launch_append_words(&c, &how, &e);
	if (rc)
		buf_printf(&out, "%d: %s", err_exit_status(rc), e.text);
	else
		command_line_quote(c.all, &out);
	root = strstr(out.data, "--allow-run-as-root ");
	check(rc || (root != NULL) == (geteuid() == 0));
	if (root)
		memmove(root, root + 20, strlen(root + 20) + 1);
	command_line_free(&c);
	hosts_free(&h);
	return buf_text(&out);
}

TEST(mpirun_one_host)
{
	check_str(line(NULL, (struct mpirun_options){ .ranks = 4, .major = 4 }),
		  "/usr/bin/mpirun -n 4 --oversubscribe --bind-to none");
	check_str(line(NULL,
		       (struct mpirun_options){ .ranks = 4, .major = 5, .oversubscribed = true }),
		  "/usr/bin/mpirun -n 4 --map-by slot:OVERSUBSCRIBE --bind-to none "
		  "--mca mpi_yield_when_idle 1");
	check_str(line(NULL, (struct mpirun_options){ .ranks = 4, .major = 4, .kill_after_s = 7 }),
		  "/usr/bin/mpirun -n 4 --oversubscribe --bind-to none --mca "
		  "odls_base_sigkill_timeout 7");
	check(!strstr(line("a,b", (struct mpirun_options){ .major = 5, .kill_after_s = 7 }),
		      "sigkill_timeout"));
	check_str(line("localhost:3", (struct mpirun_options){ .major = 4 }),
		  "/usr/bin/mpirun -n 3 --oversubscribe --bind-to none");
	check_str(line(NULL, (struct mpirun_options){ .major = 4, .program = "mpi run's" }),
		  "'mpi run'\\''s' -n 1 --oversubscribe --bind-to none");
}

#define DAEMONS_4                                                                                  \
	"--mca oob_tcp_keepalive_time 20 --mca oob_tcp_keepalive_intvl 5 "                         \
	"--mca oob_tcp_keepalive_probes 4 "
#define DAEMONS_5                                                                                  \
	"--prtemca oob_tcp_keepalive_time 20 --prtemca oob_tcp_keepalive_intvl 5 "                 \
	"--prtemca oob_tcp_keepalive_probes 4 "
#define VARIABLES "-x WERKBANK_SHARE -x LD_LIBRARY_PATH -x NCCL_DEBUG"

TEST(mpirun_open_mpi_4)
{
	struct mpirun_options how = { .major = 4,
				      .hostfile = "/w/runs/r/hosts",
				      .launcher = "/b/wl",
				      .ssh = "ssh -p 2222",
				      .network = "10.0.0.0/8" };

	check_str(
		line("a:2,b:4", how),
		"/usr/bin/mpirun -n 6 --hostfile /w/runs/r/hosts --map-by slot --bind-to none "
		"--mca plm_rsh_agent '/b/wl _ssh --ssh=ssh%20-p%202222 /w/runs/r/hosts' "
		"--mca plm_rsh_no_tree_spawn 1 --mca orte_launch_agent '/b/wl _hold "
		"orted' " DAEMONS_4
		"--mca btl_tcp_if_include 10.0.0.0/8 --mca oob_tcp_if_include 10.0.0.0/8 " VARIABLES
		" -x WERKBANK_NETWORK=10.0.0.0/8");
	how.network = "fd98::/64";
	check(strstr(line("a:2,b:4", how),
		     " --mca btl_tcp_disable_family 4 --mca "
		     "oob_tcp_disable_ipv4_family 1 " VARIABLES " -x WERKBANK_NETWORK=fd98::/64"));
	how.network = NULL;
	how.ssh = NULL;
	how.oversubscribed = true;
	how.ranks = 9;
	how.hostfile = "/my work/hosts:1";
	how.program = "/opt/ompi/bin/mpirun";
	check_str(line("a.example.org:2,[fe80::1]:4", how),
		  "/opt/ompi/bin/mpirun -n 9 --hostfile '/my work/hosts:1' --map-by slot "
		  "--bind-to none --oversubscribe --prefix /opt/ompi "
		  "--mca plm_rsh_agent '/b/wl _ssh --ssh=ssh /my%20work/hosts%3A1' "
		  "--mca plm_rsh_no_tree_spawn 1 --mca orte_launch_agent '/b/wl _hold "
		  "orted' " DAEMONS_4 "--mca orte_keep_fqdn_hostnames 1 " VARIABLES
		  " --mca mpi_yield_when_idle 1");
	how.starter = LAUNCHER_SLURM;
	how.ranks = 2;
	how.oversubscribed = false;
	check_str(line("a,b", how),
		  "/opt/ompi/bin/mpirun -n 2 --hostfile '/my work/hosts:1' --map-by slot "
		  "--bind-to none --prefix /opt/ompi --mca plm slurm --mca "
		  "orte_launch_agent '/b/wl _hold orted' " DAEMONS_4 VARIABLES);
	how.starter = LAUNCHER_SSH;
	environment[0] = "SLURM_JOB_NODELIST=n[1-2]";
	check(strstr(line("a,b", how), " --mca plm rsh --mca ras '^slurm' --mca plm_rsh_agent "));
	environment[0] = "PATH=/bin";
	how.launcher = "/my bin/wl";
	check_str(line("a,b", how), "78: /my bin/wl: mpirun cannot run a program with a blank or a "
				    "colon in its path: install Werkbank elsewhere");
}

TEST(mpirun_open_mpi_5)
{
	struct mpirun_options how = {
		.major = 5, .hostfile = "h", .launcher = "/b/wl", .network = "10.0.0.0/8"
	};

	check_str(line("10.0.0.1:2,10.0.0.2", how),
		  "/usr/bin/mpirun -n 3 --hostfile h --map-by slot --bind-to none "
		  "--prtemca plm_ssh_agent '/b/wl _ssh --ssh=ssh h' "
		  "--prtemca plm_ssh_no_tree_spawn 1 --prtemca prte_launch_agent '/b/wl _hold "
		  "prted' " DAEMONS_5
		  "--mca btl_tcp_if_include 10.0.0.0/8 --prtemca prte_if_include "
		  "10.0.0.0/8 " VARIABLES " -x WERKBANK_NETWORK=10.0.0.0/8");
	how.ranks = 4;
	how.network = "";
	how.program = "/opt/mpi/bin/mpirun";
	check_str(line("a.b.c,b", how),
		  "/opt/mpi/bin/mpirun -n 4 --hostfile h --map-by slot:OVERSUBSCRIBE "
		  "--bind-to none --prefix /opt/mpi "
		  "--prtemca plm_ssh_agent '/b/wl _ssh --ssh=ssh h' "
		  "--prtemca plm_ssh_no_tree_spawn 1 --prtemca prte_launch_agent '/b/wl _hold "
		  "prted' " DAEMONS_5 "--prtemca prte_keep_fqdn_hostnames 1 " VARIABLES);
}

/* A program that prints this for --version. */
static int major_of(const char *answer, struct err *e)
{
	struct buf script = { 0 };
	char *path = file_path(e, "%s/mpirun", test_folder());
	int major;

	buf_printf(&script, "#!/bin/sh\necho '%s'\n", answer);
	check_int(file_write_all(path, script.data, script.len, e), 0);
	check_int(chmod(path, 0700), 0);
	major = mpirun_major_version(path, e);
	buf_free(&script);
	free(path);
	return major;
}

TEST(mpirun_versions)
{
	struct err e = { 0 };

	check_int(major_of("mpirun (Open MPI) 4.1.4", &e), 4);
	check_int(major_of("mpirun (Open MPI) 3.0.0", &e), 4);
	check_int(major_of("mpirun (Open MPI) 5.0.10rc2", &e), 5);
	check_int(major_of("prterun (Open MPI) 5.1.0", &e), 5);
	check_int(major_of("mpirun (Open MPI) 10.0", &e), 5);
	check_err(major_of("HYDRA build details:", &e), ERR_UNAVAILABLE);
	check(strstr(e.text, "install Open MPI 4 or 5") != NULL);
	check_err(major_of("", &e), ERR_UNAVAILABLE);
	check_err(mpirun_major_version("/nowhere/mpirun", &e), ERR_UNAVAILABLE);
}

TEST(mpirun_words)
{
	const char *words[] = { "", "plain", "ssh -i ~/k -p 22", "a%20b", "50%", "\x01\xFF:'\"\\" };
	struct buf b = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		char *copy;
		struct err e;

		mpirun_encode_word(words[i], &b);
		copy = buf_detach(&b, &e);
		check(!strpbrk(copy, " :'\"\\\t"));
		mpirun_decode_word(copy);
		check_str(copy, words[i]);
		free(copy);
	}
	buf_free(&b);
}

/* The words of the ssh command, each in <>; or the error message. */
static const char *agent(const char *ssh, const char *hostfile, const char *host)
{
	static struct buf out;
	const char *const rest[] = { host, "orted", "--tree 'x'", NULL };
	struct command_line c = { 0 };
	struct err e = { 0 };

	buf_clear(&out);
	if (rsh_agent_build_line(&c, ssh, hostfile, rest, &e))
		buf_printf(&out, "%d: %s", err_exit_status(e.code), e.text);
	for (size_t i = 0; !e.code && i < c.n; i++)
		buf_printf(&out, "<%s>", c.all[i]);
	command_line_free(&c);
	return buf_text(&out);
}

#define ASKS_NOTHING "<-x><-o><BatchMode=yes><-o><ConnectTimeout=15>"

TEST(mpirun_agent)
{
	const struct hosts_env none = { 0 };
	struct err e = { 0 };
	struct hosts h = { 0 };
	struct buf text = { 0 };
	char *file = file_path(&e, "%s/my hosts", test_folder());
	char *source = file_path(&e, "%s/source", test_folder());
	const char *listed = "a:2222 slots=4\nab slots=1\n[fe80::1]:2200 slots=2\n";
	const struct mpirun_options how = { .hosts = &h, .hostfile = file };

	check_int(file_write_all(source, listed, strlen(listed), &e), 0);
	check_int(hosts_read(&h, source, &none, &e), 0);
	check_int(rank_launch_write_hostfile(&how, &e), 0);
	check_int(file_read_all(file, 0, &text, &e), 0);
	check_str(buf_text(&text),
		  "a slots=4 # port 2222\nab slots=1\nfe80::1 slots=2 # port 2200\n");
	check_str(agent("ssh", file, "A"), "<ssh><-p><2222>" ASKS_NOTHING "<A><orted><--tree 'x'>");
	check_str(agent("ssh -i '/my keys/id' -o \"X=a b\" c\\ d", file, "ab"),
		  "<ssh><-i></my keys/id><-o><X=a b><c d>" ASKS_NOTHING "<ab><orted><--tree 'x'>");
	check_str(agent(" ssh ", file, "fe80::1"),
		  "<ssh><-p><2200>" ASKS_NOTHING "<fe80::1><orted><--tree 'x'>");
	check_str(agent("ssh", "", "b"), "<ssh>" ASKS_NOTHING "<b><orted><--tree 'x'>");
	check_str(agent("ssh 'x", file, "b"), "64: --ssh \"ssh 'x\": a closing quote is missing");
	check_str(agent(" ", file, "b"), "64: --ssh is empty: expected for example ssh");
	check(strstr(agent("ssh", "/nowhere/hosts", "b"), "66: /nowhere/hosts") != NULL);
	buf_free(&text);
	hosts_free(&h);
	free(source);
	free(file);
}

TEST(mpirun_agent_arguments)
{
	const char *const plain[] = { "wl", "_ssh", "hosts", "a", "orted", "-x", NULL };
	const char *const given[] = { "wl",    "_ssh", "--ssh",	 "ssh", "-q",
				      "hosts", "a",    "--help", NULL };
	const char *const few[] = { "wl", "_ssh", "hosts", NULL };

	check_int(rsh_agent_host_index(6, plain), 3);
	check_int(rsh_agent_host_index(8, given), 6);
	check_int(rsh_agent_host_index(3, few), 3);
}

TEST(hosts_are_local)
{
	static const struct {
		const char *spec;
		bool here;
	} cases[] = {
		{ "localhost:4", true },
		{ "127.0.0.1", true },
		{ "[::1]:2", true },
		{ "no-such-host", false },
		{ "localhost,no-such-host", false },
	};
	char ours[256] = "";

	gethostname(ours, sizeof(ours) - 1);
	for (size_t i = 0; i <= ARRAY_LEN(cases); i++) {
		const struct hosts_env none = { 0 };
		struct hosts h = { 0 };
		struct err e;
		bool last = i == ARRAY_LEN(cases);

		if (check_int(hosts_read(&h, last ? ours : cases[i].spec, &none, &e), 0))
			check_int(hosts_are_local(&h), last || cases[i].here);
		hosts_free(&h);
	}
	check(hosts_are_local(NULL));
}
