/* host_nvml.c - see host_nvml.h */
#include "train/host/host_nvml.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- declarations of the library (values and layouts of nvml.h) --------- */

enum {
	NVML_OK = 0,
	NVML_NO_PERMISSION = 4,
	NVML_NO_DRIVER = 9,
	NVML_LOST = 15,
	NVML_NEEDS_RESET = 16,
	NVML_MISMATCH = 18,
	NVML_MISSING = -1,
};

#define CLOCK_SM	 1
#define TEMPERATURE_GPU	 0
#define ECC_CORRECTED	 0
#define ECC_UNCORRECTED	 1
#define ECC_SINCE_LOADED 0 /* not since the GPU was made */
#define PCIE_TX		 0
#define PCIE_RX		 1
#define MEMORY_V2	 0x02000028u /* 40 bytes, version 2 */
#define FIELD_NVLINK_TX	 138	     /* KiB */
#define FIELD_NVLINK_RX	 139
#define FIELD_PCIE_TX	 197 /* bytes, may wrap */
#define FIELD_PCIE_RX	 198
#define ALL_LINKS	 0xffffffffu
#define PCIE_EVERY	 10 /* samples between two calls that block for 20 ms each */

struct utilization {
	unsigned gpu, memory;
};
struct memory {
	unsigned long long total, free, used;
};
struct memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

struct field {
	unsigned id, scope;
	long long timestamp, latency;
	int type, result;
	union {
		double real;
		unsigned u;
		unsigned long ul;
		unsigned long long ull;
		long long sll;
		int i;
	} value;
};

struct calls {
	int (*init)(void);
	int (*shutdown)(void);
	int (*driver)(char *, unsigned);
	int (*count)(unsigned *);
	int (*handle)(unsigned, void **);
	int (*name)(void *, char *, unsigned);
	int (*uuid)(void *, char *, unsigned);
	int (*utilization)(void *, struct utilization *);
	int (*memory)(void *, struct memory *);
	int (*memory_v2)(void *, struct memory_v2 *);
	int (*power)(void *, unsigned *);
	int (*power_limit)(void *, unsigned *);
	int (*temperature)(void *, int, unsigned *);
	int (*clock)(void *, int, unsigned *);
	int (*max_clock)(void *, int, unsigned *);
	int (*reasons)(void *, unsigned long long *);
	int (*pcie)(void *, int, unsigned *);
	int (*mig)(void *, unsigned *, unsigned *);
	int (*mig_count)(void *, unsigned *);
	int (*mig_handle)(void *, unsigned, void **);
	int (*fields)(void *, int, struct field *);
	int (*ecc)(void *, int, int, unsigned long long *);
};

#define CALL(field, ...)                                                                           \
	{                                                                                          \
		offsetof(struct calls, field),                                                     \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* Names of each function, the newer one first. */
static const struct {
	size_t at;
	const char *names[2];
} symbols[] = {
	CALL(init, "nvmlInit_v2", "nvmlInit"),
	CALL(shutdown, "nvmlShutdown"),
	CALL(driver, "nvmlSystemGetDriverVersion"),
	CALL(count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"),
	CALL(handle, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"),
	CALL(name, "nvmlDeviceGetName"),
	CALL(uuid, "nvmlDeviceGetUUID"),
	CALL(utilization, "nvmlDeviceGetUtilizationRates"),
	CALL(memory, "nvmlDeviceGetMemoryInfo"),
	CALL(memory_v2, "nvmlDeviceGetMemoryInfo_v2"),
	CALL(power, "nvmlDeviceGetPowerUsage"),
	CALL(power_limit, "nvmlDeviceGetEnforcedPowerLimit"),
	CALL(temperature, "nvmlDeviceGetTemperature"),
	CALL(clock, "nvmlDeviceGetClockInfo"),
	CALL(max_clock, "nvmlDeviceGetMaxClockInfo"),
	CALL(reasons, "nvmlDeviceGetCurrentClocksEventReasons",
	     "nvmlDeviceGetCurrentClocksThrottleReasons"),
	CALL(pcie, "nvmlDeviceGetPcieThroughput"),
	CALL(mig, "nvmlDeviceGetMigMode"),
	CALL(mig_count, "nvmlDeviceGetMaxMigDeviceCount"),
	CALL(mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex"),
	CALL(fields, "nvmlDeviceGetFieldValues"),
	CALL(ecc, "nvmlDeviceGetTotalEccErrors"),
};

/* State of a GPU between two samples. */
struct device {
	void *handle;
	char name[48], uuid[96];
	bool lost, counts_pcie, counts_nvlink;
	struct host_counter pcie_tx, pcie_rx, nvlink_tx, nvlink_rx;
	double tx, rx; /* results of the last slow calls */
};

struct nvml {
	void *library;
	struct calls calls;
	struct device devices[HOST_GPUS_MAX];
	int64_t samples; /* so far */
};

/* Call a function; a missing one returns NVML_MISSING. */
#define ask(v, function, ...)                                                                      \
	((v)->calls.function ? (v)->calls.function(__VA_ARGS__) : NVML_MISSING)

/* ---- opening ----------------------------------------------------------- */

static void find_calls(struct nvml *n)
{
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		void *found = NULL;

		for (size_t k = 0; k < 2 && !found && symbols[i].names[k]; k++)
			found = dlsym(n->library, symbols[i].names[k]);
		memcpy((char *)&n->calls + symbols[i].at, &found, sizeof(found));
	}
}

static void explain_nvml_error(struct host_nvml *v, int code)
{
	const char *text;

	switch (code) {
	case NVML_NO_DRIVER:
		v->is_normal = true;
		text = "the NVIDIA driver is not loaded";
		break;
	case NVML_NO_PERMISSION:
		text = "no permission to use the NVIDIA driver (/dev/nvidia*)";
		break;
	case NVML_LOST:
		text = "a GPU fell off the bus: restart the machine";
		break;
	case NVML_MISMATCH:
		text = "the NVIDIA driver and its libraries differ in version: "
		       "restart the machine or reload the driver";
		break;
	case NVML_MISSING:
		text = "the library of the NVIDIA driver lacks functions";
		break;
	default:
		text = "the library of the NVIDIA driver cannot be used";
		break;
	}
	snprintf(v->trouble, sizeof(v->trouble), "%s (NVML %d)", text, code);
}

/* Copy a name; bytes other than printable ASCII become "?". */
static void copy_name(char *to, size_t room, const char *from)
{
	size_t n = 0;

	for (; from[n] && n + 1 < room; n++)
		to[n] = from[n] >= ' ' && from[n] < 127 ? from[n] : '?';
	to[n] = 0;
}

static void open_device(struct nvml *n, int i)
{
	struct device *d = &n->devices[i];
	char text[97] = "";

	d->tx = d->rx = NAN;
	d->counts_pcie = d->counts_nvlink = true;
	switch (ask(n, handle, (unsigned)i, &d->handle)) {
	case NVML_OK:
		break;
	case NVML_LOST:
	case NVML_NEEDS_RESET:
		d->lost = true;
		/* fall through */
	default:
		d->handle = NULL;
		return;
	}
	if (ask(n, name, d->handle, text, sizeof(text) - 1) == NVML_OK)
		copy_name(d->name, sizeof(d->name), text);
	memset(text, 0, sizeof(text));
	if (ask(n, uuid, d->handle, text, sizeof(text) - 1) == NVML_OK)
		copy_name(d->uuid, sizeof(d->uuid), text);
}

static void *open_library(const struct host_roots *roots)
{
	void *library;

	if (roots->nvml[0])
		return dlopen(roots->nvml, RTLD_NOW | RTLD_LOCAL);
	library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	return library ? library : dlopen("libnvidia-ml.so", RTLD_NOW | RTLD_LOCAL);
}

void host_nvml_open(struct host_nvml *v, const struct host_roots *roots)
{
	struct nvml *n = calloc(1, sizeof(*n));
	unsigned count = 0;
	int code;

	*v = (struct host_nvml){ .state = n };
	if (!n)
		return;
	n->library = open_library(roots);
	if (!n->library) {
		v->is_normal = !roots->nvml[0];
		snprintf(v->trouble, sizeof(v->trouble), "there is no library of an NVIDIA driver");
		host_nvml_close(v);
		return;
	}
	find_calls(n);
	code = ask(n, init);
	if (code) {
		n->calls.shutdown = NULL;
	} else {
		if (ask(n, driver, v->driver, sizeof(v->driver) - 1))
			v->driver[0] = 0;
		code = ask(n, count, &count);
	}
	if (code) {
		explain_nvml_error(v, code);
		host_nvml_close(v);
		return;
	}
	v->n = (int)MIN(count, HOST_GPUS_MAX);
	for (int i = 0; i < v->n; i++)
		open_device(n, i);
}

void host_nvml_close(struct host_nvml *v)
{
	struct nvml *n = v->state;

	if (!n)
		return;
	if (n->library) {
		ask(n, shutdown);
		dlclose(n->library);
	}
	free(n);
	v->state = NULL;
	v->n = 0;
}

/* ---- samples ----------------------------------------------------------- */

/* Any call can report that the GPU is lost. */
static bool nvml_call_succeeded(struct device *d, int code)
{
	if (code == NVML_LOST || code == NVML_NEEDS_RESET)
		d->lost = true;
	return code == NVML_OK;
}

static void sample_gpu_memory(struct nvml *n, struct device *d, void *handle, double *used,
			      double *total)
{
	struct memory_v2 two = { .version = MEMORY_V2 };
	struct memory one = { 0 };

	if (nvml_call_succeeded(d, ask(n, memory_v2, handle, &two))) {
		one.total = two.total;
		one.used = two.used;
	} else if (d->lost || !nvml_call_succeeded(d, ask(n, memory, handle, &one))) {
		return;
	}
	if (!one.total || one.used > one.total)
		return; /* shared with the host: host_gpus_sample() handles this case */
	*used = (double)one.used;
	*total = (double)one.total;
}

/* Memory of a divided GPU (MIG): the sum of its instances. */
static void sample_mig_memory(struct nvml *n, struct device *d, struct host_gpu *now)
{
	double used = 0, total = 0;
	unsigned parts = 0;

	if (!nvml_call_succeeded(d, ask(n, mig_count, d->handle, &parts)))
		return;
	for (unsigned i = 0; i < MIN(parts, 64u); i++) {
		void *part = NULL;
		double u = NAN, t = NAN;

		if (ask(n, mig_handle, d->handle, i, &part) != NVML_OK)
			continue;
		sample_gpu_memory(n, d, part, &u, &t);
		if (isfinite(u)) {
			used += u;
			total += t;
		}
	}
	if (total > 0) {
		now->memory_used = used;
		now->memory_total = total;
	}
}

static int32_t throttle_of(unsigned long long bits)
{
	static const struct {
		unsigned long long bit;
		int32_t reason;
	} all[] = {
		{ 0x2, HOST_THROTTLE_CLOCKS },	 { 0x4, HOST_THROTTLE_POWER },
		{ 0x8, HOST_THROTTLE_HARDWARE }, { 0x10, HOST_THROTTLE_SYNC },
		{ 0x20, HOST_THROTTLE_HEAT },	 { 0x40, HOST_THROTTLE_HARDWARE_HEAT },
		{ 0x80, HOST_THROTTLE_BRAKE },	 { 0x100, HOST_THROTTLE_DISPLAY },
	};
	int32_t sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		sum |= bits & all[i].bit ? all[i].reason : 0;
	return sum;
}

static void sample_gpu_state(struct nvml *n, struct device *d, struct host_gpu *now)
{
	struct utilization util = { 0 };
	unsigned long long reasons = 0;
	unsigned v = 0;

	if (!now->mig && nvml_call_succeeded(d, ask(n, utilization, d->handle, &util)) &&
	    util.gpu <= 100)
		now->util = util.gpu / 100.0;
	if (nvml_call_succeeded(d, ask(n, power, d->handle, &v)))
		now->power_w = v / 1000.0;
	if (nvml_call_succeeded(d, ask(n, power_limit, d->handle, &v)))
		now->power_limit_w = v / 1000.0;
	if (nvml_call_succeeded(d, ask(n, temperature, d->handle, TEMPERATURE_GPU, &v)))
		now->temperature_c = v;
	if (nvml_call_succeeded(d, ask(n, clock, d->handle, CLOCK_SM, &v)))
		now->sm_mhz = v;
	if (nvml_call_succeeded(d, ask(n, max_clock, d->handle, CLOCK_SM, &v)))
		now->sm_max_mhz = v;
	if (nvml_call_succeeded(d, ask(n, reasons, d->handle, &reasons)))
		now->throttle = throttle_of(reasons);
}

/* GPUs without ECC memory do not support it. */
static void sample_gpu_ecc(struct nvml *n, struct device *d, struct host_gpu *now)
{
	unsigned long long count = 0;

	if (nvml_call_succeeded(d, ask(n, ecc, d->handle, ECC_CORRECTED, ECC_SINCE_LOADED, &count)))
		now->ecc_corrected = (double)count;
	if (nvml_call_succeeded(d,
				ask(n, ecc, d->handle, ECC_UNCORRECTED, ECC_SINCE_LOADED, &count)))
		now->ecc_uncorrected = (double)count;
}

static bool field_count(const struct field *f, uint64_t *v)
{
	if (f->result != NVML_OK)
		return false;
	switch (f->type) {
	case 1:
		*v = f->value.u;
		return true;
	case 2:
		*v = f->value.ul;
		return true;
	case 3:
		*v = f->value.ull;
		return true;
	default:
		return false;
	}
}

static bool field_rates(struct nvml *n, struct device *d, const unsigned id[2], unsigned scope,
			struct host_counter *count[2], double scale, double at, double *rate[2])
{
	struct field f[2] = { { .id = id[0], .scope = scope }, { .id = id[1], .scope = scope } };
	uint64_t v[2];

	if (!nvml_call_succeeded(d, ask(n, fields, d->handle, 2, f)) ||
	    !field_count(&f[0], &v[0]) || !field_count(&f[1], &v[1]))
		return false;
	for (int i = 0; i < 2; i++)
		*rate[i] = host_counter_rate(count[i], v[i], at) * scale;
	return true;
}

/* Use the counters of the driver; if there are none, sometimes the call that measures for 20 ms. */
static void sample_gpu_traffic(struct nvml *n, struct device *d, int i, struct host_gpu *now,
			       double at)
{
	static const unsigned nvlink[2] = { FIELD_NVLINK_TX, FIELD_NVLINK_RX };
	static const unsigned pcie[2] = { FIELD_PCIE_TX, FIELD_PCIE_RX };
	struct host_counter *links[2] = { &d->nvlink_tx, &d->nvlink_rx };
	struct host_counter *lanes[2] = { &d->pcie_tx, &d->pcie_rx };
	double *link_rates[2] = { &now->nvlink_tx_bytes_s, &now->nvlink_rx_bytes_s };
	double *lane_rates[2] = { &now->pcie_tx_bytes_s, &now->pcie_rx_bytes_s };
	unsigned kb[2];

	if (d->counts_nvlink)
		d->counts_nvlink =
			field_rates(n, d, nvlink, ALL_LINKS, links, 1024, at, link_rates);
	if (d->counts_pcie)
		d->counts_pcie = field_rates(n, d, pcie, 0, lanes, 1, at, lane_rates);
	if (d->counts_pcie || d->lost)
		return;
	if (n->samples % PCIE_EVERY == i % PCIE_EVERY) {
		d->tx = d->rx = NAN;
		if (nvml_call_succeeded(d, ask(n, pcie, d->handle, PCIE_TX, &kb[0])) &&
		    nvml_call_succeeded(d, ask(n, pcie, d->handle, PCIE_RX, &kb[1]))) {
			d->tx = kb[0] * 1000.0;
			d->rx = kb[1] * 1000.0;
		}
	}
	now->pcie_tx_bytes_s = d->tx;
	now->pcie_rx_bytes_s = d->rx;
}

static void sample_gpu(struct nvml *n, int i, struct host_gpu *now, double at)
{
	struct device *d = &n->devices[i];
	unsigned current = 0, pending = 0;

	host_gpu_clear(now, i);
	memcpy(now->name, d->name, sizeof(now->name));
	memcpy(now->uuid, d->uuid, sizeof(now->uuid));
	if (d->handle && !d->lost) {
		now->mig = nvml_call_succeeded(d, ask(n, mig, d->handle, &current, &pending)) &&
			   current == 1;
		sample_gpu_memory(n, d, d->handle, &now->memory_used, &now->memory_total);
		if (now->mig && !isfinite(now->memory_total))
			sample_mig_memory(n, d, now);
		sample_gpu_state(n, d, now);
		sample_gpu_ecc(n, d, now);
		sample_gpu_traffic(n, d, i, now, at);
	}
	if (d->lost) { /* do not trust earlier answers of a lost GPU */
		host_gpu_clear(now, i);
		memcpy(now->name, d->name, sizeof(now->name));
		memcpy(now->uuid, d->uuid, sizeof(now->uuid));
		now->lost = true;
	}
}

int host_nvml_sample(struct host_nvml *v, struct host_gpu *now, int room, double at)
{
	int n = MIN(v->n, room);

	assert(v->n <= HOST_GPUS_MAX);
	if (!v->state)
		return 0;
	for (int i = 0; i < n; i++)
		sample_gpu(v->state, i, &now[i], at);
	v->state->samples++;
	return n;
}
