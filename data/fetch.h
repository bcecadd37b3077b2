/* fetch.h - one URL to one file. */
#ifndef WERKBANK_DATA_FETCH_H
#define WERKBANK_DATA_FETCH_H

#include "data/progress.h"
#include "share/base/err.h"

/*
 * Fetch url (http, https or file) into path, which is written from its start:
 * the caller verifies and renames it. Redirects are followed; a server that
 * stalls for a minute is given up. An HTTP error is ERR_UNAVAILABLE (not
 * found, forbidden, busy), an unknown or unreachable host ERR_NOHOST, an
 * answer cut short ERR_PROTOCOL, a missing file ERR_NOINPUT, a full disk
 * ERR_IO; the text names the URL. Progress counts bytes.
 */
int fetch_url(const char *url, const char *path, struct progress *p, struct err *e);

#endif
