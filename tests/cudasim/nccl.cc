/*
 * nccl.cc - the functions of NCCL that training uses, between processes with shared memory; see sim.h
 *
 * Each operation becomes messages between pairs of ranks, sent in parts through a box in shared memory.
 * A message names its operation, and a receiver that expects another one faults: so all ranks must call
 * the same operations, in the same order, with the same sizes. An operation runs when its stream reaches
 * it, and then waits for the other ranks like a kernel. Sums have the order of a ring, and bf16 is
 * rounded after each addition.
 *
 * A call returns before its work is in the stream; the work enters it while the caller polls the state
 * of the communicator, as NCCL demands of non-blocking communicators. Polling also advances streams.
 */
#include <nccl.h>

#include "tests/cudasim/sim.h"

#include <atomic>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <vector>

extern "C" {
#include "train/comm/comm_nccl_library.h"
}

#define MAX_RANKS 4
#define BOX_BYTES ((size_t)64 << 10)
#define WAIT_S	  60.0 /* longest wait; then it is a fault */

enum kind { EXCHANGE = 1, SUM, SUM_PART, SPREAD };

/* Sender and receiver must agree about all of these. */
struct label {
	uint64_t kind, type, bytes, number;
};

struct box {
	std::atomic<int> full;
	struct label label;
	char data[BOX_BYTES];
};

/* Memory shared by the processes; initially 0. */
struct meeting {
	std::atomic<int> arrived, left, broken;
	struct box boxes[MAX_RANKS][MAX_RANKS]; /* from, to */
};

/* A message, or the rest of it. */
struct message {
	bool sends;
	int peer;
	char *p;
	size_t bytes, moved;
	struct label label;
};

struct operation {
	enum kind kind;
	cudaStream_t stream;
	const char *in;
	char *out;
	size_t count;
	ncclDataType_t type;
	std::vector<struct message> messages;
	std::vector<std::string> terms; /* input of each rank, for sums */
	bool begun, hangs;
	double since;
};

struct ncclComm {
	int rank, ranks;
	struct meeting *meeting;
	pthread_t thread; /* creator: only this thread advances streams */
	std::atomic<bool> aborted;
	bool finalizing;
	std::atomic<int> unsettled;  /* polls until the call is complete */
	struct operation *asked_for; /* owned; not in its stream yet */
	uint64_t number;	     /* of operations that were called */
	uint64_t sent[MAX_RANKS], received[MAX_RANKS];
};

static struct {
	struct ncclComm *comm; /* of the open group; NULL: it is empty */
	struct operation *op;
	int depth;
	int hang_after, break_after; /* operations; 0: never */
	bool absent;
} nccl;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t size_of(ncclDataType_t type)
{
	return type == ncclFloat32 ? 4 : type == ncclBfloat16 ? 2 : 1;
}

/* ---- messages ------------------------------------------------------------------------------- */

static void add_message(struct ncclComm *c, struct operation *op, bool sends, int peer,
			const void *p, size_t bytes)
{
	struct message m = { sends, peer, (char *)p, bytes, 0, {} };

	m.label = { (uint64_t)op->kind, (uint64_t)op->type, bytes,
		    sends ? c->sent[peer]++ : c->received[peer]++ };
	op->messages.push_back(m);
}

/* As much as the box has space for, or contains. */
static void move_message(struct ncclComm *c, struct message *m)
{
	struct box *b = m->sends ? &c->meeting->boxes[c->rank][m->peer]
				 : &c->meeting->boxes[m->peer][c->rank];
	size_t n = m->bytes - m->moved < BOX_BYTES ? m->bytes - m->moved : BOX_BYTES;

	if (m->moved == m->bytes || (b->full.load() != 0) == m->sends)
		return;
	if (m->sends) {
		b->label = m->label;
		memcpy(b->data, m->p + m->moved, n);
	} else if (memcmp(&b->label, &m->label, sizeof(b->label)) != 0) {
		sim_fault("NCCL: rank %d expects message %llu of rank %d to be of %llu bytes (call "
			  "%llu, type %llu), and it is number %llu of %llu bytes (call %llu, type "
			  "%llu)",
			  c->rank, (unsigned long long)m->label.number, m->peer,
			  (unsigned long long)m->label.bytes, (unsigned long long)m->label.kind,
			  (unsigned long long)m->label.type, (unsigned long long)b->label.number,
			  (unsigned long long)b->label.bytes, (unsigned long long)b->label.kind,
			  (unsigned long long)b->label.type);
		return;
	} else {
		memcpy(m->p + m->moved, b->data, n);
	}
	m->moved += n;
	b->full.store(m->sends);
}

/* ---- sums ------------------------------------------------------------------------------------- */

static float value(const char *p, ncclDataType_t type, size_t i)
{
	uint32_t bits = 0;
	uint16_t half;
	float x;

	if (type == ncclFloat32) {
		memcpy(&x, p + 4 * i, 4);
		return x;
	}
	memcpy(&half, p + 2 * i, 2);
	bits = (uint32_t)half << 16;
	memcpy(&x, &bits, 4);
	return x;
}

static void put(char *p, ncclDataType_t type, size_t i, float x)
{
	uint32_t bits;
	uint16_t half;

	memcpy(&bits, &x, 4);
	if (type == ncclFloat32) {
		memcpy(p + 4 * i, &x, 4);
		return;
	}
	half = (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
	memcpy(p + 2 * i, &half, 2);
}

/* Sum element i of n; each part of the array starts at another rank, as in a ring. */
static void sum_one(const struct operation *op, size_t ranks, size_t i, size_t n, char *out,
		    size_t at)
{
	size_t first = i * ranks / n;

	put(out, op->type, at, value(op->terms[first % ranks].data(), op->type, i));
	for (size_t k = 1; k < ranks; k++)
		put(out, op->type, at,
		    value(out, op->type, at) +
			    value(op->terms[(first + k) % ranks].data(), op->type, i));
}

/* ---- operations -------------------------------------------------------------------------------- */

/* Create its messages, once the stream has reached it. */
static void begin(struct ncclComm *c, struct operation *op)
{
	size_t each = op->count * size_of(op->type), ranks = (size_t)c->ranks;
	size_t all = op->kind == SUM_PART ? each * ranks : each;

	op->begun = true;
	if (op->kind == EXCHANGE)
		return;
	op->terms.assign(ranks, std::string(all, '\0'));
	memcpy(&op->terms[(size_t)c->rank][0], op->in, all);
	for (int i = 0; i < c->ranks; i++) {
		if (i == c->rank)
			continue;
		add_message(c, op, true, i, op->terms[(size_t)c->rank].data(), all);
		add_message(c, op, false, i, op->terms[(size_t)i].data(), all);
	}
}

static void finish(struct ncclComm *c, struct operation *op)
{
	size_t ranks = (size_t)c->ranks, rank = (size_t)c->rank, n = op->count;

	for (size_t i = 0; op->kind == SUM && i < n; i++)
		sum_one(op, ranks, i, n, op->out, i);
	for (size_t i = 0; op->kind == SUM_PART && i < n; i++)
		sum_one(op, ranks, rank * n + i, ranks * n, op->out, i);
	for (size_t i = 0; op->kind == SPREAD && i < ranks; i++)
		memcpy(op->out + i * op->terms[i].size(), op->terms[i].data(), op->terms[i].size());
}

/* Continue; true: finished, or failed. */
static bool attempt(struct ncclComm *c, struct operation *op)
{
	bool all = true;

	if (c->aborted)
		return true;
	if (!op->begun) {
		op->since = now();
		begin(c, op);
	}
	if (now() - op->since > WAIT_S && !op->hangs) {
		sim_fault("NCCL: rank %d waits for others since %.0f s", c->rank, WAIT_S);
		return true;
	}
	if (op->hangs || c->meeting->broken)
		return false;
	for (struct message &m : op->messages) {
		move_message(c, &m);
		all = all && m.moved == m.bytes;
	}
	if (all)
		finish(c, op);
	return all || sim_sticky() != cudaSuccess;
}

static void check_memory(const struct operation *op, int ranks)
{
	size_t each = op->count * size_of(op->type), many = each * (size_t)ranks;

	if (op->kind == EXCHANGE || !op->count)
		return;
	if (!sim_is_device(op->in, op->kind == SUM_PART ? many : each) ||
	    !sim_is_device(op->out, op->kind == SPREAD ? many : each))
		sim_fault("NCCL is given memory that is not the GPU's");
}

/* The operation enters the stream after enough polls of the caller. */
static ncclResult_t ask_for(struct ncclComm *c, struct operation *op)
{
	if (c->unsettled || c->asked_for || c->finalizing) {
		sim_fault("NCCL is called while the communicator is still at the call before");
		delete op;
		return ncclInvalidUsage;
	}
	check_memory(op, c->ranks);
	c->number++;
	op->hangs = nccl.hang_after && c->number >= (uint64_t)nccl.hang_after;
	if (nccl.break_after && c->number >= (uint64_t)nccl.break_after)
		c->meeting->broken = 1;
	c->asked_for = op;
	c->unsettled = 1 + (int)(sim_random() % 3);
	return ncclInProgress;
}

static void hand_over(struct ncclComm *c)
{
	struct operation *op = c->asked_for;

	c->asked_for = NULL;
	if (!op)
		return;
	(void)sim_enqueue_attempt(op->stream, [=] {
		if (!attempt(c, op))
			return false;
		delete op;
		return true;
	});
}

static ncclResult_t collective(struct ncclComm *c, enum kind kind, const void *in, void *out,
			       size_t count, ncclDataType_t type, cudaStream_t stream)
{
	struct operation *op = new operation();

	op->kind = kind;
	op->in = (const char *)in;
	op->out = (char *)out;
	op->count = count;
	op->type = type;
	op->stream = stream;
	return ask_for(c, op);
}

ncclResult_t ncclAllReduce(const void *in, void *out, size_t count, ncclDataType_t type,
			   ncclRedOp_t, ncclComm_t c, cudaStream_t stream)
{
	return collective(c, SUM, in, out, count, type, stream);
}

ncclResult_t ncclReduceScatter(const void *in, void *out, size_t each, ncclDataType_t type,
			       ncclRedOp_t, ncclComm_t c, cudaStream_t stream)
{
	return collective(c, SUM_PART, in, out, each, type, stream);
}

ncclResult_t ncclAllGather(const void *in, void *out, size_t each, ncclDataType_t type,
			   ncclComm_t c, cudaStream_t stream)
{
	return collective(c, SPREAD, in, out, each, type, stream);
}

/* ---- groups ------------------------------------------------------------------------------------- */

ncclResult_t ncclGroupStart(void)
{
	nccl.depth++;
	return ncclSuccess;
}

static ncclResult_t add(bool sends, const void *p, size_t bytes, int peer, struct ncclComm *c,
			cudaStream_t stream)
{
	if (nccl.depth != 1 || peer < 0 || peer >= c->ranks || peer == c->rank ||
	    !sim_is_device(p, bytes))
		return ncclInvalidArgument;
	if (!nccl.op) {
		nccl.op = new operation();
		nccl.op->kind = EXCHANGE;
		nccl.op->type = ncclUint8;
		nccl.op->stream = stream;
		nccl.comm = c;
	}
	add_message(c, nccl.op, sends, peer, p, bytes);
	return ncclSuccess;
}

ncclResult_t ncclSend(const void *p, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
		      cudaStream_t stream)
{
	return add(true, p, count * size_of(type), peer, c, stream);
}

ncclResult_t ncclRecv(void *p, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
		      cudaStream_t stream)
{
	return add(false, p, count * size_of(type), peer, c, stream);
}

ncclResult_t ncclGroupEnd(void)
{
	struct operation *op = nccl.op;

	nccl.depth--;
	nccl.op = NULL;
	return op ? ask_for(nccl.comm, op) : ncclSuccess;
}

/* ---- communicators ------------------------------------------------------------------------------- */

ncclResult_t ncclGetVersion(int *version)
{
	*version = 22809;
	return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	static int made;

	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "/cudasim-%ld-%d", (long)getpid(), made++);
	return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
	return result == ncclRemoteError ? "remote process exited or there was a network error"
	       : result == ncclSuccess	 ? "no error"
					 : "another error";
}

const char *ncclGetLastError(ncclComm_t)
{
	return "";
}

/* CUDASIM_HANG=RANK:N: sim_nccl_hang() for programs. */
static void hang_as_told(int rank)
{
	const char *text = getenv("CUDASIM_HANG"), *n = text ? strchr(text, ':') : NULL;

	if (n && strtol(text, NULL, 10) == rank)
		sim_nccl_hang((int)strtol(n + 1, NULL, 10));
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
				    ncclConfig_t *config)
{
	struct ncclComm *c;
	void *p;
	int fd;

	if (config->magic != 0xcafebeef || config->blocking != 0 || ranks > MAX_RANKS)
		return ncclInvalidArgument;
	fd = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct meeting)))
		return ncclSystemError;
	p = mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return ncclSystemError;
	c = *comm = new ncclComm();
	c->rank = rank;
	c->ranks = ranks;
	hang_as_told(rank);
	c->thread = pthread_self();
	c->meeting = (struct meeting *)p;
	if (++c->meeting->arrived == ranks)
		shm_unlink(id.internal);
	return ncclInProgress;
}

/* Only the creating thread completes calls; all threads may poll. */
ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
	bool own = pthread_equal(pthread_self(), c->thread);

	if (own) {
		sim_go_on();
		if (c->unsettled && --c->unsettled == 0)
			hand_over(c);
	}
	*error = c->meeting->broken ? ncclRemoteError
		 : c->unsettled || c->meeting->arrived < c->ranks ||
				 (c->finalizing && c->meeting->left < c->ranks)
			 ? ncclInProgress
			 : ncclSuccess;
	return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t c)
{
	c->finalizing = true;
	c->meeting->left++;
	return ncclInProgress;
}

static void leave(struct ncclComm *c)
{
	munmap(c->meeting, sizeof(*c->meeting));
	delete c->asked_for;
	delete c;
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
	sim_drain_all();
	leave(c);
	return ncclSuccess;
}

/* Waiting kernels end. Their memory is not freed, because another thread may still use it. */
ncclResult_t ncclCommAbort(ncclComm_t c)
{
	static std::vector<struct ncclComm *> kept;

	c->aborted = true;
	kept.push_back(c);
	return ncclSuccess;
}

/* ---- for tests --------------------------------------------------------------------------------------- */

void sim_nccl_hang(int after)
{
	nccl.hang_after = after;
}

void sim_nccl_break(int after)
{
	nccl.break_after = after;
}

void sim_nccl_absent(bool absent)
{
	nccl.absent = absent;
}

/* Replaces train/comm/comm_nccl_library.c. */
const struct nccl_library *nccl_load(const char **why)
{
	static const struct nccl_library library = {
#define X(name) nccl##name,
		NCCL_FUNCTIONS(X)
#undef X
	};

	*why = "the library libnccl.so.2 was not found";
	return nccl.absent || getenv("CUDASIM_NO_NCCL") ? NULL : &library;
}
