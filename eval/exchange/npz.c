/* npz.c - explains why Marian's weights and other archives are refused; see npz.h */
#include "eval/exchange/npz.h"

#include <stdio.h>
#include <string.h>

#include "share/base/buf.h"
#include "share/base/util.h"

/* The last record of a ZIP archive (PKWARE's APPNOTE 6.3), which a comment may follow. */
#define END_MARK    "PK\5\6"
#define END_BYTES   22
#define MAX_COMMENT 65535

#define MAX_YAML ((size_t)1 << 16) /* bytes from the name of Marian's options to their end */

static const char *find_word(const char *bytes, size_t n, const char *word)
{
	return memmem(bytes, n, word, strlen(word));
}

/* The number of members that the end record states; -1: the bytes have no end record. */
static int count_zip_members(const unsigned char *bytes, size_t n)
{
	for (size_t back = END_BYTES; back <= n && back <= END_BYTES + MAX_COMMENT; back++) {
		const unsigned char *end = bytes + n - back;

		if (!memcmp(end, END_MARK, 4))
			return end[10] | end[11] << 8;
	}
	return -1;
}

/* The value of a top-level key of a YAML text; "" if the text does not have it. */
static void yaml_value(const char *yaml, size_t n, const char *key, char *to, size_t size)
{
	const char *at = yaml, *end = yaml + n;
	char line[64]; /* the beginning of the key's line */
	size_t out = 0;

	snprintf(line, sizeof(line), "\n%s:", key);
	at = find_word(yaml, n, line);
	for (at = at ? at + strlen(line) : end; at < end && *at != '\n'; at++)
		if (!strchr(" \"'\r", *at) && *at > ' ' && *at < 127 && out + 1 < size)
			to[out++] = *at;
	to[out] = 0;
}

static void add_difference(struct buf *b, const char *before, const char *value, const char *after)
{
	buf_printf(b, "%s%s%s%s", b->len ? "; " : "", before, value, after);
}

/* Appends the differences of a Marian configuration from Werkbank's Transformer. */
static void compare_yaml(const char *yaml, size_t n, struct buf *out)
{
	char v[64];

	yaml_value(yaml, n, "type", v, sizeof(v));
	if (*v && strcmp(v, "transformer") != 0)
		add_difference(out, "its type is ", v, "");
	yaml_value(yaml, n, "transformer-postprocess", v, sizeof(v));
	if (strchr(v, 'n'))
		add_difference(out, "it is post-norm, Werkbank's is pre-norm", "", "");
	yaml_value(yaml, n, "transformer-ffn-activation", v, sizeof(v));
	if (*v && strcmp(v, "relu") != 0)
		add_difference(out, "its activation is ", v, ", Werkbank's is ReLU");
	yaml_value(yaml, n, "transformer-decoder-autoreg", v, sizeof(v));
	if (*v && strcmp(v, "self-attention") != 0)
		add_difference(out, "its decoder has ", v, " instead of self-attention");
	yaml_value(yaml, n, "transformer-train-position-embeddings", v, sizeof(v));
	if (!strcmp(v, "true"))
		add_difference(out, "its positions are learned", "", "");
	yaml_value(yaml, n, "tied-embeddings-all", v, sizeof(v));
	if (!strcmp(v, "false"))
		add_difference(out, "it has several tables of embeddings", "", "");
}

/* yaml: from the name of the member with the model's options on. */
static void explain_marian(const char *path, const char *bytes, size_t n, const char *yaml,
			   struct err *e)
{
	struct buf what = { 0 };

	compare_yaml(yaml, MIN(n - (size_t)(yaml - bytes), MAX_YAML), &what);
	if (find_word(bytes, n, "encoder_l1_self_bq"))
		add_difference(&what, "its attention has biases", "", "");
	if (find_word(bytes, n, "decoder_ff_logit_out_b"))
		add_difference(&what, "its output has a bias", "", "");
	add_difference(&what, "its decoder starts from zeros, not from <s>", "", "");
	err_set(e, ERR_DATA,
		"%s: a model of Marian cannot be imported, because its translations would differ: "
		"%s",
		path, buf_text(&what));
	buf_free(&what);
}

int npz_explain(const char *path, const unsigned char *bytes, size_t n, struct err *e)
{
	const char *text = (const char *)bytes, *yaml = find_word(text, n, "special:model.yml");
	const int members = count_zip_members(bytes, n);

	if (members < 0)
		err_set(e, ERR_DATA, "%s: not a ZIP archive, or truncated: no end record", path);
	else if (yaml)
		explain_marian(path, text, n, yaml, e);
	else if (find_word(text, n, "data.pkl"))
		err_set(e, ERR_DATA,
			"%s is a pickle of PyTorch, which is a program; Werkbank does not run it. "
			"Load the weights with torch.load(weights_only=True) and write them with "
			"safetensors.torch.save_file(), see werkbank-weights(5)",
			path);
	else
		err_set(e, ERR_DATA,
			"%s: an archive of %d members without Marian's special:model.yml: expected "
			"weights of a known program",
			path, members);
	return e->code;
}
