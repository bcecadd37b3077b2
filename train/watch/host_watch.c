/* host_watch.c - samples a host and computes means for reports; see host_watch.h */
#include "train/watch/host_watch.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "train/common/linkfile.h"
#include "train/host/host_cpu.h"
#include "train/host/host_disk.h"

/* Means over the samples since the last report. */
struct host_means {
	struct host_mean cpu, waits_cpu, waits_io, waits_memory, disk_read, disk_write, rx, tx,
		retransmits;
};

/* Means of the fields of struct host_gpu that are averaged. */
struct gpu_means {
	struct host_mean util, power, sm, pcie_tx, pcie_rx, nvlink_tx, nvlink_rx, temperature;
	int32_t throttle;
	bool throttle_known;
};

struct host_watch {
	struct host_roots roots;
	char trouble[300];
	char workspace[4096]; /* "": none */
	/* only the sampling thread */
	struct host_cpu cpu;
	struct host_disk disk;
	struct host_net net;
	struct host_gpus *gpus; /* opened at the first sample: drivers may take seconds */
	struct host_gpu now[HOST_GPUS_MAX];
	double at; /* time of the last sample; 0: none */
	int64_t looks;
	/* shared by the threads, under the lock */
	pthread_mutex_t lock;
	struct host_means means;
	struct gpu_means gpu_means[HOST_GPUS_MAX];
	struct host_report latest;
	struct host_gpu latest_gpus[HOST_GPUS_MAX];
	double measured;		  /* link speed of network.json in bytes/s; NAN: unknown */
	double seen;			  /* highest rate in bytes/s; 0: nothing so far */
	char seen_on[HOST_INTERFACE_MAX]; /* interface of seen */
};

void host_report_clear(struct host_report *r)
{
	memset(r, 0, sizeof(*r)); /* padding bytes, too: ranks send the struct */
	r->cpu = r->load = r->waits_cpu = r->waits_io = r->waits_memory = NAN;
	r->memory_used = r->memory_total = NAN;
	r->disk_free = r->disk_read_bytes_s = r->disk_write_bytes_s = NAN;
	r->rx_bytes_s = r->tx_bytes_s = r->rx_peak_bytes_s = r->tx_peak_bytes_s = NAN;
	r->retransmits_s = r->link_bytes_s = NAN;
	r->tx_step_bytes = r->retransmits_step = NAN;
}

struct host_watch *host_watch_open(const struct host_roots *roots, const char *network,
				   const char *workspace, struct err *e)
{
	struct host_watch *w = mem_alloc(1, sizeof(*w), e);
	struct host_interface interface;
	struct err why = { 0 };

	if (!w)
		return NULL;
	w->roots = *roots;
	pthread_mutex_init(&w->lock, NULL);
	if (host_interface_find(network, roots, &interface, &why))
		snprintf(w->trouble, sizeof(w->trouble), "%.299s", why.text);
	host_net_open(&w->net, interface.name);
	host_disk_open(&w->disk, workspace, roots);
	snprintf(w->workspace, sizeof(w->workspace), "%s", w->disk.path);
	host_report_clear(&w->latest);
	w->measured = NAN;
	return w;
}

/* ---- sampling ---------------------------------------------------------- */

static void add_gpu(struct gpu_means *m, const struct host_gpu *now, double weight)
{
	host_mean_add(&m->util, now->util, weight);
	host_mean_add(&m->power, now->power_w, weight);
	host_mean_add(&m->temperature, now->temperature_c, weight);
	host_mean_add(&m->sm, now->sm_mhz, weight);
	host_mean_add(&m->pcie_tx, now->pcie_tx_bytes_s, weight);
	host_mean_add(&m->pcie_rx, now->pcie_rx_bytes_s, weight);
	host_mean_add(&m->nvlink_tx, now->nvlink_tx_bytes_s, weight);
	host_mean_add(&m->nvlink_rx, now->nvlink_rx_bytes_s, weight);
	if (!(now->throttle & HOST_THROTTLE_UNKNOWN)) {
		m->throttle |= now->throttle;
		m->throttle_known = true;
	}
}

/* The link's speed from the best source that is known. Under the lock. */
static void update_link_speed(struct host_watch *w, const struct host_net_now *net)
{
	struct host_report *r = &w->latest;
	double most = fmax(net->rx_bytes_s, net->tx_bytes_s);

	if (strcmp(w->seen_on, net->interface) != 0)
		w->seen = 0;
	snprintf(w->seen_on, sizeof(w->seen_on), "%s", net->interface);
	if (most > w->seen)
		w->seen = most;
	if (isfinite(net->link_bytes_s)) {
		r->link_bytes_s = net->link_bytes_s;
		r->link_from = HOST_LINK_DRIVER;
	} else if (isfinite(w->measured)) {
		r->link_bytes_s = w->measured;
		r->link_from = HOST_LINK_MEASURED;
	} else {
		r->link_bytes_s = w->seen > 0 ? w->seen : NAN;
		r->link_from = w->seen > 0 ? HOST_LINK_SEEN : HOST_LINK_UNKNOWN;
	}
}

static void host_watch_sample_gpus(struct host_watch *w, double at)
{
	struct err e = { 0 };
	bool is_normal;
	const char *trouble;
	int n;

	if (!w->gpus)
		w->gpus = host_gpus_open(&w->roots, &e);
	if (!w->gpus)
		return;
	n = host_gpus_sample(w->gpus, w->now, HOST_GPUS_MAX, at);
	assert(n >= 0 && n <= HOST_GPUS_MAX);
	trouble = host_gpus_trouble(w->gpus, &is_normal);
	pthread_mutex_lock(&w->lock);
	for (int i = 0; i < n; i++) {
		w->latest_gpus[i] = w->now[i];
		add_gpu(&w->gpu_means[i], &w->now[i], 1);
	}
	w->latest.n_gpus = n;
	snprintf(w->latest.trouble, sizeof(w->latest.trouble), "%.199s", is_normal ? "" : trouble);
	pthread_mutex_unlock(&w->lock);
}

#define MEASURED_EVERY 60 /* samples between two reads of WORKSPACE/network.json */

static void read_measured(struct host_watch *w)
{
	struct link_speed speed;
	struct err ignored = { 0 };
	bool have = !linkfile_read(&speed, w->workspace, &ignored) && speed.measured > 0;

	pthread_mutex_lock(&w->lock);
	w->measured = have ? speed.bytes_s : NAN;
	pthread_mutex_unlock(&w->lock);
}

void host_watch_sample(struct host_watch *w, double at)
{
	double weight = w->at > 0 && at > w->at ? at - w->at : 0;
	struct host_cpu_now cpu;
	struct host_disk_now disk;
	struct host_net_now net;
	struct host_report *r = &w->latest;

	if (w->workspace[0] && w->looks++ % MEASURED_EVERY == 0)
		read_measured(w);
	host_cpu_sample(&w->cpu, &w->roots, at, &cpu);
	host_disk_sample(&w->disk, &w->roots, at, &disk);
	host_net_sample(&w->net, &w->roots, at, &net);
	w->at = at;
	pthread_mutex_lock(&w->lock);
	host_mean_add(&w->means.cpu, cpu.busy, weight);
	host_mean_add(&w->means.waits_cpu, cpu.waits_cpu, weight);
	host_mean_add(&w->means.waits_io, cpu.waits_io, weight);
	host_mean_add(&w->means.waits_memory, cpu.waits_memory, weight);
	host_mean_add(&w->means.disk_read, disk.read_bytes_s, weight);
	host_mean_add(&w->means.disk_write, disk.write_bytes_s, weight);
	host_mean_add(&w->means.rx, net.rx_bytes_s, weight);
	host_mean_add(&w->means.tx, net.tx_bytes_s, weight);
	host_mean_add(&w->means.retransmits, net.retransmits_s, weight);
	r->load = cpu.load;
	r->memory_total = cpu.memory_total;
	r->memory_used = cpu.memory_total - cpu.memory_available;
	r->disk_free = disk.free_bytes;
	snprintf(r->interface, sizeof(r->interface), "%s", net.interface);
	update_link_speed(w, &net);
	pthread_mutex_unlock(&w->lock);
	host_watch_sample_gpus(w, at);
}

/* ---- reporting --------------------------------------------------------- */

static void collect_gpu_means(struct gpu_means *m, struct host_gpu *gpu)
{
	double mean, hottest;

	/* a lost GPU has no values, even if it had some in earlier samples */
	if (!gpu->lost) {
		gpu->util = host_mean_collect(&m->util, NULL);
		gpu->power_w = host_mean_collect(&m->power, NULL);
		gpu->sm_mhz = host_mean_collect(&m->sm, NULL);
		gpu->pcie_tx_bytes_s = host_mean_collect(&m->pcie_tx, NULL);
		gpu->pcie_rx_bytes_s = host_mean_collect(&m->pcie_rx, NULL);
		gpu->nvlink_tx_bytes_s = host_mean_collect(&m->nvlink_tx, NULL);
		gpu->nvlink_rx_bytes_s = host_mean_collect(&m->nvlink_rx, NULL);
		mean = host_mean_collect(&m->temperature, &hottest);
		gpu->temperature_c = isfinite(mean) ? hottest : NAN;
		gpu->throttle = m->throttle_known ? m->throttle : HOST_THROTTLE_UNKNOWN;
	}
	*m = (struct gpu_means){ 0 };
}

int host_watch_collect(struct host_watch *w, struct host_report *report, struct host_gpu *gpus,
		       int room)
{
	struct host_means *m = &w->means;
	int n;

	pthread_mutex_lock(&w->lock);
	*report = w->latest;
	report->cpu = host_mean_collect(&m->cpu, NULL);
	report->waits_cpu = host_mean_collect(&m->waits_cpu, NULL);
	report->waits_io = host_mean_collect(&m->waits_io, NULL);
	report->waits_memory = host_mean_collect(&m->waits_memory, NULL);
	report->disk_read_bytes_s = host_mean_collect(&m->disk_read, NULL);
	report->disk_write_bytes_s = host_mean_collect(&m->disk_write, NULL);
	report->rx_bytes_s = host_mean_collect(&m->rx, &report->rx_peak_bytes_s);
	report->tx_bytes_s = host_mean_collect(&m->tx, &report->tx_peak_bytes_s);
	report->retransmits_s = host_mean_collect(&m->retransmits, NULL);
	n = MIN(report->n_gpus, room);
	report->n_gpus = n;
	for (int i = 0; i < n; i++) {
		gpus[i] = w->latest_gpus[i];
		collect_gpu_means(&w->gpu_means[i], &gpus[i]);
	}
	pthread_mutex_unlock(&w->lock);
	return n;
}

/* No lock: the interface never changes after the opening. */
void host_watch_sent(const struct host_watch *w, struct host_net_sent *now)
{
	host_net_sent(w->net.interface, &w->roots, now);
}

const char *host_watch_trouble(const struct host_watch *w)
{
	return w->trouble;
}

void host_watch_free(struct host_watch *w)
{
	if (!w)
		return;
	host_gpus_free(w->gpus);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
