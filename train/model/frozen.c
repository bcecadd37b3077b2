/* frozen.c - see frozen.h */
#include "train/model/frozen.h"

#include <stdlib.h>
#include <string.h>

static bool is_embedding_table(const char *tensor)
{
	static const char *const names[] = { "embed", "encoder.embed", "output",
					     "encoder.positions", "decoder.positions" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(tensor, names[i]))
			return true;
	return false;
}

/* part: n bytes. */
static bool is_tensor_of(const char *part, size_t n, const char *tensor)
{
	static const char tables[] = "embeddings";

	if (n == sizeof(tables) - 1 && !memcmp(part, tables, n))
		return is_embedding_table(tensor);
	return n && !strncmp(part, tensor, n) && (!tensor[n] || tensor[n] == '.');
}

static bool item_has(const char *item, const char *tensor)
{
	for (size_t n; *item; item += n + (item[n] == ',')) {
		n = strcspn(item, ",");
		if (is_tensor_of(item, n, tensor))
			return true;
	}
	return false;
}

bool frozen_has(const struct conf_list *parts, const char *tensor)
{
	for (size_t i = 0; parts && i < parts->n; i++)
		if (item_has(parts->items[i], tensor))
			return true;
	return false;
}

static int check_part(const char *part, size_t n, const struct model_param *params, size_t n_params,
		      struct err *e)
{
	for (size_t i = 0; i < n_params; i++)
		if (is_tensor_of(part, n, params[i].name))
			return 0;
	return err_set(
		e, ERR_CONFIG,
		"freeze: the model has no part \"%.*s\": name embeddings, encoder, decoder, a "
		"layer such as encoder.0, or the beginning of a name that werkbank model "
		"lists",
		(int)n, part);
}

int frozen_count(const struct conf_list *parts, const struct model_shape *shape, size_t *n,
		 int64_t *floats, struct err *e)
{
	struct model_param *params = NULL;
	size_t n_params;
	int64_t all;
	int rc = model_params(shape, &params, &n_params, &all, e);

	*n = 0;
	*floats = 0;
	for (size_t i = 0; !rc && i < parts->n; i++)
		for (const char *at = parts->items[i]; !rc && *at;) {
			const size_t length = strcspn(at, ",");

			rc = check_part(at, length, params, n_params, e);
			at += length + (at[length] == ',');
		}
	for (size_t i = 0; !rc && i < n_params; i++)
		if (frozen_has(parts, params[i].name)) {
			++*n;
			*floats += params[i].rows * params[i].cols;
		}
	if (!rc && *n == n_params)
		rc = err_set(e, ERR_CONFIG,
			     "freeze names all parts of the model: nothing is left to train");
	free(params);
	return rc;
}
