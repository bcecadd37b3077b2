/*
 * pickle.h - reads pickles of PyTorch as data. A pickle is a program; this reader runs none of it.
 *
 * It knows the opcodes that build numbers, texts, tuples, lists and dictionaries, and the few names by which
 * PyTorch writes tensors: collections.OrderedDict, torch._utils._rebuild_tensor_v2 and _rebuild_parameter, the
 * storage types of torch, argparse.Namespace, meters of fairseq, and vocabularies of torchtext. Each other opcode and each other name is refused with its name.
 * No object is made and no function called: a call becomes a node with its name and arguments.
 *
 * Source: Lib/pickletools.py of CPython; torch/serialization.py.
 */
#ifndef WERKBANK_EVAL_WEIGHTS_PICKLE_H
#define WERKBANK_EVAL_WEIGHTS_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/base/err.h"

enum pickle_kind {
	PICKLE_NONE,
	PICKLE_BOOL,
	PICKLE_INT,
	PICKLE_REAL,
	PICKLE_TEXT,
	PICKLE_TUPLE,
	PICKLE_LIST,
	PICKLE_DICT,   /* items: key, value, key, value ... */
	PICKLE_NAME,   /* text: "torch FloatStorage", a name of the list */
	PICKLE_CALL,   /* items: the name, then the arguments */
	PICKLE_STORED, /* items: the persistent id, a tuple */
	PICKLE_MARK    /* private */
};

struct pickle_node {
	enum pickle_kind kind;
	int64_t number; /* of INT and BOOL */
	double real;
	const char *text;	    /* of TEXT and NAME; NUL at the end, UTF-8 */
	struct pickle_node **items; /* (n) */
	size_t n, cap;
	struct pickle_node *state; /* of CALL: its attributes, a dictionary; NULL: none */
	struct pickle_node *next;  /* private: list of all nodes */
};

struct pickle {
	struct pickle_node *root; /* borrowed from all */
	struct pickle_node *all;  /* owned */
	size_t bytes;		  /* of the pickle, up to its end */
};

/*
 * Reads one pickle at the beginning of the bytes. path: for messages. ERR_DATA: damaged, or something that is
 * not in the list above. pickle_close() in any case. A dictionary or list can contain itself: walk down only as far
 * as the format needs.
 */
int pickle_read(struct pickle *p, const char *path, const unsigned char *bytes, size_t n,
		struct err *e);
/* The value of a text key in a dictionary, or attribute of a Namespace. NULL: none. x may be NULL. */
const struct pickle_node *pickle_get(const struct pickle_node *x, const char *key);
/* The items of a call of this name; NULL: x is none. */
bool pickle_is_call(const struct pickle_node *x, const char *name);
void pickle_close(struct pickle *p);

#endif
