/*
 * prep_plan.h - which stages of a preparation must run, and why; run them
 *
 *	struct prep_plan plan = { .stages = table, .n = ARRAY_LEN(table) };
 *	prep_plan_compare(&plan, p, e);		compares keys and records; changes nothing
 *	... plan.steps[i].run, plan.steps[i].reason ...
 *	prep_plan_run(&plan, p, e);		runs the stages that must run, writes their records
 *	prep_plan_free(&plan);
 *
 * A finished stage leaves a record, work/NAME.json, written after all of its files:
 *
 *	{"v":1, "key":..., "depends":{...}, "seconds":..., "pairs_in":..., "pairs_out":...,
 *	 "numbers":{...}, "files":[{"name":..., "bytes":..., "sha256":...}, ...]}
 *
 * "depends" lists everything the result depends on: name and version of the stage, its options, the
 * texts, the keys of its input stages. The key is the SHA-256 of "depends". A stage is done when
 * its record has the current key and its files exist with the recorded sizes. A stage that runs
 * again only because a file was lost writes the same files, so the stages that read from it stay
 * done.
 */
#ifndef WERKBANK_DATA_PREP_PREP_PLAN_H
#define WERKBANK_DATA_PREP_PREP_PLAN_H

#include "data/prep/prep_stages.h"
#include "share/base/hash.h"
#include "share/format/json.h"

#define PREP_MAX_STAGES	  8
#define PREP_REASON_BYTES 300

/* What a stage depends on besides options and inputs. */
enum prep_texts {
	PREP_TEXTS_NONE,
	PREP_TEXTS_CONTENTS, /* the contents of the texts */
	PREP_TEXTS_NAMES,    /* the names of the texts */
	PREP_TEXTS_PIECES    /* the files of pieces_from, if that option is given */
};

struct prep_stage {
	const char *name;
	int (*run)(struct prep *p, struct err *e);
	int version; /* increase it when the same input gives other files */
	enum prep_texts texts;
	const char *options; /* besides those of text_facts.def: names, separated by blanks */
	const char *inputs;  /* names of the stages it reads from, separated by blanks */
	/*
	 * Files in the folder of the corpus, separated by blanks. A pattern stands for several
	 * files: %K: index of each training text; %H: name of each held-out set; %P: name of each
	 * set that becomes a shard; %S %T: the languages; %M: the codes file; %V: the vocabulary
	 * of SentencePiece (no file with BPE or pieces_from).
	 */
	const char *outputs;
};

struct prep_step {
	struct buf depends; /* owned: JSON */
	char key[HASH_SHA256_HEX];
	struct json *record;		/* owned; NULL: missing or unreadable */
	bool run;			/* the stage must run */
	char reason[PREP_REASON_BYTES]; /* why it must run; else "" */
};

struct prep_plan {
	const struct prep_stage *stages; /* borrowed; inputs before the stages that read them */
	int n;				 /* at most PREP_MAX_STAGES */
	struct prep_step steps[PREP_MAX_STAGES];
};

/*
 * Decide which stages must run. p->texts must be known; a text with hash "" (not downloaded,
 * nothing published) counts as changed. With p->c->force the SHA-256 of existing files is
 * verified, too.
 */
int prep_plan_compare(struct prep_plan *plan, struct prep *p, struct err *e);
/* Number of stages that must run. */
int prep_plan_n_to_run(const struct prep_plan *plan);
/*
 * Run the stages in order. A stage that is done only loads its numbers into p->numbers. Before a
 * stage runs, its old record and the files named there are removed.
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
 * Append the files that a stage writes; bytes and hashes are still unknown. A set without pairs
 * (its member is missing in the archive) has no files, unless also_empty.
 */
int prep_files_add_stage(const struct prep *p, const struct prep_stage *stage, bool also_empty,
			 struct prep_files *files, struct err *e);
/* Append the files of a record or of manifest.json. A name outside of the folder: ERR_DATA. */
int prep_files_add_json(const struct json *object, struct prep_files *files, struct err *e);
/* Set bytes and SHA-256 of all files, on several threads. A missing file: ERR_NOINPUT. */
int prep_files_measure(struct prep *p, struct prep_files *files, struct err *e);
bool prep_files_has(const struct prep_files *files, const char *name);
void prep_files_free(struct prep_files *files);

/* The record of a stage, owned by the caller. NULL: missing, damaged, or of another version. */
int prep_record_read(struct prep *p, const char *stage, struct json **record, struct err *e);

/* A file in a list of records and manifest.json: name, bytes, sha256. */
void prep_put_file(struct json_writer *w, const char *name, int64_t bytes, const char *sha256);

struct prep_step_result {
	const struct prep_step *step;
	const struct prep_numbers
		*before; /* the record stores the numbers that differ from these */
	double seconds;
};

int prep_record_write(struct prep *p, const char *stage, const struct prep_step_result *done,
		      struct prep_files *files, struct err *e);
/* Load the numbers that the stage had set. */
void prep_record_load_numbers(const struct json *record, struct prep_numbers *n);

#endif
