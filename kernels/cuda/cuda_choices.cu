/*
 * cuda_choices.cu - the algorithms of products that were measured, as text; see save_choices() in ops.h
 *
 *	werkbank products 1
 *	gpu NVIDIA H100 80GB HBM3
 *	library 130100
 *	product HEX HEX		a line for each choice: its kind and its algorithm, as bytes
 *	end HEX			hash of everything before this line
 *
 * The bytes mean something to the same library on the same kind of GPU only, so these are compared.
 * Nothing is taken from a text with any fault, and the library checks each algorithm before its first
 * use (cuda_product.cu).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda_product.cuh"
extern "C" {
#include "share/base/buf.h"
#include "share/base/hash.h"
}

#define CHOICES_FIRST_LINE "werkbank products 1\n"

/* The lines that name the format, the GPU and the library. */
static int put_choices_head(struct buf *b, const struct dev *d, struct err *e)
{
	struct cudaDeviceProp prop;

	if (cudaGetDeviceProperties(&prop, d->device) != cudaSuccess)
		return err_set(e, ERR_UNAVAILABLE, "GPU %d: its name is unknown: %s", d->device,
			       cudaGetErrorString(cudaGetLastError()));
	buf_printf(b, CHOICES_FIRST_LINE "gpu %.90s\nlibrary %zu\n", prop.name,
		   d->products->blas->GetVersion());
	return buf_check(b, e);
}

static void put_choice_hex(struct buf *b, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%02x", ((const unsigned char *)bytes)[i]);
}

static void put_choices_end(struct buf *b)
{
	buf_printf(b, "end %016llx\n", (unsigned long long)hash_bytes(b->data, b->len));
}

extern "C" char *cuda_save_choices(const struct dev *d, size_t *n, struct err *e)
{
	const struct cuda_products *all = d->products;
	struct buf b = {};

	if (!all) {
		err_set(e, ERR_UNAVAILABLE, "GPU %d: no product has been computed", d->device);
		return NULL;
	}
	if (put_choices_head(&b, d, e)) {
		buf_free(&b);
		return NULL;
	}
	for (int i = 0; i < all->n; i++) {
		buf_add_str(&b, "product ");
		put_choice_hex(&b, &all->choice[i].kind, sizeof(all->choice[i].kind));
		buf_add_str(&b, " ");
		put_choice_hex(&b, &all->choice[i].algorithm, sizeof(all->choice[i].algorithm));
		buf_add_str(&b, "\n");
	}
	if (!b.failed)
		put_choices_end(&b);
	*n = b.len;
	return buf_detach(&b, e);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* n bytes from 2 n digits at *at, which moves after them. */
static bool take_hex(void *bytes, size_t n, const char **at, const char *end)
{
	if ((size_t)(end - *at) < 2 * n)
		return false;
	for (size_t i = 0; i < n; i++, *at += 2) {
		const int high = hex_digit((*at)[0]), low = hex_digit((*at)[1]);

		if (high < 0 || low < 0)
			return false;
		((unsigned char *)bytes)[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

static bool take_text(const char *text, const char **at, const char *end)
{
	const size_t n = strlen(text);

	if ((size_t)(end - *at) < n || memcmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/* One line; false: it is damaged. */
static bool take_choice(struct product_choice *c, const char **at, const char *end)
{
	memset(c, 0, sizeof(*c));
	c->is_loaded = true;
	return take_text("product ", at, end) && take_hex(&c->kind, sizeof(c->kind), at, end) &&
	       take_text(" ", at, end) && take_hex(&c->algorithm, sizeof(c->algorithm), at, end) &&
	       take_text("\n", at, end);
}

/* Is the last line the hash of the text before it? *end moves to the start of that line. */
static bool is_hash_right(const char *text, const char **end)
{
	enum { LAST = 4 + 16 + 1 };
	char last[LAST + 1];

	if (*end - text < LAST)
		return false;
	snprintf(last, sizeof(last), "end %016llx\n",
		 (unsigned long long)hash_bytes(text, (size_t)(*end - text) - LAST));
	*end -= LAST;
	return memcmp(*end, last, LAST) == 0;
}

/* The lines after the head, into new memory; *n: their number. NULL: damaged, or out of memory. */
static struct product_choice *take_choices(const char *at, const char *end, int *n, struct err *e)
{
	struct product_choice *list =
		(struct product_choice *)mem_alloc(MAX_CHOICES, sizeof(*list), e);
	bool good = true;

	for (*n = 0; list && good && at < end; ++*n)
		good = *n < MAX_CHOICES && take_choice(&list[*n], &at, end);
	if (list && !good) {
		err_set(e, ERR_DATA, "line %d is damaged", *n + 3);
		free(list);
		return NULL;
	}
	return list;
}

extern "C" int cuda_load_choices(struct dev *d, const char *text, size_t n, struct err *e)
{
	struct cuda_products *all = cuda_products_of(d);
	const char *at = text, *end = text + n;
	struct product_choice *list = NULL;
	struct buf head = {};
	int rc = !all ? err_set(e, ERR_UNAVAILABLE, "GPU %d: cuBLASLt is missing", d->device)
		      : put_choices_head(&head, d, e),
	    count = 0;

	if (!rc && (!is_hash_right(text, &end) || !take_text(CHOICES_FIRST_LINE, &at, end)))
		rc = err_set(e, ERR_DATA, "it is damaged, or of another version of Werkbank");
	at = text;
	if (!rc && !take_text(buf_text(&head), &at, end))
		rc = err_set(e, ERR_UNAVAILABLE,
			     "it is for another GPU or another version of cuBLASLt");
	if (!rc && !(list = take_choices(at, end, &count, e)))
		rc = e->code;
	if (!rc) {
		memcpy(all->choice, list, (size_t)count * sizeof(*list));
		all->n = count;
	}
	free(list);
	buf_free(&head);
	return rc;
}

extern "C" int64_t cuda_count_choices(const struct dev *d, int64_t *measured)
{
	const struct cuda_products *all = d->products;

	*measured = 0;
	for (int i = 0; all && i < all->n; i++)
		*measured += all->choice[i].is_measured;
	return all ? all->n : 0;
}
