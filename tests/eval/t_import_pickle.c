/* t_import_pickle.c - files of torch.save(): values, hostile pickles and archives. */
#include <stdlib.h>

#include "eval/weights/import_reader.h"
#include "eval/weights/pickle.h"
#include "share/base/file.h"
#include "tests/test.h"
#include "tests/train/small_ckpt.h"

/* Reads a pickle; the message, or "" if it was accepted. */
static const char *read_text(const char *bytes, size_t n)
{
	static struct err e;
	struct pickle p;

	e = (struct err){ 0 };
	pickle_read(&p, "x", (const unsigned char *)bytes, n, &e);
	pickle_close(&p);
	return e.text;
}

/* Names by which a pickle runs programs, opens files or loads code; each must be refused by its name. */
TEST(import_pickle_hostile)
{
	static const char *const names[] = {
		"os\nsystem",
		"posix\nsystem",
		"nt\nsystem",
		"os\npopen",
		"builtins\neval",
		"builtins\nexec",
		"__builtin__\neval",
		"builtins\ngetattr",
		"builtins\n__import__",
		"subprocess\nPopen",
		"subprocess\ncheck_output",
		"importlib\nimport_module",
		"runpy\nrun_path",
		"torch.hub\nload",
		"torch\nload",
		"torch.serialization\nload",
		"torch.jit\nload",
		"pickle\nloads",
		"_pickle\nloads",
		"dill\nloads",
		"marshal\nloads",
		"types\nFunctionType",
		"types\nCodeType",
		"functools\nreduce",
		"operator\nattrgetter",
		"operator\nmethodcaller",
		"socket\nsocket",
		"shutil\nrmtree",
		"pty\nspawn",
		"webbrowser\nopen",
		"ctypes\nCDLL",
		"pip\nmain",
		"numpy.core.multiarray\n_reconstruct",
		"numpy.testing._private.utils\nrunstring",
		"collections OrderedDict\n", /* a known name with its blank moved */
		"collections\nOrderedDict.__class__",
		"torch._utils\n_rebuild_tensor_v2x",
		"copyreg\n_reconstructor",
		"asyncio\nunix_events._UnixSubprocessTransport._start",
		"bdb\nBdb.run",
		"cProfile\nrun",
		"timeit\ntimeit",
		"code\nInteractiveInterpreter",
		"functools\npartialmethod",
		"functools\npartial.func", /* attributes of a known name */
		"functools\npartial.__class__.__base__",
		"functools\npartial\r",
		"_functools\npartial",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char bytes[200];
		const int n = snprintf(bytes, sizeof(bytes),
				       "\x80\x02"
				       "c%s\nX\1",
				       names[i]);
		const char *text = read_text(bytes, (size_t)n);

		check(strstr(text, "could run a program") != NULL);
	}
}

/*
 * functools.partial is known, because vocabularies of torchtext have it. In CPython it would call its first argument; here
 * it is data: it cannot be called, and what it holds must be known, too.
 */
TEST(import_pickle_partial)
{
#define PARTIAL	 "cfunctools\npartial\n"
#define FUNCTION "conmt.inputters.text_dataset\n_feature_tokenize\n"
#define COMMAND	 "X\1\0\0\0x"
#define ROW(b, text)                                                                               \
	{                                                                                          \
		b, sizeof(b) - 1, text                                                             \
	}
	static const struct {
		const char *bytes;
		size_t n;
		const char *text; /* of the refusal; "" if it is accepted */
	} rows[] = {
		ROW(PARTIAL FUNCTION "\x85R.", ""),
		ROW(PARTIAL FUNCTION "\x85R}(" COMMAND COMMAND "ub.", ""),
		ROW(PARTIAL FUNCTION "\x85R(" FUNCTION ")}Ntb.", ""), /* __setstate__ */
		ROW(PARTIAL PARTIAL "\x85R.", ""),
		ROW(PARTIAL "cos\nsystem\n\x85R.", "names os system"),
		ROW(PARTIAL "cbuiltins\neval\n" COMMAND "\x86R)R.", "names builtins eval"),
		ROW(PARTIAL "cbuiltins\ngetattr\n" FUNCTION COMMAND "\x87R.",
		    "names builtins getattr"),
		ROW(PARTIAL "coperator\nattrgetter\n\x85R.", "names operator attrgetter"),
		ROW(PARTIAL FUNCTION "\x85R(cos\nsystem\n" COMMAND "\x85}Ntb.",
		    "names os system"), /* __setstate__ with another function */
		ROW(PARTIAL FUNCTION "\x85R" COMMAND "\x85R.", "calls what is not a name"),
		ROW(PARTIAL FUNCTION "\x85Rq\0" COMMAND "\x85h\0h\0\x85R.",
		    "calls what is not a name"),
		ROW(PARTIAL FUNCTION "\x85R)\x81.", "calls what is not a name"),
		ROW(COMMAND COMMAND "\x85R.", "calls what is not a name"),
		ROW(PARTIAL COMMAND "R.", "calls what is not a name"),
		ROW("X\11\0\0\0functoolsX\7\0\0\0partial\x93.", "opcode 0x93"),
		ROW(PARTIAL FUNCTION "\x85R}" FUNCTION "}\x92.", "opcode 0x92"), /* NEWOBJ_EX */
		ROW("(" PARTIAL FUNCTION "o.", "opcode 0x6f"),			 /* OBJ */
		ROW("(" FUNCTION "ifunctools\npartial\n.", "opcode 0x69"),	 /* INST */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *text = read_text(rows[i].bytes, rows[i].n);

		if (!(*rows[i].text ? strstr(text, rows[i].text) != NULL : !*text))
			test_fail(__FILE__, __LINE__, "row %zu: %s", i, text);
	}
}

/* An accepted partial is a call node with its arguments, and a file of weights cannot consist of it. */
TEST(import_pickle_partial_is_data)
{
	static const char bytes[] = PARTIAL FUNCTION COMMAND "\x86R}(" COMMAND "K\7ub.";
	struct pickle p;
	struct err e = { 0 };

	if (check_err(pickle_read(&p, "x", (const unsigned char *)bytes, sizeof(bytes) - 1, &e),
		      0)) {
		check(pickle_is_call(p.root, "functools partial"));
		check_int((long long)p.root->n, 3);
		check_int(pickle_get(p.root, "x")->number, 7);
	}
	pickle_close(&p);
}

/* A program in a pickle does not run: the file that its command makes does not exist afterwards. */
TEST(import_pickle_runs_nothing)
{
	char bytes[400], command[300];
	const char *path = small_path("ran");
	int n;

	snprintf(command, sizeof(command), "touch %s", path);
	n = snprintf(bytes, sizeof(bytes), "cposix\nsystem\n\x8c%c%s\x85R.", (int)strlen(command),
		     command);
	check(strstr(read_text(bytes, (size_t)n), "names posix system") != NULL);
	n = snprintf(bytes, sizeof(bytes), PARTIAL "cposix\nsystem\n\x8c%c%s\x86R)R.",
		     (int)strlen(command), command);
	check(strstr(read_text(bytes, (size_t)n), "names posix system") != NULL);
	check(!file_exists(path));
}

/* Opcodes of code, extensions, buffers, other protocols' names and instances. */
TEST(import_pickle_opcodes)
{
	static const char ops[] =
		"iopVSUBCTIFLgP2\x82\x83\x84\x92\x93\x94\x95\x96\x97\x98\x8d\x8e\x8f\x90\x91";

	for (size_t i = 0; i + 1 < sizeof(ops); i++) {
		const char bytes[] = { '\x80', 2, ops[i], 'o', 's', '\n', 's', '\n', '.' };

		check(strstr(read_text(bytes, sizeof(bytes)), "opcode 0x") != NULL);
	}
}

TEST(import_pickle_damaged)
{
	static const struct {
		const char *bytes;
		size_t n;
	} bad[] = {
		{ "", 0 },
		{ ".", 1 },
		{ "\x80", 1 },
		{ "(.", 2 },
		{ "h\0.", 3 },
		{ "q\0.", 3 },
		{ "Nr\xff\xff\xff\x7f.", 7 },
		{ "X\xff\xff\xff\xff.", 6 },
		{ "X\1\0\0\0\xff.", 7 },
		{ "(s.", 3 },
		{ "}(NNNu.", 7 },
		{ "]Ns.", 4 },
		{ "NNR.", 4 },
		{ "N)\x81.", 4 },
		{ "N\x87.", 3 },
		{ "(N\x86.", 4 },
		{ "t.", 2 },
		{ "Q.", 2 },
		{ "b.", 2 },
		{ "ccollections\nOrderedDict\n(NtR.", 30 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		check(strlen(read_text(bad[i].bytes, bad[i].n)) > 0);
}

/* A list that contains itself, and one memo of many references, cost no more than their bytes. */
TEST(import_pickle_cycle)
{
	check_str(read_text("]q\0h\0ah\0ah\0a.", 13), "");
}

TEST(import_pickle_values)
{
	static const char bytes[] = "\x80\x02}q\0(X\1\0\0\0aK\7X\1\0\0\0b\x8a\2\xff\xffX\1\0\0\0c"
				    "G?\xe0\0\0\0\0\0\0X\1\0\0\0d\x88u.";
	struct pickle p;
	struct err e = { 0 };

	if (check_err(pickle_read(&p, "x", (const unsigned char *)bytes, sizeof(bytes) - 1, &e),
		      0)) {
		check_int(pickle_get(p.root, "a")->number, 7);
		check_int(pickle_get(p.root, "b")->number, -1);
		check_near(pickle_get(p.root, "c")->real, 0.5, 0);
		check_int(pickle_get(p.root, "d")->kind, PICKLE_BOOL);
		check(!pickle_get(p.root, "e"));
	}
	pickle_close(&p);
}

/* ---- archives ---------------------------------------------------------- */

/* Writes a stored archive of the members a/data.pkl and a/data/0. */
static void put_le(struct buf *b, uint32_t v, int n)
{
	for (int i = 0; i < n; i++)
		buf_add_char(b, (char)(v >> 8 * i));
}

static void put_member(struct buf *b, struct buf *directory, const char *name, const void *bytes,
		       size_t n)
{
	const uint32_t at = (uint32_t)b->len;

	buf_add(b, "PK\3\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
	put_le(b, (uint32_t)n, 4);
	put_le(b, (uint32_t)n, 4);
	put_le(b, (uint32_t)strlen(name), 2);
	put_le(b, 0, 2);
	buf_add_str(b, name);
	buf_add(b, bytes, n);
	buf_add(directory, "PK\1\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
	put_le(directory, (uint32_t)n, 4);
	put_le(directory, (uint32_t)n, 4);
	put_le(directory, (uint32_t)strlen(name), 2);
	for (int i = 0; i < 12; i++)
		buf_add_char(directory, 0);
	put_le(directory, at, 4);
	buf_add_str(directory, name);
}

static void put_directory(struct buf *b, const struct buf *directory, int members)
{
	const uint32_t at = (uint32_t)b->len;

	buf_add(b, buf_text(directory), directory->len);
	buf_add(b, "PK\5\6\0\0\0\0", 8);
	put_le(b, (uint32_t)members, 2);
	put_le(b, (uint32_t)members, 2);
	put_le(b, (uint32_t)directory->len, 4);
	put_le(b, at, 4);
	put_le(b, 0, 2);
}

/* {"w": tensor} with this offset, size and stride of a row. */
#define TENSOR(offset, rows, stride)                                                               \
	"\x80\x02}X\1\0\0\0wctorch._utils\n_rebuild_tensor_v2\n(("                                 \
	"X\7\0\0\0storagectorch\nFloatStorage\n"                                                   \
	"X\1\0\0\0000X\3\0\0\0cpuK\6tQK" offset "K" rows "K\2\x86K" stride "K\1\x86\x89)tRs."

#define MAX_FLOATS 4096

static int open_sized_archive(const char *pickle, size_t n, const char *second, size_t floats,
			      struct import_reader *f, struct err *e)
{
	static const float data[MAX_FLOATS] = { 1, 2, 3, 4, 5, 6 };
	struct buf b = { 0 }, directory = { 0 };
	int rc;

	put_member(&b, &directory, "a/data.pkl", pickle, n);
	put_member(&b, &directory, second, data, floats * sizeof(*data));
	put_directory(&b, &directory, 2);
	rc = file_write_buf(small_path("m.bin"), &b, e);
	buf_free(&b);
	buf_free(&directory);
	return rc ? rc : import_open_torch(f, small_path("m.bin"), e);
}

static int open_archive(const char *pickle, size_t n, const char *second, struct import_reader *f,
			struct err *e)
{
	return open_sized_archive(pickle, n, second, 6, f, e);
}

TEST(import_torch_tensor)
{
	static const char good[] = TENSOR("\2", "\2", "\2");
	struct import_reader f;
	struct err e = { 0 };
	float x[2] = { 0 };

	if (check_err(open_archive(good, sizeof(good) - 1, "a/data/0", &f, &e), 0) &&
	    check_int(f.n, 1) && check_str(f.all[0].name, "w") && check_int(f.all[0].rows, 2)) {
		check_err(import_read_floats(&f, &f.all[0], 1, 0, 2, x, &e), 0);
		check_near(x[0], 5, 0);
	}
	import_reader_close(&f);
}

TEST(import_torch_refused)
{
	static const struct {
		const char *pickle;
		size_t n;
		const char *second, *text;
	} bad[] = {
#define BAD(pickle, second, text) { pickle, sizeof(pickle) - 1, second, text }
		BAD(TENSOR("\2", "\3", "\2"), "a/data/0", "outside of its elements"),
		BAD(TENSOR("\0", "\2", "\3"), "a/data/0", "do not lie in order"),
		BAD(TENSOR("\0", "\0", "\2"), "a/data/0", "is empty"),
		BAD(TENSOR("\0", "\2", "\2"), "a/data/1", "has no elements"),
		BAD(TENSOR("\0", "\2", "\2"), "a/data.pkl", "the same name"),
		BAD("N.", "a/data/0", "no dictionary"),
		BAD("}.", "a/data/0", "no tensors"),
		BAD("cposix\nsystem\nX\1\0\0\0x\x85R.", "a/data/0", "posix system"),
		BAD(PARTIAL FUNCTION "\x85R.", "a/data/0", "no dictionary of tensors"),
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct import_reader f;
		struct err e = { 0 };

		check_err(open_archive(bad[i].pickle, bad[i].n, bad[i].second, &f, &e), ERR_DATA);
		if (!check(strstr(e.text, bad[i].text) != NULL))
			test_fail(__FILE__, __LINE__, "%zu: %s", i, e.text);
		import_reader_close(&f);
	}
}

/* Many names of the same elements: the file would claim a model that it does not hold. */
TEST(import_torch_shared)
{
	static const char head[] = "\x80\x02"
				   "ctorch._utils\n_rebuild_tensor_v2\nq\0"
				   "(X\7\0\0\0storagectorch\nFloatStorage\n"
				   "X\1\0\0\0000X\3\0\0\0cpuM\0\x10tQq\1}(",
			  one[] = "h\0(h\1K\0M\0\x10\x85K\1\x85\x89)tR";
	static const int counts[] = { 4, 100 };

	for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
		struct import_reader f;
		struct err e = { 0 };
		struct buf b = { 0 };

		buf_add(&b, head, sizeof(head) - 1);
		for (int i = 0; i < counts[k]; i++) {
			buf_printf(&b, "\x8c\3%03d", i);
			buf_add(&b, one, sizeof(one) - 1);
		}
		buf_add_str(&b, "u.");
		check_err(open_sized_archive(b.data, b.len, "a/data/0", MAX_FLOATS, &f, &e),
			  k ? ERR_DATA : 0);
		check(!k || strstr(e.text, "because they share them"));
		import_reader_close(&f);
		buf_free(&b);
	}
}

/* The form of PyTorch before 1.6: the elements follow in the order of their keys. */
TEST(import_torch_old_form)
{
#define STORED(key) "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0" key "X\3\0\0\0cpuK\1tQ"
#define NUMBER(key)                                                                                \
	"X\1\0\0\0" key                                                                            \
	"ctorch._utils\n_rebuild_tensor_v2\n(" STORED(key) "K\0K\1\x85K\1\x85\x89)tR"
	static const char head[] =
		"\x80\x02\x8a\x0al\xfc\x9c"
		"F\xf9 j\xa8P\x19."
		"\x80\x02M\xe9\x03.\x80\x02}.\x80\x02}(" NUMBER("a") NUMBER("b")
			NUMBER("c") "u.\x80\x02](X\1\0\0\0bX\1\0\0\0cX\1\0\0\0ae.";
	static const float data[] = { 2, 3, 1 };
	struct import_reader f;
	struct err e = { 0 };
	struct buf b = { 0 };

	buf_add(&b, head, sizeof(head) - 1);
	for (size_t i = 0; i < ARRAY_LEN(data); i++) {
		put_le(&b, 1, 4);
		put_le(&b, 0, 4);
		buf_add(&b, &data[i], sizeof(data[i]));
	}
	if (check_err(file_write_buf(small_path("old.pt"), &b, &e), 0) &&
	    check_err(import_open_torch(&f, small_path("old.pt"), &e), 0)) {
		for (size_t i = 0; i < 3 && check_int((long long)f.n, 3); i++) {
			float x = 0;

			check_err(import_read_floats(&f, &f.all[i], 0, 0, 1, &x, &e), 0);
			check_near(x, f.all[i].name[0] - 'a' + 1, 0);
		}
		import_reader_close(&f);
	}
	buf_free(&b);
}
