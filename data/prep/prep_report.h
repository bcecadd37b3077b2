/* prep_report.h - plan, resources and manifest of a preparation; only prep*.c include this */
#ifndef WERKBANK_DATA_PREP_PREP_REPORT_H
#define WERKBANK_DATA_PREP_PREP_REPORT_H

#include "data/prep/prep_plan.h"
#include "data/prep/round_trip.h"

/* Write recipe.ini, then manifest.json; the text of manifest.json is appended to manifest. stats: stats.json. */
int prep_write_manifest(struct prep *p, const struct prep_plan *plan, const struct json *stats,
			const struct round_trip *round_trip, struct buf *manifest, struct err *e);

/* Upper estimate of the needs of the stages that must run (prep_resources.c). */
struct prep_resources {
	int64_t text_bytes;   /* of all texts, unpacked */
	bool is_exact;	      /* text_bytes is measured, not guessed from archives */
	int64_t memory, disk; /* bytes */
	int64_t free;	      /* free bytes on the disk; -1: unknown */
};

struct prep_resources prep_estimate_resources(const struct prep *p, const struct prep_plan *plan);

/* Append "needs at most 1.3 GB of memory and ..." */
void prep_needs_text(struct buf *out, const struct prep_resources *n);

/* ERR_IO if is_exact and the disk has too little free space. */
int prep_check_disk_space(const struct prep *p, const struct prep_resources *n, struct err *e);

/* --dry-run: print the plan as a table or JSON. ready: the corpus is complete. */
int prep_print_plan(struct prep *p, const struct prep_plan *plan, const struct prep_resources *n,
		    bool ready, struct err *e);

#endif
