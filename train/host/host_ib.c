/* host_ib.c - speed and traffic of InfiniBand adapters, from /sys; see host_net.h */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "train/host/host_net.h"

#define WORD_BYTES 4 /* unit of port_xmit_data and port_rcv_data */

double host_ib_rate(const char *rate)
{
	char number[32];
	size_t n = strcspn(rate, " \n");
	double gbit;

	if (!n || n >= sizeof(number) || strncmp(rate + n, " Gb/sec", 7) != 0)
		return NAN;
	memcpy(number, rate, n);
	number[n] = 0;
	if (!text_to_real(number, &gbit) || !(gbit > 0) || gbit > 1e6)
		return NAN;
	return gbit * 1e9 / 8;
}

/* Prefer the 64-bit counter; the 32-bit one of old adapters stops at its maximum. */
static bool read_ib_counter(const char *port, const char *name, uint64_t *bytes)
{
	char text[40];
	const char *at = text;
	uint64_t words;

	if (host_read(text, sizeof(text), "%s/counters_ext/%s_64", port, name) <= 0 &&
	    host_read(text, sizeof(text), "%s/counters/%s", port, name) <= 0)
		return false;
	if (!host_number(&at, &words) || words == UINT32_MAX || words > UINT64_MAX / WORD_BYTES)
		return false;
	*bytes = words * WORD_BYTES;
	return true;
}

static void add_ib_port(const char *adapter, const char *port, struct host_ib *ib)
{
	char text[60];
	uint64_t received, sent;

	host_read(text, sizeof(text), "%s/state", port);
	if (!text_starts_with(text, "4:"))
		return;
	if (read_ib_counter(port, "port_rcv_data", &received) &&
	    read_ib_counter(port, "port_xmit_data", &sent) &&
	    ib->received <= UINT64_MAX - received && ib->sent <= UINT64_MAX - sent) {
		ib->received += received;
		ib->sent += sent;
	} else {
		ib->counted = false;
	}
	host_read(text, sizeof(text), "%s/rate", port);
	ib->link_bytes_s += host_ib_rate(text);
	if (!ib->ports++)
		snprintf(ib->name, sizeof(ib->name), "%.20s", adapter);
}

static void add_ib_adapter(const struct host_roots *roots, const char *adapter, struct host_ib *ib)
{
	char folder[PATH_MAX], port[PATH_MAX];
	struct dirent **ports;
	int n;

	snprintf(folder, sizeof(folder), "%s/class/infiniband/%s/ports", roots->sys, adapter);
	n = host_list_folder(folder, &ports);
	for (int i = 0; i < n; i++) {
		snprintf(port, sizeof(port), "%s/class/infiniband/%s/ports/%s", roots->sys, adapter,
			 ports[i]->d_name);
		add_ib_port(adapter, port, ib);
	}
	host_free_list(ports, n);
}

void host_ib_sample(const struct host_roots *roots, struct host_ib *ib)
{
	char folder[PATH_MAX];
	struct dirent **adapters;
	size_t have;
	int n;

	*ib = (struct host_ib){ .counted = true };
	snprintf(folder, sizeof(folder), "%s/class/infiniband", roots->sys);
	n = host_list_folder(folder, &adapters);
	for (int i = 0; i < n; i++)
		add_ib_adapter(roots, adapters[i]->d_name, ib);
	host_free_list(adapters, n);
	have = strlen(ib->name);
	assert(have < sizeof(ib->name) && (ib->ports > 0) == (have > 0));
	if (ib->ports > 1)
		snprintf(ib->name + have, sizeof(ib->name) - have, "+%d", ib->ports - 1);
	if (!ib->ports)
		ib->link_bytes_s = NAN;
}
