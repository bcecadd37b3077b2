/* hosts_aws.c - reader of the JSON output of "aws ec2 describe-instances"; see hosts.h */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"
#include "share/format/json.h"
#include "train/launch/remote/hosts.h"

#define PATH_MAX_BYTES 200 /* of a JSON path such as .Reservations[0].Instances[1] */

/*
 * Number of GPUs of the instance types that have any. The longest entry that is a prefix of the
 * type's name counts; an entry that ends with a dot covers a whole family.
 */
static const struct {
	const char *type;
	int32_t gpus;
} types[] = {
	/* clang-format off */
	{ "g3.", 1 }, { "g3.8xlarge", 2 }, { "g3.16xlarge", 4 }, { "g3s.", 1 },
	{ "g4ad.", 1 }, { "g4ad.8xlarge", 2 }, { "g4ad.16xlarge", 4 },
	{ "g4dn.", 1 }, { "g4dn.12xlarge", 4 }, { "g4dn.metal", 8 },
	{ "g5.", 1 }, { "g5.12xlarge", 4 }, { "g5.24xlarge", 4 }, { "g5.48xlarge", 8 },
	{ "g5g.", 1 }, { "g5g.16xlarge", 2 }, { "g5g.metal", 2 },
	{ "g6.", 1 }, { "g6.12xlarge", 4 }, { "g6.24xlarge", 4 }, { "g6.48xlarge", 8 },
	{ "g6e.", 1 }, { "g6e.12xlarge", 4 }, { "g6e.24xlarge", 4 }, { "g6e.48xlarge", 8 },
	{ "gr6.", 1 },
	{ "p2.xlarge", 1 }, { "p2.8xlarge", 8 }, { "p2.16xlarge", 16 },
	{ "p3.2xlarge", 1 }, { "p3.8xlarge", 4 }, { "p3.16xlarge", 8 }, { "p3dn.", 8 },
	{ "p4d.", 8 }, { "p4de.", 8 }, { "p5.", 8 }, { "p5.4xlarge", 1 }, { "p5e.", 8 },
	{ "p5en.", 8 }, { "p6-b200.", 8 }, { "p6-b300.", 8 },
	/* clang-format on */
};

static int32_t aws_type_gpus(const char *type)
{
	size_t longest = 0;
	int32_t gpus = 0;

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		size_t n = strlen(types[i].type);

		if (n > longest && !strncmp(types[i].type, type, n)) {
			longest = n;
			gpus = types[i].gpus;
		}
	}
	return gpus;
}

struct aws_walk {
	struct hosts *hosts;
	const char *source;
	char path[PATH_MAX_BYTES]; /* of the current value, for messages; cut if too long */
	int64_t instances, running;
};

static int add_aws_instance(struct aws_walk *w, const struct json *instance, struct err *e)
{
	const char *address = json_text(json_get(instance, "PrivateIpAddress"), NULL);
	const char *type = json_text(json_get(instance, "InstanceType"), "");
	const char *state = json_text(json_get(json_get(instance, "State"), "Name"), "running");
	int32_t gpus = aws_type_gpus(type);
	int rc;

	w->instances++;
	if (strcmp(state, "running") != 0)
		return 0;
	w->running++;
	if (!address)
		return err_set(e, ERR_DATA, "%s: %s: this running instance has no PrivateIpAddress",
			       w->source, w->path);
	rc = hosts_add(w->hosts, address, gpus ? gpus : 1, 0, e);
	return rc == ERR_DATA ? err_prefix(e, "%s: %s.PrivateIpAddress", w->source, w->path) : rc;
}

/*
 * Find instances at any depth, because --query changes the layout. json_parse() bounds the depth.
 */
static int aws_walk(struct aws_walk *w, const struct json *v, struct err *e)
{
	size_t n = strlen(w->path);
	size_t i = 0;
	int rc = 0;

	assert(n < sizeof(w->path));
	if (json_get(v, "InstanceId") || json_get(v, "PrivateIpAddress"))
		return add_aws_instance(w, v, e);
	for (const struct json *c = json_first(v); !rc && c; c = json_next(v, c)) {
		if (json_is_object(v))
			snprintf(w->path + n, sizeof(w->path) - n, ".%s", json_child_key(c));
		else
			snprintf(w->path + n, sizeof(w->path) - n, "[%zu]", i++);
		rc = aws_walk(w, c, e);
		w->path[n] = 0;
	}
	return rc;
}

int hosts_read_aws(struct hosts *h, const char *text, size_t n, const char *source, struct err *e)
{
	struct aws_walk w = { .hosts = h, .source = source };
	struct json *root = json_parse(text, n, e);
	int rc = root ? aws_walk(&w, root, e) : err_prefix(e, "%s", source);

	json_free(root);
	if (!rc && !w.running)
		rc = err_set(e, ERR_DATA, "%s: none of its %lld instances is running", source,
			     (long long)w.instances);
	return rc;
}
