/*
 * probe.h - "werkbank-launch _probe": answers questions of another host about this host.
 *
 * The request is one JSON object on standard input, the answer one on standard output. Without a
 * request (empty input, or a terminal) the answer is the facts.
 *
 *	{"ask":"facts", "workspace":PATH, "corpus":NAME, "marker":FILE, "peers":[NAME, …]}
 *	{"ask":"meet", "port":N, "self":I, "seconds":S, "expect":N,
 *	 "peers":[{"index":I, "address":TEXT, "port":N}, …]}
 *	{"ask":"leftovers", "pids":[N, …]}
 *	{"ask":"end", "grace":S, "records":[RECORD, …]}		records as in leftover.h
 *	{"ask":"sums", "files":[PATH, …]}
 *
 * marker: a file that the asking host holds locked (preflight_folder.h).
 *
 * Every answer has werkbank (the version), host, user, probe_s (seconds that the answer took: the
 * rest of the time was the login), and as last member time (unix seconds of writing, to compare
 * clocks). Unknown facts are absent. The checksum of a file is "sha256" of the
 * whole file, or for a large corpus file "sampled": SHA-256 of its size and 128 pieces.
 *
 * "meet" tests TCP connections between all hosts, see probe_connect.c; "end" ends leftover
 * processes; "sums" returns checksums.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_PREFLIGHT_PROBE_H
#define WERKBANK_TRAIN_LAUNCH_PREFLIGHT_PROBE_H

#include <stdbool.h>

#include "share/base/err.h"
#include "share/conf/conf.h"
#include "share/format/json.h"

int probe_command_run(struct conf *c, int *status, struct err *e); /* the command _probe */

/*
 * Append the answer to a request to out; request NULL: facts. An unknown question is ERR_PROTOCOL.
 */
int probe_answer_request(const struct json *request, struct buf *out, struct err *e);

/* ---- parts of the answer: each adds members to the open object of w ---- */

int probe_write_facts(const struct json *request, struct json_writer *w, struct err *e);
void probe_write_machine(struct json_writer *w); /* cores, memory, GPUs, limits */
int64_t
probe_gpu_count(void); /* that the driver lists; it does not list a GPU that fell off the bus */
/* Interfaces and a free TCP port; peers: names to resolve and to look up routes to, NULL: none. */
void probe_write_network(const struct json *peers, struct json_writer *w);
int probe_test_connections(const struct json *request, struct json_writer *w, struct err *e);

/* SHA-256 of a file; of its size and 128 samples if it is larger than 64 MiB: then *sampled. */
int probe_hash_file(const char *path, char hex[65], bool *sampled, struct err *e);

#endif
