/*
 * server.h - the command "serve": translation over HTTP
 *
 * Three kinds of processes, none of which has all rights:
 *
 *	supervisor	starts and ends the others; reads nothing foreign (server.c)
 *	listener	reads HTTP and JSON; no files, programs or new sockets (server_loop.h)
 *	decoders	one a model: "werkbank-eval translate --serve", which reads the model; no sockets
 *
 * The supervisor opens the sockets, forks the listener, starts the decoders and passes the ends of their pipes to the
 * listener over a socket pair. A decoder that ends is started again after 0.2, 1, 5, then 30 s. SIGHUP starts a new decoder
 * for each model, which replaces the old one when it is ready: so a model is changed without a lost request. SIGTERM and
 * SIGINT let the listener finish the open requests.
 */
#ifndef WERKBANK_EVAL_SERVER_SERVER_H
#define WERKBANK_EVAL_SERVER_SERVER_H

#include "share/base/err.h"
#include "share/conf/conf.h"

/* Serves until SIGTERM. ERR_PERM: a public address without keys. */
int server_run(struct conf *c, struct err *e);

#endif
