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
#include "train/launch/preflight/probe.h"

#define MAX_ADDRESSES 8 /* for one name */
#define DISCARD_PORT  9 /* no packet is sent: the kernel only looks up the route */
#define MAX_PEERS     4096

/* ---- addresses ---------------------------------------------------------------- */

/* The bytes of an IPv4 or IPv6 address, and their number. */
static const unsigned char *socket_address_bytes(const struct sockaddr *a, size_t *n)
{
	const void *address = a;

	*n = a->sa_family == AF_INET ? 4 : 16;
	if (a->sa_family == AF_INET)
		return (const unsigned char *)&((const struct sockaddr_in *)address)->sin_addr;
	return (const unsigned char *)&((const struct sockaddr_in6 *)address)->sin6_addr;
}

static void put_cidr(struct json_writer *w, const struct ifaddrs *i)
{
	int family = i->ifa_addr->sa_family, bits = 0;
	char text[INET6_ADDRSTRLEN], cidr[INET6_ADDRSTRLEN + 16];
	unsigned char net[16];
	size_t n;
	const unsigned char *address = socket_address_bytes(i->ifa_addr, &n);
	const unsigned char *mask = socket_address_bytes(i->ifa_netmask, &n);

	while (bits < (int)(8 * n) && mask[bits / 8] & 0x80 >> bits % 8)
		bits++;
	if (inet_ntop(family, address, text, sizeof(text)))
		json_put_str(w, "address", text);
	for (size_t k = 0; k < n; k++)
		net[k] = address[k] & mask[k];
	if (inet_ntop(family, net, text, sizeof(text))) {
		snprintf(cidr, sizeof(cidr), "%s/%d", text, bits);
		json_put_str(w, "network", cidr);
	}
}

/* A link-local IPv6 address is no use: it needs the name of an interface, too. */
static bool is_usable_interface(const struct ifaddrs *i, int family)
{
	size_t n;

	if (!i->ifa_addr || !i->ifa_netmask || i->ifa_addr->sa_family != family ||
	    !(i->ifa_flags & IFF_UP))
		return false;
	return family == AF_INET ||
	       !IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)(const void *)socket_address_bytes(
		       i->ifa_addr, &n));
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
static void put_source_address(struct json_writer *w, const struct addrinfo *to)
{
	struct sockaddr_storage there = { 0 }, here = { 0 };
	socklen_t n = sizeof(here);
	char text[INET6_ADDRSTRLEN];
	int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	size_t bytes;

	memcpy(&there, to->ai_addr, to->ai_addrlen);
	/* the port is at the same place in addresses of both families */
	((struct sockaddr_in *)&there)->sin_port = htons(DISCARD_PORT);
	if (fd >= 0 && !connect(fd, (const struct sockaddr *)&there, to->ai_addrlen) &&
	    !getsockname(fd, (struct sockaddr *)&here, &n) &&
	    inet_ntop(to->ai_family, socket_address_bytes((const struct sockaddr *)&here, &bytes),
		      text, sizeof(text)))
		json_put_str(w, "source", text);
	else
		json_put_str(w, "trouble", strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* The first address of a list that is IPv4; if none is, the first. */
static const struct addrinfo *preferred_address(const struct addrinfo *found)
{
	for (const struct addrinfo *a = found; a; a = a->ai_next)
		if (a->ai_family == AF_INET)
			return a;
	return found;
}

/* The addresses of a name and the route to the first: those of IPv4, or if there is none of IPv6. */
static void put_route(struct json_writer *w, const char *name)
{
	const struct addrinfo want = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *found = NULL;
	const struct addrinfo *first;
	int rc = getaddrinfo(name, NULL, &want, &found), n = 0;
	char text[INET6_ADDRSTRLEN];
	size_t bytes;

	first = rc ? NULL : preferred_address(found);
	json_open(w, '{');
	json_put_str(w, "name", name);
	json_put_open(w, "addresses", '[');
	for (const struct addrinfo *a = first; a && n < MAX_ADDRESSES; a = a->ai_next)
		if (a->ai_family == first->ai_family &&
		    inet_ntop(a->ai_family, socket_address_bytes(a->ai_addr, &bytes), text,
			      sizeof(text))) {
			json_str(w, text);
			n++;
		}
	json_close(w, ']');
	if (rc)
		json_put_str(w, "trouble", gai_strerror(rc));
	else
		put_source_address(w, first);
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
	static const int families[] = { AF_INET, AF_INET6 };
	struct ifaddrs *all = NULL;

	if (!getifaddrs(&all)) {
		json_put_open(w, "interfaces", '[');
		for (size_t k = 0; k < ARRAY_LEN(families); k++)
			for (const struct ifaddrs *i = all; i; i = i->ifa_next)
				if (is_usable_interface(i, families[k]))
					put_interface(w, i);
		json_close(w, ']');
		freeifaddrs(all);
	}
	json_put_int(w, "free_port", find_free_port());
	if (!peers)
		return;
	setenv("RES_OPTIONS", "timeout:2 attempts:1",
	       0); /* do not wait long for a dead name server */
	json_put_open(w, "routes", '[');
	for (size_t i = 0; i < json_len(peers) && i < MAX_PEERS; i++)
		put_route(w, json_text(json_at(peers, i), ""));
	json_close(w, ']');
}
