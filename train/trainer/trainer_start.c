/* trainer_start.c - starts a run with the weights of a model; see trainer_internal.h */
#include "train/trainer/trainer_internal.h"

#include <stdlib.h>

#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/workspace/paths.h"
#include "train/common/start_from.h"

/* An imported checkpoint has weights, but no moments. */
bool start_weights_lack_moments(const char *checkpoint, const struct ckpt_state *found)
{
	struct err ignored;
	char *moments = file_path(&ignored, "%s/optimizer.safetensors", checkpoint);
	bool bare = found->step == 0 && moments && !file_exists(moments);

	free(moments);
	return bare;
}

/* Check the folder by its SHA256SUMS, except the optimizer's moments, and load its weights. */
static int load_start_weights(struct trainer *t, const char *folder, struct ckpt_state *found,
			      struct err *e)
{
	struct ckpt_check *check = ckpt_check_start(&(struct ckpt_source){ folder, false }, e);
	int rc = check ? ckpt_check_finish(check, e) : e->code;

	if (!rc)
		rc = ckpt_read_state(folder, false, found, e);
	return rc ? rc : ckpt_load_weights(folder, t->model, e);
}

int start_weights_load(struct trainer *t, const char *checkpoint, struct err *e)
{
	char *folder = checkpoint ? mem_strdup(checkpoint, e)
				  : paths_model(t->conf->workspace, t->conf->start_from, e);
	struct ckpt_state found = { 0 };
	char sum[65] = "";
	int rc = folder ? start_from_check(folder, t->corpus, t->conf, e) : e->code;

	if (!rc)
		rc = load_start_weights(t, folder, &found, e);
	if (!rc)
		rc = ckpt_weights_sum(folder, sum, e);
	if (!rc)
		t->start_text = file_path(e,
					  "started with the weights of %s (step %lld, SHA-256 "
					  "%.12s); moments and step count start from 0",
					  folder, (long long)found.step, sum);
	free(folder);
	return rc || !t->start_text ? e->code : 0;
}

int start_weights_report(struct trainer *t, struct err *e)
{
	bool has_started = t->start_text != NULL;

	if (t->comm->broadcast(t->comm, &has_started, sizeof(has_started), 0, e))
		return e->code;
	if (!has_started)
		return 0;
	if (trainer_is_first(t))
		report_event(t, "info", "%s", t->start_text);
	return trainer_evaluate(t, e);
}
