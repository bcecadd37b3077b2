/*
 * host_net.h - the interface between the hosts: which one, its speed, its traffic.
 *
 * Ethernet and what looks like it from /proc/net/dev, TCP from /proc/net/snmp, speeds from
 * /sys/class/net (Documentation/ABI/testing/sysfs-class-net), InfiniBand from
 * /sys/class/infiniband (sysfs-class-infiniband): RDMA goes past /proc/net/dev.
 */
#ifndef WERKBANK_TRAIN_COMMON_HOST_NET_H
#define WERKBANK_TRAIN_COMMON_HOST_NET_H

#include <sys/socket.h>

#include "share/base/err.h"
#include "train/common/host_file.h"

#define HOST_INTERFACE_MAX 32

/* A range of addresses: "10.1.0.0/16", "fd00::/8"; a plain address is a range of one. */
struct host_cidr {
	int family;		 /* AF_INET, AF_INET6 */
	unsigned char bytes[16]; /* in network order */
	unsigned bits;
};

bool host_cidr_parse(const char *text, struct host_cidr *c);
bool host_cidr_holds(const struct host_cidr *c, const struct sockaddr *address);

/* The interface of the default route with the smallest metric, from /proc/net/route. */
bool host_default_route(const char *route, char interface[HOST_INTERFACE_MAX]);

struct host_interface {
	char name[HOST_INTERFACE_MAX];
	struct sockaddr_storage address; /* its port is 0; ss_family 0: it has none */
	char text[64];			 /* the address */
};

/*
 * The interface of this host between the hosts. network: CIDRs or names with commas between them,
 * the first that fits; NULL: $WERKBANK_NETWORK, else the interface of the default route, else
 * the first with an address that is not the loopback's, else that. ERR_CONFIG: nothing
 * of what was asked for is here; ERR_UNAVAILABLE: the host has no interfaces.
 */
int host_interface_find(const char *network, const struct host_roots *roots,
			struct host_interface *found, struct err *e);

/*
 * Addresses of this host that others may reach it by, at most room of them: not the loopback's,
 * none that needs an interface beside it. IPv4, and IPv6 where there is none.
 */
int host_addresses(struct sockaddr_storage *to, int room);

/* Bytes received and sent since the start, of a line of /proc/net/dev; false: it is not listed. */
bool host_net_counters(const char *dev, const char *interface, uint64_t *received, uint64_t *sent);

/* TCP segments sent again and sent, from /proc/net/snmp. */
bool host_tcp_counters(const char *snmp, uint64_t *again, uint64_t *sent);

/*
 * Bytes a second in one direction, as the driver says; NAN: unknown, which it is for many virtual
 * machines (-1), interfaces that are down, and pairs of virtual ones, whose number is made up.
 */
double host_link_bytes_s(const struct host_roots *roots, const char *interface);

/* "100 Gb/sec (4X EDR)" as bytes a second; NAN when it is anything else. */
double host_ib_rate(const char *rate);

/* All active ports of InfiniBand adapters together. ports 0: none. */
struct host_ib {
	int ports;
	char name[HOST_INTERFACE_MAX]; /* "mlx5_0", with more than one "mlx5_0+3" */
	uint64_t received, sent;       /* bytes since the start */
	bool counted;		       /* they are known for every port */
	double link_bytes_s;	       /* sum; NAN: unknown */
};

void host_ib_sample(const struct host_roots *roots, struct host_ib *ib);

/* What changes from one look to the next; host_net_open() first. */
struct host_net {
	char interface[HOST_INTERFACE_MAX];
	struct host_counter received, sent, again, ib_received, ib_sent;
};

struct host_net_now {
	char interface[HOST_INTERFACE_MAX]; /* InfiniBand's name where that carries more */
	double rx_bytes_s, tx_bytes_s, retransmits_s;
	double link_bytes_s; /* of that interface, by its driver */
};

/* What has been sent since the start, and TCP segments sent again, at one moment. */
struct host_net_sent {
	uint64_t bytes, ib_bytes, again;
	bool known, ib_known, again_known;
};

void host_net_sent(const char *interface, const struct host_roots *roots,
		   struct host_net_sent *now);

/* Bytes between two moments, of InfiniBand where that carried more; NAN: unknown. */
double host_net_sent_between(const struct host_net_sent *from, const struct host_net_sent *to);

void host_net_open(struct host_net *n, const char *interface);
void host_net_sample(struct host_net *n, const struct host_roots *roots, double at,
		     struct host_net_now *now);

#endif
