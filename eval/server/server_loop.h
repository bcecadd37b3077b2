/*
 * server_loop.h - the process that listens: one thread, in a sandbox without files, programs and new sockets
 *
 * It gets the pipes of decoders from the supervisor as messages on a socket pair, and answers which decoder is ready or
 * hangs. SIGTERM, and the end of the supervisor, let it finish the open requests and end.
 */
#ifndef WERKBANK_EVAL_SERVER_SERVER_LOOP_H
#define WERKBANK_EVAL_SERVER_SERVER_LOOP_H

#include <stddef.h>

#include "eval/server/server_api.h"
#include "share/base/err.h"

#define SERVER_MAX_LISTENERS   16
#define SERVER_MAX_CONNECTIONS 512
#define SERVER_MAX_BUFFERED                                                                        \
	((size_t)64 << 20)  /* bytes of the bodies of all connections; again for files */
#define SERVER_END_S   30.0 /* for open requests after SIGTERM */
#define SERVER_FRESH_S 1.0  /* … for the first byte of a client that had connected */

/* A message between supervisor and listener. */
enum server_note_kind {
	NOTE_DECODER = 1, /* to the listener, with two descriptors: a new decoder */
	NOTE_READY,	  /* to the supervisor: it has loaded its model */
	NOTE_HUNG,	  /* … it does not answer */
	NOTE_KEYS	  /* to the listener: new keys, a struct server_keys after the note */
};
struct server_note {
	int kind, model, generation;
};

/* s has the models, limits and keys. Returns when all is answered after SIGTERM. */
int server_loop_run(struct server_state *s, const int *listeners, size_t n_listeners, int control,
		    struct err *e);

#endif
