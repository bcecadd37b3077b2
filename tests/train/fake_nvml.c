/*
 * fake_nvml.c - a replacement of NVIDIA's libnvidia-ml.so with known values
 *
 * Tests open it through WERKBANK_NVML. WERKBANK_FAKE_NVML selects the machine: eight (GPUs), moving
 * (eight GPUs whose values change each second), lost (the second of two GPUs is lost), unified
 * (memory shared with the CPU), mig, bare (no optional query is supported), or a number: nvmlInit()
 * returns it. With -DFAKE_OLD most functions are missing, and the others have their old names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OK	      0
#define BAD	      2
#define NOT_SUPPORTED 3
#define LOST	      15

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
		unsigned long long ull;
		unsigned u;
	} value;
};

int nvmlInit(void);
int nvmlDeviceGetCount(unsigned *n);
int nvmlDeviceGetHandleByIndex(unsigned i, void **handle);
int nvmlShutdown(void);
int nvmlDeviceGetName(void *d, char *name, unsigned room);
int nvmlDeviceGetMemoryInfo(void *d, struct memory *m);

static int devices[32]; /* a handle points to an element; from 16: MIG instances */

static int plays(const char *what)
{
	const char *play = getenv("WERKBANK_FAKE_NVML");

	return play && (!strcmp(play, what) || (!strcmp(what, "eight") && !strcmp(play, "moving")));
}

static int number(const void *d)
{
	return (int)((const int *)d - devices);
}

int nvmlShutdown(void)
{
	return OK;
}

int nvmlDeviceGetName(void *d, char *name, unsigned room)
{
	if (plays("bare"))
		return NOT_SUPPORTED;
	snprintf(name, room, "Fake GPU %d%s", number(d), plays("eight") ? "" : "\t\xff\"");
	return OK;
}

int nvmlDeviceGetMemoryInfo(void *d, struct memory *m)
{
	if (plays("bare"))
		return NOT_SUPPORTED;
	*m = (struct memory){ 1000, 600, 400 };
	if (plays("unified"))
		m->total = 0;
	if (number(d) >= 16)
		*m = (struct memory){ 500, 400, 100 };
	return OK;
}

#ifdef FAKE_OLD

int nvmlInit(void)
{
	return OK;
}

int nvmlDeviceGetCount(unsigned *n)
{
	*n = 1;
	return OK;
}

int nvmlDeviceGetHandleByIndex(unsigned i, void **handle)
{
	*handle = &devices[i];
	return OK;
}

#else

int nvmlInit_v2(void);
int nvmlSystemGetDriverVersion(char *text, unsigned room);
int nvmlSystemGetCudaDriverVersion_v2(int *version);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **handle);
int nvmlDeviceGetUUID(void *d, char *text, unsigned room);
int nvmlDeviceGetUtilizationRates(void *d, struct utilization *u);
int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory_v2 *m);
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw);
int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *mw);
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *c);
int nvmlDeviceGetClockInfo(void *d, int clock, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(void *d, int clock, unsigned *mhz);
int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *bits);
int nvmlDeviceGetPcieThroughput(void *d, int direction, unsigned *kb);
int nvmlDeviceGetMigMode(void *d, unsigned *current, unsigned *pending);
int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *n);
int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned i, void **part);
int nvmlDeviceGetFieldValues(void *d, int n, struct field *f);
int nvmlDeviceGetTotalEccErrors(void *d, int kind, int since, unsigned long long *count);

/* With "moving": a number below `below` to add to a value; it changes each second. */
static unsigned sway(const void *d, unsigned below)
{
	unsigned x = (unsigned)time(NULL) * 16 + (unsigned)number(d) + 7;

	for (int i = 0; i < 3; i++)
		x = x * 1103515245u + 12345u;
	return plays("moving") ? (x >> 16) % below : 0;
}

/* The status that every call about a device checks first. */
static int state(const void *d)
{
	if (plays("bare"))
		return NOT_SUPPORTED;
	return plays("lost") && number(d) == 1 ? LOST : OK;
}

int nvmlInit_v2(void)
{
	const char *play = getenv("WERKBANK_FAKE_NVML");

	return play ? (int)strtol(play, NULL, 10) : OK;
}

int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
	snprintf(text, room, "570.12.3");
	return OK;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	*version = 12080;
	return OK;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = plays("eight") ? 8 : plays("lost") ? 2 : 1;
	return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **handle)
{
	*handle = &devices[i];
	return OK;
}

int nvmlDeviceGetUUID(void *d, char *text, unsigned room)
{
	snprintf(text, room, "GPU-%04d", number(d));
	return state(d);
}

int nvmlDeviceGetUtilizationRates(void *d, struct utilization *u)
{
	*u = (struct utilization){ 90 + (unsigned)number(d) - sway(d, 10), 30 };
	return plays("mig") ? NOT_SUPPORTED : state(d);
}

int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory_v2 *m)
{
	if (m->version != 0x02000028u)
		return 25;
	m->total = 80ull << 30;
	m->used = (unsigned long long)(number(d) + 1) << 30;
	if (plays("unified") || plays("mig"))
		return NOT_SUPPORTED;
	return state(d);
}

int nvmlDeviceGetPowerUsage(void *d, unsigned *mw)
{
	*mw = 300000 + 1000 * (unsigned)number(d) + sway(d, 60000);
	return plays("unified") ? NOT_SUPPORTED : state(d);
}

int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *mw)
{
	*mw = 700000;
	return plays("unified") ? NOT_SUPPORTED : state(d);
}

int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *c)
{
	*c = 60 + (unsigned)number(d) + sway(d, 10);
	return sensor ? BAD : state(d);
}

int nvmlDeviceGetClockInfo(void *d, int clock, unsigned *mhz)
{
	*mhz = 1400 + sway(d, 100);
	return clock == 1 ? state(d) : BAD;
}

int nvmlDeviceGetMaxClockInfo(void *d, int clock, unsigned *mhz)
{
	*mhz = 1980;
	return clock == 1 ? state(d) : BAD;
}

int nvmlDeviceGetCurrentClocksEventReasons(void *d, unsigned long long *bits)
{
	static const unsigned long long all[] = { 0, 1, 2, 4, 8, 0x24, 0xc8, 0x1fe };

	*bits = plays("eight") ? all[number(d)] : 0;
	return state(d);
}

int nvmlDeviceGetPcieThroughput(void *d, int direction, unsigned *kb)
{
	*kb = (direction ? 2000 : 1000) + sway(d, 1000);
	return state(d);
}

int nvmlDeviceGetMigMode(void *d, unsigned *current, unsigned *pending)
{
	*current = *pending = 1;
	if (plays("mig"))
		return OK;
	return state(d) ? state(d) : NOT_SUPPORTED;
}

int nvmlDeviceGetMaxMigDeviceCount(void *d, unsigned *n)
{
	*n = 7;
	return state(d);
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *d, unsigned i, void **part)
{
	*part = &devices[16 + i];
	return i < 3 ? state(d) : 6;
}

int nvmlDeviceGetTotalEccErrors(void *d, int kind, int since, unsigned long long *count)
{
	if (!plays("eight"))
		return NOT_SUPPORTED;
	*count = (unsigned long long)number(d) * (kind ? 1 : 100);
	return since || kind > 1 ? BAD : state(d);
}

/* NVLink counters rise by 1 and 2 MiB between samples; only even GPUs have PCIe counters. */
int nvmlDeviceGetFieldValues(void *d, int n, struct field *f)
{
	static unsigned long long looks[32];

	for (int i = 0; i < n; i++) {
		unsigned id = f[i].id;
		int link = id == 138 || id == 139, lane = id == 197 || id == 198;

		f[i].result = link && f[i].scope == 0xffffffffu && plays("eight") ? OK
			      : lane && number(d) % 2 == 0 && plays("eight")	  ? OK
										  : NOT_SUPPORTED;
		f[i].type = 3;
		looks[number(d)] += id == 138;
		f[i].value.ull = looks[number(d)] * (link ? 1024 * (id - 137) : 1000 * (id - 196));
	}
	return state(d);
}

#endif
