/* prep_write_manifest.h - what a preparation says: before it starts, and at its end; only prep*.c include this. */
#ifndef WERKBANK_DATA_PREP_PREP_REPORT_H
#define WERKBANK_DATA_PREP_PREP_REPORT_H

#include "data/prep/prep_plan.h"

/* recipe.ini, then manifest.json, whose text is also left in manifest. */
int prep_write_manifest(struct prep *p, const struct prep_plan *plan, struct buf *manifest,
			struct err *e);

/* What the stages that have to run will need, at most. How it is estimated: prep_resources.c. */
struct prep_resources {
	int64_t text_bytes;   /* of all texts, unpacked */
	bool is_exact;	      /* not guessed from archives */
	int64_t memory, disk; /* bytes */
	int64_t free;	      /* bytes of disk; -1: unknown */
};

struct prep_resources prep_estimate_resources(const struct prep *p, const struct prep_plan *plan);

/* "1.3 GB", "20 MB", "7 kB": the number of bytes with two digits or more. Returns out. */
#define PREP_SIZE_TEXT 32
const char *prep_size_text(char out[PREP_SIZE_TEXT], int64_t bytes);

/* ERR_IO when the disk has too little room. */
int prep_check_disk_space(const struct prep *p, const struct prep_resources *n, struct err *e);

/* --dry-run: the plan on standard output, as a table or JSON. ready: there is nothing to do. */
int prep_print_plan(struct prep *p, const struct prep_plan *plan, const struct prep_resources *n,
		    bool ready, struct err *e);

#endif
