/* probe_network.c - facts about interfaces and routes to other hosts; see probe.h */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "share/base/file.h"
#include "share/base/util.h"
#include "train/launch/hosts/probe.h"

#define MAX_ADDRESSES 8 /* for one name */
#define DISCARD_PORT  9 /* no packet is sent: the kernel only looks up the route */
#define MAX_PEERS     4096

/* ---- addresses ---------------------------------------------------------------- */

static int prefix_bits(const struct sockaddr *mask)
{
	uint32_t m = ntohl(((const struct sockaddr_in *)(const void *)mask)->sin_addr.s_addr);
	int bits = 0;

	for (; m & 0x80000000u; m <<= 1)
		bits++;
	return bits;
}

static void put_cidr(struct json_writer *w, const struct ifaddrs *i)
{
	struct in_addr net = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
	char text[INET_ADDRSTRLEN], cidr[INET_ADDRSTRLEN + 16];
	int bits = prefix_bits(i->ifa_netmask);

	if (inet_ntop(AF_INET, &net, text, sizeof(text)))
		json_put_str(w, "address", text);
	net.s_addr &= ((const struct sockaddr_in *)(const void *)i->ifa_netmask)->sin_addr.s_addr;
	if (inet_ntop(AF_INET, &net, text, sizeof(text))) {
		snprintf(cidr, sizeof(cidr), "%s/%d", text, bits);
		json_put_str(w, "network", cidr);
	}
}

static bool is_usable_interface(const struct ifaddrs *i)
{
	return i->ifa_addr && i->ifa_netmask && i->ifa_addr->sa_family == AF_INET &&
	       i->ifa_flags & IFF_UP;
}

static void put_interface(struct json_writer *w, const struct ifaddrs *i)
{
	char path[300], line[40];
	long mbit;

	json_open(w, '{');
	json_put_str(w, "name", i->ifa_name);
	put_cidr(w, i);
	json_put_bool(w, "loopback", i->ifa_flags & IFF_LOOPBACK);
	json_put_bool(w, "carrier", i->ifa_flags & IFF_RUNNING);
	snprintf(path, sizeof(path), "/sys/class/net/%.200s/speed", i->ifa_name);
	/* -1 or a read error if unknown, as for virtual interfaces */
	if (file_first_line(path, line, sizeof(line)) && (mbit = strtol(line, NULL, 10)) > 0)
		json_put_int(w, "mbit_s", mbit);
	json_close(w, '}');
}

/* ---- routes ---------------------------------------------------------------------- */

/* The source address of packets to another address; no packet is sent. */
static void put_source_address(struct json_writer *w, const struct sockaddr_in *to)
{
	struct sockaddr_in there = *to, here;
	socklen_t n = sizeof(here);
	char text[INET_ADDRSTRLEN];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	there.sin_port = htons(DISCARD_PORT);
	if (fd >= 0 && !connect(fd, (const struct sockaddr *)&there, sizeof(there)) &&
	    !getsockname(fd, (struct sockaddr *)&here, &n) &&
	    inet_ntop(AF_INET, &here.sin_addr, text, sizeof(text)))
		json_put_str(w, "source", text);
	else
		json_put_str(w, "trouble", strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void put_route(struct json_writer *w, const char *name)
{
	const struct addrinfo want = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *found = NULL;
	int rc = getaddrinfo(name, NULL, &want, &found), n = 0;
	char text[INET_ADDRSTRLEN];

	json_open(w, '{');
	json_put_str(w, "name", name);
	json_key(w, "addresses");
	json_open(w, '[');
	for (const struct addrinfo *a = found; a && n < MAX_ADDRESSES; a = a->ai_next, n++)
		if (inet_ntop(AF_INET,
			      &((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr,
			      text, sizeof(text)))
			json_str(w, text);
	json_close(w, ']');
	if (rc)
		json_put_str(w, "trouble", gai_strerror(rc));
	else
		put_source_address(w, (const struct sockaddr_in *)(const void *)found->ai_addr);
	json_close(w, '}');
	if (found)
		freeaddrinfo(found);
}

/* A TCP port that is free now; 0: none found. */
static int find_free_port(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t n = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;

	if (fd >= 0 && !bind(fd, (const struct sockaddr *)&any, sizeof(any)) &&
	    !getsockname(fd, (struct sockaddr *)&any, &n))
		port = ntohs(any.sin_port);
	if (fd >= 0)
		close(fd);
	return port;
}

void probe_write_network(const struct json *peers, struct json_writer *w)
{
	struct ifaddrs *all = NULL;

	if (!getifaddrs(&all)) {
		json_key(w, "interfaces");
		json_open(w, '[');
		for (const struct ifaddrs *i = all; i; i = i->ifa_next)
			if (is_usable_interface(i))
				put_interface(w, i);
		json_close(w, ']');
		freeifaddrs(all);
	}
	json_put_int(w, "free_port", find_free_port());
	if (!peers)
		return;
	setenv("RES_OPTIONS", "timeout:2 attempts:1",
	       0); /* do not wait long for a dead name server */
	json_key(w, "routes");
	json_open(w, '[');
	for (size_t i = 0; i < json_len(peers) && i < MAX_PEERS; i++)
		put_route(w, json_text(json_at(peers, i), ""));
	json_close(w, ']');
}
