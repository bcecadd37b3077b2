/* t_format.c - precision = auto: which number format a run takes, and that it keeps it */
#include "tests/train/fake_ranks.h"
#include "tests/train/small_run.h"
#include "train/trainer/product_format.h"

/* The field of a run's first record of a kind; "" without one. */
static void first_text(const char *run, const char *kind, const char *field, char out[200])
{
	char path[600];
	struct err e;
	const struct json *record;
	struct journal_reader *r;

	*out = 0;
	snprintf(path, sizeof(path), "%s/runs/%s/journal.jsonl", test_folder(), run);
	r = journal_reader_open(path, &e);
	while (r && !*out && journal_next(r, &record, &e) > 0)
		if (!strcmp(json_text(json_get(record, "kind"), ""), kind))
			snprintf(out, 200, "%s", json_text(json_get(record, field), ""));
	journal_reader_free(r);
}

/* The format of the run's start record; its last checkpoint must say the same. */
static void check_format(const char *run, int step, const char *wanted)
{
	char found[200], folder[600];
	struct ckpt_state s = { 0 };
	struct err e;

	first_text(run, "start", "precision", found);
	check_str(found, wanted);
	snprintf(folder, sizeof(folder), "%s/runs/%s/checkpoints/%d", test_folder(), run, step);
	check_err(ckpt_read_state(folder, true, &s, &e), 0);
	check_str(s.precision, wanted);
}

static bool train_as(struct conf *c, const char *run, const char *backend, const char *precision,
		     const char *steps)
{
	set(c, "run", run);
	set(c, "backend", backend);
	set(c, "precision", precision);
	set(c, "steps", steps);
	return write_recipe(c, run) && trains(c);
}

TEST(format_auto_is_the_faster_one)
{
	struct cpu_features cpu;
	const char *fast;
	struct conf c;

	ops_cpu_features(&cpu);
	fast = cpu_features_prefer_bf16(&cpu) ? "bf16" : "fp32";
	if (!make_corpus() || !make_conf(&c, "auto"))
		return;
	if (train_as(&c, "auto", "cpu", "auto", "10") && train_as(&c, "plain", "cpu", fast, "10")) {
		check_format("auto", 10, fast);
		check_same_run("auto", "plain", 10);
	}
	if (train_as(&c, "ref", "ref", "auto", "10"))
		check_format("ref", 10, "fp32");
	conf_free(&c);
}

/* Who asks for bf16 gets it, with a warning where it is emulated. */
TEST(format_emulated_bf16_is_warned_of)
{
	char text[200];
	struct conf c;

	if (!make_corpus() || !make_conf(&c, "asked"))
		return;
	if (train_as(&c, "asked", "ref", "bf16", "10")) {
		check_format("asked", 10, "bf16");
		first_text("asked", "event", "text", text);
		check(strstr(text, "has no products of bf16") != NULL);
	}
	conf_free(&c);
}

/* On a backend that alone would take fp32, a run that began with bf16 goes on with it. */
TEST(format_is_kept_by_a_resumed_run)
{
	struct conf c;

	if (!make_corpus() || !make_conf(&c, "two"))
		return;
	if (train_as(&c, "one", "ref", "bf16", "20") && train_as(&c, "two", "ref", "bf16", "10") &&
	    train_as(&c, "two", "ref", "auto", "20")) {
		check_format("two", 20, "bf16");
		check_same_run("one", "two", 20);
	}
	conf_free(&c);
}

static bool auto_means_bf16(const struct conf *c, const char *run)
{
	struct comm comm;
	struct err e = { 0 };
	char *folder = file_path(&e, "%s/runs/%s", test_folder(), run);
	const struct product_format f = { c, &comm, folder, 0, NULL };
	bool is_bf16 = false;

	if (!comm_open(&comm, "one", NULL, NULL, &e))
		check_err(product_format_choose(&f, &is_bf16, &e), 0);
	free(folder);
	return is_bf16;
}

/* Checkpoints of older releases lack the format; their recipe has it. */
TEST(format_of_an_older_checkpoint_is_that_of_its_recipe)
{
	static const char field[] = ",\"precision\":\"bf16\"";
	struct buf state = { 0 };
	struct err e = { 0 };
	struct conf c;
	char path[600], *found;

	if (!make_corpus() || !make_conf(&c, "old"))
		return;
	if (train_as(&c, "old", "ref", "bf16", "10")) {
		snprintf(path, sizeof(path), "%s", at("runs/old/checkpoints/10/state.json"));
		check_err(file_read_all(path, 0, &state, &e), 0);
		found = strstr(buf_text(&state), field);
		if (check(found != NULL)) {
			memmove(found, found + strlen(field), strlen(found + strlen(field)) + 1);
			state.len -= strlen(field);
			check_err(file_write_all(path, state.data, state.len, &e), 0);
			set(&c, "precision", "auto");
			check(auto_means_bf16(&c, "old"));
			check(!auto_means_bf16(&c, "new"));
		}
	}
	buf_free(&state);
	conf_free(&c);
}

struct fleet {
	const struct conf *of_rank[2];
	char *folder;
	bool is_bf16[2];
};

static void choose_on_rank(struct comm *c, void *arg)
{
	struct fleet *f = arg;
	const int64_t step = 0;
	struct run_records records = { .step = &step };
	const struct product_format format = { f->of_rank[c->rank], c, f->folder, 0, &records };
	struct err e = { 0 };

	records.journal = c->rank ? NULL : journal_open(at("journal.jsonl"), &e);
	check_err(product_format_choose(&format, &f->is_bf16[c->rank], &e), 0);
	journal_free(records.journal);
}

/* One rank without fast products of bf16, and none of them takes it. */
TEST(format_is_agreed_on_by_all_ranks)
{
	struct conf fast, slow;
	struct fleet f = { { &fast, &slow }, (char *)"/nonexistent", { true, true } };

	if (!make_conf(&fast, "fleet") || !make_conf(&slow, "fleet"))
		return;
	set(&fast, "precision", "auto");
	set(&slow, "precision", "auto");
	set(&slow, "backend", "ref");
	fake_ranks(2, choose_on_rank, &f);
	check(!f.is_bf16[0]);
	check(!f.is_bf16[1]);
	conf_free(&fast);
	conf_free(&slow);
}
