/* linkfile.c - see linkfile.h */
#include "train/common/linkfile.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"

#define MAX_BYTES (64u << 20)

/* A speed or time above 0, else NAN. */
static double positive_or_nan(const struct json *v)
{
	double value = json_number(v, NAN);

	return isfinite(value) && value > 0 ? value : NAN;
}

/* *tree is owned by the caller; NULL: no such file. */
static int read_linkfile_json(const char *workspace, struct json **tree, struct err *e)
{
	char *path = file_path(e, "%s/network.json", workspace);
	struct buf text = { 0 };
	int rc = path ? 0 : e->code;

	*tree = NULL;
	if (!rc && file_exists(path)) {
		rc = file_read_all(path, MAX_BYTES, &text, e);
		if (!rc && !(*tree = json_parse(buf_text(&text), text.len, e)))
			rc = err_prefix(e, "%s", path);
	}
	buf_free(&text);
	free(path);
	return rc;
}

int linkfile_read(struct link_speed *s, const char *workspace, struct err *e)
{
	struct json *tree;
	int rc = read_linkfile_json(workspace, &tree, e);

	*s = (struct link_speed){ .bytes_s = NAN, .latency_s = NAN };
	if (tree) {
		s->measured = json_number(json_get(tree, "t"), 0);
		s->hosts = (int64_t)json_len(json_get(tree, "hosts"));
		s->bytes_s = positive_or_nan(json_get(tree, "link_bytes_s"));
		s->latency_s = positive_or_nan(json_get(tree, "latency_s"));
		snprintf(s->network, sizeof(s->network), "%s",
			 json_text(json_get(tree, "network"), ""));
	}
	json_free(tree);
	return rc;
}

/* ---- the curve --------------------------------------------------------- */

const char *const LINK_WIRE_NAMES[LINK_WIRES] = { "fp32", "bf16", "2bit", "1bit", "int8" };
const char *const LINK_KEYS[LINK_WIRES] = { "seconds", "bf16_s", "2bit_s", "1bit_s", "int8_s" };

/* Points must ascend; others are skipped. */
static void parse_points(struct link_curve *c, const struct json *all)
{
	double before = 0;

	for (size_t i = 0; i < json_len(all) && c->n < LINK_POINTS; i++) {
		const struct json *o = json_at(all, i);
		double bytes = positive_or_nan(json_get(o, "bytes"));

		if (!(bytes > before))
			continue;
		before = c->points[c->n].bytes = bytes;
		for (int w = 0; w < LINK_WIRES; w++)
			c->points[c->n].seconds[w] = positive_or_nan(json_get(o, LINK_KEYS[w]));
		c->n++;
	}
}

static void parse_beside(struct link_curve *c, const struct json *all)
{
	for (size_t i = 0; i < json_len(all); i++) {
		const struct json *o = json_at(all, i);
		const char *wire = json_text(json_get(o, "wire"), "");

		for (int w = 0; w < LINK_WIRES; w++)
			if (!strcmp(wire, LINK_WIRE_NAMES[w])) {
				double lost = json_number(json_get(o, "lost_s"), NAN);

				c->beside[w].bytes = positive_or_nan(json_get(o, "bytes"));
				c->beside[w].seconds = positive_or_nan(json_get(o, "seconds"));
				c->beside[w].lost_s = lost >= 0 ? lost : NAN;
			}
	}
}

int linkfile_read_curve(struct link_curve *c, const char *workspace, struct err *e)
{
	struct json *tree;
	int rc = read_linkfile_json(workspace, &tree, e);

	*c = (struct link_curve){ 0 };
	for (int w = 0; w < LINK_WIRES; w++)
		c->beside[w].bytes = c->beside[w].seconds = c->beside[w].lost_s = NAN;
	if (tree) {
		c->hosts = (int64_t)json_len(json_get(tree, "hosts"));
		parse_points(c, json_get(tree, "allreduce"));
		parse_beside(c, json_get(tree, "beside"));
	}
	json_free(tree);
	return rc;
}

double link_curve_seconds(const struct link_curve *c, int wire, double bytes)
{
	double x = 0, y = NAN; /* the largest point below bytes */

	assert(wire >= 0 && wire < LINK_WIRES && c->n <= LINK_POINTS);
	for (size_t i = 0; i < c->n; i++) {
		const double at = c->points[i].bytes, seconds = c->points[i].seconds[wire];

		if (isnan(seconds))
			continue;
		if (bytes <= at && isnan(y))
			return seconds;
		if (bytes <= at)
			return y * pow(bytes / x, log(seconds / y) / log(at / x));
		x = at;
		y = seconds;
	}
	return y * bytes / x;
}

int linkfile_write(const char *workspace, const struct buf *json, struct err *e)
{
	char *path = file_path(e, "%s/network.json", workspace);
	int rc = path ? file_write_all(path, json->data, json->len, e) : e->code;

	free(path);
	return rc;
}
