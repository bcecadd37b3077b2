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

static int open_archive(const char *pickle, size_t n, const char *second, struct import_reader *f,
			struct err *e)
{
	static const float data[] = { 1, 2, 3, 4, 5, 6 };
	struct buf b = { 0 }, directory = { 0 };
	int rc;

	put_member(&b, &directory, "a/data.pkl", pickle, n);
	put_member(&b, &directory, second, data, sizeof(data));
	put_directory(&b, &directory, 2);
	rc = file_write_buf(small_path("m.bin"), &b, e);
	buf_free(&b);
	buf_free(&directory);
	return rc ? rc : import_open_torch(f, small_path("m.bin"), e);
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
