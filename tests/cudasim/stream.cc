/* stream.cc - streams, which run their work as late as possible, events, graphs; see sim.h */
#include <cuda_runtime.h>

#include "tests/cudasim/sim.h"

#include <deque>
#include <map>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <vector>

struct sim_event {
	uint64_t recorded, reached; /* counters */
	bool timed;
	double when; /* time of the last reach, seconds */
	/* of a record in a capture, the last one: */
	const struct sim_graph *in; /* NULL: the last record was in no capture */
	size_t lane, place;	    /* stream of the graph; work of this stream before the record */
};

/* Work of a stream: run(), record an event, or wait for an event. */
struct work {
	std::function<bool()> run; /* false: try again later */
	struct sim_event *event;   /* NULL: run */
	uint64_t times;
	bool record; /* record the event instead of waiting for it */
};

/* Work of a graph, in the order of the calls. Lane 0 is the captured stream; others were drawn in by events. */
struct captured {
	struct work work;
	size_t lane;
};

struct sim_graph {
	std::vector<struct captured> works;
	std::vector<size_t> length, joined; /* of a lane: its work; work that lane 0 waits for */
	/* of an instantiated graph: its own streams (lane 1 is the first) and events, owned */
	std::vector<struct sim_stream *> lanes;
	std::map<struct sim_event *, struct sim_event *> events;
	size_t bytes; /* of device memory */
};

struct sim_stream {
	std::deque<struct work> queue;
	struct sim_graph *capturing; /* lane 0: owned until the end of the capture */
	size_t lane;		     /* of the graph that is captured */
};

static std::vector<struct sim_stream *> streams;
static struct sim_stream *capturing;
static bool going_on;

static cudaError_t answer(cudaError_t e)
{
	if (e != cudaSuccess)
		sim_set_error(e, false);
	return e;
}

static bool runnable(const struct sim_stream *s)
{
	const struct work *w = s->queue.empty() ? NULL : &s->queue.front();

	return w && (!w->event || w->record || w->event->reached >= w->times);
}

static double passed; /* seconds that work has taken only by sim_pass_time() */

void sim_pass_time(double seconds)
{
	passed += seconds;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9 + passed;
}

/* false: the work waits for other processes. */
static bool run_one(struct sim_stream *s)
{
	struct work w = s->queue.front();

	if (!w.event && sim_sticky() == cudaSuccess && !w.run())
		return false;
	s->queue.pop_front();
	if (w.event && w.record) {
		w.event->reached = w.times;
		w.event->when = now();
	}
	return true;
}

/* The stream that this one waits for; NULL: none. */
static struct sim_stream *holding_up(struct sim_stream *s)
{
	for (size_t i = 0; i <= streams.size(); i++) {
		const struct work *w = s->queue.empty() ? NULL : &s->queue.front();
		struct sim_stream *next = NULL;

		if (runnable(s))
			return s;
		if (!w)
			return NULL;
		for (struct sim_stream *other : streams)
			for (const struct work &o : other->queue)
				if (o.record && o.event == w->event && o.times >= w->times)
					next = other;
		if (!next)
			return NULL;
		s = next;
	}
	return NULL;
}

/*
 * One step towards an empty queue of s. At random: s alone if possible, the other streams first, or
 * any stream; so other streams run as late, or as early, as their order allows.
 */
static bool step(struct sim_stream *s, uint64_t how)
{
	std::vector<struct sim_stream *> can;
	struct sim_stream *next = holding_up(s);

	for (struct sim_stream *other : streams)
		if (runnable(other) && (how == 2 || (how == 1 && other != s)))
			can.push_back(other);
	if (!can.empty())
		next = can[sim_random() % can.size()];
	if (!next)
		return false;
	if (!run_one(next))
		usleep(50);
	return true;
}

static bool known(const struct sim_stream *s)
{
	for (const struct sim_stream *other : streams)
		if (other == s)
			return true;
	return false;
}

static cudaError_t drain(struct sim_stream *s)
{
	uint64_t how = sim_random() % 3;

	if (!known(s))
		return answer(cudaErrorInvalidResourceHandle);
	sim_memory_open();
	while (!s->queue.empty()) {
		if (!step(s, how)) {
			sim_fault("a stream waits for an event that nobody records");
			s->queue.clear();
		}
	}
	sim_memory_close();
	return answer(sim_sticky());
}

void sim_go_on(void)
{
	uint64_t most = sim_random() % 4;

	if (sim_in_kernel() || capturing || going_on)
		return;
	going_on = true;
	sim_memory_open();
	for (uint64_t i = 0; i < most; i++) {
		std::vector<struct sim_stream *> can;

		for (struct sim_stream *s : streams)
			if (runnable(s))
				can.push_back(s);
		if (can.empty() || !run_one(can[sim_random() % can.size()]))
			break;
	}
	sim_memory_close();
	going_on = false;
}

bool sim_capturing(void)
{
	return capturing;
}

void sim_drain_all(void)
{
	for (size_t i = 0; i < streams.size(); i++)
		drain(streams[i]);
}

static cudaError_t add(struct sim_stream *s, struct work w)
{
	if (!known(s))
		return answer(cudaErrorInvalidResourceHandle);
	if (sim_absent())
		return answer(sim_absent());
	if (s->capturing) {
		s->capturing->works.push_back({ w, s->lane });
		s->capturing->length[s->lane]++;
	} else {
		s->queue.push_back(w);
	}
	return cudaSuccess;
}

cudaError_t sim_enqueue(cudaStream_t s, std::function<void()> what)
{
	return add(s, { [what] {
			       what();
			       return true;
		       },
			NULL, 0, false });
}

cudaError_t sim_enqueue_attempt(cudaStream_t s, std::function<bool()> what)
{
	return add(s, { what, NULL, 0, false });
}

/* ---- kernels and copies ------------------------------------------------------------------ */

static bool launch_is_possible(const struct sim_launch *l)
{
	uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;

	return l->grid.x >= 1 && l->grid.x <= 0x7FFFFFFFu && l->grid.y >= 1 && l->grid.y <= 65535 &&
	       l->grid.z >= 1 && l->grid.z <= 65535 && threads >= 1 && threads <= 1024 &&
	       l->block.z <= 64 && l->shared <= (size_t)sim_shared_limit(l->kernel);
}

void sim_enqueue_kernel(const struct sim_launch *l, std::function<void()> body)
{
	struct sim_launch kept = *l;

	if (!capturing)
		sim_count_start(false);
	if (!launch_is_possible(l)) {
		sim_set_error(cudaErrorInvalidConfiguration, false);
		return;
	}
	sim_enqueue(l->stream, [kept, body] { (void)sim_run_grid(&kept, body); });
}

static cudaError_t copy_late(void *to, const void *from, size_t bytes, cudaStream_t s)
{
	return sim_enqueue(s, [=] { memmove(to, from, bytes); });
}

/*
 * Pageable memory is read or written before the call returns; pinned memory when the stream
 * reaches the copy.
 */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t s)
{
	bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
	     from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
	cudaError_t e;

	if (bytes == 0)
		return answer(sim_absent());
	sim_count_copy();
	if (to_device != sim_is_device(to, bytes) || from_device != sim_is_device(from, bytes))
		return answer(cudaErrorInvalidValue);
	if ((to_device || sim_is_pinned(to)) && (from_device || sim_is_pinned(from)))
		return copy_late(to, from, bytes, s);
	if (capturing)
		return answer(cudaErrorStreamCaptureInvalidated);
	if (to_device) {
		std::vector<char> kept((const char *)from, (const char *)from + bytes);

		return sim_enqueue(s, [=] { memcpy(to, kept.data(), bytes); });
	}
	sim_count_wait();
	e = copy_late(to, from, bytes, s);
	return e ? e : drain(s);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t s)
{
	if (bytes && !sim_is_device(to, bytes))
		return answer(cudaErrorInvalidValue);
	return sim_enqueue(s, [=] { memset(to, value, bytes); });
}

/* ---- streams and events ------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
	sim_count_allocation();
	if (sim_absent())
		return answer(sim_absent());
	*s = new sim_stream();
	streams.push_back(*s);
	return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int)
{
	return cudaStreamCreateWithFlags(s, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return answer(sim_absent());
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
	cudaError_t e = drain(s);

	for (size_t i = 0; i < streams.size(); i++) {
		if (streams[i] != s)
			continue;
		streams.erase(streams.begin() + (ptrdiff_t)i);
		delete s;
		break;
	}
	return e;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
	if (known(s) && s->capturing)
		return answer(cudaErrorStreamCaptureInvalidated);
	sim_count_wait();
	return drain(s);
}

cudaError_t cudaDeviceSynchronize(void)
{
	sim_count_wait();
	sim_drain_all();
	return answer(sim_absent());
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
	sim_count_allocation();
	*e = new sim_event();
	(*e)->timed = !(flags & cudaEventDisableTiming);
	return answer(sim_absent());
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
	sim_drain_all();
	delete e;
	return answer(sim_sticky());
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
	if (!known(s))
		return answer(cudaErrorInvalidResourceHandle);
	e->in = s->capturing;
	if (s->capturing) {
		e->lane = s->lane;
		e->place = s->capturing->length[s->lane];
		return add(s, { nullptr, e, 0, true });
	}
	e->recorded++;
	return add(s, { nullptr, e, e->recorded, true });
}

/* A stream that waits for an event of a capture is drawn into it. */
static cudaError_t wait_in_capture(cudaStream_t s, cudaEvent_t e)
{
	struct sim_graph *g = capturing ? capturing->capturing : NULL;

	if (!g || e->in != g) /* the event is of an earlier capture, or of none */
		return answer(cudaErrorStreamCaptureIsolation);
	if (!s->capturing) {
		s->capturing = g;
		s->lane = g->length.size();
		g->length.push_back(0);
		g->joined.push_back(0);
	}
	if (s->lane == 0 && e->place > g->joined[e->lane])
		g->joined[e->lane] = e->place;
	return add(s, { nullptr, e, 0, false });
}

/* Wait for the latest record before this call; without a record there is nothing to wait for. */
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
	if (!known(s))
		return answer(cudaErrorInvalidResourceHandle);
	if (s->capturing || e->in)
		return wait_in_capture(s, e);
	return add(s, { nullptr, e, e->recorded, false });
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
	if (capturing) { /* forbidden to the thread that captures, also in thread-local mode */
		sim_fault("an event is queried during a capture, which makes the capture invalid");
		return answer(cudaErrorStreamCaptureUnsupported);
	}
	if (e->reached >= e->recorded)
		return answer(sim_sticky());
	return cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
	for (size_t i = 0; i < streams.size() && e->reached < e->recorded; i++) {
		struct sim_stream *s = streams[i];
		bool records = false;

		for (const struct work &w : s->queue)
			records = records || (w.record && w.event == e);
		sim_memory_open();
		while (records && e->reached < e->recorded && !s->queue.empty() && step(s, 0))
			;
		sim_memory_close();
	}
	return answer(sim_sticky());
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
	if (!begin->timed || !end->timed || !begin->recorded || !end->recorded)
		return answer(cudaErrorInvalidResourceHandle);
	if (begin->reached < begin->recorded || end->reached < end->recorded)
		return answer(cudaErrorNotReady);
	*ms = (float)((end->when - begin->when) * 1e3);
	return answer(sim_sticky());
}

/* ---- graphs --------------------------------------------------------------------------------- */

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode)
{
	if (!known(s) || capturing)
		return answer(cudaErrorInvalidValue);
	s->capturing = new sim_graph();
	s->capturing->length = s->capturing->joined = { 0 };
	s->lane = 0;
	capturing = s;
	return answer(sim_absent());
}

cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus *status)
{
	*status = known(s) && s->capturing ? cudaStreamCaptureStatusActive
					   : cudaStreamCaptureStatusNone;
	return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
	struct sim_graph *made;
	bool joined = true;

	*g = NULL;
	if (!known(s) || s != capturing)
		return answer(cudaErrorInvalidValue);
	made = s->capturing;
	for (struct sim_stream *other : streams)
		if (other->capturing == made)
			other->capturing = NULL;
	capturing = NULL;
	/* work behind the last record that lane 0 waits for: the record itself */
	for (size_t lane = 1; lane < made->length.size(); lane++)
		joined = joined && made->joined[lane] + 1 >= made->length[lane];
	if (!joined) {
		delete made;
		return answer(cudaErrorStreamCaptureUnjoined);
	}
	*g = made;
	return answer(sim_absent());
}

static int failing_instantiations;
static size_t graph_bytes; /* for each kernel or copy */

void sim_set_graph_bytes(size_t bytes)
{
	graph_bytes = bytes;
}

void sim_fail_instantiations(int n)
{
	failing_instantiations = n;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t g, unsigned long long)
{
	const size_t bytes = g->works.size() * graph_bytes;

	if (failing_instantiations > 0 || !sim_take_memory(bytes)) {
		failing_instantiations -= failing_instantiations > 0;
		sim_set_error(cudaErrorMemoryAllocation, false);
		return cudaErrorMemoryAllocation;
	}
	*x = new sim_graph(*g);
	(*x)->bytes = bytes;
	for (size_t lane = 1; lane < g->length.size(); lane++) {
		(*x)->lanes.push_back(new sim_stream());
		streams.push_back((*x)->lanes.back());
	}
	for (const struct captured &c : g->works)
		if (c.work.event && !(*x)->events[c.work.event])
			(*x)->events[c.work.event] = new sim_event();
	return answer(sim_absent());
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s)
{
	cudaError_t e = cudaSuccess;

	sim_count_start(true);
	for (const struct captured &c : x->works) {
		struct work w = c.work;

		if (w.event) {
			w.event = x->events[w.event];
			w.event->recorded += w.record;
			w.times = w.event->recorded;
		}
		e = e ? e : add(c.lane ? x->lanes[c.lane - 1] : s, w);
	}
	return e;
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
	delete g;
	return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x)
{
	if (x && !x->lanes.empty())
		sim_drain_all();
	for (struct sim_stream *lane : x->lanes)
		(void)cudaStreamDestroy(lane);
	for (const auto &e : x->events)
		delete e.second;
	sim_give_memory(x->bytes);
	delete x;
	return cudaSuccess;
}
