/*
 * external_shuffle.c - two-pass bucket shuffle on the disk (see external_shuffle.h)
 *
 * Idea: a permutation of data larger than memory in two sequential passes. Bucket k of B holds the
 * positions start(k) ... start(k+1) - 1, where start(k) = floor(k * n / B).
 *
 *	pass 1, external_shuffle_put(): append each pair to the file of its bucket
 *
 *		pair		a  b  c  d  e  f	(order of the calls)
 *		position	4  0  5  2  1  3
 *
 *		bucket 0 (positions 0-2)	| b:0 | d:2 | e:1 |
 *		bucket 1 (positions 3-5)	| a:1 | c:2 | f:0 |	(index within the bucket)
 *
 *	pass 2, external_shuffle_run(): load one bucket after the other, find the record of each
 *	index, visit the records in order
 *
 *		bucket 0 -> b e d		bucket 1 -> f a c
 *
 *	record	index n_source n_target (uint32 each), then the numbers: uint16 if all are
 *		below 65,536, else int32
 *
 * Pass 2 is a pipeline (flow.h) over SLOTS buckets in memory: bucket_load() and
 * bucket_index_records() on a thread each, bucket_emit_pairs() on the calling thread.
 *
 * Invariants
 *	- start(k) <= position < start(k+1) for k = bucket_of_position(position), exactly.
 *	- Every position is put once, so bucket k has start(k+1) - start(k) records (checked).
 *	- The result depends on the positions only, not on threads, bucket size or order of calls.
 *	- Memory: SLOTS buckets and 8 bytes for each of their pairs. Disk: each pair once.
 */
#include "data/prep/external_shuffle.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/mem.h"

#define BUCKET_BYTES ((int64_t)32 << 20)
#define MAX_BUCKETS  512 /* all files are open at the same time */
#define FILE_BUFFER  ((size_t)256 << 10)
#define NARROW	     65536 /* numbers below this take 2 bytes */
#define SLOTS	     3	   /* buckets in memory */

/* Header of a record, before the numbers of the pair. */
struct shuffle_record {
	uint32_t index; /* position - start of the bucket */
	uint32_t n_source, n_target;
};

struct shuffle_bucket {
	FILE *file;
	char *path; /* owned */
	int64_t bytes;
};

/* A bucket in memory. */
struct bucket_slot {
	int64_t number;	      /* index of the bucket */
	int64_t first;	      /* its first position */
	int64_t n_pairs;      /* its number of positions */
	unsigned char *bytes; /* owned: the whole file */
	size_t cap_bytes;
	uint64_t *offset; /* owned: [n_pairs] offset of the record + 1; 0: none yet */
	size_t cap_offset;
};

struct external_shuffle {
	struct external_shuffle_options options;
	int64_t n;			/* buckets */
	struct shuffle_bucket *buckets; /* owned: (n) */
	size_t width;			/* bytes of a number */
	unsigned char *record;		/* owned: the one being written */
	size_t cap_record;
	struct bucket_slot slots[SLOTS];
	/* state of external_shuffle_run() */
	int64_t next; /* next bucket to load */
	shuffled_pair_visitor visit;
	void *context;
	int32_t *numbers; /* owned: numbers of the current pair */
	size_t cap_numbers;
};

/* floor(bucket * n_pairs / n); 128 bits: the product may overflow 64. */
static int64_t bucket_start(const struct external_shuffle *p, int64_t bucket)
{
	return (int64_t)((unsigned __int128)bucket * (uint64_t)p->options.n_pairs / (uint64_t)p->n);
}

/* The largest k with bucket_start(k) <= position: floor(((position + 1) * n - 1) / n_pairs). */
static int64_t bucket_of_position(const struct external_shuffle *p, int64_t position)
{
	return (int64_t)((((unsigned __int128)position + 1) * (uint64_t)p->n - 1) /
			 (uint64_t)p->options.n_pairs);
}

struct external_shuffle *external_shuffle_new(const struct external_shuffle_options *o,
					      struct err *e)
{
	struct external_shuffle *p = mem_alloc(1, sizeof(*p), e);
	int64_t bytes = o->bucket_bytes ? o->bucket_bytes : BUCKET_BYTES;

	if (!p)
		return NULL;
	p->options = *o;
	p->options.stem = NULL; /* the caller may free it; the buckets own their paths */
	p->width = o->limit <= NARROW ? sizeof(uint16_t) : sizeof(int32_t);
	p->n = MIN(MAX(o->expected_bytes / bytes, 1), MIN(MAX_BUCKETS, MAX(o->n_pairs, 1)));
	p->buckets = mem_alloc((size_t)p->n, sizeof(*p->buckets), e);
	for (int64_t i = 0; p->buckets && i < p->n; i++) {
		struct shuffle_bucket *b = &p->buckets[i];

		b->path = file_path(e, "%s.%d", o->stem, (int)i);
		if (b->path)
			remove(b->path); /* of a killed program; x: never through a link */
		if (b->path && !(b->file = fopen(b->path, "w+bxe")))
			err_set_errno(e, ERR_CANTCREAT, "%s: cannot be created", b->path);
		if (!b->file)
			goto fail;
		remove(b->path); /* a killed program leaves no file behind */
		setvbuf(b->file, NULL, _IOFBF, FILE_BUFFER);
	}
	if (p->buckets)
		return p;
fail:
	external_shuffle_free(p);
	return NULL;
}

static void narrow_to_uint16(unsigned char *to, const int32_t *numbers, int32_t n)
{
	for (int32_t i = 0; i < n; i++) {
		uint16_t x = (uint16_t)numbers[i];

		memcpy(to + sizeof(x) * (size_t)i, &x, sizeof(x));
	}
}

static void pack_numbers(const struct external_shuffle *p, unsigned char *to,
			 const int32_t *numbers, int32_t n)
{
	if (p->width == sizeof(uint16_t))
		narrow_to_uint16(to, numbers, n);
	else if (n)
		memcpy(to, numbers, (size_t)n * sizeof(*numbers));
}

int external_shuffle_put(struct external_shuffle *p, int64_t position, const int32_t *source,
			 int32_t n_source, const int32_t *target, int32_t n_target, struct err *e)
{
	int64_t k = bucket_of_position(p, position);
	struct shuffle_bucket *b = &p->buckets[k];
	struct shuffle_record r = { (uint32_t)(position - bucket_start(p, k)), (uint32_t)n_source,
				    (uint32_t)n_target };
	size_t bytes = sizeof(r) + ((size_t)n_source + (size_t)n_target) * p->width;

	assert(position >= 0 && position < p->options.n_pairs);
	assert(bucket_start(p, k) <= position && position < bucket_start(p, k + 1));
	assert(n_source >= 0 && n_target >= 0);
	if (mem_grow(&p->record, &p->cap_record, bytes, 1, e))
		return e->code;
	memcpy(p->record, &r, sizeof(r));
	pack_numbers(p, p->record + sizeof(r), source, n_source);
	pack_numbers(p, p->record + sizeof(r) + (size_t)n_source * p->width, target, n_target);
	if (fwrite(p->record, 1, bytes, b->file) != bytes)
		return err_set_errno(e, ERR_IO, "%s: cannot be written", b->path);
	b->bytes += (int64_t)bytes;
	return 0;
}

/* ---- pass 2 ---- */

/* Pipeline step 1: read the next bucket into memory. */
static int bucket_load(void *context, void *slot_, struct err *e)
{
	struct external_shuffle *p = context;
	struct bucket_slot *s = slot_;
	struct shuffle_bucket *b;

	if (p->next == p->n)
		return 0;
	s->number = p->next++;
	s->first = bucket_start(p, s->number);
	s->n_pairs = bucket_start(p, s->number + 1) - s->first;
	b = &p->buckets[s->number];
	if (mem_grow(&s->bytes, &s->cap_bytes, (size_t)b->bytes, 1, e) ||
	    mem_grow(&s->offset, &s->cap_offset, (size_t)s->n_pairs, sizeof(*s->offset), e))
		return e->code;
	rewind(b->file);
	if (fread(s->bytes, 1, (size_t)b->bytes, b->file) != (size_t)b->bytes)
		return err_set_errno(e, ERR_IO, "%s: cannot be read", b->path);
	fclose(b->file);
	b->file = NULL;
	return 1;
}

/* Pipeline step 2: find the offset of the record of each index. */
static int bucket_index_records(void *context, int worker, void *slot_, struct err *e)
{
	const struct external_shuffle *p = context;
	struct bucket_slot *s = slot_;
	uint64_t at = 0, end = (uint64_t)p->buckets[s->number].bytes;
	int64_t pairs = 0;
	struct shuffle_record r;

	(void)worker;
	if (s->n_pairs)
		memset(s->offset, 0, (size_t)s->n_pairs * sizeof(*s->offset));
	for (; at < end; pairs++) {
		memcpy(&r, s->bytes + at, sizeof(r));
		if (r.index >= s->n_pairs || s->offset[r.index])
			return err_set(e, ERR_INTERNAL, "%s: two pairs have position %" PRId64,
				       p->buckets[s->number].path, s->first + r.index);
		s->offset[r.index] = at + 1;
		at += sizeof(r) + ((uint64_t)r.n_source + r.n_target) * p->width;
	}
	if (pairs != s->n_pairs)
		return err_set(e, ERR_INTERNAL, "%s: %" PRId64 " pairs for %" PRId64 " positions",
			       p->buckets[s->number].path, pairs, s->n_pairs);
	return 0;
}

/* Pipeline step 3: visit the records in the order of their indexes. */
static int bucket_emit_pairs(void *context, void *slot_, struct err *e)
{
	struct external_shuffle *p = context;
	const struct bucket_slot *s = slot_;

	for (int64_t i = 0; i < s->n_pairs; i++) {
		const unsigned char *from = s->bytes + s->offset[i] - 1;
		struct shuffle_record r;
		size_t n;

		if (i + 8 < s->n_pairs)
			__builtin_prefetch(s->bytes + s->offset[i + 8] - 1);
		memcpy(&r, from, sizeof(r));
		from += sizeof(r);
		n = (size_t)r.n_source + r.n_target;
		if (mem_grow(&p->numbers, &p->cap_numbers, n, sizeof(*p->numbers), e))
			return e->code;
		if (p->width == sizeof(int32_t) && n)
			memcpy(p->numbers, from, n * sizeof(*p->numbers));
		for (size_t k = 0; p->width == sizeof(uint16_t) && k < n; k++) {
			uint16_t x;

			memcpy(&x, from + k * sizeof(x), sizeof(x));
			p->numbers[k] = x;
		}
		if (p->visit(p->context, p->numbers, (int32_t)r.n_source, p->numbers + r.n_source,
			     (int32_t)r.n_target, e))
			return e->code;
	}
	return 0;
}

int external_shuffle_run(struct external_shuffle *p, shuffled_pair_visitor visit, void *context,
			 struct err *e)
{
	struct flow f = { bucket_load,
			  bucket_index_records,
			  bucket_emit_pairs,
			  p,
			  p->slots,
			  sizeof(p->slots[0]),
			  SLOTS,
			  p->options.threads > 1 ? 1 : 0 };

	assert(p->next == 0); /* at most one run */
	p->visit = visit;
	p->context = context;
	return mem_grow(&p->numbers, &p->cap_numbers, 1, sizeof(*p->numbers), e) ? e->code
										 : flow_run(&f, e);
}

void external_shuffle_free(struct external_shuffle *p)
{
	if (!p)
		return;
	for (int64_t i = 0; p->buckets && i < p->n; i++) {
		struct shuffle_bucket *b = &p->buckets[i];

		if (b->file)
			fclose(b->file);
		free(b->path);
	}
	for (int i = 0; i < SLOTS; i++) {
		free(p->slots[i].bytes);
		free(p->slots[i].offset);
	}
	free(p->buckets);
	free(p->record);
	free(p->numbers);
	free(p);
}
