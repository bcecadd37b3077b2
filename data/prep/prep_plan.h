/*
 * prep_plan.h - which stages of a preparation have to run, and why; running them.
 *
 *	struct prep_plan plan = { .stages = table, .n = ARRAY_LEN(table) };
 *	prep_plan_compare(&plan, p, e);		compares keys and records; changes nothing
 *	… plan.steps[i].run, plan.steps[i].why …
 *	prep_plan_run(&plan, p, e);		runs those that have to, keeps their records
 *	prep_plan_free(&plan);
 *
 * A stage that was done left its record, work/NAME.json, written when all of its files were in
 * place:
 *
 *	{"v":1, "key":…, "depends":{…}, "seconds":…, "pairs_in":…, "pairs_out":…,
 *	 "numbers":{…}, "files":[{"name":…, "bytes":…, "sha256":…}, …]}
 *
 * "depends" holds all that its outcome depends on: name and version of the stage, values of its
 * options, what the texts are, keys of the stages that it reads from. The key is the SHA-256 of
 * just that. So it is done when its record has the key of today and its files are there. A stage
 * that runs again only because a file of it was lost gives the same files again; the stages
 * that read from it are kept.
 */
#ifndef WERKBANK_DATA_PREP_PREP_PLAN_H
#define WERKBANK_DATA_PREP_PREP_PLAN_H

#include "data/prep/prep_stages.h"
#include "share/base/hash.h"
#include "share/base/json.h"

#define PREP_MAX_STAGES	  8
#define PREP_REASON_BYTES 300

/* What else a stage depends on. */
enum prep_texts {
	PREP_TEXTS_NONE,
	PREP_TEXTS_CONTENTS, /* what the texts hold */
	PREP_TEXTS_NAMES,    /* what they are called */
	PREP_TEXTS_PIECES    /* not they, but what pieces_from names, if it does */
};

struct prep_stage {
	const char *name;
	int (*run)(struct prep *p, struct err *e);
	int version; /* raised when the same input gives other files */
	enum prep_texts texts;
	/* Names separated by blanks. "A=VALUE?NAME": where option A has that value. */
	const char *options;
	const char *inputs; /* names of the stages it reads from, separated by blanks */
	/*
	 * Files in the folder of the corpus, separated by blanks. %K: for each training text, its
	 * number; %H: for each held-out set, %P: for each set that becomes a shard, its name;
	 * %S %T: the languages; %M: the file of the segmentation; %V: the vocabulary that
	 * SentencePiece has beside it (with BPE, and with pieces_from, there is none).
	 */
	const char *outputs;
};

struct prep_step {
	struct buf depends; /* owned: JSON */
	char key[HASH_SHA256_HEX];
	struct json *record; /* owned; NULL: none, or none that can be read */
	bool run;
	char reason[PREP_REASON_BYTES]; /* it has to run; else "" */
};

struct prep_plan {
	const struct prep_stage *stages; /* borrowed; in an order in which they can run */
	int n;				 /* at most PREP_MAX_STAGES */
	struct prep_step steps[PREP_MAX_STAGES];
};

/*
 * p->texts are known; one whose hash is "" (not fetched yet) differs from any. With
 * p->c->force also the SHA-256 of files that are there is looked at.
 */
int prep_plan_compare(struct prep_plan *plan, struct prep *p, struct err *e);
/* How many stages have to run. */
int prep_plan_n_to_run(const struct prep_plan *plan);
/*
 * Stage by stage: what a kept one found out comes back into p->numbers; of one that
 * has to run first the record and the files that it names are removed.
 */
int prep_plan_run(struct prep_plan *plan, struct prep *p, struct err *e);
void prep_plan_free(struct prep_plan *plan);

/* ---- files and records (prep_record.c) ---- */

struct prep_file {
	char *name;    /* owned: in the folder of the corpus */
	int64_t bytes; /* -1: unknown */
	char sha256[HASH_SHA256_HEX];
};

struct prep_files {
	struct prep_file *items; /* owned */
	size_t n, cap;
};

/*
 * Append the files that a stage writes; their bytes and hashes are not known yet. A set without
 * pairs (left out, since its archive does not hold it) has none, unless also_empty.
 */
int prep_files_add_stage(const struct prep *p, const struct prep_stage *stage, bool also_empty,
			 struct prep_files *files, struct err *e);
/* Append the files of a record or of manifest.json; names that lead out of the folder: ERR_DATA. */
int prep_files_add_json(const struct json *object, struct prep_files *files, struct err *e);
/* Find bytes and SHA-256 of them all, several at once. One that is not there: ERR_NOINPUT. */
int prep_files_measure(struct prep *p, struct prep_files *files, struct err *e);
bool prep_files_has(const struct prep_files *files, const char *name);
void prep_files_free(struct prep_files *files);

/* The record of a stage, NULL when there is none or it is of no use. Owned by the caller. */
struct json *prep_record_read(struct prep *p, const char *stage);

struct prep_step_result {
	const struct prep_step *step;
	const struct prep_numbers *before; /* what differs from them now is noted */
	double seconds;
};

int prep_record_write(struct prep *p, const char *stage, const struct prep_step_result *done,
		      struct prep_files *files, struct err *e);
/* Put back what the stage had found out. */
void prep_record_load_numbers(const struct json *record, struct prep_numbers *n);

#endif
