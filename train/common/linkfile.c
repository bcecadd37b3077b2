/* linkfile.c - see linkfile.h */
#include "train/common/linkfile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "share/base/file.h"

#define MAX_BYTES (64u << 20)

/* A speed or a time that can be one, else NAN. */
static double positive(const struct json *v)
{
	double value = json_number(v, NAN);

	return isfinite(value) && value > 0 ? value : NAN;
}

int linkfile_read(struct link_speed *s, const char *workspace, struct err *e)
{
	char *path = file_path(e, "%s/network.json", workspace);
	struct buf text = { 0 };
	struct json *tree = NULL;
	int rc = path ? 0 : e->code;

	*s = (struct link_speed){ .bytes_s = NAN, .latency_s = NAN };
	if (!rc && file_exists(path)) {
		rc = file_read_all(path, MAX_BYTES, &text, e);
		if (!rc && !(tree = json_parse(buf_text(&text), text.len, e)))
			rc = err_prefix(e, "%s", path);
		if (!rc) {
			s->measured = json_number(json_get(tree, "t"), 0);
			s->hosts = (int64_t)json_len(json_get(tree, "hosts"));
			s->bytes_s = positive(json_get(tree, "link_bytes_s"));
			s->latency_s = positive(json_get(tree, "latency_s"));
			snprintf(s->network, sizeof(s->network), "%s",
				 json_text(json_get(tree, "network"), ""));
		}
	}
	json_free(tree);
	buf_free(&text);
	free(path);
	return rc;
}

int linkfile_write(const char *workspace, const struct buf *json, struct err *e)
{
	char *path = file_path(e, "%s/network.json", workspace);
	int rc = path ? file_write_all(path, json->data, json->len, e) : e->code;

	free(path);
	return rc;
}
