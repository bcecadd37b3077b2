/*
 * cpu_linear_tile.h - one tile of cpu_linear.c: n_rows rows of a times two vectors of outputs of a
 * panel. Included there once for each type of unit, with these macros defined:
 *
 *	TILE_NAME	name of the function
 *	TILE_TARGET	its attributes: instruction sets beyond the machine level
 *	TILE_UNIT	type of a unit
 *	TILE_VEC	vector of units
 *	TILE_SUM	vector of sums
 *	TILE_MULTIPLY(sum, x, y)	sum + x y in each lane, x of a and y of b
 *	TILE_INTEGERS	1: sums are integers, and are scaled at the end
 *	TILE_SHIFT	constant added to each element of a; TILE_SHIFT * sum(b) is subtracted
 *
 * Each sum runs over k in order, whatever the number of rows. The switch at the end makes the row
 * count a constant, so that all sums stay in registers.
 */

/* rows is a constant after inlining. */
TILE_TARGET VEC_INLINE void JOIN(TILE_NAME, _rows)(const struct tile *t, const int rows)
{
	const TILE_UNIT *a = (const TILE_UNIT *)t->a, *b = (const TILE_UNIT *)t->b;
	const int64_t n_units = t->n_units, pitch = t->pitch, ahead = t->ahead;
	TILE_SUM sum[TILE_ROWS][2];

	VEC_UNROLL
	for (int i = 0; i < rows; i++)
		sum[i][0] = sum[i][1] = (TILE_SUM){ 0 };
	for (int64_t u = 0; u < n_units; u++, a++, b += PANEL_WIDTH) {
		TILE_VEC y[2];

		if (rows > 4) { /* with fewer rows the hardware prefetcher suffices */
			__builtin_prefetch(b + ahead);
			__builtin_prefetch(b + ahead + VEC_LANES);
		}
		memcpy(&y[0], b, sizeof(y[0]));
		memcpy(&y[1], b + VEC_LANES, sizeof(y[1]));
		VEC_UNROLL
		for (int i = 0; i < rows; i++) {
			TILE_VEC x = a[i * pitch] - (TILE_VEC){ 0 };

			sum[i][0] = TILE_MULTIPLY(sum[i][0], x, y[0]);
			sum[i][1] = TILE_MULTIPLY(sum[i][1], x, y[1]);
		}
	}
	VEC_UNROLL
	for (int v = 0; v < 2; v++) {
		struct output_columns c;

		if (!load_columns(&c, t, v * VEC_LANES, TILE_INTEGERS, TILE_SHIFT))
			break;
		VEC_UNROLL
		for (int i = 0; i < rows; i++)
			store_output(t, &c, i, (vec)sum[i][v], TILE_INTEGERS);
	}
}

TILE_TARGET static void TILE_NAME(const struct tile *t)
{
	switch (t->n_rows) {
	case 1:
		JOIN(TILE_NAME, _rows)(t, 1);
		break;
	case 2:
		JOIN(TILE_NAME, _rows)(t, 2);
		break;
	case 3:
		JOIN(TILE_NAME, _rows)(t, 3);
		break;
	case 4:
		JOIN(TILE_NAME, _rows)(t, 4);
		break;
#if TILE_ROWS > 4
	case 5:
		JOIN(TILE_NAME, _rows)(t, 5);
		break;
	case 6:
		JOIN(TILE_NAME, _rows)(t, 6);
		break;
#endif
#if TILE_ROWS > 6
	case 7:
		JOIN(TILE_NAME, _rows)(t, 7);
		break;
	case 8:
		JOIN(TILE_NAME, _rows)(t, 8);
		break;
	case 9:
		JOIN(TILE_NAME, _rows)(t, 9);
		break;
	case 10:
		JOIN(TILE_NAME, _rows)(t, 10);
		break;
	case 11:
		JOIN(TILE_NAME, _rows)(t, 11);
		break;
	case 12:
		JOIN(TILE_NAME, _rows)(t, 12);
		break;
#endif
	}
}

#undef TILE_NAME
#undef TILE_TARGET
#undef TILE_UNIT
#undef TILE_VEC
#undef TILE_SUM
#undef TILE_MULTIPLY
#undef TILE_INTEGERS
#undef TILE_SHIFT
