/*
 * host_disk.h - traffic and free space of the disk under a folder.
 *
 * Linux's Documentation/admin-guide/iostats.rst for /proc/diskstats (sectors of 512 bytes),
 * proc_pid_mountinfo(5).
 */
#ifndef WERKBANK_TRAIN_HOST_HOST_DISK_H
#define WERKBANK_TRAIN_HOST_HOST_DISK_H

#include "train/host/host_file.h"

/* Bytes read from and written to a device since boot; false: no such device. */
bool host_disk_counters(const char *diskstats, unsigned major, unsigned minor, uint64_t *read_bytes,
			uint64_t *written_bytes);

/*
 * Find the source ("/dev/sda1") of the mounted file system with this device number. false: not
 * mounted, or not on a device (network file systems, overlays).
 */
bool host_disk_source(const char *mountinfo, unsigned major, unsigned minor, char *source,
		      size_t room);

struct host_disk {
	char path[4096];       /* the folder; "": none */
	unsigned major, minor; /* 0, 0: the file system is not on a device of this host */
	struct host_counter read, written;
};

struct host_disk_now {
	double free_bytes;		    /* for users other than root */
	double read_bytes_s, write_bytes_s; /* of the device, since the last sample */
};

/* Find the device of a folder. path NULL or missing: none. */
void host_disk_open(struct host_disk *d, const char *path, const struct host_roots *roots);
void host_disk_sample(struct host_disk *d, const struct host_roots *roots, double at,
		      struct host_disk_now *now);

#endif
