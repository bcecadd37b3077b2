/*
 * watch_address.h - "watch ssh://HOST/PATH...": the workbench on copies of workspaces of other hosts.
 *
 * For each address a process "werkbank-launch _follow" keeps a copy of the records up to date, in one
 * folder below $XDG_CACHE_HOME/werkbank/watch (default ~/.cache). The folder looks like a workspace;
 * of several addresses, names of runs begin with their host. Copies that were not used for
 * 30 days are removed.
 */
#ifndef WERKBANK_TUI_COMMANDS_WATCH_ADDRESS_H
#define WERKBANK_TUI_COMMANDS_WATCH_ADDRESS_H

#include <stdbool.h>

#include "share/base/err.h"
#include "share/conf/conf.h"

struct watched_copy;

/* Is the first argument of the command an address? */
bool watch_has_address(const struct conf *c);

/*
 * Start the processes and wait until the copies are complete. NULL: ERR_USAGE (an argument is no
 * address), ERR_NOHOST, ERR_NOINPUT (no such workspace or run), …
 */
struct watched_copy *watch_address_open(const struct conf *c, struct err *e);
/* c with the copy as its workspace, read-only. Its fields are borrowed: do not free them. */
struct conf watch_address_conf(const struct watched_copy *w, const struct conf *c);
/* End the processes; the copy stays for the next time. w may be NULL. */
void watch_address_close(struct watched_copy *w);

#endif
