/*
 * host_net.h - the network interface between the hosts: its name, speed and traffic.
 *
 * Sources: Ethernet and similar interfaces from /proc/net/dev, TCP from /proc/net/snmp, speeds from
 * /sys/class/net (Documentation/ABI/testing/sysfs-class-net), InfiniBand from
 * /sys/class/infiniband (sysfs-class-infiniband): /proc/net/dev does not count RDMA.
 */
#ifndef WERKBANK_TRAIN_HOST_HOST_NET_H
#define WERKBANK_TRAIN_HOST_HOST_NET_H

#include <sys/socket.h>

#include "share/base/err.h"
#include "train/host/host_file.h"

#define HOST_INTERFACE_MAX 32

/* A range of addresses such as "10.1.0.0/16" or "fd00::/8"; a plain address is a range of one. */
struct host_cidr {
	int family;		 /* AF_INET, AF_INET6 */
	unsigned char bytes[16]; /* in network order */
	unsigned bits;
};

/* false: not a CIDR or an address. */
bool host_cidr_parse(const char *text, struct host_cidr *c);
bool host_cidr_holds(const struct host_cidr *c, const struct sockaddr *address);

/* The interface of the default route with the smallest metric, from /proc/net/route. */
bool host_default_route(const char *route, char interface[HOST_INTERFACE_MAX]);

struct host_interface {
	char name[HOST_INTERFACE_MAX];
	struct sockaddr_storage address; /* its port is 0; ss_family 0: it has none */
	char text[64];			 /* the address as text */
};

/*
 * Find the interface of this host that connects it with the other hosts. network: CIDRs or
 * interface names, separated by commas; the first match counts. NULL: $WERKBANK_NETWORK, else the
 * interface of the default route, else the first interface other than loopback, else loopback.
 * ERR_CONFIG: no interface matches network; ERR_UNAVAILABLE: the host has no interface.
 */
int host_interface_find(const char *network, const struct host_roots *roots,
			struct host_interface *found, struct err *e);

/*
 * Write at most room addresses at which other hosts can reach this one; returns their number. No
 * loopback and no link-local addresses. IPv4 addresses, or IPv6 if there are none.
 */
int host_addresses(struct sockaddr_storage *to, int room);

/* Bytes received and sent since boot, from the text of /proc/net/dev; false: no such interface. */
bool host_net_counters(const char *dev, const char *interface, uint64_t *received, uint64_t *sent);

/* A counter of the text of /proc/net/snmp or netstat, such as RetransSegs of the kind "Tcp: ". */
bool host_tcp_counter(const char *text, const char *kind, const char *name, uint64_t *value);

/*
 * TCP segments retransmitted since boot, less those that receivers already had (they say so by
 * DSACK): a busy host sends segments again although none was lost. The report of a receiver comes
 * later, so the number may also fall. false: unknown.
 */
bool host_tcp_again(const struct host_roots *roots, uint64_t *again);

/*
 * Link speed in bytes a second, one direction, from the driver. NAN: unknown, as in many virtual
 * machines (-1), if the interface is down, and for veth pairs, whose number is meaningless.
 */
double host_link_bytes_s(const struct host_roots *roots, const char *interface);

/* "100 Gb/sec (4X EDR)" in bytes a second; NAN: another text. */
double host_ib_rate(const char *rate);

/* Sums over all active ports of InfiniBand adapters. ports 0: there is none. */
struct host_ib {
	int ports;
	char name[HOST_INTERFACE_MAX]; /* "mlx5_0"; for several ports "mlx5_0+3" */
	uint64_t received, sent;       /* bytes since boot */
	bool counted;		       /* the counters of every port are known */
	double link_bytes_s;	       /* sum; NAN: unknown */
};

void host_ib_sample(const struct host_roots *roots, struct host_ib *ib);

/* State between two samples; begin with host_net_open(). */
struct host_net {
	char interface[HOST_INTERFACE_MAX];
	struct host_counter received, sent, again, ib_received, ib_sent;
};

struct host_net_now {
	char interface[HOST_INTERFACE_MAX]; /* that of InfiniBand if it carries more traffic */
	double rx_bytes_s, tx_bytes_s, retransmits_s;
	double link_bytes_s; /* of that interface, from its driver */
};

/* Counters since boot at one time: bytes sent, and lost TCP segments (host_tcp_again()). */
struct host_net_sent {
	uint64_t bytes, ib_bytes, again;
	bool known, ib_known, again_known;
};

void host_net_sent(const char *interface, const struct host_roots *roots,
		   struct host_net_sent *now);

/* Bytes sent between two times, by InfiniBand if it carried more; NAN: unknown. */
double host_net_sent_between(const struct host_net_sent *from, const struct host_net_sent *to);

void host_net_open(struct host_net *n, const char *interface);
/* at: CLOCK_MONOTONIC in seconds. Rates need an earlier sample; NAN: unknown. */
void host_net_sample(struct host_net *n, const struct host_roots *roots, double at,
		     struct host_net_now *now);

#endif
