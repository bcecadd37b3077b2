/* t_preflight.c - findings about hosts: each fault in one line, with what to do */
#include <stdio.h>
#include <stdlib.h>

#include "share/base/util.h"
#include "tests/launch/launch_bench.h"
#include "tests/test.h"
#include "train/launch/preflight/preflight_folder.h"
#include "train/launch/preflight/preflight_internal.h"

#define TRAINER "\"trainer\":{\"text\":\"werkbank-train 1 (with MPI)\",\"sha256\":\"aaaa\"}"
#define MPI	"\"mpi\":{\"text\":\"mpirun (Open MPI) 4.1.4\",\"daemon\":\"/usr/bin/orted\"}"
#define MACHINE "\"cores\":8,\"memory\":64000000000,\"memory_free\":60000000000,\"gpus\":0"
#define SPACE                                                                                      \
	"\"temporary_free\":9e9,\"workspace\":{\"there\":true,\"writable\":true,"                  \
	"\"free\":90000000000,\"corpus\":[" SHARD "]}"
#define SHARD "{\"name\":\"train.shard\",\"bytes\":5,\"sha256\":\"cc\"}"
#define ETH(name, n, last)                                                                         \
	"{\"name\":\"" name "\",\"address\":\"10.0." #n "." #last "\",\"network\":\"10.0." #n      \
	".0/24\",\"loopback\":false,\"carrier\":true}"
#define LO                                                                                         \
	"{\"name\":\"lo\",\"address\":\"127.0.0.1\",\"network\":\"127.0.0.0/8\","                  \
	"\"loopback\":true,\"carrier\":true}"
#define NET(x) "\"interfaces\":[" LO "," x "]"
#define ROUTE(name, to, from)                                                                      \
	"{\"name\":\"" name "\",\"addresses\":[\"" to "\"],\"source\":\"" from "\"}"
#define ROUTES_A                                                                                   \
	"\"routes\":[" ROUTE("a", "127.0.1.1", "127.0.0.1") "," ROUTE("b", "10.0.1.2",             \
								      "10.0.1.1") "]"
#define ROUTES_B                                                                                   \
	"\"routes\":[" ROUTE("a", "10.0.1.1", "10.0.1.2") "," ROUTE("b", "127.0.1.1",              \
								    "127.0.0.1") "]"
#define ME     "\"werkbank\":\"1\""
#define HOST_A ME ",\"host\":\"a\",\"boot\":\"A\""
#define HOST_B ME ",\"host\":\"b\",\"boot\":\"B\""

#define LEVEL(n, name) "\"level\":" #n ",\"level_name\":\"" name "\""

/* All findings of two hosts as "host level what: text\n". */
static const char *found(const char *b, int32_t slots, double skew, const char *network)
{
	static struct buf out;
	static const char *const levels[] = { "ok", "warning", "error" };
	static const char a[] =
		"{" HOST_A "," TRAINER "," MPI "," MACHINE
		"," LEVEL(2, "AVX-512") "," SPACE "," NET(ETH("eth0", 1, 1)) "," ROUTES_A "}";
	char names[2][2] = { "a", "b" };
	struct host hosts[2] = { { names[0], 2, 0 }, { names[1], slots, 0 } };
	struct preflight_host ends[2] = { { .host = &hosts[0], .alive = true },
					  { .host = &hosts[1], .alive = true } };
	struct preflight_check p = { .hosts = ends, .n = 2 };
	const struct preflight_options how = { .workspace = "/w",
					       .corpus = "demo",
					       .network = network };
	struct err e = { 0 };
	struct json *fa = json_parse(a, strlen(a), &e), *fb = json_parse(b, strlen(b), &e);
	const struct json *by_host[2] = { fa, fb };
	struct preflight_facts f = { .how = &how, .local_facts = fa, .by_host = by_host };

	ends[1].clock_skew_s = skew;
	buf_clear(&out);
	if (check(fa && fb)) {
		preflight_compare_hosts(&p, &f);
		preflight_find_network(&p, &f);
	} else {
		printf("  %s\n  %s\n", e.text, b);
	}
	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < ends[i].n_findings; k++)
			buf_printf(&out, "%s %s %s: %s\n", names[i],
				   levels[ends[i].findings[k].level], ends[i].findings[k].what,
				   ends[i].findings[k].text);
		free(ends[i].findings);
	}
	buf_printf(&out, "%s", p.network);
	json_free(fa);
	json_free(fb);
	return buf_text(&out);
}

#define B_REST "," NET(ETH("eth0", 1, 2)) "," ROUTES_B "}"

TEST(preflight_healthy)
{
	check_str(found("{" HOST_B "," TRAINER "," MPI "," MACHINE "," SPACE B_REST, 8, 0.2, NULL),
		  "10.0.1.0/24");
}

TEST(preflight_compares_vector_levels)
{
	check_str(found("{" HOST_B "," TRAINER "," MPI "," MACHINE
			"," LEVEL(2, "AVX-512") "," SPACE B_REST,
			8, 0, NULL),
		  "10.0.1.0/24");
	check_str(found("{" HOST_B "," TRAINER "," MPI "," MACHINE
			"," LEVEL(1, "AVX2") "," SPACE B_REST,
			8, 0, NULL),
		  "b warning processor: b computes with AVX2, a could with AVX-512: all ranks take "
		  "AVX2, so that their results stay equal; without b training is faster if the "
		  "others can do its work\n10.0.1.0/24");
	check_str(found("{" HOST_B "," TRAINER "," MPI "," MACHINE
			"," LEVEL(4, "AMX") "," SPACE B_REST,
			8, 0, NULL),
		  "a warning processor: a computes with AVX-512, b could with AMX: all ranks take "
		  "AVX-512, so that their results stay equal; without a training is faster if the "
		  "others can do its work\n10.0.1.0/24");
}

/* The answer of host b, its clock skew in seconds, and the finding that follows. */
static const struct {
	const char *b;
	double skew;
	const char *text;
} faults[] = {
	{ "{\"werkbank\":\"2\",\"host\":\"b\"," TRAINER "," MPI "," MACHINE "," SPACE B_REST, 0,
	  "b error build: Werkbank on b is version 2, on this host 1: type werkbank hosts "
	  "sync\n" },
	{ "{" HOST_B "," MPI "," MACHINE "," SPACE B_REST, 0,
	  "b error build: b has no werkbank-train in the folder of werkbank-launch: type "
	  "werkbank hosts sync\n" },
	{ "{" HOST_B ",\"trainer\":{\"trouble\":\"libmpi.so.40: not found\"}," MPI "," MACHINE
	  "," SPACE B_REST,
	  0, "b error build: werkbank-train does not start on b: libmpi.so.40: not found\n" },
	{ "{" HOST_B ",\"trainer\":{\"text\":\"werkbank-train 1 (with MPI)\",\"sha256\":"
	  "\"bbbb\"}," MPI "," MACHINE "," SPACE B_REST,
	  0,
	  "b error build: werkbank-train on b is a different build of 1 than on this host "
	  "(SHA-256 bbbb, not aaaa): type werkbank hosts sync\n" },
	{ "{" HOST_B "," TRAINER ",\"mpi\":{\"text\":\"mpirun (Open MPI) 5.0.3\"}," MACHINE
	  "," SPACE B_REST,
	  0,
	  "b error mpi: b has mpirun (Open MPI) 5.0.3, this host has mpirun (Open MPI) "
	  "4.1.4: install the same version on all hosts\n" },
	{ "{" HOST_B "," TRAINER ",\"mpi\":{\"trouble\":\"x\"}," MACHINE "," SPACE B_REST, 0,
	  "b error mpi: b has no Open MPI (neither mpirun nor orted) in the PATH of a "
	  "remote shell: install mpirun (Open MPI) 4.1.4, or set PATH in a start-up file "
	  "for non-interactive shells\n" },
	{ "{" HOST_B "," TRAINER ",\"mpi\":{\"text\":\"mpirun (Open MPI) 4.1.4\",\"daemon\":"
	  "\"/usr/bin/orted\",\"daemon_trouble\":\"Exec format error\"}," MACHINE "," SPACE B_REST,
	  0,
	  "b error mpi: /usr/bin/orted, which mpirun starts on b, does not run there: Exec format "
	  "error: repair Open MPI on that host\n" },
	{ "{" HOST_B "," TRAINER "," MPI ",\"cores\":4," SPACE B_REST, 0,
	  "b warning cores: b has 4 cores for 8 slots, so ranks share cores: give it 4 "
	  "slots\n" },
	{ "{" HOST_B "," TRAINER "," MPI "," MACHINE ",\"temporary_free\":9e9,"
	  "\"workspace\":{\"free\":1000000,\"corpus\":[" SHARD "]}" B_REST,
	  0,
	  "b error disk: /w on b has 1 MB free, too little for a checkpoint: remove some "
	  "files, or use another workspace\n" },
	{ "{" HOST_B "," TRAINER "," MPI "," MACHINE ",\"temporary_free\":1e6,"
	  "\"workspace\":{\"free\":9e9,\"corpus\":[" SHARD "]}" B_REST,
	  0,
	  "b error disk: /tmp on b has 1 MB free, but Open MPI writes files there: remove "
	  "some files\n" },
	{ "{" HOST_B "," TRAINER "," MPI "," MACHINE
	  ",\"temporary\":\"/scratch\",\"temporary_trouble\":\"Read-only file system\","
	  "\"temporary_free\":9e9,\"workspace\":{\"free\":9e9,\"corpus\":[" SHARD "]}" B_REST,
	  0,
	  "b error disk: no file can be written in /scratch on b (Read-only file system), but Open "
	  "MPI writes files there: make it writable, or set TMPDIR there to a folder of a local "
	  "disk\n" },
	{ "{" HOST_B "," TRAINER "," MPI "," MACHINE "," SPACE B_REST, -3.25,
	  "b warning clock: the clock of b is 3.2 s behind the clock of this host: start "
	  "chronyd or systemd-timesyncd there\n" },
	{ "{" HOST_B "," TRAINER "," MPI "," MACHINE "," SPACE B_REST, 90,
	  "b error clock: the clock of b is 90.0 s ahead of the clock of this host: start "
	  "chronyd or systemd-timesyncd there\n" },
	{ "{" HOST_B "," TRAINER "," MPI "," MACHINE ",\"temporary_free\":9e9,"
	  "\"workspace\":{\"there\":false,\"free\":9e9,\"corpus\":[]}" B_REST,
	  0,
	  "b error corpus: b has no corpora/demo/train.shard in /w: type werkbank hosts "
	  "sync --corpus demo\n" },
	{ "{" HOST_B "," TRAINER "," MPI "," MACHINE ",\"temporary_free\":9e9,"
	  "\"workspace\":{\"free\":9e9,\"corpus\":[{\"name\":\"train.shard\",\"bytes\":5,"
	  "\"sha256\":\"dd\"}]}" B_REST,
	  0,
	  "b error corpus: corpora/demo/train.shard on b differs from the file on this "
	  "host: type werkbank hosts sync --corpus demo\n" },
	{ "{" HOST_B "," TRAINER "," MPI "," MACHINE ",\"session_kills\":true," SPACE B_REST, 0,
	  "b warning session: b ends all processes of a user who logs out "
	  "(KillUserProcesses=yes): type loginctl enable-linger there\n" },
	{ "{" ME ",\"host\":\"a\",\"boot\":\"A\"," TRAINER "," MPI "," MACHINE "," SPACE B_REST, 0,
	  "b warning names: b and a are the same machine (a): list it once, with the sum "
	  "of the slots\n" },
};

TEST(preflight_names_each_fault)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct buf want = { 0 };

		buf_printf(&want, "%s10.0.1.0/24", faults[i].text);
		check_str(found(faults[i].b, 8, faults[i].skew, NULL), buf_text(&want));
		buf_free(&want);
	}
}

#define B_HEAD "{" HOST_B "," TRAINER "," MPI "," MACHINE "," SPACE ","

TEST(preflight_networks)
{
	/* another network, and no route is known */
	check_str(found(B_HEAD NET(ETH("ib0", 7, 2)) "}", 8, 0, NULL),
		  "a warning names: a resolves b to 10.0.1.2, which is not one of its addresses: "
		  "correct /etc/hosts or the name server\n"
		  "b error network: b has no interface in 10.0.1.0/24 (it has ib0 10.0.7.0/24): "
		  "name the network between the hosts with --network\n10.0.1.0/24");
	check_str(found(B_HEAD NET(ETH("eth0", 1, 2)) "," ROUTES_B "}", 8, 0, "10.0.2.0/24"),
		  "a error network: a has no interface in 10.0.2.0/24 (it has eth0 10.0.1.0/24): "
		  "name the network between the hosts with --network\n"
		  "b error network: b has no interface in 10.0.2.0/24 (it has eth0 10.0.1.0/24): "
		  "name the network between the hosts with --network\n10.0.2.0/24");
	check_str(found(B_HEAD NET(ETH("eth1", 1, 2)) "," ROUTES_B "}", 8, 0, "eth0"),
		  "b error network: b has no interface eth0 (it has eth1 10.0.1.0/24): name the "
		  "network between the hosts with --network\n10.0.1.0/24");
	check_str(found(B_HEAD NET(ETH("eth0", 1, 2)) ",\"routes\":[" ROUTE("a", "127.0.0.1",
									    "127.0.0.1") "]}",
			8, 0, NULL),
		  "b error names: b resolves a to itself (127.0.0.1): correct its /etc/hosts\n"
		  "10.0.1.0/24");
	check_str(found(B_HEAD "\"interfaces\":[{\"name\":\"eth0\",\"address\":\"10.0.1.2\","
			       "\"network\":\"10.0.1.0/24\",\"carrier\":false}]," ROUTES_B "}",
			8, 0, NULL),
		  "b error network: eth0 of b has no link: check the cable\n10.0.1.0/24");
}

/* ---- several interfaces ---- */

#define DOCKER                                                                                     \
	"{\"name\":\"docker0\",\"address\":\"172.17.0.1\",\"network\":\"172.17.0.0/16\","          \
	"\"carrier\":true,\"mbit_s\":10000}"
#define FAST(last)                                                                                 \
	"{\"name\":\"ib0\",\"address\":\"10.0.9." #last "\",\"network\":\"10.0.9.0/24\","          \
	"\"carrier\":true,\"mbit_s\":100000}"
#define SIX(last)                                                                                  \
	"{\"name\":\"eth0\",\"address\":\"fd98::" #last "\",\"network\":\"fd98::/64\","            \
	"\"carrier\":true}"

/* The network of three hosts with these interfaces and no known routes; "": none. */
static const char *network_of(const char *a, const char *b, const char *c)
{
	static char network[64];
	const char *const interfaces[3] = { a, b, c };
	struct host hosts[3] = { { .name = (char[]){ "a" }, .slots = 1 },
				 { .name = (char[]){ "b" }, .slots = 1 },
				 { .name = (char[]){ "c" }, .slots = 1 } };
	struct preflight_host three[3] = { { .host = &hosts[0] },
					   { .host = &hosts[1] },
					   { .host = &hosts[2] } };
	struct preflight_check p = { .hosts = three, .n = 3 };
	const struct preflight_options how = { 0 };
	struct json *facts[3];
	struct preflight_facts f = { .how = &how, .by_host = (const struct json *const *)facts };
	struct err e = { 0 };

	for (size_t i = 0; i < 3; i++) {
		struct buf text = { 0 };

		buf_printf(&text, "{\"interfaces\":[" LO ",%s]}", interfaces[i]);
		facts[i] = json_parse(text.data, text.len, &e);
		check(facts[i] != NULL);
		buf_free(&text);
	}
	preflight_find_network(&p, &f);
	snprintf(network, sizeof(network), "%s", p.network);
	for (size_t i = 0; i < 3; i++) {
		json_free(facts[i]);
		free(three[i].findings);
	}
	return network;
}

TEST(preflight_chooses_a_network_that_connects)
{
	/* each host has the same bridge of containers, which is faster on paper */
	check_str(network_of(DOCKER "," ETH("eth0", 1, 1), DOCKER "," ETH("eth0", 1, 2),
			     DOCKER "," ETH("ens5", 1, 3)),
		  "10.0.1.0/24");
	/* two hosts with the same address need not be neighbours in the list */
	check_str(network_of(FAST(1) "," ETH("eth0", 1, 1), FAST(2) "," ETH("eth0", 1, 2),
			     FAST(1) "," ETH("eth0", 1, 3)),
		  "10.0.1.0/24");
	/* of two networks, the faster one */
	check_str(network_of(ETH("eth0", 1, 1) "," FAST(1), ETH("eth0", 1, 2) "," FAST(2),
			     FAST(3) "," ETH("eth0", 1, 3)),
		  "10.0.9.0/24");
	check_str(network_of(DOCKER "," SIX(1), DOCKER "," SIX(2), DOCKER "," SIX(3)), "fd98::/64");
	check_str(network_of(DOCKER, DOCKER, DOCKER), "");
}

/* ---- the port test ---- */

TEST(preflight_listens_as_long_as_logins_take)
{
	/* both have quick logins */
	check_near(preflight_listen_time(0.2, 0.2, 20), 5.4, 1e-9);
	/* the other one needs four seconds: it may need eight */
	check_near(preflight_listen_time(0.2, 4, 20), 13, 1e-9);
	/* the slow one must answer before the deadline */
	check_near(preflight_listen_time(4, 4, 20), 11, 1e-9);
	check_near(preflight_listen_time(9, 9, 20), 1, 1e-9);
	check_near(preflight_listen_time(0.5, 0.5, 1), 0.5, 1e-9);
}

#define N_MANY 300

TEST(preflight_port_test_in_groups)
{
	static struct preflight_host hosts[N_MANY];
	static int called[N_MANY];
	struct preflight_check p = { .hosts = hosts, .n = N_MANY };
	size_t to[PREFLIGHT_MAX_PEERS], n;

	for (size_t i = 0; i < N_MANY; i++)
		hosts[i] = (struct preflight_host){ .alive = i != 6, .address = "10.0.0.1" };
	for (size_t i = 0; i < N_MANY; i++) {
		n = preflight_connect_peers(&p, i, to, PREFLIGHT_MAX_PEERS);
		check_int(n, PREFLIGHT_MAX_PEERS);
		for (size_t k = 0; k < n; k++) {
			called[to[k]]++;
			check(to[k] != i && to[k] % 3 == i % 3); /* three groups of 100 */
		}
	}
	for (size_t i = 0; i < N_MANY; i++)
		check(i == 6 ? !called[i] : called[i] >= PREFLIGHT_MAX_PEERS);
	p.n = 3; /* a small list: everyone connects to everyone */
	n = preflight_connect_peers(&p, 2, to, PREFLIGHT_MAX_PEERS);
	check_int(n, 2);
	check_int(to[0], 0);
	check_int(to[1], 1);
}

/* The finding about a connection from a to b, as "level what: text"; begin, end: when b listened. */
static const char *judged(const char *met, double begin, double end)
{
	static char text[500];
	static const char *const levels[] = { "ok", "warning", "error" };
	char names[2][2] = { "a", "b" };
	struct host hosts[2] = { { names[0], 1, 0 }, { names[1], 1, 0 } };
	struct preflight_host both[2] = {
		{ .host = &hosts[0], .address = "10.0.0.1" },
		{ .host = &hosts[1], .address = "10.0.0.2", .login_s = 4.25 }
	};
	struct preflight_check p = { .hosts = both, .n = 2 };
	struct err e = { 0 };
	struct json *facts[2] = { NULL, json_parse("{\"free_port\":5002}", 18, &e) };
	struct preflight_port_test tests[2] = {
		{ .answer = json_parse(met, strlen(met), &e), .begin_s = 0, .end_s = 5 },
		{ .answer = end > 0 ? json_parse("{}", 2, &e) : NULL,
		  .begin_s = begin,
		  .end_s = end }
	};

	check(facts[1] && tests[0].answer);
	preflight_judge_ports(&p, 0, tests, facts);
	text[0] = 0;
	if (both[0].n_findings)
		snprintf(text, sizeof(text), "%s %s: %s", levels[both[0].findings[0].level],
			 both[0].findings[0].what, both[0].findings[0].text);
	check(both[0].n_findings <= 1 && !both[1].n_findings);
	free(both[0].findings);
	json_free(facts[1]);
	json_free(tests[0].answer);
	json_free(tests[1].answer);
	return text;
}

#define MET(fault, trouble)                                                                        \
	"{\"met\":[{\"index\":1,\"fault\":\"" fault "\",\"trouble\":\"" trouble "\"}]}"
#define OPEN_PORTS                                                                                 \
	": open all TCP ports between the hosts, in their firewalls and in the cloud's security "  \
	"group"

TEST(preflight_measures_latency)
{
	struct host host = { .name = (char[]){ "a" }, .slots = 1 };
	struct preflight_host hosts[2] = { { .host = &host }, { .host = &host } };
	struct preflight_check p = { .hosts = hosts, .n = 2 };
	struct err e = { 0 };
	static const char met[] = "{\"met\":[{\"index\":1,\"answered\":1,\"rtt_s\":0.0404},"
				  "{\"index\":1,\"answered\":1,\"rtt_s\":0.01}]}";
	struct preflight_port_test tests[2] = { { .answer = json_parse(met, strlen(met), &e) } };

	preflight_judge_ports(&p, 0, tests, NULL);
	check_near(p.latency_s, 0.0202, 1e-9);
	json_free(tests[0].answer);
}

TEST(preflight_tells_refused_dropped_and_late_apart)
{
	const char *late =
		"warning login: the connection from a to b was not tested, because the "
		"logins took too different times (b: 4.2 s in the first round): look at "
		"the start-up files of its shell and at its name server, or set a longer "
		"--deadline";

	check_str(judged(MET("refused", "Connection refused"), 1, 6),
		  "error ports: a cannot connect to b at 10.0.0.2, TCP port 5002 (Connection "
		  "refused: b listens there, so a firewall rejects the connection, or another "
		  "machine has the address)" OPEN_PORTS);
	check_str(judged(MET("dropped", "Connection timed out"), 1, 6),
		  "error ports: a cannot connect to b at 10.0.0.2, TCP port 5002 (no answer in 4.0 "
		  "s: the packets are dropped)" OPEN_PORTS);
	check_str(
		judged(MET("silent", "Connection timed out"), 1, 6),
		"error ports: a cannot connect to b at 10.0.0.2, TCP port 5002 (connected, but no "
		"answer comes: a middlebox takes the connection)" OPEN_PORTS);
	check_str(judged(MET("failed", "No route to host"), 1, 6),
		  "error ports: a cannot connect to b at 10.0.0.2, TCP port 5002 (No route to "
		  "host)" OPEN_PORTS);
	/* b began to listen when a had ended, or never did */
	check_str(judged(MET("refused", "Connection refused"), 5, 9), late);
	check_str(judged(MET("dropped", "Connection timed out"), 4.9, 9), late);
	check_str(judged(MET("refused", "Connection refused"), 0, 0), "");
}

/* The findings about what host b sees of the folder, as "topic: text"; "": none. */
static const char *folder_finding(const char *answer)
{
	static char text[500];
	char name[] = "b";
	struct host host = { name, 1, 0 };
	struct preflight_host h = { .host = &host };
	const struct preflight_options how = { .workspace = "/w" };
	struct err e = { 0 };
	struct json *facts = json_parse(answer, strlen(answer), &e);

	check(facts != NULL);
	preflight_compare_folder(&h, facts, &how, "7 1.5");
	check(h.n_findings <= 1);
	snprintf(text, sizeof(text), "%s%s%s", h.n_findings ? h.findings[0].what : "",
		 h.n_findings ? ": " : "", h.n_findings ? h.findings[0].text : "");
	free(h.findings);
	json_free(facts);
	return text;
}

TEST(preflight_folder_seen_by_others)
{
	check_str(folder_finding("{\"workspace\":{\"there\":true}}"), ""); /* its own folder */
	check_str(folder_finding(
			  "{\"workspace\":{\"marker\":{\"text\":\"7 1.5\",\"lock\":\"held\"}}}"),
		  "");
	check_str(
		folder_finding(
			"{\"workspace\":{\"marker\":{\"text\":\"7 1.5\",\"lock\":\"free\"}}}"),
		"lock: b shares /w, but does not see the locks of this host there: against a "
		"second "
		"training of a run there is only the lease (up to 60 s of waiting): mount the file "
		"system with locks for all hosts (Lustre: flock; NFS: without local_lock)");
	check_str(
		folder_finding("{\"workspace\":{\"marker\":{\"text\":\"\",\"lock\":\"held\"}}}"),
		"lease: b shares /w, but does not see what this host has just written there, so it "
		"may not see the lease of a run: mount the file system there without caches (NFS: "
		"noac), or train each run from one host only");
}

/* The marker as this host, another process of it, and a host without the folder see it. */
TEST(preflight_folder_marker)
{
	struct folder_marker m;
	struct buf out = { 0 };
	struct json_writer w = { .out = &out };

	folder_marker_make(&m, "/no/such/folder");
	check(!m.path);
	folder_marker_make(&m, test_folder());
	check(m.path && m.text[0]);
	json_open(&w, '{');
	folder_marker_answer(m.path, &w);
	json_close(&w, '}');
	bench_has(buf_text(&out), "\"lock\":\"held\"");
	bench_has(buf_text(&out), m.text);
	folder_marker_remove(&m);
	check(!m.path);
	folder_marker_remove(&m);
	buf_free(&out);
}
