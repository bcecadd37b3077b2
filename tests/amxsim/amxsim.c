/* amxsim.c - see amxsim.h */
#include "tests/amxsim/amxsim.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_TILES	    8  /* palette 1 */
#define TILE_ROWS   16 /* greatest number of rows */
#define TILE_BYTES  64 /* greatest number of bytes of a row */
#define TILE_FLOATS (TILE_BYTES / 4)
#define POISON	    0xFF /* four such bytes are a NaN; as an integer -1 */

/* The 64 bytes that LDTILECFG reads. */
struct tile_config {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};

_Static_assert(sizeof(struct tile_config) == 64, "LDTILECFG reads 64 bytes");

struct sim_tile {
	int rows, row_bytes; /* 0: not configured */
	unsigned char data[TILE_ROWS][TILE_BYTES];
};

static _Thread_local struct {
	bool is_configured;
	struct sim_tile tile[N_TILES];
	char *caught; /* borrowed; NULL: a refusal ends the process */
	size_t caught_size;
} sim;

static atomic_int configured_threads;
static atomic_long multiplications;

void amxsim_catch(char *text, size_t size)
{
	sim.caught = text;
	sim.caught_size = size;
	if (text)
		text[0] = 0;
}

int amxsim_configured_threads(void)
{
	return atomic_load(&configured_threads);
}

long amxsim_multiplications(void)
{
	return atomic_load(&multiplications);
}

static __attribute__((format(printf, 1, 2))) bool refuse(const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (sim.caught) {
		snprintf(sim.caught, sim.caught_size, "%s", text);
		return false;
	}
	fprintf(stderr, "simulated tiles: %s\n", text);
	abort();
}

/* ---- configuration --------------------------------------------------------------- */

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static bool config_is_valid(const struct tile_config *c)
{
	if (c->palette != 1)
		return refuse("palette %d: only palette 1 exists", c->palette);
	if (c->start_row)
		return refuse("start_row is %d: it belongs to interrupted loads", c->start_row);
	if (!is_zero(c->reserved, sizeof(c->reserved)) ||
	    !is_zero((const uint8_t *)(c->row_bytes + N_TILES), 16) ||
	    !is_zero(c->rows + N_TILES, 8))
		return refuse("a reserved byte of the configuration is not 0");
	for (int i = 0; i < N_TILES; i++) {
		if (c->rows[i] > TILE_ROWS || c->row_bytes[i] > TILE_BYTES)
			return refuse("tile %d: %d rows of %d bytes do not fit", i, c->rows[i],
				      c->row_bytes[i]);
		if (!c->rows[i] != !c->row_bytes[i])
			return refuse("tile %d: %d rows of %d bytes", i, c->rows[i],
				      c->row_bytes[i]);
	}
	return true;
}

void amxsim_load_config(const void *config)
{
	struct tile_config c;

	memcpy(&c, config, sizeof(c));
	if (c.palette == 0) { /* the initial state, as after a release */
		amxsim_release();
		return;
	}
	if (!config_is_valid(&c))
		return;
	if (!sim.is_configured)
		atomic_fetch_add(&configured_threads, 1);
	sim.is_configured = true;
	for (int i = 0; i < N_TILES; i++) {
		sim.tile[i].rows = c.rows[i];
		sim.tile[i].row_bytes = c.row_bytes[i];
		memset(sim.tile[i].data, POISON, sizeof(sim.tile[i].data));
	}
}

void amxsim_release(void)
{
	if (sim.is_configured)
		atomic_fetch_sub(&configured_threads, 1);
	sim.is_configured = false;
	memset(sim.tile, 0, sizeof(sim.tile));
}

/* A configured tile; NULL: refused. */
static struct sim_tile *find_tile(const char *what, int tile)
{
	if (!sim.is_configured) {
		refuse("%s without a configuration", what);
		return NULL;
	}
	if (tile < 0 || tile >= N_TILES || !sim.tile[tile].rows) {
		refuse("%s: tile %d has no rows", what, tile);
		return NULL;
	}
	return &sim.tile[tile];
}

/* ---- moving data ------------------------------------------------------------------- */

void amxsim_zero(int tile)
{
	struct sim_tile *t = find_tile("zero", tile);

	if (t)
		memset(t->data, 0, sizeof(t->data));
}

void amxsim_load(int tile, const void *base, ptrdiff_t stride)
{
	struct sim_tile *t = find_tile("load", tile);

	if (!t)
		return;
	memset(t->data, 0, sizeof(t->data));
	for (int i = 0; i < t->rows; i++)
		memcpy(t->data[i], (const char *)base + i * stride, (size_t)t->row_bytes);
}

void amxsim_store(int tile, void *base, ptrdiff_t stride)
{
	const struct sim_tile *t = find_tile("store", tile);

	for (int i = 0; t && i < t->rows; i++)
		memcpy((char *)base + i * stride, t->data[i], (size_t)t->row_bytes);
}

/* ---- multiplication ------------------------------------------------------------------ */

struct sim_operands {
	struct sim_tile *sums, *a, *b;
};

static bool find_operands(struct sim_operands *o, int sums, int a, int b)
{
	o->sums = find_tile("multiplication", sums);
	o->a = o->sums ? find_tile("multiplication", a) : NULL;
	o->b = o->a ? find_tile("multiplication", b) : NULL;
	if (!o->b)
		return false;
	if (sums == a || sums == b || a == b)
		return refuse("tiles %d, %d, %d: operands must differ", sums, a, b);
	if (o->sums->row_bytes % 4 || o->a->row_bytes % 4 || o->b->row_bytes % 4)
		return refuse("a row is no multiple of four bytes");
	if (o->a->rows != o->sums->rows || o->b->row_bytes != o->sums->row_bytes ||
	    o->a->row_bytes != 4 * o->b->rows)
		return refuse("(%d x %d bytes) times (%d x %d bytes) into (%d x %d bytes)",
			      o->a->rows, o->a->row_bytes, o->b->rows, o->b->row_bytes,
			      o->sums->rows, o->sums->row_bytes);
	atomic_fetch_add(&multiplications, 1);
	return true;
}

/* Denormals are zero, as input and as result. */
static float flush(float x)
{
	return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static float float_of_bf16(const unsigned char *p)
{
	const uint32_t bits = ((uint32_t)p[0] | (uint32_t)p[1] << 8) << 16;
	float x;

	memcpy(&x, &bits, sizeof(x));
	return flush(x);
}

/* sum + x y, rounded once. A product of two bf16 is exact as a float unless it over- or underflows. */
static float multiply_add(float sum, float x, float y)
{
	const float product = x * y;

	if (x == 0 && y == 0) /* the edge of an operand */
		return sum;
	if (fabsf(product) >= FLT_MIN && fabsf(product) <= FLT_MAX)
		return flush(sum + product);
	return flush(fmaf(x, y, sum));
}

/* A tile of pairs as floats, even and odd elements apart. */
struct sim_pairs {
	float even[TILE_ROWS][TILE_FLOATS], odd[TILE_ROWS][TILE_FLOATS];
};

static void read_pairs(struct sim_pairs *p, const struct sim_tile *t)
{
	for (int i = 0; i < TILE_ROWS; i++)
		for (int j = 0; j < TILE_FLOATS; j++) {
			p->even[i][j] = float_of_bf16(t->data[i] + 4 * j);
			p->odd[i][j] = float_of_bf16(t->data[i] + 4 * j + 2);
		}
}

/* Even and odd elements along K are summed apart, then both sums are added, then the old value. */
void amxsim_multiply_bf16(int sums, int a, int b)
{
	struct sim_operands o;
	struct sim_pairs x, y;

	if (!find_operands(&o, sums, a, b))
		return;
	read_pairs(&x, o.a);
	read_pairs(&y, o.b);
	for (int m = 0; m < o.sums->rows; m++) {
		float even[TILE_FLOATS] = { 0 }, odd[TILE_FLOATS] = { 0 }, row[TILE_FLOATS];
		const int n_cols = o.sums->row_bytes / 4;

		for (int k = 0; k < o.b->rows; k++)
			for (int n = 0; n < n_cols; n++) {
				even[n] = multiply_add(even[n], x.even[m][k], y.even[k][n]);
				odd[n] = multiply_add(odd[n], x.odd[m][k], y.odd[k][n]);
			}
		memcpy(row, o.sums->data[m], sizeof(row));
		for (int n = 0; n < n_cols; n++)
			row[n] = flush(flush(row[n]) + flush(even[n] + odd[n]));
		memset(o.sums->data[m], 0, TILE_BYTES);
		memcpy(o.sums->data[m], row, (size_t)n_cols * sizeof(*row));
	}
}

static int32_t byte_value(unsigned char byte, int is_signed)
{
	return is_signed ? (int8_t)byte : byte;
}

/* 32-bit sums without saturation. */
void amxsim_multiply_bytes(int sums, int a, int b, int a_signed, int b_signed)
{
	struct sim_operands o;

	if (!find_operands(&o, sums, a, b))
		return;
	for (int m = 0; m < o.sums->rows; m++)
		for (int n = 0; n < o.sums->row_bytes / 4; n++) {
			uint32_t sum;

			memcpy(&sum, o.sums->data[m] + 4 * n, sizeof(sum));
			for (int k = 0; k < o.a->row_bytes; k++)
				sum += (uint32_t)(byte_value(o.a->data[m][k], a_signed) *
						  byte_value(o.b->data[k / 4][4 * n + k % 4],
							     b_signed));
			memcpy(o.sums->data[m] + 4 * n, &sum, sizeof(sum));
		}
}
