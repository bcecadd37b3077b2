/*
 * t_hosts_commands.c - "werkbank hosts": hosts that a script in ssh's place plays by files
 *
 *	HOST.away	exists: the host does not answer
 *	HOST.QUESTION	its answer to _probe: facts, meet, leftovers, end, sums; absent: the real one
 *	HOST.apart	exists: the host does not see the files of this machine
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/format/json.h"
#include "share/workspace/paths.h"
#include "tests/launch/launch_bench.h"
#include "tests/test.h"
#include "train/launch/preflight/preflight.h"

#define SSH                                                                                        \
	"while :; do case $1 in -o|-p|-i) shift 2;; -*) shift;; *) break;; esac; done\n"           \
	"dir=${0%/*} host=$1\nshift\n"                                                             \
	"[ -e \"$dir/$host.away\" ] && { echo 'ssh: connect to host: No route to host' >&2; "      \
	"exit 255; }\n"                                                                            \
	"case $* in\n"                                                                             \
	"*_probe*)\n"                                                                              \
	"asked=$(cat)\n"                                                                           \
	"for q in facts meet leftovers end sums; do\n"                                             \
	"case $asked in *'\"ask\":\"'$q'\"'*) break;; esac\n"                                      \
	"done\n"                                                                                   \
	"[ -e \"$dir/$host.$q\" ] && { cat \"$dir/$host.$q\"; exit; }\n"                           \
	"printf %s \"$asked\" | sh -c \"$*\";;\n"                                                  \
	"*mkdir*) [ -e \"$dir/$host.apart\" ] || echo shared;;\n"                                  \
	"*) exec sh -c \"$*\";;\n"                                                                 \
	"esac\n"

/* Run "werkbank hosts" with the script; the exit status. */
static int hosts_command(const char **out, const char *words)
{
	char ssh[400];

	snprintf(ssh, sizeof(ssh), "%s", bench_write_script("ssh", SSH));
	return bench_command(out, "hosts %s --ssh '\"%s\"' -C %s/w", words, ssh, test_folder());
}

/* The programs that the commands need are beside tests/run, or the test is skipped. */
static bool has_programs(void)
{
	static const char *const names[] = { "werkbank", "werkbank-data", "werkbank-launch",
					     "werkbank-train", "werkbank-eval" };
	bool has = true;

	for (size_t i = 0; i < ARRAY_LEN(names) && has; i++) {
		struct err e = { 0 };
		char *path = paths_program(names[i], &e);

		has = path != NULL;
		free(path);
	}
	if (!has)
		test_skip("the programs are not built");
	return has;
}

TEST(hosts_command_list)
{
	const char *out;

	check_int(hosts_command(&out, "list a:2,node17 [fe80::1]:3"), 0);
	check_str(out, "host     slots  port\na            2    22\nnode17       1    22\n"
		       "fe80::1      3    22\n");
	check_int(hosts_command(&out, "list a:2 a:3 --json"), 0);
	check_str(out, "[{\"host\":\"a\",\"slots\":5,\"port\":22}]\n");
	check_int(hosts_command(&out, "list a:0"), 64);
	check_int(hosts_command(&out, "list '[::1'"), 64);
	bench_has(out, "host list, column 1: \"[::1\" lacks its closing bracket");
	check_int(hosts_command(&out, "list '[]'"), 64);
	check_int(hosts_command(&out, "list '[::1:5'"), 64);
	check_int(hosts_command(&out, "list '[::1]x'"), 64);
	check_int(hosts_command(&out, "list '[::1]:5'"), 0);
	check_int(hosts_command(&out, "move a"), 64);
	bench_has(out, "unknown action \"move\": expected one of list, check, sync, ");
}

/* ---- check ---- */

#define FACTS(name, last, more)                                                                    \
	"{\"werkbank\":\"0\",\"host\":\"" name "\",\"boot\":\"" name "\",\"cores\":8,"             \
	"\"memory\":64000000000,\"memory_free\":6e10,\"gpus\":0,\"lockable\":1000,"                \
	"\"session_kills\":true,\"interfaces\":[{\"name\":\"eth0\",\"address\":\"10.0.1." last     \
	"\",\"network\":\"10.0.1.0/24\",\"carrier\":true}],\"free_port\":500" last more "}\n"

TEST(hosts_command_check)
{
	const char *out;

	if (!has_programs())
		return;
	bench_write("a.facts", FACTS("a", "1", ""));
	bench_write("b.facts", "Welcome!\n" FACTS("b", "2", ",\"time\":1000"));
	bench_write("c.facts", "no JSON\n");
	bench_write("d.away", "");
	bench_write("a.meet", "{\"werkbank\":\"0\",\"met\":[{\"index\":1,\"trouble\":"
			      "\"Connection refused\"}],\"heard\":[]}\n");
	bench_write("b.meet", "{\"werkbank\":\"0\",\"met\":[{\"index\":0,\"answered\":1}]}\n");
	check_int(hosts_command(&out, "check a:2,b,c,d"), 1);
	bench_has(out, "\na     error        2      8     0      64.0");
	bench_has(out, "error  build: Werkbank on a is version 0, on this host ");
	bench_has(out, "warning  limits: a limits locked memory to 1 kB");
	bench_has(out, "warning  session: a ends all processes of a user who logs out");
	bench_has(out, "error  ports: a cannot connect to b at 10.0.1.2, TCP port 5002 "
		       "(Connection refused): open all TCP ports");
	bench_has(out, "error  ports: 10.0.1.1, the address of a, leads to b when b connects");
	bench_has(out, "warning  shell: the start-up files of the shell on b print text");
	bench_has(out, "error  clock: the clock of b is ");
	bench_has(out, "on c gives no answer (status 0: no JSON): if its version differs");
	bench_has(out, "error  ssh: there is no route to d: is it switched on");
	bench_has(out, "network between the hosts: 10.0.1.0/24\n");
	bench_has(out, "verdict: a training cannot start: 2 of 4 hosts answered, ");
	check_int(hosts_command(&out, "check a,b --json"), 1);
	bench_has(out, "{\"verdict\":\"error\",\"network\":\"10.0.1.0/24\",\"hosts\":[{\"host\":"
		       "\"a\",\"slots\":1,\"state\":\"error\",\"alive\":true,");
	bench_has(out, "\"interface\":\"eth0\",\"address\":\"10.0.1.2\",\"findings\":[{");
	check_int(hosts_command(&out, "check d"), 68);
	bench_has(out, "0 of 1 host answered, 1 error, 0 warnings\n");
	bench_write("b.meet", "no JSON\n");
	check_int(hosts_command(&out, "check a,b"), 1);
	bench_has(out, "warning  ports: the port test failed on b: ");
}

TEST(preflight_verdicts)
{
	char name[] = "a", text[3000];
	struct host host = { .name = name, .slots = 2 };
	struct finding finding = { FINDING_WARNING, "cores", "a has 1 core" };
	struct preflight_host h = { .host = &host,
				    .alive = true,
				    .cores = 1,
				    .memory = -1,
				    .disk_free = -1,
				    .gpus = -1,
				    .findings = &finding,
				    .n_findings = 1 };
	struct preflight_check p = { .hosts = &h, .n = 1, .worst = FINDING_WARNING };
	FILE *f = fmemopen(text, sizeof(text), "w");

	preflight_print(&p, f);
	fclose(f);
	bench_has(text, "\na     warning      2      1     -         -        -     0.00  -"
			"           -\n");
	bench_has(text, "warning  cores: a has 1 core\nverdict: a training can start: 1 of 1 host "
			"answered, 0 errors, 1 warning\n");
}

/* ---- clean ---- */

#define RECORD(run, rank, pid, tag, state)                                                         \
	"{\"run\":\"" run "\",\"rank\":" rank ",\"folder\":\"/w\",\"host\":\"a\",\"tag\":\"" tag   \
	"\",\"pid\":" pid ",\"started\":5,\"boot\":\"A\",\"pid_space\":\"p\",\"parent\":1,"        \
	"\"parent_started\":1,\"file\":\"/f\"," state "}"
#define ALIVE  "\"alive\":true,\"orphan\":false"
#define ORPHAN "\"alive\":true,\"orphan\":true"
#define STALE  "\"alive\":false,\"orphan\":false"

TEST(hosts_command_clean)
{
	const char *out;

	if (!has_programs())
		return;
	bench_write("runtime/x", "");
	setenv("WERKBANK_RUNTIME", "/nowhere", 1);
	bench_write(
		"a.leftovers", "{\"werkbank\":\"0\",\"host\":\"a\",\"records\":["
		/* clang-format off */
		    RECORD("stale", "0", "100", "", STALE) ","
		    RECORD("orphan", "1", "101", "", ORPHAN) ","
		    RECORD("hand", "0", "102", "", ALIVE) ","
		    RECORD("mine", "-1", "103", "a:103:ab", ALIVE) ","
		    RECORD("mine", "0", "104", "a:103:ab", ALIVE) ","
		    RECORD("far", "0", "105", "elsewhere:7:ab", ALIVE) ","
		    RECORD("lost", "0", "106", "a:55:ab", ALIVE) ","
		    RECORD("stuck", "0", "107", "", ORPHAN) ","
		    RECORD("gone", "0", "108", "", ORPHAN)
		/* clang-format on */
		"],\"running\":[]}\n");
	bench_write("a.end", "{\"werkbank\":\"0\",\"ended\":[{\"pid\":100,\"ended\":\"gone\"},"
			     "{\"pid\":101,\"ended\":\"terminated\"},{\"pid\":106,\"ended\":"
			     "\"killed\"},{\"pid\":107,\"trouble\":\"no permission\"}]}\n");
	check_int(hosts_command(&out, "clean a"), 1);
	check_str(out,
		  "a: rank 0 of run stale, process 100: only its record was left\n"
		  "a: rank 1 of run orphan, process 101: terminated\n"
		  "a: rank 0 of run hand, process 102: in use\n"
		  "a: launcher of run mine, process 103: in use\n"
		  "a: rank 0 of run mine, process 104: in use\n"
		  "a: rank 0 of run far, process 105: left alone: its launcher (elsewhere:7:ab) "
		  "is on a host that is not listed or does not answer: list that host, or give "
		  "--now\n"
		  "a: rank 0 of run lost, process 106: killed\n"
		  "a: rank 0 of run stuck, process 107: no permission\n"
		  "a: rank 0 of run gone, process 108: not ended\n");
	/* one run only; two names of one host name its process once */
	bench_write("b.leftovers", bench_read("a.leftovers"));
	check_int(hosts_command(&out, "clean a b --run orphan --json"), 0);
	check_str(out, "[{\"host\":\"a\",\"run\":\"orphan\",\"rank\":1,\"pid\":101,\"folder\":"
		       "\"/w\",\"launcher\":\"\",\"outcome\":\"terminated\"}]\n");
	check_int(hosts_command(&out, "clean a --run none"), 0);
	check_str(out, "no process of Werkbank is left there\n");
	bench_write("c.away", "");
	check_int(hosts_command(&out, "clean c"), 68);
	bench_has(out, "there is no route to c");
	unsetenv("WERKBANK_RUNTIME");
}

/* ---- sync, bandwidth ---- */

/* Put a script in PATH before all others; returns the old PATH, to be freed. */
static char *put_in_path(const char *name, const char *body)
{
	char file[100], path[4096];
	const char *old = getenv("PATH");
	char *kept = strdup(old ? old : "/bin:/usr/bin");

	snprintf(file, sizeof(file), "bin/%s", name);
	bench_write_script(file, body);
	snprintf(path, sizeof(path), "%s/bin:%s", test_folder(), kept);
	setenv("PATH", path, 1);
	return kept;
}

TEST(hosts_command_sync)
{
	static const char *const files[] = { "train.shard", "vocab.tsv", "bpe.codes", "dev.en",
					     "manifest.json" };
	const char *out;
	char *kept;

	if (!has_programs())
		return;
	kept = put_in_path("rsync", "case $* in *c:/*) echo 'no space' >&2; exit 11;; esac\n"
				    "echo \"$*\" >>\"${0%/*}/rsync.log\"\n"
				    "echo 'Total bytes sent: 1,500,000'\n");
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char name[100];

		snprintf(name, sizeof(name), "w/corpora/demo/%s", files[i]);
		bench_write(name, files[i]);
	}
	bench_write("b.apart", "");
	bench_write("c.apart", "");
	bench_write("d.away", "");
	bench_write("e.apart", "");
	bench_write("e.sums", "{\"werkbank\":\"0\",\"sums\":[{\"sha256\":\"00\"}]}\n");
	check_int(hosts_command(&out, "sync a,b,c,d,e,localhost --corpus demo"), 1);
	bench_has(out, "a: same file system, 0.0 MB sent in ");
	bench_has(out, "b: copied, 3.0 MB sent in ");
	bench_has(out, " s, 10 files verified\n");
	bench_has(out, "c: failed: copying to c failed (rsync status 11): no space; the next hosts "
		       "sync resumes the copy\n");
	bench_has(out, "d: failed: there is no route to d");
	bench_has(out, "e: failed: ");
	bench_has(out, " on e differs from this host after the copy: is the disk full or damaged?");
	bench_has(out, "localhost: this host, ");
	/* the manifest goes last, in a call of its own */
	out = bench_read("bin/rsync.log");
	bench_has(out, "/corpora/demo/manifest.json b:/\n");
	bench_has(out, "-aLR --no-implied-dirs --partial-dir=.werkbank-partial ");
	check_int(hosts_command(&out, "sync d --json"), 68);
	bench_has(out, "[{\"host\":\"d\",\"state\":\"failed\",\"sent_bytes\":0,");
	check_int(hosts_command(&out, "sync a --corpus none"), 66);
	setenv("PATH", kept, 1);
	free(kept);
}

#define MEASURED                                                                                   \
	"{\"hosts\":[\"x\",\"y\"],\"allreduce\":[{\"bytes\":1000000,\"seconds\":0.002,"            \
	"\"algbw_bytes_s\":5e8,\"busbw_bytes_s\":5e8,\"bf16_s\":0.001,\"int8_s\":0.0015}],"        \
	"\"beside\":[{\"wire\":\"fp32\",\"bytes\":1000000,\"seconds\":0.004,\"lost_s\":0.001}],"   \
	"\"pairs\":[{\"from\":0,\"to\":1,\"latency_s\":2e-5,\"bytes_s\":1e9},"                     \
	"{\"from\":1,\"to\":0,\"latency_s\":3e-5,\"bytes_s\":8e8}]}"

TEST(hosts_command_bandwidth)
{
	const char *out;
	char *kept;

	if (!has_programs())
		return;
	kept = put_in_path("mpirun", "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) 4.1.4'; "
				     "exit; }\necho '" MEASURED "'\n");
	check_int(hosts_command(&out, "bandwidth localhost:2"), 0);
	bench_has(out, "all-reduce over 2 ranks\n");
	bench_has(out, "     1000000      2.000       500.0       500.0      1.000          -      "
		       "    -      1.500\n");
	bench_has(out, "1000000 bytes as fp32 while all cores compute: 4.000 ms, which delays the "
		       "computation by 1.000 ms\n");
	bench_has(out, "x                     y                             20.0        1000.0\n");
	bench_has(out, "slowest link: 800.0 MB/s = 6400 Mbit/s of payload in one direction\n");
	check_int(hosts_command(&out, "bandwidth localhost:2 --json"), 0);
	bench_has(out, "\"bf16_s\":0.001,\"2bit_s\":null,\"1bit_s\":null,\"int8_s\":0.0015}");
	bench_has(out, "\"link_bytes_s\":8e+08,\"latency_s\":3e-05,");
	bench_has(out, "\"pairs\":[{\"from\":\"x\",\"to\":\"y\",");
	/* this host alone has memory, not a network: nothing is stored */
	check_str(bench_read("w/network.json"), "");
	check_int(hosts_command(&out, "bandwidth localhost"), 64);
	bench_has(out, "needs two hosts, or one host with two slots");
	bench_write("d.away", "");
	check_int(hosts_command(&out, "bandwidth d,localhost"), 1);
	bench_has(out, "there is no route to d");
	bench_write_script("bin/mpirun", "[ \"$1\" = --version ] && { echo 'mpirun (Open MPI) "
					 "5.0.1'; exit; }\necho 'broken link' >&2\nexit 3\n");
	check_int(hosts_command(&out, "bandwidth localhost:2"), 68);
	bench_has(out, "mpirun returned no measurement (it failed): broken link");
	setenv("PATH", kept, 1);
	free(kept);
}
