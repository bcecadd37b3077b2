/* host_disk.c - see host_disk.h */
#include "train/host/host_disk.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#define SECTOR_BYTES 512
#define TEXT_BYTES   (128u << 10)

/* major minor name, reads, merged, sectors, ms, writes, merged, sectors, … */
bool host_disk_counters(const char *diskstats, unsigned major, unsigned minor, uint64_t *read_bytes,
			uint64_t *written_bytes)
{
	for (; *diskstats; diskstats = host_next_line(diskstats)) {
		const char *at = diskstats;
		uint64_t number[2], v[7];
		size_t n = 0;

		if (!host_number(&at, &number[0]) || !host_number(&at, &number[1]) ||
		    number[0] != major || number[1] != minor)
			continue;
		at += strspn(at, " ");
		at += strcspn(at, " \n");
		while (n < ARRAY_LEN(v) && host_number(&at, &v[n]))
			n++;
		if (n < ARRAY_LEN(v) || v[2] > UINT64_MAX / SECTOR_BYTES ||
		    v[6] > UINT64_MAX / SECTOR_BYTES)
			return false;
		*read_bytes = v[2] * SECTOR_BYTES;
		*written_bytes = v[6] * SECTOR_BYTES;
		return true;
	}
	return false;
}

/* id parent MAJOR:MINOR root mount options [optional…] - type SOURCE options */
bool host_disk_source(const char *mountinfo, unsigned major, unsigned minor, char *source,
		      size_t room)
{
	for (; *mountinfo; mountinfo = host_next_line(mountinfo)) {
		const char *at = mountinfo, *end = host_next_line(mountinfo);
		uint64_t v[4];
		size_t n;

		if (!host_number(&at, &v[0]) || !host_number(&at, &v[1]) ||
		    !host_number(&at, &v[2]) || *at++ != ':' || !host_number(&at, &v[3]) ||
		    v[2] != major || v[3] != minor)
			continue;
		at = strstr(at, " - ");
		if (!at || at >= end)
			continue;
		at += 3;
		at += strcspn(at, " \n");
		at += strspn(at, " ");
		n = strcspn(at, " \n");
		if (strncmp(at, "/dev/", 5) != 0 || n >= room || at + n > end)
			return false;
		memcpy(source, at, n);
		source[n] = 0;
		return true;
	}
	return false;
}

/* Owned by the caller; NULL: no memory. */
static char *read_proc_file(const struct host_roots *roots, const char *name)
{
	char *text = malloc(TEXT_BYTES);

	if (text)
		host_read(text, TEXT_BYTES, "%s/%s", roots->proc, name);
	return text;
}

void host_disk_open(struct host_disk *d, const char *path, const struct host_roots *roots)
{
	struct stat s;
	char source[300];
	char *mounts;

	*d = (struct host_disk){ 0 };
	if (!path || strlen(path) >= sizeof(d->path) || stat(path, &s))
		return;
	snprintf(d->path, sizeof(d->path), "%s", path);
	d->major = major(s.st_dev);
	d->minor = minor(s.st_dev);
	if (d->major)
		return;
	/* Btrfs, ZFS and NFS have an anonymous device number: find their source */
	mounts = read_proc_file(roots, "self/mountinfo");
	if (mounts && host_disk_source(mounts, d->major, d->minor, source, sizeof(source)) &&
	    !stat(source, &s) && S_ISBLK(s.st_mode)) {
		d->major = major(s.st_rdev);
		d->minor = minor(s.st_rdev);
	} else {
		d->minor = 0;
	}
	free(mounts);
}

void host_disk_sample(struct host_disk *d, const struct host_roots *roots, double at,
		      struct host_disk_now *now)
{
	struct statvfs s;
	uint64_t read_bytes = 0, written_bytes = 0;
	bool is_known;
	char *text;

	*now = (struct host_disk_now){ NAN, NAN, NAN };
	if (!d->path[0])
		return;
	if (!statvfs(d->path, &s))
		now->free_bytes = (double)s.f_bavail * (double)s.f_frsize;
	if (!d->major)
		return;
	text = read_proc_file(roots, "diskstats");
	is_known =
		text && host_disk_counters(text, d->major, d->minor, &read_bytes, &written_bytes);
	now->read_bytes_s = host_known_rate(&d->read, is_known, read_bytes, at);
	now->write_bytes_s = host_known_rate(&d->written, is_known, written_bytes, at);
	free(text);
}
