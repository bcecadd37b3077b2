/*
 * host_disk.h - the disk under a folder: its device's traffic and the room left.
 *
 * Linux's Documentation/admin-guide/iostats.rst for /proc/diskstats (sectors of 512 bytes),
 * proc_pid_mountinfo(5).
 */
#ifndef WERKBANK_TRAIN_COMMON_HOST_DISK_H
#define WERKBANK_TRAIN_COMMON_HOST_DISK_H

#include "train/common/host_file.h"

/* Bytes read and written by a device since the start; false: it is not listed. */
bool host_disk_counters(const char *diskstats, unsigned major, unsigned minor, uint64_t *read_bytes,
			uint64_t *written_bytes);

/*
 * The source ("/dev/sda1") of the file system with this number, in source: false when it is not
 * listed or is no device (network file systems, overlays).
 */
bool host_disk_source(const char *mountinfo, unsigned major, unsigned minor, char *source,
		      size_t room);

struct host_disk {
	char path[4096];       /* the folder; "": none */
	unsigned major, minor; /* 0, 0: its file system is on no device of this host */
	struct host_counter read, written;
};

struct host_disk_now {
	double free_bytes;		    /* for users other than root */
	double read_bytes_s, write_bytes_s; /* of the device, since the look before */
};

/* Which device it is; a folder that cannot be found is none. path NULL: none. */
void host_disk_open(struct host_disk *d, const char *path, const struct host_roots *roots);
void host_disk_sample(struct host_disk *d, const struct host_roots *roots, double at,
		      struct host_disk_now *now);

#endif
