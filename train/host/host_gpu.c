/* host_gpu.c - Jetson and AMD GPUs through /sys, and the list of all GPUs; see host_gpu.h */
#include "train/host/host_gpu.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "train/host/host_cpu.h"
#include "train/host/host_nvml.h"

#define PATH_ROOM 700

enum source { SOURCE_NVML, SOURCE_JETSON, SOURCE_AMD };

struct host_gpus {
	struct host_roots roots;
	struct host_nvml nvml;
	int n_cards;			      /* found in /sys */
	enum source kind;		      /* of these cards */
	char cards[HOST_GPUS_MAX][PATH_ROOM]; /* their folders */
};

void host_gpu_clear(struct host_gpu *gpu, int32_t index)
{
	memset(gpu, 0, sizeof(*gpu)); /* clears the padding, too: it is sent as bytes */
	gpu->util = gpu->memory_used = gpu->memory_total = NAN;
	gpu->power_w = gpu->power_limit_w = gpu->temperature_c = gpu->sm_mhz = NAN;
	gpu->sm_max_mhz = gpu->pcie_tx_bytes_s = gpu->pcie_rx_bytes_s = NAN;
	gpu->nvlink_tx_bytes_s = gpu->nvlink_rx_bytes_s = NAN;
	gpu->ecc_corrected = gpu->ecc_uncorrected = NAN;
	gpu->index = index;
	gpu->throttle = HOST_THROTTLE_UNKNOWN;
}

const char *host_throttle_words(int32_t throttle, char *text, size_t room)
{
	static const struct {
		int32_t bit;
		const char *word;
	} all[] = {
#define X(id, text) { id, text },
		HOST_THROTTLES(X)
#undef X
	};
	size_t have = 0;

	assert(room > 0);
	snprintf(text, room, "%s", throttle & HOST_THROTTLE_UNKNOWN ? "" : "none");
	if (throttle & HOST_THROTTLE_UNKNOWN)
		return text;
	for (size_t i = 0; i < ARRAY_LEN(all) && have < room; i++)
		if (throttle & all[i].bit)
			have += (size_t)snprintf(text + have, room - have, "%s%s", have ? ", " : "",
						 all[i].word);
	return text;
}

/* ---- /sys -------------------------------------------------------------- */

static bool has_number(const char *folder, const char *name)
{
	double v;

	return host_read_number(&v, "%s/%s", folder, name);
}

static bool is_jetson(const char *folder)
{
	static const char *const names[] = { "gv11b", "gp10b", "ga10b", "gpu" };
	char text[40];

	host_read(text, sizeof(text), "%s/device/of_node/name", folder);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(text_trim(text), names[i]))
			return true;
	return false;
}

/* A folder of /sys/class/devfreq: the GPU of a Jetson, at most one. */
static bool add_jetson(struct host_gpus *g, const char *folder)
{
	if (!is_jetson(folder) || !has_number(folder, "device/load"))
		return false;
	g->kind = SOURCE_JETSON;
	snprintf(g->cards[g->n_cards++], PATH_ROOM, "%s", folder);
	return true;
}

/* A folder of /sys/class/drm: card0, not card0-HDMI-A-1, with the busy counter of AMD's driver. */
static bool add_amd(struct host_gpus *g, const char *folder)
{
	const char *name = strrchr(folder, '/') + 1;
	int64_t number;

	if (!text_starts_with(name, "card") || !text_to_int(name + 4, &number) ||
	    !has_number(folder, "device/gpu_busy_percent"))
		return false;
	g->kind = SOURCE_AMD;
	snprintf(g->cards[g->n_cards++], PATH_ROOM, "%s", folder);
	return true;
}

static void add_gpus_of_class(struct host_gpus *g, const char *class,
			      bool (*add)(struct host_gpus *, const char *))
{
	char folder[PATH_ROOM], one[PATH_ROOM];
	struct dirent **names;
	int n;

	snprintf(folder, sizeof(folder), "%s/class/%s", g->roots.sys, class);
	n = host_list_folder(folder, &names);
	for (int i = 0; i < n; i++)
		if (g->n_cards < HOST_GPUS_MAX &&
		    (size_t)snprintf(one, sizeof(one), "%.400s/%s", folder, names[i]->d_name) <
			    sizeof(one))
			add(g, one);
	host_free_list(names, n);
}

/* For a GPU that shares the memory of the host. */
static void use_host_memory(const struct host_roots *roots, struct host_gpu *now)
{
	double available;

	host_memory_read(roots, &now->memory_total, &available);
	now->memory_used = now->memory_total - available;
}

static void sample_jetson_gpu(const struct host_gpus *g, const char *folder, struct host_gpu *now)
{
	double v;

	snprintf(now->name, sizeof(now->name), "Jetson");
	if (host_read_number(&v, "%s/device/load", folder) && v >= 0 && v <= 1000)
		now->util = v / 1000;
	if (host_read_number(&v, "%s/cur_freq", folder) && v >= 0)
		now->sm_mhz = v / 1e6;
	if (host_read_number(&v, "%s/max_freq", folder) && v > 0)
		now->sm_max_mhz = v / 1e6;
	use_host_memory(&g->roots, now);
}

/* The folder hwmonN of a card; N is arbitrary. */
static bool find_sensors(const char *card, char folder[PATH_ROOM])
{
	char path[PATH_ROOM];
	struct dirent **names;
	bool found = false;
	int n;

	snprintf(path, sizeof(path), "%.600s/device/hwmon", card);
	n = host_list_folder(path, &names);
	for (int i = 0; i < n && !found; i++)
		if (text_starts_with(names[i]->d_name, "hwmon"))
			found = (size_t)snprintf(folder, PATH_ROOM, "%.640s/%.40s", path,
						 names[i]->d_name) < PATH_ROOM;
	host_free_list(names, n);
	return found;
}

static void sample_amd_gpu(const char *card, struct host_gpu *now)
{
	char sensors[PATH_ROOM], text[60];
	double v;

	host_read(text, sizeof(text), "%s/device/product_name", card);
	for (char *p = text; *p; p++)
		if (*p < ' ' || *p > 126)
			*p = *p == '\n' ? 0 : '?';
	snprintf(now->name, sizeof(now->name), "%.47s", *text ? text : "AMD");
	if (host_read_number(&v, "%s/device/gpu_busy_percent", card) && v >= 0 && v <= 100)
		now->util = v / 100;
	if (host_read_number(&v, "%s/device/mem_info_vram_used", card) && v >= 0)
		now->memory_used = v;
	if (host_read_number(&v, "%s/device/mem_info_vram_total", card) && v > 0)
		now->memory_total = v;
	if (!find_sensors(card, sensors))
		return;
	if ((host_read_number(&v, "%s/power1_average", sensors) ||
	     host_read_number(&v, "%s/power1_input", sensors)) &&
	    v >= 0)
		now->power_w = v / 1e6;
	if (host_read_number(&v, "%s/power1_cap", sensors) && v > 0)
		now->power_limit_w = v / 1e6;
	if (host_read_number(&v, "%s/temp1_input", sensors))
		now->temperature_c = v / 1000;
	if (host_read_number(&v, "%s/freq1_input", sensors) && v >= 0)
		now->sm_mhz = v / 1e6;
}

/* ---- all kinds --------------------------------------------------------- */

struct host_gpus *host_gpus_open(const struct host_roots *roots, struct err *e)
{
	struct host_gpus *g = mem_alloc(1, sizeof(*g), e);

	if (!g)
		return NULL;
	g->roots = *roots;
	host_nvml_open(&g->nvml, roots);
	if (!g->nvml.n)
		add_gpus_of_class(g, "devfreq", add_jetson);
	if (!g->n_cards)
		add_gpus_of_class(g, "drm", add_amd);
	return g;
}

int host_gpus_sample(struct host_gpus *g, struct host_gpu *now, int room, double at)
{
	int n = host_nvml_sample(&g->nvml, now, room, at);

	assert(n <= room && g->n_cards <= HOST_GPUS_MAX);
	for (int i = 0; i < n; i++)
		if (!isfinite(now[i].memory_total) && !now[i].lost && !now[i].mig)
			use_host_memory(&g->roots, &now[i]);
	for (int i = 0; i < g->n_cards && n < room; i++, n++) {
		host_gpu_clear(&now[n], n);
		if (g->kind == SOURCE_JETSON)
			sample_jetson_gpu(g, g->cards[i], &now[n]);
		else
			sample_amd_gpu(g->cards[i], &now[n]);
	}
	return n;
}

const char *host_gpus_trouble(const struct host_gpus *g, bool *is_normal)
{
	if (is_normal)
		*is_normal = g->nvml.is_normal;
	return g->nvml.trouble;
}

const char *host_gpus_driver(const struct host_gpus *g)
{
	return g->nvml.driver;
}

void host_gpus_free(struct host_gpus *g)
{
	if (!g)
		return;
	host_nvml_close(&g->nvml);
	free(g);
}
