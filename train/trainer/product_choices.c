/* product_choices.c - see product_choices.h */
#include "train/trainer/product_choices.h"

#include <stdio.h>
#include <stdlib.h>

#include "share/base/file.h"
#include "share/base/text.h"

#define PRODUCTS_BYTES ((size_t)4 << 20) /* greatest size that is read */

static char *products_path(const struct product_choices *p, struct err *e)
{
	return file_path(e, "%s/products.%d.txt", p->folder, p->rank);
}

static int products_read(struct product_choices *p, const char *path, struct err *e)
{
	struct buf text = { 0 };
	int rc = file_read_all(path, PRODUCTS_BYTES, &text, e);

	if (!rc)
		rc = model_get_ops(p->model)->load_choices(model_get_dev(p->model), buf_text(&text),
							   text.len, e);
	buf_free(&text);
	return rc;
}

/* The file was not read. Of the first rank an event; other ranks have no journal. */
static void products_warn(struct product_choices *p, const char *path, const struct err *why)
{
	if (p->rank == 0)
		run_records_event(
			p->records, "warning",
			"%s is not used (%.200s): the fastest algorithms of matrix products are "
			"measured again, so this attempt may continue with other last digits "
			"than an uninterrupted run",
			path, why->text);
	else
		fprintf(stderr, "rank %d: %s is not used (%.200s): algorithms are measured again\n",
			p->rank, path, why->text);
}

int product_choices_load(struct product_choices *p, bool is_resumed, struct err *e)
{
	const struct ops *o = model_get_ops(p->model);
	struct err why = { 0 };
	char *path;

	if (!o->load_choices)
		return 0;
	path = products_path(p, e);
	if (!path)
		return e->code;
	if (file_exists(path))
		(void)products_read(p, path, &why);
	else if (is_resumed)
		err_set(&why, ERR_IO, "it is missing");
	if (why.code)
		products_warn(p, path, &why);
	free(path);
	return 0;
}

/* The file was not written; the next checkpoint tries again. */
static void products_not_kept(struct product_choices *p, const struct err *why)
{
	if (p->rank == 0)
		run_records_event(
			p->records, "warning",
			"cannot keep the measured algorithms of matrix products; the next "
			"checkpoint tries again: %.300s",
			why->text);
	else
		fprintf(stderr,
			"rank %d: cannot keep the measured algorithms of matrix products: %.300s\n",
			p->rank, why->text);
}

void product_choices_save(struct product_choices *p)
{
	const struct ops *o = model_get_ops(p->model);
	struct err why = { 0 };
	int64_t measured = 0;
	size_t n = 0;
	char *text, *path;

	if (!o->save_choices)
		return;
	(void)o->count_choices(model_get_dev(p->model), &measured);
	if (measured == p->saved)
		return;
	text = o->save_choices(model_get_dev(p->model), &n, &why);
	path = text ? products_path(p, &why) : NULL;
	if (!path || file_write_all(path, text, n, &why)) {
		products_not_kept(p, &why);
	} else {
		run_records_event(
			p->records, "info",
			"measured the fastest algorithm of %lld kind%s of matrix products; "
			"resumed attempts use the same ones (%s)",
			(long long)(measured - p->saved), text_plural(measured - p->saved), path);
		p->saved = measured;
	}
	free(path);
	free(text);
}
