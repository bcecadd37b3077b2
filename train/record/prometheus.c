/* prometheus.c - the latest metrics of a run in Prometheus' text format; see prometheus.h */
#include "train/record/prometheus.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/words/intern.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/workspace/journal.h"

/* The object that a metric describes; each group has its own labels besides run. */
enum group { OF_RUN, OF_LEVEL, OF_VERDICT, OF_HOST, OF_GPU, OF_RANK };

/* As field of a family: count the records of the kind. */
#define COUNT NULL

/* A metric. */
static const struct family {
	enum group group;
	const char *kind, *field; /* of the records with its value */
	double unit;		  /* factor of the field's value */
	const char *name, *help;
} families[] = {
	{ OF_RUN, "start", COUNT, 1, "attempts_total", "Attempts to train, restarts included." },
	{ OF_RUN, "start", "t", 1, "start_time_seconds", "Unix time when the attempt began." },
	{ OF_RUN, "start", "ranks", 1, "ranks", "Processes that train together." },
	{ OF_RUN, "start", "parameters", 1, "parameters", "Parameters of the model." },
	{ OF_RUN, "start", "steps", 1, "planned_steps", "Optimizer steps of the whole run." },
	{ OF_RUN, "stop", "running", 1, "running",
	  "1 while the run trains, 0 after its end; compare with the time of its last record." },
	{ OF_RUN, "stop", "exit", 1, "exit_status", "Exit status of the last ended attempt." },
	{ OF_RUN, "train", "t", 1, "last_record_time_seconds",
	  "Unix time of the last training record; it stays behind if the run hangs or is lost." },
	{ OF_RUN, "train", "step", 1, "step", "Optimizer steps done; a restart can go back." },
	{ OF_RUN, "train", "epoch", 1, "epoch", "Passes through the training text." },
	{ OF_RUN, "train", "loss", 1, "train_loss_nats",
	  "Training loss in nats per target token, label-smoothed as it is minimised." },
	{ OF_RUN, "train", "nll", 1, "train_nll_nats",
	  "Training loss in nats per target token, without smoothing." },
	{ OF_RUN, "train", "lr", 1, "learning_rate", "Learning rate." },
	{ OF_RUN, "train", "grad_norm", 1, "gradient_norm",
	  "Norm of the gradient before clipping." },
	{ OF_RUN, "train", "source_tps", 1, "source_tokens_per_second",
	  "Source tokens per second, all ranks." },
	{ OF_RUN, "train", "target_tps", 1, "target_tokens_per_second",
	  "Target tokens per second, all ranks." },
	{ OF_RUN, "train", "step_s", 1, "step_seconds", "Duration of a step." },
	{ OF_RUN, "train", "input_s", 1, "step_input_seconds", "Of a step: waiting for a batch." },
	{ OF_RUN, "train", "compute_s", 1, "step_compute_seconds",
	  "Of a step: forward and backward pass." },
	{ OF_RUN, "train", "exposed_s", 1, "step_exposed_seconds",
	  "Of a step: waiting for reductions that the backward pass did not hide." },
	{ OF_RUN, "train", "wait_s", 1, "step_wait_seconds",
	  "Of the exposed part: waiting for the slowest rank to begin." },
	{ OF_RUN, "train", "update_s", 1, "step_update_seconds", "Of a step: the optimizer." },
	{ OF_RUN, "train", "sent_bytes", 1, "step_sent_bytes", "Bytes a rank sends in a step." },
	{ OF_RUN, "train", "nonfinite", 1, "nonfinite_records_total",
	  "Training records with a number that was not finite." },
	{ OF_RUN, "eval", COUNT, 1, "evaluations_total", "Evaluations." },
	{ OF_RUN, "eval", "step", 1, "evaluated_step", "Step of the last evaluation." },
	{ OF_RUN, "eval", "bleu", 1, "dev_bleu", "BLEU of the development set, 0 to 100." },
	{ OF_RUN, "eval", "pseudo_bleu", 1, "dev_pseudo_bleu",
	  "Teacher-forced BLEU of subwords, 0 to 1, of an imported log; not a translation's "
	  "BLEU." },
	{ OF_RUN, "eval", "dev_nll", 1, "dev_nll_nats", "Loss of the development set." },
	{ OF_RUN, "eval", "dev_ppl", 1, "dev_perplexity", "Perplexity of the development set." },
	{ OF_RUN, "eval", "seconds", 1, "evaluation_seconds", "Duration of the last evaluation." },
	{ OF_RUN, "save", COUNT, 1, "checkpoints_total", "Checkpoints saved." },
	{ OF_RUN, "save", "t", 1, "last_checkpoint_time_seconds",
	  "Unix time of the last checkpoint." },
	{ OF_RUN, "save", "bytes", 1, "checkpoint_bytes", "Size of the last checkpoint." },
	{ OF_RUN, "verdict", "exposed_share", 1, "network_exposed_ratio",
	  "Share of a step spent waiting for the network." },
	{ OF_VERDICT, "verdict", "is", 1, "network_verdict",
	  "1 for the last diagnosis of the network: no, slightly, link, latency, straggler, loss, "
	  "unknown." },
	{ OF_LEVEL, "event", COUNT, 1, "events_total", "Events of the journal." },
	{ OF_HOST, "host", "cpu", 1, "host_cpu_ratio", "Share of all cores in use." },
	{ OF_HOST, "host", "memory_used", 1, "host_memory_used_bytes", "Memory in use." },
	{ OF_HOST, "host", "memory_total", 1, "host_memory_total_bytes", "Memory of the host." },
	{ OF_HOST, "host", "disk_free", 1, "host_disk_free_bytes",
	  "Room on the workspace's disk." },
	{ OF_HOST, "host", "disk_read_bytes_s", 1, "host_disk_read_bytes_per_second",
	  "Read from disks." },
	{ OF_HOST, "host", "disk_write_bytes_s", 1, "host_disk_written_bytes_per_second",
	  "Written to disks." },
	{ OF_HOST, "host", "rx_bytes_s", 1, "host_received_bytes_per_second",
	  "Received by the interface that training uses." },
	{ OF_HOST, "host", "tx_bytes_s", 1, "host_sent_bytes_per_second",
	  "Sent by the interface that training uses." },
	{ OF_HOST, "host", "link_bytes_s", 1, "host_link_bytes_per_second",
	  "Speed of that interface, one direction." },
	{ OF_HOST, "host", "retransmits_s", 1, "host_tcp_retransmits_per_second",
	  "TCP segments sent again." },
	{ OF_GPU, "gpu", "util", 1, "gpu_utilisation_ratio",
	  "Share of the time in which a kernel ran, waiting ones included." },
	{ OF_GPU, "gpu", "memory_used", 1, "gpu_memory_used_bytes", "Memory of the GPU in use." },
	{ OF_GPU, "gpu", "memory_total", 1, "gpu_memory_total_bytes", "Memory of the GPU." },
	{ OF_GPU, "gpu", "power_w", 1, "gpu_power_watts", "Power draw." },
	{ OF_GPU, "gpu", "temperature_c", 1, "gpu_temperature_celsius", "Highest temperature." },
	{ OF_GPU, "gpu", "sm_mhz", 1e6, "gpu_sm_clock_hertz", "Clock of its multiprocessors." },
	{ OF_RANK, "rank", "step_s", 1, "rank_step_seconds", "Duration of a step of this rank." },
	{ OF_RANK, "rank", "input_s", 1, "rank_step_input_seconds", "Of that: waiting for input." },
	{ OF_RANK, "rank", "compute_s", 1, "rank_step_compute_seconds", "Of that: computing." },
	{ OF_RANK, "rank", "exposed_s", 1, "rank_step_exposed_seconds",
	  "Of that: waiting for reductions." },
	{ OF_RANK, "rank", "wait_s", 1, "rank_step_wait_seconds",
	  "Of that: waiting for the slowest rank to begin." },
};

/* An object with values: the run, a host, a GPU, … */
struct label_set {
	enum group group;
	double values[ARRAY_LEN(families)]; /* by family; ABSENT: no record had a value */
};

struct prometheus {
	struct intern labels;	      /* number of a label set by group and labels */
	struct label_set *label_sets; /* (labels.n) owned */
	size_t cap;
	struct buf key; /* reused */
	char *run;	/* owned: the label run="…", escaped */
};

static const double ABSENT = -HUGE_VAL;

/* ---- label sets -------------------------------------------------------- */

static void add_label(struct buf *b, const char *name, const char *text)
{
	buf_printf(b, ",%s=\"", name);
	for (; *text; text++)
		if (*text == '\n')
			buf_add_str(b, "\\n");
		else if (*text == '\\' || *text == '"')
			buf_printf(b, "\\%c", *text);
		else
			buf_add_char(b, *text);
	buf_add_char(b, '"');
}

/* The label set with group and labels p->key, made if it is new; NULL: ERR_NOMEM. */
static struct label_set *find_label_set(struct prometheus *p, enum group group, struct err *e)
{
	int32_t index, before = p->labels.n;
	struct label_set *x;

	if (buf_check(&p->key, e) ||
	    mem_grow(&p->label_sets, &p->cap, (size_t)before + 1, sizeof(*p->label_sets), e) ||
	    intern_add(&p->labels, p->key.data, p->key.len, &index, e))
		return NULL;
	x = &p->label_sets[index];
	if (index == before) {
		x->group = group;
		for (size_t i = 0; i < ARRAY_LEN(families); i++)
			x->values[i] = ABSENT;
	}
	return x;
}

static struct buf *begin_key(struct prometheus *p, enum group group)
{
	buf_restart(&p->key);
	buf_printf(&p->key, "%d{%s", (int)group, p->run);
	return &p->key;
}

static struct label_set *find_host_labels(struct prometheus *p, const struct json *record,
					  enum group group, struct err *e)
{
	struct buf *key = begin_key(p, group);
	char rank[32];

	if (group == OF_RANK) {
		snprintf(rank, sizeof(rank), "%lld",
			 (long long)json_integer(json_get(record, "rank"), -1));
		add_label(key, "rank", rank);
	}
	add_label(key, "host", json_text(json_get(record, "host"), ""));
	return find_label_set(p, group, e);
}

static struct label_set *find_gpu_labels(struct prometheus *p, const struct json *host,
					 const struct json *gpu, size_t i, struct err *e)
{
	struct buf *key = begin_key(p, OF_GPU);
	char index[32];

	snprintf(index, sizeof(index), "%lld",
		 (long long)json_integer(json_get(gpu, "index"), (int64_t)i));
	add_label(key, "host", json_text(json_get(host, "host"), ""));
	add_label(key, "gpu", index);
	add_label(key, "name", json_text(json_get(gpu, "name"), ""));
	return find_label_set(p, OF_GPU, e);
}

static struct label_set *find_labels_by_name(struct prometheus *p, enum group group,
					     const char *label, const char *text, struct err *e)
{
	add_label(begin_key(p, group), label, text);
	return find_label_set(p, group, e);
}

static struct label_set *find_run_labels(struct prometheus *p, struct err *e)
{
	begin_key(p, OF_RUN);
	return find_label_set(p, OF_RUN, e);
}

/* ---- records ----------------------------------------------------------- */

static double *value_of(struct label_set *x, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (!strcmp(families[i].name, name))
			return &x->values[i];
	assert(!"a name of this file that families[] lacks");
	return NULL;
}

static bool is_counter(const struct family *f)
{
	return text_ends_with(f->name, "_total");
}

/* Take the values of a record of this kind; null means a number that is not finite. */
static void read_metric_values(struct label_set *x, const char *kind, const struct json *record)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		const struct family *f = &families[i];
		const struct json *field = f->field ? json_get(record, f->field) : NULL;

		if (f->group != x->group || strcmp(f->kind, kind) != 0)
			continue;
		if (is_counter(f))
			x->values[i] = fmax(x->values[i], 0) + (!f->field || field);
		else if (field)
			x->values[i] = json_number(field, NAN) * f->unit;
	}
}

static int read_run_metrics(struct prometheus *p, const char *kind, const struct json *record,
			    struct err *e)
{
	struct label_set *x = find_run_labels(p, e);
	const struct json *steps = json_get(json_get(record, "options"), "steps");
	double n;

	if (!x)
		return e->code;
	read_metric_values(x, kind, record);
	if (!strcmp(kind, "start")) {
		*value_of(x, "running") = 1;
		*value_of(x, "exit_status") = ABSENT;
		if (steps && text_to_real(json_text(steps, ""), &n))
			*value_of(x, "planned_steps") = n;
	} else if (!strcmp(kind, "stop")) {
		*value_of(x, "running") = 0;
	}
	return 0;
}

static int read_host_metrics(struct prometheus *p, const struct json *record, struct err *e)
{
	const struct json *gpus = json_get(record, "gpus"), *gpu;
	struct label_set *x = find_host_labels(p, record, OF_HOST, e);

	if (!x)
		return e->code;
	read_metric_values(x, "host", record);
	for (size_t i = 0; (gpu = json_at(gpus, i)) != NULL; i++) {
		x = find_gpu_labels(p, record, gpu, i, e);
		if (!x)
			return e->code;
		read_metric_values(x, "gpu", gpu);
	}
	return 0;
}

/* Set the metric of this verdict to 1, those of the other verdicts to 0. */
static int read_verdict_metrics(struct prometheus *p, const struct json *record, struct err *e)
{
	struct label_set *x;

	for (int32_t i = 0; i < p->labels.n; i++)
		if (p->label_sets[i].group == OF_VERDICT)
			*value_of(&p->label_sets[i], "network_verdict") = 0;
	x = find_labels_by_name(p, OF_VERDICT, "verdict",
				json_text(json_get(record, "network"), "unknown"), e);
	if (!x)
		return e->code;
	*value_of(x, "network_verdict") = 1;
	return read_run_metrics(p, "verdict", record, e);
}

int prometheus_record(struct prometheus *p, const struct json *record, struct err *e)
{
	static const char *const of_run[] = { "start", "train", "eval", "save", "stop" };
	const char *kind = json_text(json_get(record, "kind"), "");
	struct label_set *x;

	for (size_t i = 0; i < ARRAY_LEN(of_run); i++)
		if (!strcmp(of_run[i], kind))
			return read_run_metrics(p, kind, record, e);
	if (!strcmp(kind, "verdict"))
		return read_verdict_metrics(p, record, e);
	if (!strcmp(kind, "host"))
		return read_host_metrics(p, record, e);
	if (!strcmp(kind, "rank"))
		x = find_host_labels(p, record, OF_RANK, e);
	else if (!strcmp(kind, "event"))
		x = find_labels_by_name(p, OF_LEVEL, "level",
					json_text(json_get(record, "level"), ""), e);
	else
		return 0;
	if (!x)
		return e->code;
	read_metric_values(x, kind, record);
	return 0;
}

int prometheus_journal(struct prometheus *p, const char *path, struct err *e)
{
	struct journal_reader *r = journal_reader_open(path, e);
	const struct json *record;
	int got = r ? 0 : e->code;

	while (r && (got = journal_next(r, &record, e)) > 0)
		if (prometheus_record(p, record, e)) {
			got = e->code;
			break;
		}
	journal_reader_free(r);
	return got;
}

/* ---- the page ---------------------------------------------------------- */

static void add_metric_value(struct buf *page, double v)
{
	char text[40];

	if (isnan(v)) {
		buf_add_str(page, " NaN\n");
		return;
	}
	for (int digits = 15; digits <= 17; digits += 2) { /* shortest that reads back the same */
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_printf(page, " %s\n", text);
}

void prometheus_page(const struct prometheus *p, struct buf *page)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		const struct family *f = &families[i];
		bool named = false;

		for (int32_t k = 0; k < p->labels.n; k++) {
			double v = p->label_sets[k].values[i];
			size_t n;
			const char *key = intern_text(&p->labels, k, &n);

			if (p->label_sets[k].group != f->group || v == ABSENT)
				continue;
			if (!named)
				buf_printf(page, "# HELP werkbank_%s %s\n# TYPE werkbank_%s %s\n",
					   f->name, f->help, f->name,
					   is_counter(f) ? "counter" : "gauge");
			named = true;
			buf_printf(page, "werkbank_%s", f->name);
			buf_add(page, key + 1, n - 1);
			buf_add_char(page, '}');
			add_metric_value(page, v);
		}
	}
}

int prometheus_write(const struct prometheus *p, const char *path, struct err *e)
{
	struct buf page = { 0 };
	int rc;

	prometheus_page(p, &page);
	rc = file_write_volatile(path, &page, e);
	buf_free(&page);
	return rc;
}

struct prometheus *prometheus_new(const char *run, struct err *e)
{
	struct prometheus *p = mem_alloc(1, sizeof(*p), e);
	struct buf label = { 0 };

	if (!p)
		return NULL;
	add_label(&label, "run", run);
	if (buf_check(&label, e)) {
		prometheus_free(p);
		return NULL;
	}
	p->run = mem_strdup(label.data + 1, e); /* without the comma */
	buf_free(&label);
	if (!p->run) {
		prometheus_free(p);
		return NULL;
	}
	return p;
}

void prometheus_free(struct prometheus *p)
{
	if (!p)
		return;
	intern_free(&p->labels);
	free(p->label_sets);
	free(p->run);
	buf_free(&p->key);
	free(p);
}
