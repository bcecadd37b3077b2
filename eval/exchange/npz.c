/* npz.c - lists ZIP members and explains why Marian's weights are refused; see npz.h */
#include "eval/exchange/npz.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

/* ZIP (PKWARE's APPNOTE 6.3): signatures and fixed lengths of local, central and end records. */
#define LOCAL_MARK    0x04034b50u
#define LOCAL_BYTES   30
#define CENTRAL_MARK  0x02014b50u
#define CENTRAL_BYTES 46
#define END_MARK      0x06054b50u
#define END_BYTES     22
#define MAX_COMMENT   65535

static uint32_t read_little_endian(const unsigned char *at, size_t bytes)
{
	uint32_t v = 0;

	for (size_t i = 0; i < bytes; i++)
		v |= (uint32_t)at[i] << 8 * i;
	return v;
}

/* The end record, which a comment may follow. NULL: none. */
static const unsigned char *find_end(const unsigned char *bytes, size_t n)
{
	for (size_t back = END_BYTES; back <= n && back <= END_BYTES + MAX_COMMENT; back++)
		if (read_little_endian(bytes + n - back, 4) == END_MARK)
			return bytes + n - back;
	return NULL;
}

static int zip_member_outside(size_t member, struct err *e)
{
	return err_set(e, ERR_DATA,
		       "not a ZIP archive, or damaged: member %zu is outside of the file",
		       member + 1);
}

/* Adds the member of the central record at *at, and advances *at to the next record. */
static int add_npz_member(struct npz *z, const unsigned char *bytes, size_t n, size_t *at,
			  struct err *e)
{
	const unsigned char *c = bytes + *at, *local;
	struct npz_member *m;
	size_t size, place, skip; /* place: offset of the local record, then of the data */

	assert(*at <= n);

	if (n - *at < CENTRAL_BYTES || read_little_endian(c, 4) != CENTRAL_MARK)
		return zip_member_outside(z->n, e);
	size = read_little_endian(c + 20, 4);
	place = read_little_endian(c + 42, 4);
	skip = CENTRAL_BYTES + read_little_endian(c + 28, 2) + read_little_endian(c + 30, 2) +
	       read_little_endian(c + 32, 2);
	if (n - *at < skip || place > n || n - place < LOCAL_BYTES ||
	    read_little_endian(bytes + place, 4) != LOCAL_MARK)
		return zip_member_outside(z->n, e);
	local = bytes + place;
	place +=
		LOCAL_BYTES + read_little_endian(local + 26, 2) + read_little_endian(local + 28, 2);
	if (place > n || size > n - place)
		return zip_member_outside(z->n, e);
	if (mem_grow(&z->all, &z->cap, z->n + 1, sizeof(*z->all), e))
		return e->code;
	m = &z->all[z->n++];
	*m = (struct npz_member){ .name = (const char *)c + CENTRAL_BYTES,
				  .n_name = read_little_endian(c + 28, 2),
				  .n = size,
				  .data = read_little_endian(c + 10, 2) ? NULL : bytes + place };
	*at += skip;
	return 0;
}

int npz_open(struct npz *z, const unsigned char *bytes, size_t n, struct err *e)
{
	const unsigned char *end = n < END_BYTES ? NULL : find_end(bytes, n);
	size_t at, count;

	*z = (struct npz){ .n = 0 };
	if (!end)
		return err_set(e, ERR_DATA, "not a ZIP archive, or truncated: no end record");
	count = read_little_endian(end + 10, 2);
	at = read_little_endian(end + 16, 4);
	for (size_t i = 0; i < count; i++)
		if (at > n || add_npz_member(z, bytes, n, &at, e))
			return at > n ? zip_member_outside(i, e) : e->code;
	return 0;
}

void npz_close(struct npz *z)
{
	free(z->all);
	*z = (struct npz){ .n = 0 };
}

static bool is_called(const struct npz_member *m, const char *name)
{
	static const char end[] = ".npy";
	const size_t n = strlen(name);

	if (m->n_name < n || memcmp(m->name, name, n) != 0)
		return false;
	return m->n_name == n ||
	       (m->n_name == n + sizeof(end) - 1 && !memcmp(m->name + n, end, sizeof(end) - 1));
}

const struct npz_member *npz_find(const struct npz *z, const char *name)
{
	for (size_t i = 0; i < z->n; i++)
		if (is_called(&z->all[i], name))
			return &z->all[i];
	return NULL;
}

const unsigned char *npz_array(const struct npz_member *m, size_t *n)
{
	size_t head;

	if (!m->data || m->n < 12 || memcmp(m->data, "\x93NUMPY", 6) != 0)
		return NULL;
	head = m->data[6] == 1 ? 10 + (size_t)read_little_endian(m->data + 8, 2)
			       : 12 + (size_t)read_little_endian(m->data + 8, 4);
	if (head > m->n)
		return NULL;
	*n = m->n - head;
	return m->data + head;
}

/* ---- Marian ------------------------------------------------------------ */

/* The value of a top-level key of a YAML text; "" if the text does not have it. */
static void yaml_value(const char *text, size_t n, const char *key, char *to, size_t size)
{
	const char *at = text, *end = text + n;
	const size_t k = strlen(key);

	*to = 0;
	while (at < end) {
		const char *lf = memchr(at, '\n', (size_t)(end - at)), *stop = lf ? lf : end;

		if ((size_t)(stop - at) > k && !memcmp(at, key, k) && at[k] == ':') {
			size_t out = 0;

			for (at += k + 1; at < stop; at++)
				if (!strchr(" \"'\r", *at) && *at > ' ' && *at < 127 &&
				    out + 1 < size)
					to[out++] = *at;
			to[out] = 0;
			return;
		}
		at = stop + 1;
	}
}

static void add_difference(struct buf *b, const char *text)
{
	buf_printf(b, "%s%s", b->len ? "; " : "", text);
}

/* Appends the differences of a Marian configuration from Werkbank's Transformer. */
static void compare_yaml(const char *yaml, size_t n, struct buf *out)
{
	char v[64];

	yaml_value(yaml, n, "type", v, sizeof(v));
	if (*v && strcmp(v, "transformer") != 0)
		buf_printf(out, "%sits type is %s", out->len ? "; " : "", v);
	yaml_value(yaml, n, "transformer-postprocess", v, sizeof(v));
	if (strchr(v, 'n'))
		add_difference(out, "it is post-norm, Werkbank's is pre-norm");
	yaml_value(yaml, n, "transformer-ffn-activation", v, sizeof(v));
	if (*v && strcmp(v, "relu") != 0)
		buf_printf(out, "%sits activation is %s, Werkbank's is ReLU", out->len ? "; " : "",
			   v);
	yaml_value(yaml, n, "transformer-decoder-autoreg", v, sizeof(v));
	if (*v && strcmp(v, "self-attention") != 0)
		buf_printf(out, "%sits decoder has %s instead of self-attention",
			   out->len ? "; " : "", v);
	yaml_value(yaml, n, "transformer-train-position-embeddings", v, sizeof(v));
	if (!strcmp(v, "true"))
		add_difference(out, "its positions are learned");
	yaml_value(yaml, n, "tied-embeddings-all", v, sizeof(v));
	if (!strcmp(v, "false"))
		add_difference(out, "it has several tables of embeddings");
}

static int explain_marian(const char *path, const struct npz *z, const struct npz_member *config,
			  struct err *e)
{
	struct buf what = { 0 };
	size_t n = 0;
	const unsigned char *yaml = npz_array(config, &n);

	if (yaml)
		compare_yaml((const char *)yaml, n, &what);
	if (npz_find(z, "encoder_l1_self_bq"))
		add_difference(&what, "its attention has biases");
	if (npz_find(z, "decoder_ff_logit_out_b"))
		add_difference(&what, "its output has a bias");
	add_difference(&what, "its decoder starts from zeros, not from <s>");
	err_set(e, ERR_DATA,
		"%s: a model of Marian cannot be imported, because its translations would differ: "
		"%s",
		path, buf_text(&what));
	buf_free(&what);
	return e->code;
}

int npz_explain(const char *path, const unsigned char *bytes, size_t n, struct err *e)
{
	const struct npz_member *config;
	struct npz z;
	bool pickle = false;

	if (npz_open(&z, bytes, n, e)) {
		npz_close(&z);
		return err_prefix(e, "%s", path);
	}
	config = npz_find(&z, "special:model.yml");
	for (size_t i = 0; i < z.n; i++)
		pickle |= z.all[i].n_name >= 8 &&
			  !memcmp(z.all[i].name + z.all[i].n_name - 8, "data.pkl", 8);
	if (config)
		explain_marian(path, &z, config, e);
	else if (pickle)
		err_set(e, ERR_DATA,
			"%s is a pickle of PyTorch, which is a program; Werkbank does not run it. "
			"Load the weights with torch.load(weights_only=True) and write them with "
			"safetensors.torch.save_file(), see werkbank-weights(5)",
			path);
	else
		err_set(e, ERR_DATA,
			"%s: an archive of %zu members without Marian's special:model.yml: "
			"expected "
			"weights of a known program",
			path, z.n);
	npz_close(&z);
	return e->code;
}
