/* pickle.c - reads a pickle into a tree of nodes without running it; see pickle.h */
#include "eval/weights/pickle.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"

#define MAX_TEXT  (1u << 20) /* bytes of a text */
#define MAX_NODES 1000000    /* a model of 128 layers has about 40,000 */
#define MAX_MEMO  (1u << 22)

/* The names that a pickle may mention. Nothing is ever loaded or called by them. */
static const char *const known_names[] = {
	"collections OrderedDict",
	"torch._utils _rebuild_tensor_v2",
	"torch._utils _rebuild_parameter",
	"torch FloatStorage",
	"torch HalfStorage",
	"torch BFloat16Storage",
	"torch DoubleStorage",
	"torch LongStorage",
	"torch IntStorage",
	"torch ShortStorage",
	"torch CharStorage",
	"torch ByteStorage",
	"torch BoolStorage",
	"argparse Namespace",
	/* vocabularies of OpenNMT-py before version 3, of which the lists of tokens are read */
	"collections Counter",
	"functools partial",
	"onmt.inputters.text_dataset TextMultiField",
	"onmt.inputters.text_dataset _feature_tokenize",
	"torchtext.data.field Field",
	"torchtext.data.utils _split_tokenizer",
	"torchtext.vocab Vocab",
	"torchtext.vocab _default_unk_index",
	"fairseq.meters AverageMeter", /* of old checkpoints; not read */
	"fairseq.meters TimeMeter",
	"fairseq.meters StopwatchMeter",
};

struct unpickler {
	struct pickle *p;
	const char *path;
	const unsigned char *start, *at, *end;
	struct pickle_node **stack; /* owned, borrows nodes */
	size_t n, cap, n_nodes;
	struct pickle_node **memo; /* owned, borrows nodes */
	size_t n_memo, cap_memo;
	struct err *e;
};

/* ---- the bytes --------------------------------------------------------- */

static int pickle_damaged(struct unpickler *u, const char *what)
{
	return err_set(u->e, ERR_DATA, "%s: the pickle is damaged at byte %zu: %s", u->path,
		       (size_t)(u->at - u->start), what);
}

static int take_bytes(struct unpickler *u, size_t n, const unsigned char **from)
{
	*from = NULL;
	if ((size_t)(u->end - u->at) < n)
		return pickle_damaged(u, "it is cut short");
	*from = u->at;
	u->at += n;
	return 0;
}

static int take_number(struct unpickler *u, int bytes, uint64_t *v)
{
	const unsigned char *from;

	*v = 0;
	if (take_bytes(u, (size_t)bytes, &from))
		return u->e->code;
	for (int i = bytes - 1; i >= 0; i--)
		*v = *v << 8 | from[i];
	return 0;
}

/* A line of the text protocol: up to its LF. */
static int take_line(struct unpickler *u, const unsigned char **from, size_t *n)
{
	const unsigned char *lf = memchr(u->at, '\n', (size_t)(u->end - u->at));

	*from = NULL;
	*n = 0;
	if (!lf)
		return pickle_damaged(u, "a name has no end");
	*from = u->at;
	*n = (size_t)(lf - u->at);
	u->at = lf + 1;
	return 0;
}

/* ---- nodes and the stack ----------------------------------------------- */

static struct pickle_node *new_node(struct unpickler *u, enum pickle_kind kind)
{
	struct pickle_node *x;

	if (u->n_nodes++ == MAX_NODES) {
		pickle_damaged(u, "it has too many values");
		return NULL;
	}
	x = mem_alloc(1, sizeof(*x), u->e);
	if (!x)
		return NULL;
	x->kind = kind;
	x->next = u->p->all;
	u->p->all = x;
	return x;
}

static int push_node(struct unpickler *u, struct pickle_node *x)
{
	if (!x || mem_grow(&u->stack, &u->cap, u->n + 1, sizeof(*u->stack), u->e))
		return u->e->code;
	u->stack[u->n++] = x;
	return 0;
}

/* NULL: the stack ends, or a mark is on top. */
static struct pickle_node *pop_node(struct unpickler *u)
{
	if (!u->n || u->stack[u->n - 1]->kind == PICKLE_MARK) {
		pickle_damaged(u, "a value is missing");
		return NULL;
	}
	return u->stack[--u->n];
}

static int push_number(struct unpickler *u, enum pickle_kind kind, int64_t v)
{
	struct pickle_node *x = new_node(u, kind);

	if (x)
		x->number = v;
	return push_node(u, x);
}

static int set_node_text(struct unpickler *u, struct pickle_node *x, const unsigned char *from,
			 size_t n)
{
	char *copy;

	if (n > MAX_TEXT || memchr(from, 0, n) || !utf8_valid((const char *)from, n))
		return pickle_damaged(u, "a text is not UTF-8, or too long");
	copy = mem_alloc(n + 1, 1, u->e);
	if (!copy)
		return u->e->code;
	memcpy(copy, from, n);
	x->text = copy;
	return 0;
}

static int push_text(struct unpickler *u, int length_bytes)
{
	const unsigned char *from;
	struct pickle_node *x;
	uint64_t n;

	if (take_number(u, length_bytes, &n) || take_bytes(u, (size_t)n, &from))
		return u->e->code;
	x = new_node(u, PICKLE_TEXT);
	if (!x || set_node_text(u, x, from, (size_t)n))
		return u->e->code;
	return push_node(u, x);
}

static int add_node_item(struct unpickler *u, struct pickle_node *to, struct pickle_node *x)
{
	if (!x || mem_grow(&to->items, &to->cap, to->n + 1, sizeof(struct pickle_node *), u->e))
		return u->e->code;
	to->items[to->n++] = x;
	return 0;
}

/* Moves what stands above the topmost mark into `to`, and removes the mark. */
static int take_marked(struct unpickler *u, struct pickle_node *to)
{
	size_t from = u->n;

	while (from && u->stack[from - 1]->kind != PICKLE_MARK)
		from--;
	if (!to || !from)
		return to ? pickle_damaged(u, "a mark is missing") : u->e->code;
	for (size_t i = from; i < u->n; i++)
		if (add_node_item(u, to, u->stack[i]))
			return u->e->code;
	u->n = from - 1;
	return 0;
}

/* A tuple of the n topmost values; n -1: of those above the mark. */
static int push_tuple(struct unpickler *u, int n)
{
	struct pickle_node *x = new_node(u, PICKLE_TUPLE);

	if (!x || (n < 0 && take_marked(u, x)))
		return u->e->code;
	if (n > 0 && u->n < (size_t)n)
		return pickle_damaged(u, "a value is missing");
	for (int i = 0; i < n; i++) {
		struct pickle_node *item = u->stack[u->n - (size_t)(n - i)];

		if (item->kind == PICKLE_MARK)
			return pickle_damaged(u, "a value is missing");
		if (add_node_item(u, x, item))
			return u->e->code;
	}
	if (n > 0)
		u->n -= (size_t)n;
	return push_node(u, x);
}

/* ---- opcodes ----------------------------------------------------------- */

static int refuse_name(struct unpickler *u, const char *name)
{
	return err_set(u->e, ERR_DATA,
		       "%s: the pickle names %.100s, which a file of weights does not need: it "
		       "could run a program. Werkbank runs nothing of it and refuses the file",
		       u->path, name);
}

/* GLOBAL: the lines "module" and "name". */
static int push_name(struct unpickler *u)
{
	const unsigned char *module, *name;
	size_t n_module, n_name;
	char text[256];

	if (take_line(u, &module, &n_module) || take_line(u, &name, &n_name))
		return u->e->code;
	snprintf(text, sizeof(text), "%.*s %.*s", (int)MIN(n_module, 100), (const char *)module,
		 (int)MIN(n_name, 100), (const char *)name);
	for (size_t i = 0; i < ARRAY_LEN(known_names); i++) {
		struct pickle_node *x;

		if (n_module + n_name + 1 != strlen(known_names[i]) ||
		    strcmp(text, known_names[i]) != 0)
			continue;
		x = new_node(u, PICKLE_NAME);
		if (!x || set_node_text(u, x, (const unsigned char *)text, strlen(text)))
			return u->e->code;
		return push_node(u, x);
	}
	return refuse_name(u, text);
}

/* REDUCE and NEWOBJ: the name and the tuple of its arguments become a call. */
static int push_call(struct unpickler *u)
{
	struct pickle_node *arguments = pop_node(u), *name = arguments ? pop_node(u) : NULL;
	struct pickle_node *x;

	if (!name)
		return u->e->code;
	if (name->kind != PICKLE_NAME || arguments->kind != PICKLE_TUPLE)
		return pickle_damaged(u, "it calls what is not a name");
	if (!strcmp(name->text, "collections OrderedDict")) {
		/* PyTorch makes it empty and adds items then */
		if (arguments->n)
			return pickle_damaged(u, "an OrderedDict has arguments");
		return push_node(u, new_node(u, PICKLE_DICT));
	}
	x = new_node(u, PICKLE_CALL);
	if (!x || add_node_item(u, x, name))
		return u->e->code;
	for (size_t i = 0; i < arguments->n; i++)
		if (add_node_item(u, x, arguments->items[i]))
			return u->e->code;
	return push_node(u, x);
}

/* BUILD sets attributes: those of calls are kept, others (_metadata of an OrderedDict) do not matter. */
static int build_object(struct unpickler *u)
{
	struct pickle_node *state = pop_node(u);
	struct pickle_node *x = state && u->n ? u->stack[u->n - 1] : NULL;

	if (!state)
		return u->e->code;
	if (!x)
		return pickle_damaged(u, "a value is missing");
	if (x->kind == PICKLE_CALL)
		x->state = state;
	return 0;
}

static int add_all_items(struct unpickler *u, struct pickle_node *to,
			 const struct pickle_node *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (add_node_item(u, to, from->items[i]))
			return u->e->code;
	return 0;
}

static int add_to_list(struct unpickler *u, bool marked)
{
	struct pickle_node *some = new_node(u, PICKLE_TUPLE), *list;

	if (!some || (marked ? take_marked(u, some) : add_node_item(u, some, pop_node(u))))
		return u->e->code;
	list = u->n ? u->stack[u->n - 1] : NULL;
	if (!list || list->kind != PICKLE_LIST)
		return pickle_damaged(u, "a list is missing");
	return add_all_items(u, list, some);
}

static int add_to_dict(struct unpickler *u, bool marked)
{
	struct pickle_node *some = new_node(u, PICKLE_TUPLE), *dict, *value, *key;

	if (!some)
		return u->e->code;
	if (marked && take_marked(u, some))
		return u->e->code;
	if (!marked) {
		value = pop_node(u);
		key = value ? pop_node(u) : NULL;
		if (!key || add_node_item(u, some, key) || add_node_item(u, some, value))
			return u->e->code;
	}
	dict = u->n ? u->stack[u->n - 1] : NULL;
	if (!dict || dict->kind != PICKLE_DICT || some->n % 2)
		return pickle_damaged(u, "a dictionary is missing, or a value of it");
	return add_all_items(u, dict, some);
}

static int put_memo(struct unpickler *u, int bytes)
{
	size_t had = u->cap_memo;
	uint64_t i = u->n_memo;

	if (bytes && take_number(u, bytes, &i))
		return u->e->code;
	if (!u->n || i >= MAX_MEMO || i > (uint64_t)(u->end - u->start))
		return pickle_damaged(u, "a number of a value is too large");
	if (mem_grow(&u->memo, &u->cap_memo, (size_t)i + 1, sizeof(*u->memo), u->e))
		return u->e->code;
	if (had < u->cap_memo)
		memset(u->memo + had, 0, (u->cap_memo - had) * sizeof(struct pickle_node *));
	u->memo[i] = u->stack[u->n - 1];
	u->n_memo = MAX(u->n_memo, (size_t)i + 1);
	return 0;
}

static int get_memo(struct unpickler *u, int bytes)
{
	uint64_t i;

	if (take_number(u, bytes, &i))
		return u->e->code;
	if (i >= u->n_memo || !u->memo[i] || u->memo[i]->kind == PICKLE_MARK)
		return pickle_damaged(u, "it refers to a value that does not exist");
	return push_node(u, u->memo[i]);
}

static int push_stored(struct unpickler *u)
{
	struct pickle_node *id = pop_node(u), *x = id ? new_node(u, PICKLE_STORED) : NULL;

	return !x || add_node_item(u, x, id) ? u->e->code : push_node(u, x);
}

/* LONG1: an integer of n bytes; longer ones occur only as the number that marks a file of PyTorch. */
static int push_long(struct unpickler *u)
{
	const unsigned char *from;
	uint64_t n, v = 0;

	if (take_number(u, 1, &n) || take_bytes(u, (size_t)n, &from))
		return u->e->code;
	for (uint64_t i = 0; i < 8; i++)
		v |= (uint64_t)(i < n ? from[i] : n && from[n - 1] >> 7 ? 0xff : 0) << 8 * i;
	return push_number(u, PICKLE_INT, (int64_t)v);
}

static int push_fixed(struct unpickler *u, int bytes)
{
	uint64_t v;

	if (take_number(u, bytes, &v))
		return u->e->code;
	return push_number(u, PICKLE_INT, bytes == 4 ? (int32_t)(uint32_t)v : (int64_t)v);
}

static int push_real(struct unpickler *u)
{
	const unsigned char *from;
	struct pickle_node *x = new_node(u, PICKLE_REAL);
	union {
		uint64_t bits;
		double real;
	} v = { .bits = 0 };

	if (!x || take_bytes(u, 8, &from))
		return u->e->code;
	for (int i = 0; i < 8; i++) /* big-endian */
		v.bits = v.bits << 8 | from[i];
	x->real = v.real;
	return push_node(u, x);
}

static int refuse_opcode(struct unpickler *u, unsigned char op)
{
	return err_set(u->e, ERR_DATA,
		       "%s: the pickle has the opcode 0x%02x at byte %zu, which a file of weights "
		       "does not need: it could run a program. Werkbank runs nothing of it and "
		       "refuses the file",
		       u->path, op, (size_t)(u->at - u->start) - 1);
}

/* One opcode, with its name in CPython's pickle.py. */
static int read_opcode(struct unpickler *u, unsigned char op)
{
	const unsigned char *ignored;

	switch (op) {
	case 0x80: /* PROTO */
		return take_bytes(u, 1, &ignored);
	case 'c': /* GLOBAL */
		return push_name(u);
	case 'q': /* BINPUT */
		return put_memo(u, 1);
	case 'r': /* LONG_BINPUT */
		return put_memo(u, 4);
	case 'h': /* BINGET */
		return get_memo(u, 1);
	case 'j': /* LONG_BINGET */
		return get_memo(u, 4);
	case ')': /* EMPTY_TUPLE */
		return push_tuple(u, 0);
	case 't': /* TUPLE */
		return push_tuple(u, -1);
	case 0x85: /* TUPLE1 */
	case 0x86:
	case 0x87: /* TUPLE3 */
		return push_tuple(u, op - 0x84);
	case '(': /* MARK */
		return push_node(u, new_node(u, PICKLE_MARK));
	case '}': /* EMPTY_DICT */
		return push_node(u, new_node(u, PICKLE_DICT));
	case ']': /* EMPTY_LIST */
		return push_node(u, new_node(u, PICKLE_LIST));
	case 'a': /* APPEND */
	case 'e': /* APPENDS */
		return add_to_list(u, op == 'e');
	case 's': /* SETITEM */
	case 'u': /* SETITEMS */
		return add_to_dict(u, op == 'u');
	case 'X': /* BINUNICODE */
		return push_text(u, 4);
	case 0x8c: /* SHORT_BINUNICODE */
		return push_text(u, 1);
	case 'J': /* BININT */
		return push_fixed(u, 4);
	case 'K': /* BININT1 */
		return push_fixed(u, 1);
	case 'M': /* BININT2 */
		return push_fixed(u, 2);
	case 0x8a: /* LONG1 */
		return push_long(u);
	case 'G': /* BINFLOAT */
		return push_real(u);
	case 'N': /* NONE */
		return push_node(u, new_node(u, PICKLE_NONE));
	case 0x88: /* NEWTRUE */
	case 0x89: /* NEWFALSE */
		return push_number(u, PICKLE_BOOL, op == 0x88);
	case 'Q': /* BINPERSID */
		return push_stored(u);
	case 'R':  /* REDUCE */
	case 0x81: /* NEWOBJ */
		return push_call(u);
	case 'b': /* BUILD */
		return build_object(u);
	default:
		return refuse_opcode(u, op);
	}
}

int pickle_read(struct pickle *p, const char *path, const unsigned char *bytes, size_t n,
		struct err *e)
{
	struct unpickler u = {
		.p = p, .path = path, .start = bytes, .at = bytes, .end = bytes + n, .e = e
	};
	int rc = 0;

	*p = (struct pickle){ .root = NULL };
	while (!rc && !p->root) {
		const unsigned char *op;

		rc = take_bytes(&u, 1, &op);
		if (!rc && *op == '.') { /* STOP */
			p->root = pop_node(&u);
			rc = p->root ? 0 : e->code;
		} else if (!rc) {
			rc = read_opcode(&u, *op);
		}
	}
	p->bytes = (size_t)(u.at - u.start);
	free(u.stack);
	free(u.memo);
	return rc;
}

bool pickle_is_call(const struct pickle_node *x, const char *name)
{
	return x && x->kind == PICKLE_CALL && !strcmp(x->items[0]->text, name);
}

const struct pickle_node *pickle_get(const struct pickle_node *x, const char *key)
{
	if (x && x->kind == PICKLE_CALL)
		x = x->state;
	for (size_t i = 0; x && x->kind == PICKLE_DICT && i + 1 < x->n; i += 2)
		if (x->items[i]->kind == PICKLE_TEXT && !strcmp(x->items[i]->text, key))
			return x->items[i + 1];
	return NULL;
}

void pickle_close(struct pickle *p)
{
	for (struct pickle_node *x = p->all, *next; x; x = next) {
		next = x->next;
		free(x->items);
		free((void *)(uintptr_t)x->text);
		free(x);
	}
	*p = (struct pickle){ .root = NULL };
}
