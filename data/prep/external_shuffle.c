/* external_shuffle.c - see external_shuffle.h */
#include "data/prep/external_shuffle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/mem.h"

#define BUCKET_BYTES ((int64_t)32 << 20)
#define MAX_BUCKETS  512 /* files open at the same time */
#define FILE_BUFFER  ((size_t)256 << 10)
#define NARROW	     65536
#define SLOTS	     3

/* In front of the numbers of a pair. */
struct shuffle_record {
	uint32_t place; /* within the bucket */
	uint32_t n_source, n_target;
};

struct shuffle_bucket {
	FILE *file;
	char *path; /* owned */
	int64_t bytes;
};

/* A bucket in memory. */
struct bucket_slot {
	int64_t number, first, places;
	unsigned char *bytes; /* owned */
	size_t cap_bytes;
	uint64_t *at; /* owned: (places) offset of its record + 1; 0: none */
	size_t cap_at;
};

struct external_shuffle {
	struct external_shuffle_options options;
	int64_t n;			/* buckets */
	struct shuffle_bucket *buckets; /* owned: (n) */
	size_t width;			/* bytes of a number */
	unsigned char *record;		/* owned: the one being written */
	size_t cap_record;
	struct bucket_slot slots[SLOTS];
	/* of external_shuffle_run() */
	int64_t next; /* bucket to read */
	shuffled_pair_visitor visit;
	void *context;
	int32_t *numbers; /* owned: of the pair at hand */
	size_t cap_numbers;
};

static int64_t bucket_start(const struct external_shuffle *p, int64_t bucket)
{
	return (int64_t)((unsigned __int128)bucket * (uint64_t)p->options.places / (uint64_t)p->n);
}

/* The bucket whose first place is the last one at or before this. */
static int64_t bucket_of_place(const struct external_shuffle *p, int64_t place)
{
	return (int64_t)((((unsigned __int128)place + 1) * (uint64_t)p->n - 1) /
			 (uint64_t)p->options.places);
}

struct external_shuffle *external_shuffle_new(const struct external_shuffle_options *o,
					      struct err *e)
{
	struct external_shuffle *p = mem_alloc(1, sizeof(*p), e);
	int64_t bytes = o->bucket_bytes ? o->bucket_bytes : BUCKET_BYTES;

	if (!p)
		return NULL;
	p->options = *o;
	p->width = o->limit <= NARROW ? sizeof(uint16_t) : sizeof(int32_t);
	p->n = MIN(MAX(o->expected_bytes / bytes, 1), MIN(MAX_BUCKETS, MAX(o->places, 1)));
	p->buckets = mem_alloc((size_t)p->n, sizeof(*p->buckets), e);
	for (int64_t i = 0; p->buckets && i < p->n; i++) {
		struct shuffle_bucket *b = &p->buckets[i];

		b->path = file_path(e, "%s.%d", o->stem, (int)i);
		if (b->path && !(b->file = fopen(b->path, "w+be")))
			err_set_errno(e, ERR_CANTCREAT, "%s: cannot be made", b->path);
		if (!b->file)
			goto fail;
		remove(b->path); /* so that a killed program leaves nothing */
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

int external_shuffle_put(struct external_shuffle *p, int64_t place, const int32_t *source,
			 int32_t n_source, const int32_t *target, int32_t n_target, struct err *e)
{
	int64_t k = bucket_of_place(p, place);
	struct shuffle_bucket *b = &p->buckets[k];
	struct shuffle_record r = { (uint32_t)(place - bucket_start(p, k)), (uint32_t)n_source,
				    (uint32_t)n_target };
	size_t bytes = sizeof(r) + ((size_t)n_source + (size_t)n_target) * p->width;

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

/* ---- giving back ---- */

/* Whole buckets come back from their files … */
static int bucket_load(void *context, void *slot_, struct err *e)
{
	struct external_shuffle *p = context;
	struct bucket_slot *s = slot_;
	struct shuffle_bucket *b;

	if (p->next == p->n)
		return 0;
	s->number = p->next++;
	s->first = bucket_start(p, s->number);
	s->places = bucket_start(p, s->number + 1) - s->first;
	b = &p->buckets[s->number];
	if (mem_grow(&s->bytes, &s->cap_bytes, (size_t)b->bytes, 1, e) ||
	    mem_grow(&s->at, &s->cap_at, (size_t)s->places, sizeof(*s->at), e))
		return e->code;
	rewind(b->file);
	if (fread(s->bytes, 1, (size_t)b->bytes, b->file) != (size_t)b->bytes)
		return err_set_errno(e, ERR_IO, "%s: cannot be read", b->path);
	fclose(b->file);
	b->file = NULL;
	return 1;
}

/* … are looked through for where each record is … */
static int bucket_index_records(void *context, int worker, void *slot_, struct err *e)
{
	const struct external_shuffle *p = context;
	struct bucket_slot *s = slot_;
	uint64_t at = 0, end = (uint64_t)p->buckets[s->number].bytes;
	int64_t pairs = 0;
	struct shuffle_record r;

	(void)worker;
	if (s->places)
		memset(s->at, 0, (size_t)s->places * sizeof(*s->at));
	for (; at < end; pairs++) {
		memcpy(&r, s->bytes + at, sizeof(r));
		if (r.place >= s->places || s->at[r.place])
			return err_set(e, ERR_INTERNAL, "%s: place %" PRId64 " is taken twice",
				       p->options.stem, s->first + r.place);
		s->at[r.place] = at + 1;
		at += sizeof(r) + ((uint64_t)r.n_source + r.n_target) * p->width;
	}
	if (pairs != s->places)
		return err_set(e, ERR_INTERNAL, "%s: %" PRId64 " pairs for %" PRId64 " places",
			       p->options.stem, pairs, s->places);
	return 0;
}

/* … and are handed on in their order. */
static int bucket_emit_pairs(void *context, void *slot_, struct err *e)
{
	struct external_shuffle *p = context;
	const struct bucket_slot *s = slot_;

	for (int64_t i = 0; i < s->places; i++) {
		const unsigned char *from = s->bytes + s->at[i] - 1;
		struct shuffle_record r;
		size_t n;

		if (i + 8 < s->places)
			__builtin_prefetch(s->bytes + s->at[i + 8] - 1);
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
		free(p->slots[i].at);
	}
	free(p->buckets);
	free(p->record);
	free(p->numbers);
	free(p);
}
