/*
 * trainer_products.c - the algorithms of matrix products that a GPU chose by measuring; see
 * trainer_internal.h
 *
 * Another algorithm adds in another order, so a resumed run would continue with other bits if it
 * measured again. Each rank keeps its choices in products.RANK.txt of the run's folder: it reads them
 * before the first step, and writes them before a checkpoint if it has measured more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "share/base/file.h"
#include "share/base/text.h"
#include "train/trainer/trainer_internal.h"

#define PRODUCTS_BYTES ((size_t)4 << 20) /* greatest size that is read */

static char *products_path(const struct trainer *t, struct err *e)
{
	return file_path(e, "%s/products.%d.txt", t->folder, t->comm->rank);
}

static int products_read(struct trainer *t, const char *path, struct err *e)
{
	struct buf text = { 0 };
	int rc = file_read_all(path, PRODUCTS_BYTES, &text, e);

	if (!rc)
		rc = model_get_ops(t->model)->load_choices(model_get_dev(t->model), buf_text(&text),
							   text.len, e);
	buf_free(&text);
	return rc;
}

/* The file was not read. Of the first rank an event; other ranks have no journal. */
static void products_warn(struct trainer *t, const char *path, const struct err *why)
{
	if (trainer_is_first(t))
		report_event(
			t, "warning",
			"%s is not used (%.200s): the fastest algorithms of matrix products are "
			"measured again, so this attempt may continue with other last digits "
			"than an uninterrupted run",
			path, why->text);
	else
		fprintf(stderr, "rank %d: %s is not used (%.200s): algorithms are measured again\n",
			t->comm->rank, path, why->text);
}

int trainer_load_products(struct trainer *t, struct err *e)
{
	const struct ops *o = model_get_ops(t->model);
	struct err why = { 0 };
	char *path;

	if (!o->load_choices)
		return 0;
	path = products_path(t, e);
	if (!path)
		return e->code;
	if (file_exists(path))
		(void)products_read(t, path, &why);
	else if (t->progress.saved_step >= 0)
		err_set(&why, ERR_IO, "it is missing");
	if (why.code)
		products_warn(t, path, &why);
	free(path);
	return 0;
}

/* The file was not written; the next checkpoint tries again. */
static void products_not_kept(struct trainer *t, const struct err *why)
{
	if (trainer_is_first(t))
		report_event(t, "warning",
			     "cannot keep the measured algorithms of matrix products; the next "
			     "checkpoint tries again: %.300s",
			     why->text);
	else
		fprintf(stderr,
			"rank %d: cannot keep the measured algorithms of matrix products: %.300s\n",
			t->comm->rank, why->text);
}

void trainer_save_products(struct trainer *t)
{
	const struct ops *o = model_get_ops(t->model);
	struct err why = { 0 };
	int64_t measured = 0;
	size_t n = 0;
	char *text, *path;

	if (!o->save_choices)
		return;
	(void)o->count_choices(model_get_dev(t->model), &measured);
	if (measured == t->products_saved)
		return;
	text = o->save_choices(model_get_dev(t->model), &n, &why);
	path = text ? products_path(t, &why) : NULL;
	if (!path || file_write_all(path, text, n, &why)) {
		products_not_kept(t, &why);
	} else {
		report_event(t, "info",
			     "measured the fastest algorithm of %lld kind%s of matrix products; "
			     "resumed attempts use the same ones (%s)",
			     (long long)(measured - t->products_saved),
			     text_plural(measured - t->products_saved), path);
		t->products_saved = measured;
	}
	free(path);
	free(text);
}
