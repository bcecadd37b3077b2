/* doctor.c - the command "werkbank doctor"; see doctor.h */
#include "train/doctor.h"

#include <assert.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "config.h"
#include "kernels/ops/ops.h"
#include "kernels/product_rates.h"
#include "share/base/clock.h"
#include "share/base/file.h"
#include "share/base/flow.h"
#include "share/base/proc.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "share/format/json.h"
#include "share/guard/sandbox.h"
#include "share/workspace/paths.h"
#include "train/comm/comm_nccl.h"
#include "train/host/host_cpu.h"
#include "train/host/host_gpu.h"

enum state { GOOD, LIMITED, MISSING };

static const char *const state_names[] = { "good", "limited", "missing" };

struct finding {
	const char *what;
	enum state state;
	char found[300];  /* what this host has, what is used of it, and why */
	char advice[300]; /* what to do and why; "": nothing */
};

#define MAX_FINDINGS 16

struct findings {
	struct finding all[MAX_FINDINGS];
	size_t n;
	struct host_roots roots;
	const struct conf *conf;
};

static void doctor_append_text(char *to, size_t room, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Append to a text of a finding. */
static void doctor_append_text(char *to, size_t room, const char *fmt, ...)
{
	size_t n = strlen(to);
	va_list ap;

	assert(n < room);
	va_start(ap, fmt);
	vsnprintf(to + n, room - n, fmt, ap);
	va_end(ap);
}

#define FOUND(f, ...)  doctor_append_text((f)->found, sizeof((f)->found), __VA_ARGS__)
#define ADVICE(f, ...) doctor_append_text((f)->advice, sizeof((f)->advice), __VA_ARGS__)

static struct finding *doctor_add_finding(struct findings *all, const char *what)
{
	struct finding *f = &all->all[all->n < MAX_FINDINGS ? all->n++ : MAX_FINDINGS - 1];

	*f = (struct finding){ .what = what };
	return f;
}

/* ---- processor, memory, GPU --------------------------------------------- */

/* name = the line "model name" of /proc/cpuinfo; "": there is none. */
static void processor_name(const struct host_roots *roots, char *name, size_t room)
{
	char text[4096];
	const char *at;

	*name = 0;
	if (host_read(text, sizeof(text), "%s/cpuinfo", roots->proc) < 0)
		return;
	at = strstr(text, "model name");
	at = at ? strchr(at, ':') : NULL;
	if (at)
		snprintf(name, room, "%.*s", (int)strcspn(at + 2, "\n"), at + 2);
}

static void doctor_check_processor(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "processor");
	struct cpu_features m;
	char name[100];

	ops_cpu_features(&m);
	processor_name(&all->roots, name, sizeof(name));
	FOUND(f, "%s%s%d thread%s; vectors: %s%s%s%s", name, *name ? ", " : "", flow_threads(0),
	      text_plural(flow_threads(0)), m.level, m.bf16 ? ", products of bf16" : "",
	      m.vnni ? ", of int8" : "", m.tiles ? ", tiles (AMX)" : "");
	if (m.has_unbuilt_level) {
		f->state = LIMITED;
		ADVICE(f, "this build does not use all vector instructions of the processor: "
			  "configure without --disable-vector-variants to train and decode faster");
	} else if (!m.bf16) {
		ADVICE(f, "--precision bf16 is slow here: the processor has no products of bf16");
	}
}

/* bf16 instructions can be slower than those of fp32. */
static void doctor_compare_formats(struct finding *f)
{
	struct product_rates rates;
	struct err ignored = { 0 };
	struct cpu_features m;

	ops_cpu_features(&m);
	FOUND(f, "; precision auto trains in %s", cpu_features_prefer_bf16(&m) ? "bf16" : "fp32");
	if (!m.bf16 || product_rates_measure(&rates, &ignored))
		return;
	FOUND(f, "; a thread computes %.3g GFLOP/s in fp32, %.3g in bf16", rates.fp32, rates.bf16);
	if (product_rates_prefer_fp32(&rates) && cpu_features_prefer_bf16(&m) && !*f->advice)
		ADVICE(f, "train with --precision fp32: it is faster than bf16 on this processor");
}

static void doctor_check_products(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "matrix products");
	struct cpu_features m;

	ops_cpu_features(&m);
	FOUND(f, "own code%s",
	      m.tiles ? "; those of bf16 and int8 use the processor's tiles (AMX)" : "");
	if (m.has_unused_tiles) {
		f->state = LIMITED;
		FOUND(f, "; the processor's tiles (AMX) are not used");
		if (!m.has_unbuilt_level)
			ADVICE(f, "use Linux 5.16 or later, which lets programs use tiles, and do "
				  "not set WERKBANK_TILES=0: training in bf16 becomes faster");
	}
	doctor_compare_formats(f);
}

static void doctor_check_memory(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "memory");
	double total, available;

	host_memory_read(&all->roots, &total, &available);
	if (isnan(total)) {
		f->state = LIMITED;
		FOUND(f, "cannot read the size of the memory");
		return;
	}
	FOUND(f, "%.1f GB, %.1f GB of it free", total / 1e9, available / 1e9);
	if (available < 3e9) {
		f->state = LIMITED;
		ADVICE(f, "transformer-base needs about 3 GB for batches of 4,096 tokens: lower "
			  "batch_tokens, or free memory");
	}
}

static void doctor_check_gpus(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "GPU");
	struct err e = { 0 };
	struct host_gpus *gpus = host_gpus_open(&all->roots, &e);
	struct host_gpu *now = gpus ? calloc(HOST_GPUS_MAX, sizeof(*now)) : NULL;
	bool is_normal = true;
	int n = now ? host_gpus_sample(gpus, now, HOST_GPUS_MAX, clock_mono_s()) : 0;
	const char *trouble = gpus ? host_gpus_trouble(gpus, &is_normal) : e.text;

	if (n > 0) {
		FOUND(f, "%d x %s", n, now[0].name[0] ? now[0].name : "unknown");
		if (host_gpus_driver(gpus)[0])
			FOUND(f, ", driver %s", host_gpus_driver(gpus));
	} else {
		f->state = is_normal ? MISSING : LIMITED;
		FOUND(f, "none%s%s", *trouble ? ": " : "", trouble);
	}
	if (n > 0 && !ops_cuda()) {
		f->state = LIMITED;
		ADVICE(f, "not used: this build is without CUDA; configure --with-cuda");
	} else if (n > 0 && ops_cuda_unusable_reason()) {
		f->state = LIMITED;
		ADVICE(f, "not used: %s", ops_cuda_unusable_reason());
	} else if (!n && ops_cuda_unusable_reason()) {
		ADVICE(f, "training uses the processor, which is enough for small models: "
			  "transformer-base on millions of sentence pairs needs a GPU");
	}
	free(now);
	host_gpus_free(gpus);
}

/* The backend that --backend auto chooses. */
static void doctor_check_backend(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "computes");
	struct err e = { 0 };
	const struct ops *ops = ops_find("auto", &e);
	char text[280];

	ops_describe(ops, "auto", 0, text, sizeof(text));
	FOUND(f, "%s", text);
}

static void doctor_check_cuda(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "CUDA and NCCL");
#if defined(HAVE_CUDA) && defined(HAVE_NCCL)
	char text[120];

	if (comm_nccl_find(text, sizeof(text))) {
		FOUND(f, "built in, NCCL %s", text);
	} else {
		f->state = LIMITED;
		FOUND(f, "built in, but %s", text);
		ADVICE(f, "without NCCL, gradients of several GPUs go through host memory: install "
			  "libnccl2");
	}
#elif defined(HAVE_CUDA)
	f->state = LIMITED;
	FOUND(f, "CUDA is built in, NCCL is not");
	ADVICE(f, "several GPUs need NCCL: install libnccl-dev and build again");
#else
	f->state = MISSING;
	FOUND(f, "not built in");
	ADVICE(f, "only needed with a GPU: install the CUDA toolkit and configure --with-cuda");
#endif
}

/* ---- MPI, other hosts, programs ------------------------------------------ */

#define MPIRUN_ANSWERS_S 5.0

/* Read a program's output to its end; text gets what fits. False: it took too long. */
static bool read_answer(int fd, char *text, size_t room, double seconds)
{
	const double until = clock_mono_s() + seconds;
	struct pollfd out = { .fd = fd, .events = POLLIN };
	size_t n = 0;
	ssize_t got = 1;

	while (got > 0 && n < room - 1) {
		const double left = until - clock_mono_s();

		if (left <= 0 || poll(&out, 1, (int)(left * 1000) + 1) == 0)
			break;
		got = read(fd, text + n, room - 1 - n);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			n += (size_t)got;
	}
	text[n] = 0;
	return got <= 0 || n == room - 1;
}

/* line = the first line of "mpirun --version". Returns NULL, or why there is none. */
static const char *ask_mpirun(char *line, size_t room)
{
	const char *const argv[] = { "mpirun", "--version", NULL };
	struct proc p;
	struct err ignored = { 0 };
	char path[4096];
	int status;

	if (!proc_find("mpirun", path, sizeof(path)))
		return "mpirun is not found";
	if (proc_start(&p, argv, PROC_PIPE_OUT, &ignored))
		return "mpirun does not start";
	if (!read_answer(p.out, line, room, MPIRUN_ANSWERS_S)) {
		proc_stop(&p, 1);
		return "mpirun does not answer";
	}
	line[strcspn(line, "\n")] = 0;
	if (proc_wait(&p, &status, &ignored) || status)
		return "mpirun --version fails";
	return NULL;
}

static void doctor_check_mpi(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "MPI");
	char line[100];
	const char *trouble = ask_mpirun(line, sizeof(line));

#ifdef HAVE_MPI
	FOUND(f, "built in; %s", trouble ? trouble : line);
	if (trouble) {
		f->state = LIMITED;
		ADVICE(f, "only one rank can train: install or repair openmpi-bin to train on "
			  "several ranks and hosts");
	}
#else
	f->state = MISSING;
	FOUND(f, "not built in%s%s", trouble ? "" : ", but this host has ", trouble ? "" : line);
	ADVICE(f, "only one rank can train: install libopenmpi-dev and build again to train on "
		  "several ranks and hosts");
#endif
}

static void doctor_check_tools(struct findings *all)
{
	static const struct {
		const char *name, *brings;
	} tools[] = {
		{ "ssh", "training on other hosts" },
		{ "rsync", "werkbank hosts sync, for hosts that share no file system" },
	};
	struct finding *f = doctor_add_finding(all, "other hosts");
	char path[4096];

	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		bool there = proc_find(tools[i].name, path, sizeof(path));

		FOUND(f, "%s%s %s", i ? ", " : "", tools[i].name,
		      there ? "is installed" : "is missing");
		if (there)
			continue;
		f->state = MAX(f->state, i ? LIMITED : MISSING);
		ADVICE(f, "%sinstall %s for %s", f->advice[0] ? "; " : "", tools[i].name,
		       tools[i].brings);
	}
}

static void doctor_check_programs(struct findings *all)
{
	static const char *const names[] = { "werkbank", "werkbank-data", "werkbank-launch",
					     "werkbank-eval" };
	struct finding *f = doctor_add_finding(all, "programs");
	struct err e = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = paths_program(names[i], &e);

		if (!path) {
			f->state = MISSING;
			ADVICE(f, "%s%s is not in the folder of this program: install again",
			       f->advice[0] ? "; " : "", names[i]);
		}
		free(path);
	}
	FOUND(f, "werkbank " PACKAGE_VERSION "%s", f->advice[0] ? ", incomplete" : ", complete");
}

/* Version 2: see sandbox_begin(). */
static void doctor_check_sandbox(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "sandbox");
	const int landlock = sandbox_landlock_version();
	const bool seccomp = sandbox_has_seccomp();

	if (sandbox_is_off()) {
		f->state = LIMITED;
		FOUND(f, "switched off by WERKBANK_SANDBOX");
		ADVICE(f, "unset it: unpacking, importing and translating then give up the rights "
			  "that they do not need");
		return;
	}
	f->state = landlock >= 2 && seccomp ? GOOD : landlock >= 2 || seccomp ? LIMITED : MISSING;
	FOUND(f, "while foreign files are read, ");
	if (landlock >= 2)
		FOUND(f, "Landlock %d limits files, ", landlock);
	else
		FOUND(f, "nothing limits files (this kernel has no Landlock 2), ");
	FOUND(f, "%s system calls", seccomp ? "seccomp limits" : "nothing limits");
	if (landlock < 2)
		ADVICE(f, "a kernel from 5.19 on with Landlock protects your files from archives "
			  "and models of strangers");
#ifndef HAVE_SECCOMP
	ADVICE(f, "%sinstall libseccomp-dev and build again to limit system calls",
	       f->advice[0] ? "; " : "");
#endif
}

/* ---- terminal and workspace --------------------------------------------- */

static void doctor_check_terminal(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "terminal");
	const char *term = getenv("TERM"), *charset;

	setlocale(LC_CTYPE, "");
	charset = nl_langinfo(CODESET);
	FOUND(f, "TERM %s, characters %s", term && *term ? term : "not set",
	      strcmp(charset, "ANSI_X3.4-1968") ? charset : "ASCII");
#ifndef HAVE_CURSES
	f->state = MISSING;
	ADVICE(f, "built without curses: install libncurses-dev and build again to open the "
		  "workbench; all commands work without it");
	return;
#endif
	if (!term || !*term || !strcmp(term, "dumb")) {
		f->state = LIMITED;
		ADVICE(f, "the workbench needs a terminal with a cursor: set TERM; werkbank watch "
			  "--plain works anywhere");
	} else if (strcmp(charset, "UTF-8") != 0) {
		f->state = LIMITED;
		ADVICE(f, "plots use ASCII; set a UTF-8 locale (LC_ALL=C.UTF-8) for finer plots");
	}
}

static void doctor_check_workspace(struct findings *all)
{
	struct finding *f = doctor_add_finding(all, "workspace");
	struct err e = { 0 };
	char *path = paths_workspace(all->conf->workspace, &e);
	struct statvfs fs;
	bool there = path && file_exists(path);
	double free_gb;

	if (!path || statvfs(there ? path : ".", &fs)) {
		f->state = LIMITED;
		FOUND(f, "cannot read the file system of %s", path ? path : "the workspace");
		free(path);
		return;
	}
	free_gb = (double)fs.f_bavail * (double)fs.f_frsize / 1e9;
	FOUND(f, "%.150s%s, %.0f GB free", path, there ? "" : " (created when first needed)",
	      free_gb);
	if (free_gb < 15) {
		f->state = LIMITED;
		ADVICE(f, "preparing WMT16 English–German needs about 15 GB: choose another "
			  "folder with -C DIR");
	}
	free(path);
}

/* ---- the report -------------------------------------------------------- */

static void doctor_put_table(const struct findings *all, struct buf *out)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct finding *f = &all->all[i];

		buf_printf(out, "%-16s %-8s %s\n", f->what, state_names[f->state], f->found);
		if (f->advice[0])
			buf_printf(out, "%-16s %-8s %s\n", "", "", f->advice);
	}
}

static void doctor_put_json(const struct findings *all, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_open(&w, '{');
	json_put_open(&w, "findings", '[');
	for (size_t i = 0; i < all->n; i++) {
		const struct finding *f = &all->all[i];

		json_open(&w, '{');
		json_put_str(&w, "what", f->what);
		json_put_str(&w, "state", state_names[f->state]);
		json_put_str(&w, "found", f->found);
		if (f->advice[0])
			json_put_str(&w, "advice", f->advice);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	buf_add_str(out, "\n");
}

int doctor_run(const struct conf *c, struct err *e)
{
	static void (*const looks[])(struct findings *) = {
		doctor_check_processor, doctor_check_products, doctor_check_memory,
		doctor_check_gpus,	doctor_check_cuda,     doctor_check_backend,
		doctor_check_mpi,	doctor_check_tools,    doctor_check_programs,
		doctor_check_sandbox,	doctor_check_terminal, doctor_check_workspace,
	};
	struct findings all = { .conf = c };
	struct buf out = { 0 };
	int rc;

	host_roots_find(&all.roots);
	for (size_t i = 0; i < ARRAY_LEN(looks); i++)
		looks[i](&all);
	(c->json ? doctor_put_json : doctor_put_table)(&all, &out);
	rc = file_put_stdout(&out, e);
	buf_free(&out);
	return rc;
}
