/*
 * nvtop_nvml.c - what nvtop asks NVIDIA's management library for beyond what fake_nvml.c has: with
 * it the two are a libnvidia-ml.so.1 with which nvtop shows the made-up GPUs of the tests. See
 * front_ends.sh.
 */
#include <stdio.h>
#include <string.h>

struct pci {
	char legacy_id[16];
	unsigned domain, bus, device, ids, subsystem;
	char id[32];
};

const char *nvmlErrorString(int code);
int nvmlDeviceGetPciInfo_v3(const int *device, struct pci *p);
int nvmlDeviceGetMaxPcieLinkGeneration(const int *device, unsigned *value);
int nvmlDeviceGetMaxPcieLinkWidth(const int *device, unsigned *value);
int nvmlDeviceGetCurrPcieLinkGeneration(const int *device, unsigned *value);
int nvmlDeviceGetCurrPcieLinkWidth(const int *device, unsigned *value);
int nvmlDeviceGetTemperatureThreshold(const int *device, int which, unsigned *value);
int nvmlDeviceGetFanSpeed(const int *device, unsigned *value);
int nvmlDeviceGetEncoderUtilization(const int *device, unsigned *value, unsigned *period);
int nvmlDeviceGetDecoderUtilization(const int *device, unsigned *value, unsigned *period);
int nvmlDeviceGetGraphicsRunningProcesses_v3(const int *device, unsigned *n, void *list);
int nvmlDeviceGetComputeRunningProcesses_v3(const int *device, unsigned *n, void *list);

const char *nvmlErrorString(int code)
{
	return code ? "made-up error" : "no error";
}

int nvmlDeviceGetPciInfo_v3(const int *device, struct pci *p)
{
	static const int *first; /* the devices are asked for in order */

	if (!first)
		first = device;
	memset(p, 0, sizeof(*p));
	p->bus = (unsigned)(device - first) + 1;
	snprintf(p->legacy_id, sizeof(p->legacy_id), "0000:%02X:00.0", p->bus & 0xFF);
	snprintf(p->id, sizeof(p->id), "00000000:%02X:00.0", p->bus & 0xFF);
	return 0;
}

static int say(unsigned *to, unsigned value)
{
	*to = value;
	return 0;
}

int nvmlDeviceGetMaxPcieLinkGeneration(const int *device, unsigned *value)
{
	(void)device;
	return say(value, 5);
}

int nvmlDeviceGetMaxPcieLinkWidth(const int *device, unsigned *value)
{
	(void)device;
	return say(value, 16);
}

int nvmlDeviceGetCurrPcieLinkGeneration(const int *device, unsigned *value)
{
	(void)device;
	return say(value, 5);
}

int nvmlDeviceGetCurrPcieLinkWidth(const int *device, unsigned *value)
{
	(void)device;
	return say(value, 16);
}

int nvmlDeviceGetTemperatureThreshold(const int *device, int which, unsigned *value)
{
	(void)device;
	return say(value, which ? 87 : 92);
}

int nvmlDeviceGetFanSpeed(const int *device, unsigned *value)
{
	(void)device;
	return say(value, 40);
}

int nvmlDeviceGetEncoderUtilization(const int *device, unsigned *value, unsigned *period)
{
	(void)device;
	*period = 0;
	return say(value, 0);
}

int nvmlDeviceGetDecoderUtilization(const int *device, unsigned *value, unsigned *period)
{
	return nvmlDeviceGetEncoderUtilization(device, value, period);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(const int *device, unsigned *n, void *list)
{
	(void)device;
	(void)list;
	return say(n, 0);
}

int nvmlDeviceGetComputeRunningProcesses_v3(const int *device, unsigned *n, void *list)
{
	return nvmlDeviceGetGraphicsRunningProcesses_v3(device, n, list);
}
