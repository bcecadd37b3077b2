/* t_hosts.c - host lists and hostfiles of all formats, and errors in them */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/base/file.h"
#include "share/base/util.h"
#include "tests/test.h"
#include "train/launch/remote/hosts.h"

/* The parsed hosts as "name slots port;…", or the error message. */
static const char *understood(const char *spec, const struct hosts_env *env)
{
	static struct buf out;
	const struct hosts_env none = { 0 };
	struct hosts h = { 0 };
	struct err e = { 0 };

	buf_clear(&out);
	if (hosts_read(&h, spec, env ? env : &none, &e))
		buf_printf(&out, "%d: %s", err_exit_status(e.code), e.text);
	for (size_t i = 0; !e.code && i < h.n; i++)
		buf_printf(&out, "%s%s %d %d", i ? ";" : "", h.all[i].name, h.all[i].slots,
			   h.all[i].port);
	hosts_free(&h);
	return buf_text(&out);
}

/* The same for a file with this text; the path is removed from messages. */
static const char *understood_file(const char *text)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/hosts", test_folder());
	const char *seen = "?", *at;

	if (path && check_int(file_write_all(path, text, strlen(text), &e), 0))
		seen = understood(path, NULL);
	at = path ? strstr(seen, path) : NULL;
	free(path);
	return at ? strstr(at, "/hosts") + 1 : seen;
}

TEST(hosts_lists)
{
	static const struct {
		const char *spec, *seen;
	} cases[] = {
		{ "a", "a 1 0" },
		{ "a:2,b:4", "a 2 0;b 4 0" },
		{ "a:2, b:4", "a 2 0;b 4 0" },
		{ " a:2 ,, b:4 , ", "a 2 0;b 4 0" },
		{ "a b c:3", "a 1 0;b 1 0;c 3 0" },
		{ "a:2222", "a 2222 0" },
		{ "a,b,a", "a 2 0;b 1 0" },
		{ "Node1,node1:2", "Node1 3 0" },
		{ "10.0.0.1:8,10.0.0.2:8", "10.0.0.1 8 0;10.0.0.2 8 0" },
		{ "host.example.org:1", "host.example.org 1 0" },
		{ "fe80::1", "fe80::1 1 0" },
		{ "[fe80::1]:4,b", "fe80::1 4 0;b 1 0" },
		{ "node[01-03,7]:2", "node01 2 0;node02 2 0;node03 2 0;node7 2 0" },
		{ "r[1-2]n[08-10]", "r1n08 1 0;r1n09 1 0;r1n10 1 0;r2n08 1 0;r2n09 1 0;r2n10 1 0" },
		{ "gpu[1-2]x,z", "gpu1x 1 0;gpu2x 1 0;z 1 0" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_str(understood(cases[i].spec, NULL), cases[i].seen);
}

TEST(hosts_refused_lists)
{
	static const struct {
		const char *spec, *seen;
	} cases[] = {
		{ "", "64: the host list is empty: give for example a:2,b:2, or a file" },
		{ " , ", "64: the host list is empty: give for example a:2,b:2, or a file" },
		{ "a:0",
		  "64: host list, column 3: \"0\" is not a number of slots: expected NAME:SLOTS" },
		{ "a:-1",
		  "64: host list, column 3: \"-1\" is not a number of slots: expected NAME:SLOTS" },
		{ "a:2,b:x",
		  "64: host list, column 7: \"x\" is not a number of slots: expected NAME:SLOTS" },
		{ "a:",
		  "64: host list, column 3: \"\" is not a number of slots: expected NAME:SLOTS" },
		{ "a:5000", "64: host list, column 1: 5000 slots on a: expected 1 to 4096" },
		{ "a,-b", "64: host list, column 3: \"-b\" is not a valid host name" },
		{ "a,b-", "64: host list, column 3: \"b-\" is not a valid host name" },
		{ "a..b", "64: host list, column 1: \"a..b\" is not a valid host name" },
		{ "a;b", "64: host list, column 1: \"a;b\" is not a valid host name" },
		{ "$(reboot)", "64: host list, column 1: \"$(reboot)\" is not a valid host name" },
		{ "b\xC3\xBCro",
		  "64: host list, column 1: \"b\xC3\xBCro\" is not a valid host name" },
		{ "me@a:2", "64: host list, column 1: \"me@a:2\" contains a user name: set the "
			    "user in ~/.ssh/config" },
		{ "n[1-", "64: host list, column 1: \"[1-\" lacks its closing bracket" },
		{ "n[3-1]", "64: host list, column 1: \"3-1\" is not a range: expected for example "
			    "[01-08,12]" },
		{ "n[]",
		  "64: host list, column 1: \"\" is not a range: expected for example [01-08,12]" },
		{ "n[1-999999999]",
		  "64: host list, column 1: the range \"1-999999999\" has more than 8192 hosts" },
		{ "[fe80::zz]:2", "64: host list, column 1: \"fe80::zz\" is not an IPv6 address" },
		{ "[", "64: host list, column 1: \"[\" lacks its closing bracket" },
		{ "[::1", "64: host list, column 1: \"[::1\" lacks its closing bracket" },
		{ "[]", "64: host list, column 1: \"\" is not an IPv6 address" },
	};

	char brackets[303];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_str(understood(cases[i].spec, NULL), cases[i].seen);
	memset(brackets, '1', sizeof(brackets));
	brackets[0] = '[';
	snprintf(brackets + 299, 4, "%s", "]:2");
	check(strstr(understood(brackets, NULL), "111…\" is too long for an IPv6 address"));
}

TEST(hosts_files)
{
	static const struct {
		const char *text, *seen;
	} cases[] = {
		{ "a slots=4\nb slots=2 max_slots=8\n", "a 4 0;b 2 0" },
		{ "# ours\n\n  a   slots = 4   # fast\r\nb\r\n", "a 4 0;b 1 0" },
		{ "a\na\nb\na", "a 3 0;b 1 0" },
		{ "a:2222 slots=4\nb:22\nc:4444\nd:4\n", "a 4 2222;b 1 22;c 1 4444;d 4 0" },
		{ "a:4 slots=2\n", "a 2 4" },
		{ "a:2,b:2\n", "a 2 0;b 2 0" },
		{ "n[1-2] slots=8\n", "n1 8 0;n2 8 0" },
		{ "a cpu=4\n", "a 4 0" },
		{ "a:x\n", "hosts:1:3: \"x\" is not a number of slots: expected NAME:SLOTS" },
		{ "a\nb slots=\n",
		  "hosts:2:9: \"\" is not a number of slots: expected slots=NUMBER" },
		{ "a slots=4x\n",
		  "hosts:1:9: \"4x\" is not a number of slots: expected slots=NUMBER" },
		{ "a slot=4\n", "hosts:1:3: unknown key \"slot\": expected slots=NUMBER" },
		{ "a 4 slots=4\n", "hosts:1:3: \"4\": expected slots=NUMBER after the host" },
		{ "slots=4\n", "hosts:1:1: expected a host name at the beginning of the line" },
		{ "a:2222\na:2223\n", "hosts:2:1: a is listed with port 2222 and with port 2223" },
		{ "a:70000 slots=1\n", "hosts:1:1: port 70000 on a: expected 1 to 65535" },
		{ "# none\n", "hosts: lists no host" },
		{ "", "hosts: lists no host" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_str(understood_file(cases[i].text), cases[i].seen);
	check_str(understood("/nowhere/at/all", NULL),
		  "66: /nowhere/at/all: cannot be read: No such file or directory");
}

TEST(hosts_of_batch_systems)
{
	struct hosts_env env = { .slurm_nodelist = "n[1-4],gpu7", .slurm_tasks = "2(x3),1,8" };

	check_str(understood("slurm", &env), "n1 2 0;n2 2 0;n3 2 0;n4 1 0;gpu7 8 0");
	env.slurm_tasks = NULL;
	check_str(understood("slurm", &env), "n1 1 0;n2 1 0;n3 1 0;n4 1 0;gpu7 1 0");
	env.slurm_tasks = "2(x";
	check_str(understood("slurm", &env),
		  "65: SLURM_TASKS_PER_NODE is \"2(x\": expected for example 2(x3),1");
	env.slurm_tasks = "1";
	check_str(understood("slurm", &env),
		  "64: host list, column 1: SLURM_TASKS_PER_NODE covers only 1 host");
	env = (struct hosts_env){ 0 };
	check_str(understood("slurm", &env),
		  "64: slurm: SLURM_JOB_NODELIST is not set: run this inside a Slurm job");
	check_str(understood("pbs", &env),
		  "64: pbs: PBS_NODEFILE is not set: run this inside a PBS job");
	env.pbs_nodefile = "/nowhere/nodes";
	check_str(understood("pbs", &env),
		  "66: /nowhere/nodes: cannot be read: No such file or directory");
}

TEST(hosts_of_aws)
{
	check_str(understood_file(
			  "{\"Reservations\":[{\"Instances\":[{\"InstanceId\":\"i-1\","
			  "\"InstanceType\":\"p3.8xlarge\","
			  "\"PrivateIpAddress\":\"10.0.0.4\",\"State\":{\"Name\":\"running\"}},"
			  "{\"InstanceId\":\"i-2\",\"InstanceType\":\"g4dn.xlarge\","
			  "\"PrivateIpAddress\":"
			  "\"10.0.0.5\"}]},{\"Instances\":[{\"InstanceId\":\"i-3\","
			  "\"InstanceType\":\"c5.large\","
			  "\"PrivateIpAddress\":\"10.0.0.6\"},{\"InstanceId\":\"i-4\",\"State\":{"
			  "\"Name\":"
			  "\"terminated\"}}]}]}"),
		  "10.0.0.4 4 0;10.0.0.5 1 0;10.0.0.6 1 0");
	check_str(understood_file("[[{\"InstanceId\":\"i\",\"InstanceType\":\"p5.48xlarge\","
				  "\"PrivateIpAddress\":\"10.1.1.1\"}]]"),
		  "10.1.1.1 8 0");
	check_str(understood_file("{\"Reservations\":[]}"),
		  "hosts: none of its 0 instances is running");
	check_str(understood_file("{\"Reservations\":[{\"Instances\":[{\"InstanceId\":\"i\"}]}]}"),
		  "hosts: .Reservations[0].Instances[0]: this running instance has no "
		  "PrivateIpAddress");
	check_str(understood_file("{\"a\":[{\"PrivateIpAddress\":\"no host\"}]}"),
		  "hosts: .a[0].PrivateIpAddress: \"no host\" is not a valid host name");
	check(strstr(understood_file("{\"Reservations\":["), "hosts: ") != NULL);
}
