/* evaluate_ranks.c - an evaluation shared by all ranks; see evaluate.h */
#include "train/trainer/evaluate_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/hash.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define PART_LIMIT (1u << 30) /* bytes of the results of one share */
#define FAILED	   "!"	      /* first character of the message of a failed share */

/* The share of this rank. */
struct eval_shares {
	char sum[HASH_SHA256_HEX]; /* SHA-256 of the checkpoint's weights; "": unknown */
	int64_t index, count;	   /* of the share, of all shares; index < 0: no share */
};

/* ---- one share --------------------------------------------------------- */

static int append_share_line(void *arg, const char *line, size_t n, struct err *e)
{
	struct buf *out = arg;

	buf_add(out, line, n);
	buf_add_char(out, '\n');
	if (out->len > PART_LIMIT)
		return err_set(e, ERR_PROTOCOL, "werkbank-eval wrote more than %u bytes",
			       PART_LIMIT);
	return buf_check(out, e);
}

static int run_share(const struct evaluation *v, const struct eval_shares *s, const char *model,
		     struct buf *out, struct err *e)
{
	char slice[64], threads[24];
	const char *const more[] = { "--slice", slice, "--threads", threads, NULL };
	const struct evaluate_child child = {
		.workspace = v->workspace,
		.run = v->run,
		.step = v->step,
		.gpu = v->gpu,
		.model = model,
		.more = more,
		.stop = v->stop,
		.on_line = append_share_line,
		.arg = out,
	};

	snprintf(slice, sizeof(slice), "%lld/%lld", (long long)s->index, (long long)s->count);
	snprintf(threads, sizeof(threads), "%d", v->threads);
	return evaluate_run_child(&child, e);
}

/* Does this rank see the checkpoint that the first rank saved? */
static bool sees_checkpoint(const struct evaluation *v, const struct eval_shares *s)
{
	struct err ignored;
	char sum[HASH_SHA256_HEX];
	char *path = file_path(&ignored, "%s/checkpoints/%lld", v->folder, (long long)v->step);
	bool same = path && !ckpt_weights_sum(path, sum, &ignored) && !strcmp(sum, s->sum);

	free(path);
	return same;
}

/* Evaluate the weights in this rank's memory, saved below $TMPDIR. */
static int share_from_memory(const struct evaluation *v, const struct eval_shares *s,
			     struct buf *out, struct err *e)
{
	const struct ckpt_folder of = { v->corpus, v->conf, v->state };
	const char *tmp = getenv("TMPDIR");
	char *folder = file_path(e, "%s/werkbank-eval-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	char sum[HASH_SHA256_HEX];
	struct err ignored;
	int rc = folder ? 0 : e->code;

	if (!rc && !mkdtemp(folder)) {
		rc = err_set_errno(e, ERR_CANTCREAT,
				   "%s: cannot create a temporary folder (set TMPDIR)", folder);
		free(folder);
		return rc;
	}
	if (!rc)
		rc = ckpt_save_model(folder, &of, v->model, v->weights, e);
	if (!rc)
		rc = ckpt_weights_sum(folder, sum, e);
	if (!rc && strcmp(sum, s->sum))
		rc = err_set(e, ERR_DATA,
			     "the weights of this rank differ from the checkpoint of step %lld",
			     (long long)v->step);
	if (!rc)
		rc = run_share(v, s, folder, out, e);
	if (folder)
		file_remove_tree(folder, &ignored);
	free(folder);
	return rc;
}

/* out = the results of this rank's share, or the message of its failure. *stopped: by *v->stop. */
static void compute_eval_share(struct evaluation *v, const struct eval_shares *s, struct buf *out,
			       int64_t *stopped)
{
	struct err trouble = { 0 };
	char host[256] = "";
	int rc;

	if (s->index < 0)
		return;
	rc = sees_checkpoint(v, s) ? run_share(v, s, NULL, out, &trouble)
				   : share_from_memory(v, s, out, &trouble);
	*stopped = rc == ERR_TEMPFAIL;
	if (!rc || *stopped)
		return;
	*v->unable = true;
	gethostname(host, sizeof(host) - 1);
	buf_free(out);
	buf_printf(out,
		   FAILED "rank %d on %s failed in its share of the evaluation and gets no more "
			  "shares: %s",
		   v->comm->rank, host, trouble.text);
	if (out->failed)
		buf_free(out);
}

/* ---- between ranks ----------------------------------------------------- */

static int plan_eval_shares(struct evaluation *v, struct eval_shares *s, struct err *e)
{
	struct comm *k = v->comm;
	int64_t *able = mem_alloc((size_t)k->size, sizeof(*able), e);
	struct err ignored;
	int rc = able ? 0 : e->code;

	memset(s, 0, sizeof(*s));
	s->index = -1;
	if (k->rank == 0) {
		char *path =
			file_path(&ignored, "%s/checkpoints/%lld", v->folder, (long long)v->step);

		if (path && ckpt_weights_sum(path, s->sum, &ignored))
			s->sum[0] = 0;
		free(path);
	}
	if (!rc)
		rc = k->broadcast(k, s->sum, sizeof(s->sum), 0, e);
	if (!rc) {
		able[k->rank] = s->sum[0] && !*v->unable;
		rc = k->max_ints(k, able, (size_t)k->size, e);
	}
	for (int i = 0; !rc && i < k->size; i++) {
		if (able[i] && i == k->rank)
			s->index = s->count;
		s->count += able[i] != 0;
	}
	free(able);
	return rc;
}

/* *all (ranks * room; first rank, owned by the caller) = mine of each rank, padded with NULs. */
static int gather_share_results(struct comm *k, const struct buf *mine, size_t room, char **all,
				struct err *e)
{
	size_t bytes;
	char *padded;
	int rc = 0;

	*all = NULL;
	if (!mem_mul(room, (size_t)k->size, &bytes))
		return err_set(e, ERR_NOMEM,
			       "cannot gather %zu bytes of each of %d ranks: the sum overflows",
			       room, k->size);
	assert(mine->len < room);
	padded = mem_alloc(room, 1, e);
	if (padded && mine->len)
		memcpy(padded, mine->data, mine->len);
	if (!padded || (k->rank == 0 && !(*all = mem_alloc(bytes, 1, e))))
		rc = e->code;
	if (!rc)
		rc = k->gather(k, padded, room, *all, e);
	free(padded);
	return rc;
}

/* ---- the first rank ---------------------------------------------------- */

/* The message of a failed share becomes an event; the lines of others are added to parts. */
static int parse_share_result(struct evaluation *v, const char *part, struct buf *parts,
			      struct err *e)
{
	struct json_writer *w;

	if (!text_starts_with(part, FAILED)) {
		buf_add_str(parts, part);
		return 0;
	}
	w = journal_begin(v->journal, "event", v->step);
	json_put_str(w, "level", "warning");
	json_put_str(w, "text", part + strlen(FAILED));
	return journal_end(v->journal, e);
}

static int score_eval_shares(struct evaluation *v, const char *all, size_t room, struct err *e)
{
	struct buf parts = { 0 };
	char *path = file_path(e, "%s/evaluation.parts", v->folder);
	const char *const more[] = { "--parts", path, NULL };
	int rc = path ? 0 : e->code;

	for (int i = 0; !rc && i < v->comm->size; i++)
		rc = parse_share_result(v, all + (size_t)i * room, &parts, e);
	if (!rc)
		rc = buf_check(&parts, e);
	if (!rc && !file_write_all(path, buf_text(&parts), parts.len, &v->trouble))
		evaluate_on_first_rank(v, more);
	if (path)
		unlink(path);
	free(path);
	buf_free(&parts);
	return rc;
}

int evaluate_on_all_ranks(struct evaluation *v, struct err *e)
{
	enum { STOPPED, ROOM, N_FACTS };
	int64_t facts[N_FACTS] = { 0 };
	struct buf mine = { 0 };
	struct eval_shares s;
	char *all = NULL;
	int rc;

	v->began = clock_mono_s();
	rc = plan_eval_shares(v, &s, e);
	if (rc)
		return rc;
	compute_eval_share(v, &s, &mine, &facts[STOPPED]);
	facts[ROOM] = (int64_t)mine.len + 1;
	rc = v->comm->max_ints(v->comm, facts, N_FACTS, e);
	if (!rc && facts[STOPPED])
		err_set(&v->trouble, ERR_TEMPFAIL, "the evaluation of step %lld was stopped",
			(long long)v->step);
	else if (!rc)
		rc = gather_share_results(v->comm, &mine, (size_t)facts[ROOM], &all, e);
	if (!rc && all)
		rc = score_eval_shares(v, all, (size_t)facts[ROOM], e);
	free(all);
	buf_free(&mine);
	return rc;
}
