/* block.cc - runs the threads of a block as fibers: barriers, shared memory; see sim.h */
#include <cuda_runtime.h>

#include "tests/cudasim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define MAX_THREADS  1024
#define STACK_BYTES  (256 * 1024)
#define GUARD_BYTES  4096
#define STATIC_BYTES (48 * 1024)

enum state { READY, AT_BEGIN, AT_BARRIER, IN_WARP, DONE };

struct copy { /* an asynchronous copy; group: number of groups committed before it */
	void *to;
	const void *from;
	int bytes, valid, group;
};

struct fiber {
	enum state state;
	uint3 thread;
	int lane, warp;
#if defined(__x86_64__)
	void *sp;
#else
	ucontext_t context;
#endif
	void *fake_stack; /* the address sanitizer's */
	/* what the fiber waits for */
	unsigned mask;
	sim_joint *joint;
	void *given;
	std::vector<struct copy> *copies;
	int groups;
};

static struct {
	struct fiber fiber[MAX_THREADS];
	char *stacks; /* MAX_THREADS stacks, each above a guard page */
	int n, running, done;
	int at_barrier, votes, result;
	bool active, faulted, left_deep;
	bool waits_to_begin; /* sim_kernel_begin() waits */
	bool prompt;	     /* asynchronous copies arrive at once; else as late as allowed */
	const struct sim_launch *launch;
	const std::function<void()> *body;
#if defined(__x86_64__)
	void *scheduler_sp;
#else
	ucontext_t scheduler;
#endif
	void *scheduler_fake;
	const void *scheduler_bottom;
	size_t scheduler_size;
	struct {
		const void *key;
		size_t at;
	} shared[64];
	int n_shared;
	size_t shared_used;
	uint64_t threads_run;
} now;

alignas(128) static unsigned char static_shared[STATIC_BYTES];
alignas(128) static unsigned char dynamic_shared[SIM_SHARED_MAX + 16];

struct sim_place sim_now;

/* ---- switching -------------------------------------------------------------------- */

#if defined(__x86_64__)
extern "C" void sim_switch(void **save, void *load);
__asm__(".text\n.globl sim_switch\n.type sim_switch,@function\nsim_switch:\n"
	"pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
	"movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
	"popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
	".size sim_switch,.-sim_switch\n");
#endif

static char *stack_of(int i)
{
	return now.stacks + (size_t)i * (STACK_BYTES + GUARD_BYTES) + GUARD_BYTES;
}

/* From a fiber to the scheduler. */
static void leave(bool for_ever)
{
	struct fiber *f = &now.fiber[now.running];

#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(for_ever ? NULL : &f->fake_stack, now.scheduler_bottom,
				       now.scheduler_size);
#else
	(void)for_ever;
#endif
#if defined(__x86_64__)
	sim_switch(&f->sp, now.scheduler_sp);
#else
	swapcontext(&f->context, &now.scheduler);
#endif
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(f->fake_stack, &now.scheduler_bottom, &now.scheduler_size);
#endif
}

static void fiber_main(void)
{
	struct fiber *f = &now.fiber[now.running];

#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(NULL, &now.scheduler_bottom, &now.scheduler_size);
#endif
	(*now.body)();
	sim_copy_wait(0);
	f->state = DONE;
	now.done++;
	leave(true);
	abort(); /* a finished fiber is never resumed */
}

static void enter(int i)
{
	struct fiber *f = &now.fiber[i];

	now.running = i;
	sim_now.thread = f->thread;
	sim_now.lane = f->lane;
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(&now.scheduler_fake, stack_of(i), STACK_BYTES);
#endif
#if defined(__x86_64__)
	sim_switch(&now.scheduler_sp, f->sp);
#else
	swapcontext(&now.scheduler, &f->context);
#endif
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(now.scheduler_fake, NULL, NULL);
#endif
}

/* Tell the sanitizer about abandoned frames: a few after a normal end, many after a fault. */
static void forget_frames(int i)
{
#if defined(__SANITIZE_ADDRESS__)
	size_t bytes = now.left_deep ? STACK_BYTES : 4096;

	__asan_unpoison_memory_region(stack_of(i) + STACK_BYTES - bytes, bytes);
#else
	(void)i;
#endif
}

static void make_fiber(int i, dim3 block)
{
	struct fiber *f = &now.fiber[i];
	unsigned u = (unsigned)i;

	forget_frames(i);
	f->state = READY;
	f->thread = uint3{ u % block.x, u / block.x % block.y, u / block.x / block.y };
	f->lane = i % 32;
	f->warp = i / 32;
	f->groups = 0;
	if (!f->copies)
		f->copies = new std::vector<struct copy>;
	f->copies->clear();
#if defined(__x86_64__)
	{
		void **top = (void **)(void *)(stack_of(i) + STACK_BYTES);

		*--top = NULL; /* alignment, as after a call */
		*--top = (void *)fiber_main;
		for (int k = 0; k < 6; k++)
			*--top = NULL;
		f->sp = top;
	}
#else
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = stack_of(i);
	f->context.uc_stack.ss_size = STACK_BYTES;
	f->context.uc_link = NULL;
	makecontext(&f->context, fiber_main, 0);
#endif
}

static bool make_stacks(void)
{
	size_t each = STACK_BYTES + GUARD_BYTES;
	void *p;

	if (now.stacks)
		return true;
	p = mmap(NULL, MAX_THREADS * each, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	now.stacks = (char *)p;
	for (int i = 0; i < MAX_THREADS; i++)
		mprotect(now.stacks + (size_t)i * each, GUARD_BYTES, PROT_NONE);
	return true;
}

/* ---- functions called by kernels ----------------------------------------------------- */

bool sim_in_kernel(void)
{
	return now.active;
}

/* For a message: the block and thread that is running. */
static void describe(char *text, size_t size)
{
	if (now.active)
		snprintf(text, size, "kernel %s, block (%u, %u, %u), thread (%u, %u, %u)",
			 now.launch->name, sim_now.block.x, sim_now.block.y, sim_now.block.z,
			 sim_now.thread.x, sim_now.thread.y, sim_now.thread.z);
	else
		snprintf(text, size, "host");
}

void sim_note_fault(const char *who, const char *text); /* runtime.cc */

void sim_fault(const char *fmt, ...)
{
	char who[300], text[300];
	va_list ap;

	describe(who, sizeof(who));
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sim_note_fault(who, text);
	if (!now.active)
		return;
	now.faulted = true;
	leave(true);
	abort();
}

void *sim_shared(const void *key, size_t bytes, size_t align)
{
	int i = 0;

	while (i < now.n_shared && now.shared[i].key != key)
		i++;
	if (i == now.n_shared) {
		size_t at = (now.shared_used + align - 1) / align * align;

		if (i == 64 ||
		    at + bytes + now.launch->shared >
			    (size_t)sim_shared_limit(now.launch->kernel) ||
		    at + bytes > STATIC_BYTES)
			sim_fault("%zu bytes of shared memory, more than a block may have",
				  at + bytes + now.launch->shared);
		now.shared[i].key = key;
		now.shared[i].at = at;
		now.n_shared++;
		now.shared_used = at + bytes;
	}
	return static_shared + now.shared[i].at;
}

void *sim_shared_dynamic(void)
{
	return dynamic_shared;
}

static void release_barrier(void)
{
	now.result = now.votes;
	now.at_barrier = now.votes = 0;
	for (int i = 0; i < now.n; i++)
		if (now.fiber[i].state == AT_BARRIER)
			now.fiber[i].state = READY;
}

/* In front of it, a dependent launch must not touch device memory: the kernel in front may still run. */
void sim_kernel_begin(void)
{
	if (!now.waits_to_begin)
		return;
	now.fiber[now.running].state = AT_BEGIN;
	leave(false);
}

/* Run all threads of a block up to kernel_begin(), without device memory. false: it faulted. */
static bool run_to_begin(const struct sim_launch *l)
{
	now.waits_to_begin = true;
	sim_memory_hide(true);
	for (int i = 0; i < now.n && !now.faulted; i++) {
		enter(i);
		if (now.faulted || now.fiber[i].state == AT_BEGIN)
			continue;
		now.active = false;
		sim_fault("kernel %s: kernel_begin() is not the first statement", l->name);
		now.faulted = true;
	}
	sim_memory_hide(false);
	now.waits_to_begin = false;
	for (int i = 0; i < now.n; i++)
		now.fiber[i].state = READY;
	return !now.faulted;
}

int sim_barrier(int predicate)
{
	now.votes += predicate;
	now.at_barrier++;
	now.fiber[now.running].state = AT_BARRIER;
	leave(false);
	return now.result;
}

/* Have all lanes of the mask arrived? A fault if one never can. */
static bool all_there(const struct fiber *me, unsigned mask, void **given)
{
	bool all = true;

	for (int i = 0; i < 32; i++) {
		int at = me->warp * 32 + i;
		const struct fiber *f = &now.fiber[at];

		given[i] = NULL;
		if (!(mask >> i & 1))
			continue;
		if (at >= now.n || f->state == DONE)
			sim_fault("the mask 0x%x names lane %d, which has left", mask, i);
		if (f->state != IN_WARP) {
			all = false;
			continue;
		}
		if (f->mask != mask || f->joint != me->joint)
			sim_fault("lane %d waits with mask 0x%x in something else than mask 0x%x",
				  i, f->mask, mask);
		given[i] = f->given;
	}
	return all;
}

void sim_warp(unsigned mask, sim_joint *joint, void *given)
{
	struct fiber *f = &now.fiber[now.running];
	void *all[32];

	if (!(mask >> f->lane & 1))
		sim_fault("lane %d is not in its own mask 0x%x", f->lane, mask);
	f->state = IN_WARP;
	f->mask = mask;
	f->joint = joint;
	f->given = given;
	if (!all_there(f, mask, all)) {
		leave(false);
		return;
	}
	if (joint)
		joint(all, mask);
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1)
			now.fiber[f->warp * 32 + i].state = READY;
}

static void arrive(const struct copy &c)
{
	memcpy(c.to, c.from, (size_t)c.valid);
	memset((char *)c.to + c.valid, 0, (size_t)(c.bytes - c.valid));
}

void sim_copy_async(void *to, const void *from, int bytes, int valid)
{
	struct fiber *f = &now.fiber[now.running];

	if ((uintptr_t)to % (unsigned)bytes || (uintptr_t)from % (unsigned)bytes)
		sim_fault("an asynchronous copy of %d bytes is not aligned", bytes);
	if (now.prompt)
		arrive({ to, from, bytes, valid, f->groups });
	else
		f->copies->push_back({ to, from, bytes, valid, f->groups });
}

void sim_copy_commit(void)
{
	now.fiber[now.running].groups++;
}

void sim_copy_wait(int n)
{
	struct fiber *f = &now.fiber[now.running];
	size_t i = 0;

	for (; i < f->copies->size() && (*f->copies)[i].group < f->groups - n; i++)
		arrive((*f->copies)[i]);
	f->copies->erase(f->copies->begin(), f->copies->begin() + (ptrdiff_t)i);
}

/* ---- blocks ------------------------------------------------------------------------- */

/* An order of n things to provoke races: forwards, backwards, or shuffled. */
static void shuffle(std::vector<unsigned> &order, size_t n)
{
	uint64_t how = sim_random() % 4;

	order.resize(n);
	for (size_t i = 0; i < n; i++)
		order[i] = (unsigned)(how == 1 ? n - 1 - i : i);
	for (size_t i = n; i > 1 && how >= 2; i--)
		std::swap(order[i - 1], order[sim_random() % i]);
}

static bool any_ready(void)
{
	for (int i = 0; i < now.n; i++)
		if (now.fiber[i].state == READY)
			return true;
	return false;
}

/* Run one warp until it ends or waits: it gets as far ahead of the others as possible. */
static void run_warp(int warp, const std::vector<unsigned> &order)
{
	bool ran = true;

	while (ran && !now.faulted) {
		ran = false;
		for (int i = 0; i < now.n && !now.faulted; i++) {
			int thread = (int)order[(size_t)i];

			if (thread / 32 != warp || now.fiber[thread].state != READY)
				continue;
			enter(thread);
			ran = true;
		}
	}
}

static bool run_block(uint3 block, const struct sim_launch *l, bool checks_begin)
{
	static std::vector<unsigned> order;

	now.n = (int)(l->block.x * l->block.y * l->block.z);
	now.done = now.at_barrier = now.votes = now.n_shared = 0;
	now.shared_used = 0;
	now.faulted = false;
	sim_now.block = block;
	memset(static_shared, 0xFF, sizeof(static_shared));
	memset(dynamic_shared, 0xFF, l->shared + 16);
	for (int i = 0; i < now.n; i++)
		make_fiber(i, l->block);
	shuffle(order, (size_t)now.n);
	const bool hasty = sim_random() % 2;
	now.prompt = sim_random() % 2;

	if (checks_begin)
		run_to_begin(l);
	while (now.done < now.n && !now.faulted) {
		for (int i = 0; i < now.n && !now.faulted; i++)
			if (hasty)
				run_warp((int)order[(size_t)i] / 32, order);
			else if (now.fiber[order[(size_t)i]].state == READY)
				enter((int)order[(size_t)i]);
		if (now.faulted || any_ready() || now.done == now.n)
			continue;
		if (now.at_barrier && now.at_barrier + now.done == now.n) {
			release_barrier();
			continue;
		}
		now.active = false;
		sim_fault("kernel %s, block (%u, %u, %u): %d threads wait at a barrier, %d "
			  "have left, the others wait for lanes that never come",
			  l->name, block.x, block.y, block.z, now.at_barrier, now.done);
		now.faulted = true;
	}
	for (int i = 0; i < 16 && !now.faulted; i++) {
		if (dynamic_shared[l->shared + (size_t)i] == 0xFF)
			continue;
		now.active = false;
		sim_fault("kernel %s wrote behind its %zu bytes of shared memory", l->name,
			  l->shared);
		now.faulted = true;
	}
	now.threads_run += (uint64_t)now.n;
	now.left_deep = now.left_deep || now.faulted;
	return !now.faulted;
}

bool sim_run_grid(const struct sim_launch *l, const std::function<void()> &body)
{
	uint64_t n = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
	std::vector<unsigned> order;
	bool good = make_stacks();

	now.launch = l;
	now.body = &body;
	sim_now.block_dim = l->block;
	sim_now.grid_dim = l->grid;
	shuffle(order, n);
	for (uint64_t i = 0; i < n && good; i++) {
		unsigned b = order[i];

		now.active = true;
		good = run_block(uint3{ b % l->grid.x, b / l->grid.x % l->grid.y,
					b / l->grid.x / l->grid.y },
				 l, l->dependent && i == 0);
	}
	now.active = false;
	return good;
}

uint64_t sim_threads_run(void)
{
	return now.threads_run;
}
