/*
 * probe.h - "werkbank-launch _probe": what this host says of itself, asked by another one.
 *
 * One JSON object on standard input says what is asked, one on standard output answers;
 * nothing or a terminal on standard input asks for facts alone.
 *
 *	{"ask":"facts", "workspace":PATH, "corpus":NAME, "marker":FILE, "peers":[NAME, …]}
 *	{"ask":"meet", "port":N, "self":I, "seconds":S, "expect":N,
 *	 "peers":[{"index":I, "address":TEXT, "port":N}, …]}
 *	{"ask":"leftovers", "pids":[N, …]}
 *	{"ask":"end", "grace":S, "records":[RECORD, …]}		records as in leftover.h
 *	{"ask":"sums", "files":[PATH, …]}
 *
 * Every answer has werkbank (the version), host, user, and last of all time (unix
 * seconds when it was written, so that the asker can compare clocks). What is
 * not known is absent. A file's sum is "sha256" of all of it, or "sampled" of
 * its size and 128 pieces when it is large and only compared.
 */
#ifndef WERKBANK_TRAIN_LAUNCH_HOSTS_PROBE_H
#define WERKBANK_TRAIN_LAUNCH_HOSTS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#include "share/conf/conf.h"
#include "share/base/err.h"
#include "share/base/json.h"

int probe_command_run(const struct conf *c, struct err *e); /* the command */

/* Write the answer to a request (parsed; NULL: facts). */
int probe_answer_request(const struct json *request, struct buf *out, struct err *e);

/* ---- its parts; each adds members to an object that is open ---- */

int probe_write_facts(const struct json *request, struct json_writer *w, struct err *e);
void probe_write_machine(
	struct json_writer *w); /* probe_write_machine.c: cores, memory, GPUs, limits */
void probe_write_network(const struct json *peers,
			 struct json_writer *w); /* probe_write_network.c */
int probe_test_connections(const struct json *request, struct json_writer *w, struct err *e);

/* ---- small things that all of them need ---- */

/* Sum of a file to compare it by: of size and samples when it is larger than 64 MiB. */
int probe_hash_file(const char *path, char hex[65], bool *sampled, struct err *e);

#endif
