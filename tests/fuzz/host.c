/* host.c - targets for /proc, /sys and heartbeat messages; see fuzz.h */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/fuzz/fuzz.h"
#include "train/host/host_cpu.h"
#include "train/host/host_disk.h"
#include "train/host/host_net.h"
#include "train/watch/heartbeat_internal.h"

static void read_network(const char *text)
{
	struct sockaddr_storage a = { .ss_family = AF_INET6 };
	char interface[HOST_INTERFACE_MAX], name[HOST_INTERFACE_MAX + 1] = "";
	struct host_cidr c;
	uint64_t in, out;

	if (host_cidr_parse(text, &c)) {
		property(c.bits <= (c.family == AF_INET ? 32 : 128));
		host_cidr_holds(&c, (struct sockaddr *)&a);
		a.ss_family = AF_INET;
		host_cidr_holds(&c, (struct sockaddr *)&a);
	}
	if (host_default_route(text, interface))
		property(strlen(interface) < HOST_INTERFACE_MAX);
	strncpy(name, text, HOST_INTERFACE_MAX - 1);
	name[strcspn(name, ": ")] = 0;
	host_net_counters(text, name, &in, &out);
	host_net_counters(text, "eth0", &in, &out);
	if (host_tcp_counter(text, "Tcp: ", "RetransSegs", &in))
		property(strstr(text, "RetransSegs") != NULL);
	property(isnan(host_ib_rate(text)) || host_ib_rate(text) > 0);
}

/* The same text as the contents of every file. */
FUZZ(host)
{
	char *text = malloc(n + 1), source[64];
	uint64_t a, b;
	double total, available;

	if (!text)
		return 0;
	if (n)
		memcpy(text, data, n);
	text[n] = 0;
	if (host_cpu_times(text, &a, &b))
		property(strncmp(text, "cpu ", 4) == 0);
	if (host_memory(text, &total, &available))
		property(available >= 0 && available <= total);
	host_pressure(text, &a);
	if (host_disk_counters(text, 8, 1, &a, &b))
		property(a % 512 == 0 && b % 512 == 0);
	if (host_disk_source(text, 0, 45, source, sizeof(source)))
		property(!strncmp(source, "/dev/", 5) && strlen(source) < sizeof(source));
	read_network(text);
	free(text);
	return 0;
}

/* An accepted message, written again, reads as the same; the watchdog can process it. */
FUZZ(pulse)
{
	unsigned char key[HEARTBEAT_KEY_BYTES] = { 0 }, bytes[HEARTBEAT_MESSAGE_BYTES];
	char hosts[4][64] = { "a", "a", "b", "b" }, why[900];
	struct heartbeat_message w, again;
	struct watchdog watch;
	struct err e = { 0 };

	if (n >= 8 + HEARTBEAT_KEY_BYTES)
		memcpy(key, data + 8, sizeof(key));
	if (!heartbeat_message_read(&w, key, data, n, 4))
		return 0;
	property(n == HEARTBEAT_MESSAGE_BYTES && w.rank >= 0 && w.rank < 4 && w.phase <= PHASE_END);
	heartbeat_message_write(&w, key, bytes);
	property(heartbeat_message_read(&again, key, bytes, sizeof(bytes), 4));
	property(again.step == w.step && again.number == w.number && again.moves == w.moves);
	property(fabs(again.age_s - w.age_s) < 1);
	property(!watchdog_open(&watch, hosts[0], 4, 1e9, 1e9, 0, &e));
	watchdog_add_message(&watch, &w, 1);
	property(!watchdog_check(&watch, 1, 0, why, sizeof(why)));
	watchdog_close(&watch);
	return 0;
}
