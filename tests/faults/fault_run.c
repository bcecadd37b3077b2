/*
 * fault_run.c - run a command in which one call fails: tests/fault_run [OPTION=VALUE...] COMMAND [ARGUMENT...]
 *
 *	shim=FILE	fault_shim.so
 *	page=FILE	a file for the shared page; it is overwritten
 *	call=NAME	the kind of call (fault_page.h); without it calls are only counted
 *	n=N or N+	the N-th call fails, or this one and all later ones; 0: none, calls are listed by place
 *	place=ID	n= counts only calls of this place: calls to which the same functions led
 *	error=NAME	EIO, ENOSPC, …, or SHORT
 *	alone=yes	only calls of the first process
 *	limit=SECONDS	then the command is killed (30)
 *	out=FILE err=FILE in=FILE	its standard streams (/dev/null)
 *
 * Prints one line "status=N signal=N hung=N left=N faults=N place=PROGRAM:0xADDRESS:... subject=PATH"; left: processes
 * that were still there after the command had ended; addresses: who called, innermost first. Without call= a line
 * "NAME COUNT" for each kind follows; with n=0 a line "ID COUNT" for each place, in the order of their first calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "share/base/proc.h"
#include "tests/faults/fault_page.h"

static const char *const call_names[] = {
#define X(name) #name,
	FAULT_CALLS(X)
#undef X
};

static const struct {
	const char *name;
	int number;
} errors[] = {
	{ "SHORT", FAULT_SHORT }, { "EACCES", EACCES }, { "EAGAIN", EAGAIN },
	{ "EINTR", EINTR },	  { "EIO", EIO },	{ "EMFILE", EMFILE },
	{ "ENODEV", ENODEV },	  { "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC },
};

struct request {
	const char *shim, *path, *in, *out, *err;
	double limit_s;
	struct fault_page page;
};

static void die(const char *what)
{
	fprintf(stderr, "fault_run: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int index_of_call(const char *name)
{
	for (int i = 0; i < FAULT_N_CALLS; i++)
		if (!strcmp(call_names[i], name))
			return i;
	errno = EINVAL;
	die(name);
	return -1;
}

static int number_of_error(const char *name)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (!strcmp(errors[i].name, name))
			return errors[i].number;
	errno = EINVAL;
	die(name);
	return 0;
}

/* Read one OPTION=VALUE; false: it is the command. */
static bool read_option(struct request *r, const char *word)
{
	const char *value = strchr(word, '=');
	const size_t n = value ? (size_t)(value - word) : 0;
	char *end;

	if (!value || memchr(word, '/', n))
		return false;
	value++;
	if (!strncmp(word, "shim", n))
		r->shim = value;
	else if (!strncmp(word, "page", n))
		r->path = value;
	else if (!strncmp(word, "in", n))
		r->in = value;
	else if (!strncmp(word, "out", n))
		r->out = value;
	else if (!strncmp(word, "err", n))
		r->err = value;
	else if (!strncmp(word, "limit", n))
		r->limit_s = strtod(value, NULL);
	else if (!strncmp(word, "alone", n))
		r->page.is_alone = true;
	else if (!strncmp(word, "call", n))
		r->page.call = index_of_call(value);
	else if (!strncmp(word, "error", n))
		r->page.error = number_of_error(value);
	else if (!strncmp(word, "place", n))
		r->page.place = strtoull(value, NULL, 16);
	else if (!strncmp(word, "n", n)) {
		r->page.first = strtoull(value, &end, 10);
		r->page.is_lasting = *end == '+';
	}
	return true;
}

static struct fault_page *make_page(const struct request *r)
{
	const int fd = open(r->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *p;

	if (fd < 0 || write(fd, &r->page, sizeof(r->page)) != sizeof(r->page))
		die(r->path);
	p = mmap(NULL, sizeof(r->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die(r->path);
	close(fd);
	return p;
}

static void redirect(const char *path, int flags, int to)
{
	const int fd = open(path, flags | O_CLOEXEC, 0666);

	if (fd < 0 || dup2(fd, to) < 0)
		die(path);
}

/* In a group of its own, which a time limit kills as a whole. */
static pid_t start_command(const struct request *r, char **argv)
{
	const pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	setpgid(0, 0);
	redirect(r->in, O_RDONLY, STDIN_FILENO);
	redirect(r->out, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
	redirect(r->err, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
	setenv("FAULT_PAGE", r->path, 1);
	setenv("LD_PRELOAD", r->shim, 1);
	execvp(argv[0], argv);
	_exit(127);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reap all processes that have ended; *raw is the status of `pid`. Returns whether there are others. */
static bool reap(pid_t pid, int *raw, bool *has_ended)
{
	for (;;) {
		int status;
		const pid_t got = waitpid(-1, &status, WNOHANG);

		if (got <= 0)
			return !got;
		if (got == pid) {
			*raw = status;
			*has_ended = true;
		}
	}
}

static void pause_ms(int ms)
{
	const struct timespec t = { 0, ms * 1000000L };

	nanosleep(&t, NULL);
}

/*
 * Kill the processes that the command has left: those of its group, and those that made a group or a
 * session of their own. All of them are children of this process by now, or their children.
 */
static void kill_rest(pid_t group, int *raw, bool *has_ended)
{
	char path[64], line[32];

	for (int i = 0; i < 500 && reap(group, raw, has_ended); i++) {
		FILE *f;

		proc_signal_group(group, SIGKILL);
		snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
		f = fopen(path, "r");
		while (f && fscanf(f, "%31s", line) == 1)
			proc_signal((pid_t)strtol(line, NULL, 10), SIGKILL);
		if (f)
			fclose(f);
		pause_ms(10);
	}
}

static int compare_first_calls(const void *a, const void *b)
{
	const struct fault_place *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static void print_places(struct fault_page *page)
{
	qsort(page->places, FAULT_PLACES, sizeof(*page->places), compare_first_calls);
	for (int i = 0; i < FAULT_PLACES; i++)
		if (page->places[i].id)
			printf("%016llx %llu\n", (unsigned long long)page->places[i].id,
			       (unsigned long long)page->places[i].count);
}

int main(int argc, char **argv)
{
	static struct request r = { .in = "/dev/null",
				    .out = "/dev/null",
				    .err = "/dev/null",
				    .limit_s = 30,
				    .page = { .call = -1 } };
	struct fault_page *page;
	bool has_ended = false, hung, others = true;
	int raw = 0, i = 1;
	double deadline;
	pid_t pid;

	while (i < argc && read_option(&r, argv[i]))
		i++;
	errno = EINVAL;
	if (i == argc || !r.shim || !r.path)
		die("usage: fault_run shim=FILE page=FILE [OPTION=VALUE...] COMMAND [ARGUMENT...]");
	page = make_page(&r);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = start_command(&r, argv + i);
	deadline = now_s() + r.limit_s;
	while (!has_ended && now_s() < deadline) {
		others = reap(pid, &raw, &has_ended);
		if (!has_ended)
			pause_ms(2);
	}
	hung = !has_ended;
	/* helpers that notice the end of their parent may take a moment */
	for (int wait = 0; has_ended && others && wait < 100; wait++) {
		pause_ms(10);
		others = reap(pid, &raw, &has_ended);
	}
	kill_rest(pid, &raw, &has_ended);
	printf("status=%d signal=%d hung=%d left=%d faults=%llu place=%s",
	       WIFEXITED(raw) ? WEXITSTATUS(raw) : -1, WIFSIGNALED(raw) ? WTERMSIG(raw) : 0, hung,
	       !hung && others, (unsigned long long)page->n_faults, page->program);
	for (int k = 0; k < FAULT_FRAMES && page->frames[k]; k++)
		printf(":0x%llx", (unsigned long long)page->frames[k]);
	printf(" subject=%s\n", page->subject);
	for (int k = 0; r.page.call < 0 && k < FAULT_N_CALLS; k++)
		printf("%s %llu\n", call_names[k], (unsigned long long)page->count[k]);
	if (r.page.call >= 0 && !r.page.first)
		print_places(page);
	return 0;
}
