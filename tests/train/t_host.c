/* t_host.c - telemetry of hosts, from made-up /proc and /sys trees and a fake NVML */
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "share/base/file.h"
#include "tests/test.h"
#include "train/host/host_cpu.h"
#include "train/host/host_disk.h"
#include "train/host/host_gpu.h"
#include "train/host/host_net.h"
#include "train/watch/host_watch.h"

/* ---- made-up trees ------------------------------------------------------ */

static void put(const char *root, const char *name, const char *text)
{
	struct err e = { 0 };
	char *path = file_path(&e, "%s/%s", root, name), *slash;

	if (!check(path != NULL))
		return;
	slash = strrchr(path, '/');
	*slash = 0;
	check_int(file_make_folders(path, &e), 0);
	*slash = '/';
	check_int(file_write_all(path, text, strlen(text), &e), 0);
	free(path);
}

/* Roots in the test's folder, with nothing in them. */
static struct host_roots *made_up(void)
{
	static struct host_roots r;

	snprintf(r.proc, sizeof(r.proc), "%.200s/proc", test_folder());
	snprintf(r.sys, sizeof(r.sys), "%.200s/sys", test_folder());
	snprintf(r.nvml, sizeof(r.nvml), "/nonexistent.so");
	return &r;
}

/* tests/NAME beside this program. */
static void play_nvml(struct host_roots *r, const char *name, const char *play)
{
	char self[200];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = 0;
	if (strrchr(self, '/'))
		*strrchr(self, '/') = 0;
	snprintf(r->nvml, sizeof(r->nvml), "%s/%s", self, name);
	setenv("WERKBANK_FAKE_NVML", play, 1);
}

/* ---- numbers and rates -------------------------------------------------- */

TEST(host_rates)
{
	struct host_counter c = { 0 };
	struct host_mean m = { 0 };
	double peak;

	check(isnan(host_counter_rate(&c, 1000, 10)));
	check_near(host_counter_rate(&c, 3000, 12), 1000, 1e-9);
	check(isnan(host_counter_rate(&c, 500, 13))); /* after a reset the rate is unknown */
	check_near(host_counter_rate(&c, 600, 14), 100, 1e-9);
	check(isnan(host_counter_rate(&c, 700, 14))); /* no time has passed */
	check_near(host_counter_rate(&c, 700, 15), 0, 1e-9);
	check(isnan(host_mean_collect(&m, &peak)) && isnan(peak));
	host_mean_add(&m, 10, 1);
	host_mean_add(&m, NAN, 5);
	host_mean_add(&m, 40, 2);
	check_near(host_mean_collect(&m, &peak), 30, 1e-9);
	check_near(peak, 40, 1e-9);
	check(isnan(host_mean_collect(&m, NULL)));
}

TEST(host_cpu_and_memory)
{
	uint64_t busy, total, us;
	double all, free_now;

	check(host_cpu_times("cpu  10 20 30 400 5 6 7 8 9 10\ncpu0 1 1 1 1\n", &busy, &total));
	check_int(total, 486);
	check_int(busy, 81);
	check(host_cpu_times("cpu  10 20 30 400\n", &busy, &total)); /* Linux 2.4 */
	check(!host_cpu_times("cpu  10 20 x", &busy, &total));
	check(!host_cpu_times("", &busy, &total));
	check(!host_cpu_times("cpu0 1 2 3 4 5 6 7", &busy, &total));
	check(host_memory("MemTotal:  16 kB\nMemFree: 1 kB\nMemAvailable:\t4 kB\n", &all,
			  &free_now));
	check_near(all, 16384, 0);
	check_near(free_now, 4096, 0);
	check(!host_memory("MemTotal:  16 kB\n", &all, &free_now)); /* before Linux 3.14 */
	check(!host_memory("MemTotal:  16 kB\nMemAvailable: 17 kB\n", &all, &free_now));
	check(host_pressure("some avg10=1.00 avg60=0.00 avg300=0.00 total=77\nfull avg10=0.00 "
			    "avg60=0.00 avg300=0.00 total=3\n",
			    &us));
	check_int(us, 77);
	check(!host_pressure("full avg10=0.00 total=3\n", &us));
	check(!host_pressure("some avg10=0.00\nfull total=3\n", &us));
}

TEST(host_disks)
{
	static const char stats[] = "   8       0 sda 10 0 100 5 20 0 200 6 0 0 0\n"
				    "   8       1 sda1 1 0 8 5 2 0 16 6 0 0 0 0 0 0 0\n"
				    " 259       0 nvme0n1 1 2 3\n";
	static const char mounts[] =
		"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		"30 22 0:45 /home /home rw shared:7 master:2 - btrfs /dev/nvme0n1p2 rw,ssd\n"
		"31 22 0:50 / /nfs rw - nfs4 server:/export rw\n"
		"32 22 0:51 / /odd rw\n";
	uint64_t in, out;
	char source[40], brief[8];

	check(host_disk_counters(stats, 8, 1, &in, &out));
	check_int(in, 8 * 512);
	check_int(out, 16 * 512);
	check(!host_disk_counters(stats, 8, 2, &in, &out));
	check(!host_disk_counters(stats, 259, 0, &in, &out));
	check(host_disk_source(mounts, 0, 45, source, sizeof(source)));
	check_str(source, "/dev/nvme0n1p2");
	check(!host_disk_source(mounts, 0, 45, brief, sizeof(brief)));
	check(!host_disk_source(mounts, 0, 50, source, sizeof(source)));
	check(!host_disk_source(mounts, 0, 51, source, sizeof(source)));
	check(!host_disk_source(mounts, 0, 99, source, sizeof(source)));
}

/* ---- network ------------------------------------------------------------ */

static bool holds(const char *cidr, const char *address)
{
	struct host_cidr c;
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };

	if (!check(host_cidr_parse(cidr, &c)))
		return false;
	if (inet_pton(AF_INET, address, &four.sin_addr) == 1)
		return host_cidr_holds(&c, (struct sockaddr *)&four);
	check_int(inet_pton(AF_INET6, address, &six.sin6_addr), 1);
	return host_cidr_holds(&c, (struct sockaddr *)&six);
}

TEST(host_networks)
{
	static const char *const bad[] = { "",		 "/8",	     "10.0.0.0/33", "10.0.0.0/-1",
					   "10.0.0.0/",	 "10.0.0/8", "eth0",	    "fd00::/129",
					   "10.0.0.0/8x" };
	struct host_cidr c;
	char name[HOST_INTERFACE_MAX] = "";

	check(holds("10.1.0.0/16", "10.1.255.3") && !holds("10.1.0.0/16", "10.2.0.1"));
	check(holds("10.1.2.128/25", "10.1.2.200") && !holds("10.1.2.128/25", "10.1.2.127"));
	check(holds("10.1.2.3", "10.1.2.3") && !holds("10.1.2.3", "10.1.2.2"));
	check(holds("0.0.0.0/0", "9.9.9.9") && !holds("0.0.0.0/0", "::1"));
	check(holds("fd00:1::/33", "fd00:1:7fff::2") && !holds("fd00:1::/33", "fd00:1:8000::2"));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (host_cidr_parse(bad[i], &c))
			test_fail(__FILE__, __LINE__, "taken for a range: \"%s\"", bad[i]);
	check(host_default_route("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
				 "eth9\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n"
				 "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
				 "eth1\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
				 "eth2\t00000000\t0101A8C0\t0002\t0\t0\t1\t00000000\t0\t0\t0\n",
				 name));
	check_str(name, "eth1");
	check(!host_default_route("Iface\tDestination\n", name));
	check(!host_default_route("", name));
}

TEST(host_interface_here)
{
	struct host_roots *r = made_up();
	struct host_interface i;
	struct err e = { 0 };

	unsetenv("WERKBANK_NETWORK");
	check_int(host_interface_find("127.0.0.0/8", r, &i, &e), 0);
	check_str(i.name, "lo");
	check_int(host_interface_find("203.0.113.0/24, lo", r, &i, &e), 0);
	check_str(i.text, "127.0.0.1");
	check_err(host_interface_find("203.0.113.0/24", r, &i, &e), ERR_CONFIG);
	check(strstr(e.text, "203.0.113.0/24") != NULL);
	setenv("WERKBANK_NETWORK", "127.0.0.1", 1);
	check_int(host_interface_find(NULL, r, &i, &e), 0);
	check_str(i.name, "lo");
	unsetenv("WERKBANK_NETWORK");
}

TEST(host_network_counters)
{
	static const char dev[] =
		"Inter-|   Receive     |  Transmit\n"
		" face |bytes packets errs drop fifo frame compressed multicast|bytes    packets\n"
		"    lo: 100 1 0 0 0 0 0 0 101 1 0 0 0 0 0 0\n"
		"eth10:7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n"
		"  eth1:4294967296 1 0 0 0 0 0 0 18446744073709551615 1 0 0 0 0 0 0\n"
		"  bad0: 1 2 3\n"
		"  big0: 18446744073709551616 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n";
	uint64_t in, out;

	check(host_net_counters(dev, "eth1", &in, &out));
	check_int(in, 4294967296);
	check(out == UINT64_MAX);
	check(host_net_counters(dev, "eth10", &in, &out));
	check_int(out, 8);
	check(!host_net_counters(dev, "eth", &in, &out) && !host_net_counters(dev, "", &in, &out));
	check(!host_net_counters(dev, "bad0", &in, &out));
	check(!host_net_counters(dev, "big0", &in, &out));
	check(host_tcp_counter("Ip: a b\nIp: 1 2\nTcp: RtoMin MaxConn OutSegs RetransSegs\n"
			       "Tcp: 200 -1 5000 7\n",
			       "Tcp: ", "RetransSegs", &in));
	check_int(in, 7);
	check(!host_tcp_counter("Tcp: RtoMin MaxConn OutSegs\nTcp: 200 -1 5000\n",
				"Tcp: ", "RetransSegs", &in));
	check(!host_tcp_counter("Tcp: RtoMin OutSegs RetransSegs\nTcp: 200\n",
				"Tcp: ", "RetransSegs", &in));
	check(!host_tcp_counter("TcpExt: A B\nTcpExt: 1 2\n", "Tcp: ", "A", &in));
}

/* Segments that a receiver had already are not lost. */
TEST(host_tcp_segments_sent_again)
{
	struct host_roots *r = made_up();
	uint64_t again;

	check(!host_tcp_again(r, &again));
	put(r->proc, "net/snmp", "Tcp: RtoMin RetransSegs\nTcp: 200 7\n");
	check(host_tcp_again(r, &again));
	check_int(again, 7);
	put(r->proc, "net/netstat", "TcpExt: A TCPDSACKRecv B\nTcpExt: 1 5 9\n");
	check(host_tcp_again(r, &again));
	check_int(again, 2);
	put(r->proc, "net/netstat", "TcpExt: A TCPDSACKRecv B\nTcpExt: 1 8 9\n");
	check(host_tcp_again(r, &again));
	check_int(again, 0);
}

TEST(host_link_speeds)
{
	struct host_roots *r = made_up();

	put(r->sys, "class/net/eth0/device/uevent", "DRIVER=mlx5_core\n");
	put(r->sys, "class/net/eth0/speed", "25000\n");
	check_near(host_link_bytes_s(r, "eth0"), 3.125e9, 0);
	put(r->sys, "class/net/eth0/speed", "-1\n"); /* of a virtual machine */
	check(isnan(host_link_bytes_s(r, "eth0")));
	put(r->sys, "class/net/eth0/speed", "4294967295\n"); /* -1 in older kernels */
	check(isnan(host_link_bytes_s(r, "eth0")));
	put(r->sys, "class/net/eth0/speed", "");
	check(isnan(host_link_bytes_s(r, "eth0")));
	put(r->sys, "class/net/veth0/uevent", "INTERFACE=veth0\nIFINDEX=3\n");
	put(r->sys, "class/net/veth0/speed", "10000\n"); /* a nominal value of the kernel */
	check(isnan(host_link_bytes_s(r, "veth0")));
	put(r->sys, "class/net/bond0/uevent", "DEVTYPE=bond\nINTERFACE=bond0\n");
	put(r->sys, "class/net/bond0/speed", "20000\n");
	check_near(host_link_bytes_s(r, "bond0"), 2.5e9, 0);
	check(isnan(host_link_bytes_s(r, "none")) && isnan(host_link_bytes_s(r, "")));
	check(isnan(host_link_bytes_s(r, "../net/eth0")));
	check_near(host_ib_rate("100 Gb/sec (4X EDR)\n"), 12.5e9, 0);
	check_near(host_ib_rate("2.5 Gb/sec (1X SDR)\n"), 312.5e6, 0);
	check(isnan(host_ib_rate("")) && isnan(host_ib_rate("fast")) &&
	      isnan(host_ib_rate("-1 Gb/sec")));
}

static void put_port(struct host_roots *r, const char *port, const char *state, const char *in,
		     const char *out)
{
	char name[200];

	snprintf(name, sizeof(name), "class/infiniband/%s/state", port);
	put(r->sys, name, state);
	snprintf(name, sizeof(name), "class/infiniband/%s/rate", port);
	put(r->sys, name, "200 Gb/sec (4X HDR)\n");
	snprintf(name, sizeof(name), "class/infiniband/%s/counters/port_rcv_data", port);
	put(r->sys, name, in);
	snprintf(name, sizeof(name), "class/infiniband/%s/counters/port_xmit_data", port);
	put(r->sys, name, out);
}

TEST(host_infiniband)
{
	struct host_roots *r = made_up();
	struct host_net n;
	struct host_net_now now;
	struct host_ib ib;

	host_ib_sample(r, &ib);
	check_int(ib.ports, 0);
	put_port(r, "mlx5_0/ports/1", "4: ACTIVE\n", "1000\n", "2000\n");
	put_port(r, "mlx5_1/ports/1", "1: DOWN\n", "77\n", "77\n");
	host_ib_sample(r, &ib);
	check_int(ib.ports, 1);
	check_str(ib.name, "mlx5_0");
	check_int(ib.received, 4000); /* the counter counts words of four bytes */
	check_near(ib.link_bytes_s, 25e9, 0);
	/* the adapter carries more than Ethernet: it is the interface */
	put(r->proc, "net/dev", "\n\n eth0: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n");
	host_net_open(&n, "eth0");
	host_net_sample(&n, r, 1, &now);
	check_str(now.interface, "eth0");
	put(r->proc, "net/dev", "\n\n eth0: 600 1 0 0 0 0 0 0 700 1 0 0 0 0 0 0\n");
	put_port(r, "mlx5_0/ports/1", "4: ACTIVE\n", "2000\n", "5000\n");
	host_net_sample(&n, r, 2, &now);
	check_str(now.interface, "mlx5_0");
	check_near(now.tx_bytes_s, 12000, 1e-6);
	check_near(now.rx_bytes_s, 4000, 1e-6);
	check_near(now.link_bytes_s, 25e9, 0);
	/* a second port; a 32-bit counter at its maximum is unknown */
	put_port(r, "mlx5_1/ports/1", "4: ACTIVE\n", "77\n", "4294967295\n");
	host_ib_sample(r, &ib);
	check_str(ib.name, "mlx5_0+1");
	check(!ib.counted);
	put(r->sys, "class/infiniband/mlx5_1/ports/1/counters_ext/port_xmit_data_64", "4294967300");
	host_ib_sample(r, &ib);
	check(ib.counted && ib.sent == 4 * (5000 + 4294967300));
}

/* ---- GPUs --------------------------------------------------------------- */

static int look_twice(struct host_roots *r, struct host_gpu *gpus, char *trouble, size_t room)
{
	struct err e = { 0 };
	struct host_gpus *g = host_gpus_open(r, &e);
	const char *said;
	bool is_normal;
	int n;

	if (!check(g != NULL))
		return 0;
	n = host_gpus_sample(g, gpus, HOST_GPUS_MAX, 10);
	check_int(host_gpus_sample(g, gpus, HOST_GPUS_MAX, 12), n);
	said = host_gpus_trouble(g, &is_normal);
	snprintf(trouble, room, "%s%s", said, is_normal ? " (ok)" : "");
	host_gpus_free(g);
	return n;
}

TEST(host_gpus_of_nvidia)
{
	static const char *const words[] = {
		"none",
		"none",
		"application clocks",
		"power cap",
		"hardware slowdown",
		"power cap, heat",
		"hardware slowdown, hardware heat, power brake",
		("application clocks, power cap, hardware slowdown, sync boost, heat, "
		 "hardware heat, power brake, display clocks")
	};
	struct host_roots *r = made_up();
	struct host_gpu gpus[HOST_GPUS_MAX];
	char text[300];

	play_nvml(r, "fake_nvml.so", "eight");
	if (!check_int(look_twice(r, gpus, text, sizeof(text)), 8))
		return;
	check_str(text, "");
	for (int i = 0; i < 8; i++) {
		const struct host_gpu *g = &gpus[i];

		check_int(g->index, i);
		check_near(g->util, 0.9 + i / 100.0, 1e-9);
		check_near(g->memory_used, (i + 1) * 1073741824.0, 0);
		check_near(g->memory_total, 80 * 1073741824.0, 0);
		check_near(g->power_w, 300 + i, 1e-9);
		check_near(g->power_limit_w, 700, 1e-9);
		check_near(g->temperature_c, 60 + i, 0);
		check_near(g->sm_mhz, 1400, 0);
		check_near(g->sm_max_mhz, 1980, 0);
		check_near(g->ecc_corrected, 100 * i, 0);
		check_near(g->ecc_uncorrected, i, 0);
		check_near(g->nvlink_tx_bytes_s, 1024 * 1024 / 2.0, 0);
		check_near(g->nvlink_rx_bytes_s, 1024 * 1024, 0);
		/* even GPUs have counters; of the others one is sampled each time, by the slow call */
		if (i % 2 && i > 1)
			check(isnan(g->pcie_tx_bytes_s));
		else
			check_near(g->pcie_tx_bytes_s, i % 2 ? 1e6 : 500, 0);
		check_str(host_throttle_words(g->throttle, text, sizeof(text)), words[i]);
		check(!g->lost && !g->mig);
	}
	check_str(gpus[7].name, "Fake GPU 7");
	check_str(gpus[7].uuid, "GPU-0007");
}

TEST(host_gpus_in_trouble)
{
	struct host_roots *r = made_up();
	struct host_gpu g[HOST_GPUS_MAX];
	char text[300];

	play_nvml(r, "fake_nvml.so", "lost");
	if (check_int(look_twice(r, g, text, sizeof(text)), 2)) {
		check(!g[0].lost && g[1].lost);
		check(isnan(g[1].util) && isnan(g[1].memory_used) && isnan(g[1].power_w));
		check_str(g[0].name, "Fake GPU 0\?\?\""); /* a name with any characters */
	}
	play_nvml(r, "fake_nvml.so", "18");
	check_int(look_twice(r, g, text, sizeof(text)), 0);
	check(strstr(text, "differ in version") != NULL);
	play_nvml(r, "fake_nvml.so", "9");
	check_int(look_twice(r, g, text, sizeof(text)), 0);
	check_str(text, "the NVIDIA driver is not loaded (NVML 9) (ok)");
	play_nvml(r, "fake_nvml.so", "999");
	check_int(look_twice(r, g, text, sizeof(text)), 0);
	check_str(text, "the library of the NVIDIA driver cannot be used (NVML 999)");
}

/* Values that are not supported or missing are unknown, never 0. */
TEST(host_gpus_without_optional_values)
{
	struct host_roots *r = made_up();
	struct host_gpu g[HOST_GPUS_MAX];
	char text[300];

	play_nvml(r, "fake_nvml.so", "bare");
	if (check_int(look_twice(r, g, text, sizeof(text)), 1)) {
		check(isnan(g->util) && isnan(g->memory_total) && isnan(g->power_w));
		check(isnan(g->temperature_c) && isnan(g->sm_mhz) && isnan(g->pcie_tx_bytes_s));
		check(isnan(g->ecc_corrected) && isnan(g->ecc_uncorrected));
		check_str(host_throttle_words(g->throttle, text, sizeof(text)), "");
		check_str(g->name, "");
	}
	play_nvml(r, "fake_nvml_old.so", "");
	if (check_int(look_twice(r, g, text, sizeof(text)), 1)) {
		check(isnan(g->util) && isnan(g->power_w));
		check_near(g->memory_used, 400, 0);
		check_near(g->memory_total, 1000, 0);
	}
	put(r->proc, "meminfo", "MemTotal: 100 kB\nMemAvailable: 60 kB\n");
	play_nvml(r, "fake_nvml.so", "unified");
	if (check_int(look_twice(r, g, text, sizeof(text)), 1)) {
		check_near(g->memory_total, 102400, 0);
		check_near(g->memory_used, 40960, 0);
		check_near(g->util, 0.9, 1e-9);
		check(isnan(g->power_w));
	}
	play_nvml(r, "fake_nvml.so", "mig");
	if (check_int(look_twice(r, g, text, sizeof(text)), 1)) {
		check(g->mig && isnan(g->util));
		check_near(g->memory_total, 1000, 0);
	}
}

TEST(host_gpus_of_jetson_and_amd)
{
	struct host_roots *r = made_up();
	struct host_gpu g[HOST_GPUS_MAX];
	char text[300];

	check_int(look_twice(r, g, text, sizeof(text)), 0);
	put(r->sys, "class/drm/card1/device/gpu_busy_percent", "87\n");
	put(r->sys, "class/drm/card1/device/mem_info_vram_used", "123\n");
	put(r->sys, "class/drm/card1/device/mem_info_vram_total", "1000\n");
	put(r->sys, "class/drm/card1/device/hwmon/hwmon3/power1_average", "150000000\n");
	put(r->sys, "class/drm/card1/device/hwmon/hwmon3/temp1_input", "71500\n");
	put(r->sys, "class/drm/card1-DP-1/device/gpu_busy_percent", "1\n");
	put(r->sys, "class/drm/card2/device/vendor", "0x8086\n");
	if (check_int(look_twice(r, g, text, sizeof(text)), 1)) {
		check_near(g->util, 0.87, 1e-9);
		check_near(g->memory_used, 123, 0);
		check_near(g->power_w, 150, 1e-9);
		check_near(g->temperature_c, 71.5, 1e-9);
		check(isnan(g->sm_mhz) && isnan(g->power_limit_w));
	}
	put(r->sys, "class/devfreq/17000000.gpu/device/of_node/name", "gpu");
	put(r->sys, "class/devfreq/17000000.gpu/device/load", "354\n");
	put(r->sys, "class/devfreq/17000000.gpu/cur_freq", "918000000\n");
	put(r->sys, "class/devfreq/15340000.vic/device/of_node/name", "vic");
	put(r->proc, "meminfo", "MemTotal: 100 kB\nMemAvailable: 60 kB\n");
	if (check_int(look_twice(r, g, text, sizeof(text)), 1)) {
		check_near(g->util, 0.354, 1e-9);
		check_near(g->sm_mhz, 918, 1e-9);
		check_near(g->memory_total, 102400, 0);
	}
}

/* ---- the whole telemetry of a host ------------------------------------------------------- */

static void put_state(struct host_roots *r, int busy, int idle, uint64_t in, uint64_t out)
{
	char text[300];

	snprintf(text, sizeof(text), "cpu  %d 0 0 %d 0 0 0 0 0 0\n", busy, idle);
	put(r->proc, "stat", text);
	snprintf(text, sizeof(text), "\n\n lo: %llu 1 0 0 0 0 0 0 %llu 1 0 0 0 0 0 0\n",
		 (unsigned long long)in, (unsigned long long)out);
	put(r->proc, "net/dev", text);
}

TEST(host_watched)
{
	struct host_roots *r = made_up();
	struct host_gpu gpus[HOST_GPUS_MAX];
	struct host_report h;
	struct err e = { 0 };
	struct host_watch *w;

	play_nvml(r, "fake_nvml.so", "eight");
	put(r->proc, "loadavg", "1.25 1.00 0.50 1/234 999\n");
	put(r->proc, "meminfo", "MemTotal: 100 kB\nMemAvailable: 60 kB\n");
	put(r->proc, "pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	put_state(r, 0, 0, 1000, 5000);
	w = host_watch_open(r, "lo", test_folder(), &e);
	if (!check(w != NULL))
		return;
	check_int(host_watch_collect(w, &h, gpus, HOST_GPUS_MAX), 0);
	check(isnan(h.cpu) && isnan(h.rx_bytes_s) && isnan(h.memory_used));
	host_watch_sample(w, 10);
	put_state(r, 50, 50, 2000, 5000);
	put(r->proc, "pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n");
	host_watch_sample(w, 11);
	put_state(r, 150, 150, 12000, 5000);
	host_watch_sample(w, 13);
	check_int(host_watch_collect(w, &h, gpus, HOST_GPUS_MAX), 8);
	check_near(h.cpu, 0.5, 1e-9);
	check_near(h.load, 1.25, 1e-9);
	check_near(h.memory_used, 40960, 0);
	check_near(h.rx_bytes_s, 11000 / 3.0, 1e-6);
	check_near(h.rx_peak_bytes_s, 5000, 1e-6);
	check_near(h.tx_bytes_s, 0, 0);
	check_near(h.waits_io, 0.25 / 3, 1e-9);
	check(isnan(h.waits_cpu) && isnan(h.retransmits_s));
	check(h.disk_free > 0);
	check_str(h.interface, "lo");
	check_int(h.link_from, HOST_LINK_SEEN);
	check_near(h.link_bytes_s, 5000, 1e-6);
	check_near(gpus[2].power_w, 302, 1e-9);
	/* a reset in between, and a measured link from now on */
	put_state(r, 10, 10, 5, 5);
	host_watch_sample(w, 14);
	check_int(host_watch_collect(w, &h, gpus, 4), 4);
	check(isnan(h.cpu) && isnan(h.rx_bytes_s) && isnan(h.rx_peak_bytes_s));
	host_watch_free(w);
	put(test_folder(), "network.json", "{\"v\":1,\"t\":5,\"link_bytes_s\":1.25e7}");
	w = host_watch_open(r, "lo", test_folder(), &e);
	host_watch_sample(w, 1);
	host_watch_collect(w, &h, gpus, 0);
	check_int(h.link_from, HOST_LINK_MEASURED);
	check_near(h.link_bytes_s, 1.25e7, 0);
	host_watch_free(w);
}
