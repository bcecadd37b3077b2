/* host_net.c - see host_net.h */
#include "train/host/host_net.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/text.h"

#define TEXT_BYTES (256u << 10)

/* ---- choice of the interface -------------------------------------------- */

bool host_cidr_parse(const char *text, struct host_cidr *c)
{
	char address[64];
	size_t n = strcspn(text, "/");
	int64_t bits;

	*c = (struct host_cidr){ 0 };
	if (!n || n >= sizeof(address))
		return false;
	memcpy(address, text, n);
	address[n] = 0;
	if (inet_pton(AF_INET, address, c->bytes) == 1)
		c->family = AF_INET;
	else if (inet_pton(AF_INET6, address, c->bytes) == 1)
		c->family = AF_INET6;
	else
		return false;
	c->bits = c->family == AF_INET ? 32 : 128;
	if (!text[n])
		return true;
	if (!text_to_int(text + n + 1, &bits) || bits < 0 || bits > c->bits)
		return false;
	c->bits = (unsigned)bits;
	return true;
}

static const unsigned char *address_bytes(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return (const unsigned char *)&((const struct sockaddr_in *)a)->sin_addr;
	return ((const struct sockaddr_in6 *)a)->sin6_addr.s6_addr;
}

bool host_cidr_holds(const struct host_cidr *c, const struct sockaddr *address)
{
	const unsigned char *bytes;
	unsigned whole = c->bits / 8, rest = c->bits % 8;
	unsigned char mask = (unsigned char)(0xff00u >> rest);

	if (!c->family || address->sa_family != c->family)
		return false;
	bytes = address_bytes(address);
	assert(c->bits <= (c->family == AF_INET ? 32 : 128));
	return !memcmp(bytes, c->bytes, whole) &&
	       (!rest || !((bytes[whole] ^ c->bytes[whole]) & mask));
}

/*
 * Columns: Iface Destination Gateway Flags RefCnt Use Metric Mask. All numbers are hexadecimal, but
 * RefCnt, Use and Metric are decimal.
 */
bool host_default_route(const char *route, char interface[HOST_INTERFACE_MAX])
{
	int64_t best = INT64_MAX;

	for (route = host_next_line(route); *route; route = host_next_line(route)) {
		char name[HOST_INTERFACE_MAX], line[300];
		unsigned destination, gateway, flags, metric, mask;
		int references, use;
		size_t n = strcspn(route, "\n");

		if (n >= sizeof(line))
			continue;
		memcpy(line, route, n);
		line[n] = 0;
		if (sscanf(line, "%31s %8x %8x %8x %9d %9d %9u %8x", name, &destination, &gateway,
			   &flags, &references, &use, &metric, &mask) != 8)
			continue;
		if (destination || mask || !(flags & 1) || (int64_t)metric >= best)
			continue;
		best = metric;
		snprintf(interface, HOST_INTERFACE_MAX, "%s", name);
	}
	return best != INT64_MAX;
}

static bool interface_has_address(const struct ifaddrs *i)
{
	return i->ifa_addr && (i->ifa_flags & IFF_UP) && strlen(i->ifa_name) < HOST_INTERFACE_MAX &&
	       (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6);
}

/* Preference of an address, larger is better: IPv4, IPv6, link-local IPv6, loopback. */
static int address_preference(const struct ifaddrs *i)
{
	const struct sockaddr *a = i->ifa_addr;

	if (a->sa_family == AF_INET)
		return i->ifa_flags & IFF_LOOPBACK ? 1 : 4;
	if (i->ifa_flags & IFF_LOOPBACK)
		return 0;
	return IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)a)->sin6_addr) ? 2 : 3;
}

static void fill_interface(struct host_interface *found, const struct ifaddrs *i)
{
	bool four = i->ifa_addr->sa_family == AF_INET;

	assert(four || i->ifa_addr->sa_family == AF_INET6);
	snprintf(found->name, sizeof(found->name), "%s", i->ifa_name);
	memset(&found->address, 0, sizeof(found->address));
	memcpy(&found->address, i->ifa_addr,
	       four ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	inet_ntop(i->ifa_addr->sa_family, address_bytes(i->ifa_addr), found->text,
		  sizeof(found->text));
}

/* The best address in cidr (NULL: any) of an interface with this name (NULL: any); false: none. */
static bool find_best_interface(const struct ifaddrs *all, const struct host_cidr *cidr,
				const char *name, struct host_interface *found)
{
	int best = -1;

	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		if (!interface_has_address(i) || address_preference(i) <= best ||
		    (cidr && !host_cidr_holds(cidr, i->ifa_addr)) ||
		    (name && strcmp(i->ifa_name, name) != 0))
			continue;
		best = address_preference(i);
		fill_interface(found, i);
	}
	return best >= 0;
}

/* The first match in a list such as "10.0.0.0/8,eth1". */
static bool find_listed_interface(const struct ifaddrs *all, const char *list,
				  struct host_interface *found)
{
	char one[100];

	while (*list) {
		size_t n = strcspn(list, ", ");
		struct host_cidr cidr;

		if (n && n < sizeof(one)) {
			memcpy(one, list, n);
			one[n] = 0;
			if (host_cidr_parse(one, &cidr)
				    ? find_best_interface(all, &cidr, NULL, found)
				    : find_best_interface(all, NULL, one, found))
				return true;
		}
		list += n;
		list += strspn(list, ", ");
	}
	return false;
}

/* "eth0 10.0.0.1, eth1 …", for messages. */
static void describe_interfaces(const struct ifaddrs *all, char *to, size_t room)
{
	struct host_interface one;
	size_t have = 0;

	to[0] = 0;
	for (const struct ifaddrs *i = all; i && have < room; i = i->ifa_next)
		if (interface_has_address(i) && address_preference(i) >= 3) {
			fill_interface(&one, i);
			have += (size_t)snprintf(to + have, room - have, "%s%s %s",
						 have ? ", " : "", one.name, one.text);
		}
}

int host_interface_find(const char *network, const struct host_roots *roots,
			struct host_interface *found, struct err *e)
{
	const char *asked = network && *network ? network : getenv("WERKBANK_NETWORK");
	char text[8192], name[HOST_INTERFACE_MAX], present[240];
	struct ifaddrs *all;
	int rc = 0;

	*found = (struct host_interface){ 0 };
	if (getifaddrs(&all))
		return err_set_errno(e, ERR_UNAVAILABLE, "cannot list the network interfaces");
	if (asked && *asked) {
		if (!find_listed_interface(all, asked, found)) {
			describe_interfaces(all, present, sizeof(present));
			rc = err_set(e, ERR_CONFIG,
				     "this host has no interface in the network \"%.60s\" (it has "
				     "%s): see --network",
				     asked, *present ? present : "none");
		}
		goto out;
	}
	host_read(text, sizeof(text), "%s/net/route", roots->proc);
	if (host_default_route(text, name) && find_best_interface(all, NULL, name, found))
		goto out;
	if (!find_best_interface(all, NULL, NULL, found))
		rc = err_set(e, ERR_UNAVAILABLE, "this host has no network interface");
out:
	freeifaddrs(all);
	return rc;
}

int host_addresses(struct sockaddr_storage *to, int room)
{
	static const int preferences[] = { 4, 3 };
	struct host_interface one;
	struct ifaddrs *all;
	int n = 0;

	if (getifaddrs(&all))
		return 0;
	for (size_t k = 0; k < ARRAY_LEN(preferences) && !n; k++)
		for (const struct ifaddrs *i = all; i && n < room; i = i->ifa_next)
			if (interface_has_address(i) && address_preference(i) == preferences[k]) {
				fill_interface(&one, i);
				to[n++] = one.address;
			}
	freeifaddrs(all);
	return n;
}

/* ---- counters ---------------------------------------------------------- */

bool host_net_counters(const char *dev, const char *interface, uint64_t *received, uint64_t *sent)
{
	size_t n = strlen(interface);

	for (; *dev; dev = host_next_line(dev)) {
		const char *at = dev + strspn(dev, " ");
		uint64_t v[9];
		size_t k = 0;

		if (!n || strncmp(at, interface, n) != 0 || at[n] != ':')
			continue;
		at += n + 1;
		while (k < ARRAY_LEN(v) && host_number(&at, &v[k]))
			k++;
		if (k < ARRAY_LEN(v))
			return false;
		*received = v[0];
		*sent = v[8];
		return true;
	}
	return false;
}

/* Column number of NAME in the line "Tcp: ... NAME ..."; -1: not found. */
static int find_tcp_column(const char *names, const char *name)
{
	size_t n = strlen(name);

	for (int i = 0; *names && *names != '\n'; i++) {
		size_t word;

		names += strspn(names, " ");
		word = strcspn(names, " \n");
		if (word == n && !memcmp(names, name, n))
			return i;
		names += word;
	}
	return -1;
}

/* The number in a column of a line; the numbers before it may be negative. */
static bool read_column_value(const char *line, int column, uint64_t *value)
{
	for (int i = 0; i < column; i++) {
		line += strspn(line, " ");
		line += strcspn(line, " \n");
	}
	return column >= 0 && host_number(&line, value);
}

bool host_tcp_counter(const char *text, const char *kind, const char *name, uint64_t *value)
{
	const size_t n = strlen(kind);

	for (; *text; text = host_next_line(text)) {
		const char *values = host_next_line(text);

		if (!strncmp(text, kind, n) && !strncmp(values, kind, n))
			return read_column_value(values, find_tcp_column(text, name), value);
	}
	return false;
}

bool host_tcp_again(const struct host_roots *roots, uint64_t *again)
{
	uint64_t needless = 0;
	char *text = malloc(TEXT_BYTES);
	bool is_known = text && host_read(text, TEXT_BYTES, "%s/net/snmp", roots->proc) >= 0 &&
			host_tcp_counter(text, "Tcp: ", "RetransSegs", again);

	if (is_known && host_read(text, TEXT_BYTES, "%s/net/netstat", roots->proc) >= 0 &&
	    host_tcp_counter(text, "TcpExt: ", "TCPDSACKRecv", &needless))
		*again -= needless < *again ? needless : *again;
	free(text);
	return is_known;
}

/* Is it a physical interface, or a VLAN or bond of physical ones? Others make up their speed. */
static bool has_real_speed(const struct host_roots *roots, const char *interface)
{
	static const char *const kinds[] = { "vlan", "bond", "team" };
	char text[300], line[40];

	if (host_read(text, sizeof(text), "%s/class/net/%s/device/uevent", roots->sys, interface) >=
	    0)
		return true;
	host_read(text, sizeof(text), "%s/class/net/%s/uevent", roots->sys, interface);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		snprintf(line, sizeof(line), "DEVTYPE=%s\n", kinds[i]);
		if (strstr(text, line))
			return true;
	}
	return false;
}

double host_link_bytes_s(const struct host_roots *roots, const char *interface)
{
	double mbit;

	if (!*interface || strchr(interface, '/') || interface[0] == '.' ||
	    !has_real_speed(roots, interface) ||
	    !host_read_number(&mbit, "%s/class/net/%s/speed", roots->sys, interface) || mbit <= 0 ||
	    mbit >= 4294967295.0)
		return NAN;
	return mbit * 1e6 / 8;
}

/* ---- samples ------------------------------------------------------------ */

/* Read all counters since boot; *received: of the interface. */
static void read_net_counters(const char *interface, const struct host_roots *roots,
			      struct host_net_sent *now, uint64_t *received, struct host_ib *ib)
{
	char *text = malloc(TEXT_BYTES);

	*now = (struct host_net_sent){ 0 };
	*ib = (struct host_ib){ 0 };
	if (!text)
		return;
	host_read(text, TEXT_BYTES, "%s/net/dev", roots->proc);
	now->known = host_net_counters(text, interface, received, &now->bytes);
	free(text);
	now->again_known = host_tcp_again(roots, &now->again);
	host_ib_sample(roots, ib);
	now->ib_known = ib->ports && ib->counted;
	now->ib_bytes = now->ib_known ? ib->sent : 0;
}

void host_net_sent(const char *interface, const struct host_roots *roots, struct host_net_sent *now)
{
	struct host_ib ib;
	uint64_t received;

	read_net_counters(interface, roots, now, &received, &ib);
}

double host_net_sent_between(const struct host_net_sent *from, const struct host_net_sent *to)
{
	double bytes = from->known && to->known && to->bytes >= from->bytes
			       ? (double)(to->bytes - from->bytes)
			       : NAN;
	double ib = from->ib_known && to->ib_known && to->ib_bytes >= from->ib_bytes
			    ? (double)(to->ib_bytes - from->ib_bytes)
			    : NAN;

	return fmax(bytes, ib); /* fmax() of a number and NAN is the number */
}

void host_net_open(struct host_net *n, const char *interface)
{
	*n = (struct host_net){ 0 };
	snprintf(n->interface, sizeof(n->interface), "%s", interface);
}

void host_net_sample(struct host_net *n, const struct host_roots *roots, double at,
		     struct host_net_now *now)
{
	struct host_net_sent sum;
	struct host_ib ib;
	uint64_t received = 0;
	double rx, tx;

	read_net_counters(n->interface, roots, &sum, &received, &ib);
	*now = (struct host_net_now){
		.rx_bytes_s = host_known_rate(&n->received, sum.known, received, at),
		.tx_bytes_s = host_known_rate(&n->sent, sum.known, sum.bytes, at),
		.retransmits_s = host_known_rate(&n->again, sum.again_known, sum.again, at),
		.link_bytes_s = host_link_bytes_s(roots, n->interface),
	};
	snprintf(now->interface, sizeof(now->interface), "%s", n->interface);
	rx = host_known_rate(&n->ib_received, sum.ib_known, ib.received, at);
	tx = host_known_rate(&n->ib_sent, sum.ib_known, sum.ib_bytes, at);
	if (!(tx > fmax(now->tx_bytes_s, 0))) /* false also for NAN */
		return;
	snprintf(now->interface, sizeof(now->interface), "%s", ib.name);
	now->rx_bytes_s = rx;
	now->tx_bytes_s = tx;
	now->link_bytes_s = ib.link_bytes_s;
}
