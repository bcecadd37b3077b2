/* scalars.c - the numbers in a record of the journal, with tags; see scalars.h */
#include "train/record/scalars.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"

struct tag {
	const char *field, *tag;
};

static const struct tag train_tags[] = {
	{ "loss", "train/loss" },
	{ "nll", "train/nll" },
	{ "lr", "train/learning_rate" },
	{ "grad_norm", "train/gradient_norm" },
	{ "epoch", "train/epoch" },
	{ "source_tps", "speed/source_tokens_per_second" },
	{ "target_tps", "speed/target_tokens_per_second" },
	{ "step_s", "speed/step_seconds" },
	{ "input_s", "step/input_seconds" },
	{ "compute_s", "step/compute_seconds" },
	{ "exposed_s", "step/exposed_seconds" },
	{ "wait_s", "step/wait_seconds" },
	{ "update_s", "step/update_seconds" },
	{ "sent_bytes", "step/sent_bytes" },
	{ NULL, NULL },
};

static const struct tag eval_tags[] = {
	{ "bleu", "dev/bleu" },
	{ "dev_nll", "dev/nll" },
	{ "dev_ppl", "dev/perplexity" },
	{ "train_nll", "dev/train_sample_nll" },
	{ "seconds", "dev/seconds" },
	{ "dev_loss", "dev/loss" },
	{ "pseudo_bleu", "dev/pseudo_bleu" },
	{ NULL, NULL },
};

static const struct tag verdict_tags[] = {
	{ "exposed_share", "network/exposed_share" },
	{ "predicted_bytes", "network/predicted_bytes_per_step" },
	{ "observed_bytes", "network/observed_bytes_per_step" },
	{ "busbw_bytes_s", "network/busbw_bytes_per_second" },
	{ NULL, NULL },
};

/* After the prefix hosts/NAME/ */
static const struct tag host_tags[] = {
	{ "cpu", "cpu" },
	{ "memory_used", "memory_used_bytes" },
	{ "disk_read_bytes_s", "disk_read_bytes_per_second" },
	{ "disk_write_bytes_s", "disk_write_bytes_per_second" },
	{ "rx_bytes_s", "received_bytes_per_second" },
	{ "tx_bytes_s", "sent_bytes_per_second" },
	{ "retransmits_s", "tcp_retransmits_per_second" },
	{ NULL, NULL },
};

/* After the prefix hosts/NAME/gpuN/ */
static const struct tag gpu_tags[] = {
	/* clang-format off */
	{"util", "utilisation"},
	{"memory_used", "memory_used_bytes"},
	{"power_w", "power_watts"},
	{"temperature_c", "temperature_celsius"},
	{"sm_mhz", "sm_clock_mhz"},
	{NULL, NULL},
	/* clang-format on */
};

/* After the prefix ranks/N/ */
static const struct tag rank_tags[] = {
	/* clang-format off */
	{"step_s", "step_seconds"},
	{"input_s", "input_seconds"},
	{"compute_s", "compute_seconds"},
	{"exposed_s", "exposed_seconds"},
	{"wait_s", "wait_seconds"},
	{"update_s", "update_seconds"},
	{"sent_bytes", "sent_bytes"},
	{NULL, NULL},
	/* clang-format on */
};

/* The function that gets the numbers. */
struct scalar_visitor {
	scalars_fn *f;
	void *arg;
	struct err *e;
};

static int visit_scalars(const struct scalar_visitor *to, const struct json *record,
			 const struct tag *tags, const char *prefix)
{
	char name[400];

	for (const struct tag *g = tags; g->field; g++) {
		double v = json_number(json_get(record, g->field), NAN);
		int rc;

		snprintf(name, sizeof(name), "%s%s", prefix, g->tag);
		rc = isnan(v) ? 0 : to->f(to->arg, name, v, to->e);
		if (rc)
			return rc;
	}
	return 0;
}

static int visit_host_scalars(const struct scalar_visitor *to, const struct json *record)
{
	const struct json *gpus = json_get(record, "gpus"), *gpu;
	const char *host = json_text(json_get(record, "host"), "unknown");
	char prefix[320];
	int rc;

	snprintf(prefix, sizeof(prefix), "hosts/%.255s/", host);
	rc = visit_scalars(to, record, host_tags, prefix);
	for (size_t i = 0; !rc && (gpu = json_at(gpus, i)) != NULL; i++) {
		snprintf(prefix, sizeof(prefix), "hosts/%.255s/gpu%lld/", host,
			 (long long)json_integer(json_get(gpu, "index"), (int64_t)i));
		rc = visit_scalars(to, gpu, gpu_tags, prefix);
	}
	return rc;
}

static int visit_rank_scalars(const struct scalar_visitor *to, const struct json *record)
{
	char prefix[40];

	snprintf(prefix, sizeof(prefix), "ranks/%lld/",
		 (long long)json_integer(json_get(record, "rank"), -1));
	return visit_scalars(to, record, rank_tags, prefix);
}

int scalars_each(const struct json *record, scalars_fn *f, void *arg, struct err *e)
{
	static const struct {
		const char *kind;
		const struct tag *tags;
	} kinds[] = { { "train", train_tags }, { "eval", eval_tags }, { "verdict", verdict_tags } };
	const struct scalar_visitor to = { f, arg, e };
	const char *kind = json_text(json_get(record, "kind"), "");

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].kind, kind))
			return visit_scalars(&to, record, kinds[i].tags, "");
	if (!strcmp(kind, "host"))
		return visit_host_scalars(&to, record);
	return strcmp(kind, "rank") != 0 ? 0 : visit_rank_scalars(&to, record);
}
