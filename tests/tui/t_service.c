/* t_service.c - the translator's child process: requests, answers, crashes, timeouts. */
#include "tests/test.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/clock.h"
#include "share/base/util.h"
#include "share/workspace/paths.h"
#include "tui/translate/service.h"

static struct err e;

static struct service *start(const char *program)
{
	char path[4096];
	const char *argv[] = { path, "translate", "--serve", "--checkpoint", "500", NULL };
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	path[MAX(n, 0)] = 0;
	*(strrchr(path, '/') + 1) = 0;
	strncat(path, program, 30);
	return service_new(argv, &e);
}

static int64_t ask(struct service *s, const char *text)
{
	struct service_request r = { .slot = SLOT_TEXT, .text = text, .n_best = 2 };

	return service_ask(s, &r, 0, &e);
}

/* Update until the text slot has an answer to id; NULL after 10 s. */
static const struct service_answer *await(struct service *s, int64_t id)
{
	double end = clock_mono_s() + 10;

	while (clock_mono_s() < end) {
		const struct service_answer *a;

		service_update(s, clock_mono_s());
		a = service_answer(s, SLOT_TEXT);
		if (a && a->id == id)
			return a;
		poll(NULL, 0, 2);
	}
	return NULL;
}

static void await_state(struct service *s, enum service_state state)
{
	double end = clock_mono_s() + 10;

	while (service_state(s) != state && clock_mono_s() < end) {
		service_update(s, clock_mono_s());
		poll(NULL, 0, 2);
	}
	check_int(service_state(s), state);
}

TEST(service_answers)
{
	struct service *s = start("fake_eval");
	const struct service_answer *a;

	check_int(service_state(s), SERVICE_STARTING);
	a = await(s, ask(s, "two dogs"));
	if (check(a != NULL)) {
		check(!a->error);
		check_int((int64_t)a->n, 2);
		check_str(a->translations[0].text, "zwei Hunde");
		check_str(a->translations[1].text, "zwo Hunde");
		check_int((int64_t)a->translations[0].n, 3);
		check_str(a->translations[0].tokens[1], "Hun@@");
		check_int(a->translations[0].aligned[2], 1);
		check(a->translations[0].log_probs[0] < 0);
		check_int((int64_t)a->n_source, 2);
		check_str(a->source[1], "dogs");
		check(!a->has_alternatives && a->seconds >= 0);
	}
	check_int(service_model(s)->step, 500);
	check_str(service_model(s)->target_language, "de");
	check_int(service_state(s), SERVICE_READY);
	check_str(service_trouble(s), "");
	service_free(s);
}

TEST(service_constraints_and_alternatives)
{
	struct service *s = start("fake_eval");
	const char *force[] = { "heute", "hier" }, *forbid[] = { "zwei" };
	struct service_request r = { .slot = SLOT_TEXT,
				     .text = "two dogs",
				     .n_best = 1,
				     .force = force,
				     .n_force = 2,
				     .forbid = forbid,
				     .n_forbid = 1,
				     .alternatives = 3,
				     .at = 2 };
	const struct service_answer *a = await(s, service_ask(s, &r, 0, &e));

	if (check(a != NULL)) {
		check_str(a->translations[0].text, "zwo Hunde heute hier");
		check_int((int64_t)a->n_alternatives, 3);
		check_str(a->alternatives[1].prefix, "zwo zwei");
		check(a->has_alternatives);
	}
	r = (struct service_request){ .text = "two dogs", .prefix = "viele" };
	a = await(s, service_ask(s, &r, 0, &e));
	if (check(a != NULL))
		check_str(a->translations[0].text, "viele Hunde");
	service_free(s);
}

/* A request that is replaced before it is sent never reaches the child. */
TEST(service_newer_overtakes)
{
	struct service *s = start("fake_eval");
	char path[4096], line[400] = "";
	struct service_request soon = { .text = "two", .n_best = 1 };
	FILE *f;
	int n = 0;

	snprintf(path, sizeof(path), "%s/log", test_folder());
	setenv("FAKE_LOG", path, 1);
	await_state(s, SERVICE_READY);
	ask(s, "slow one");
	service_update(s, clock_mono_s());
	for (int i = 0; i < 20; i++)
		ask(s, "two");
	check(await(s, ask(s, "dogs")) != NULL);
	check_str(service_answer(s, SLOT_TEXT)->translations[0].text, "Hunde");
	/* not before its time */
	service_ask(s, &soon, clock_mono_s() + 1000, &e);
	check_near(service_due(s, clock_mono_s()), 1000, 1);
	for (int i = 0; i < 20; i++) {
		service_update(s, clock_mono_s());
		poll(NULL, 0, 1);
	}
	check(service_waits(s, SLOT_TEXT, NULL));
	unsetenv("FAKE_LOG");
	if (check((f = fopen(path, "r")) != NULL)) {
		while (fgets(line, sizeof(line), f))
			n++;
		fclose(f);
	}
	check_int(n, 2);
	check(strstr(line, "dogs") != NULL);
	service_free(s);
}

TEST(service_forgets)
{
	struct service *s = start("fake_eval");
	double end;

	await_state(s, SERVICE_READY);
	ask(s, "slow answer");
	service_update(s, clock_mono_s());
	service_forget(s, SLOT_TEXT);
	check(!service_waits(s, SLOT_TEXT, NULL));
	ask(s, "sulk"); /* keeps the slot in use */
	end = clock_mono_s() + 0.6;
	while (clock_mono_s() < end) {
		service_update(s, clock_mono_s());
		check(!service_answer(s, SLOT_TEXT));
		poll(NULL, 0, 5);
	}
	service_free(s);
}

TEST(service_survives_sigkill)
{
	struct service *s = start("fake_eval");
	const struct service_answer *a;
	int64_t id;
	long first;

	await_state(s, SERVICE_READY);
	id = ask(s, "slow two dogs");
	service_update(s, clock_mono_s());
	first = service_pid(s);
	check(first > 0);
	test_kill((pid_t)first, SIGKILL);
	await_state(s, SERVICE_DOWN);
	check_str(service_trouble(s), "the translator was killed by signal 9");
	a = await(s, id); /* sent again, to the next child */
	if (check(a != NULL))
		check_str(a->translations[0].text, "slow zwei Hunde");
	check(service_pid(s) != first);
	check_int(service_deaths(s), 1);
	service_free(s);
}

TEST(service_gives_up_on_what_kills)
{
	struct service *s = start("fake_eval");
	const struct service_answer *a = await(s, ask(s, "exit now"));

	if (check(a && a->error))
		check_str(a->error, "this request crashed the translator twice");
	check_int(service_deaths(s), 2);
	check_str(service_trouble(s),
		  "the translator exited with status 65: the fake was asked to exit");
	service_restart(s);
	a = await(s, ask(s, "two"));
	if (check(a && !a->error))
		check_str(a->translations[0].text, "zwei");
	service_free(s);
}

TEST(service_trusts_nothing)
{
	struct service *s = start("fake_eval");
	const struct service_answer *a = await(s, ask(s, "lies"));

	if (check(a && !a->error)) {
		check_int((int64_t)a->n, 1);
		check_int((int64_t)a->translations[0].n, 2);
		check_str(a->translations[0].tokens[1], "");
		check_int(a->translations[0].aligned[0], -1);
		check_int(a->translations[0].aligned[1], -1);
		check(isnan(a->translations[0].log_probs[1]));
	}
	a = await(s, ask(s, "garbage"));
	check(a && a->error);
	a = await(s, ask(s, "wrong"));
	if (check(a && a->error))
		check_str(a->error, "the fake was asked to be wrong");
	service_free(s);
}

TEST(service_that_hangs)
{
	struct service *s = start("fake_eval");
	const struct service_answer *a;
	long pid;

	await_state(s, SERVICE_READY);
	pid = service_pid(s);
	service_set_patience(s, 0.2, 60);
	a = await(s, ask(s, "sulk"));
	if (check(a && a->error))
		check(strstr(a->error, " s: the translator is restarted") != NULL);
	check(strstr(service_trouble(s), "no answer for") != NULL);
	check_int(service_deaths(s), 1);
	check(isnan(service_busy_since(s)));
	/* a new child; a slow answer within the timeout arrives */
	service_set_patience(s, 60, 60);
	a = await(s, ask(s, "slow two"));
	if (check(a && !a->error))
		check_str(a->translations[0].text, "slow zwei");
	check(service_pid(s) != pid);
	check_int(service_deaths(s), 1);
	service_free(s);
}

/* A model that never finishes loading. */
TEST(service_never_ready)
{
	const char *const argv[] = { "sleep", "60", NULL };
	struct service *s = service_new(argv, &e);

	if (!check(s != NULL))
		return;
	service_update(s, 100);
	service_set_patience(s, 60, 5);
	check(service_due(s, 102) > 2.9 && service_due(s, 102) < 3.1);
	service_update(s, 104.9);
	check_int(service_state(s), SERVICE_STARTING);
	service_update(s, 105.1);
	check_int(service_state(s), SERVICE_DOWN);
	check_str(service_trouble(s), "the translator was not ready after 5 s");
	service_free(s);
}

TEST(service_without_a_program)
{
	struct service *s = start("no such program");

	service_update(s, clock_mono_s());
	check_int(service_state(s), SERVICE_DOWN);
	check(strstr(service_trouble(s), "cannot be run") != NULL);
	check_int(service_pid(s), -1);
	service_free(s);
	service_free(NULL);
}

/* A child that stops reading: updates stay short. */
TEST(service_never_blocks)
{
	struct service *s = start("fake_eval");
	char *big = malloc(2000001);
	double longest = 0;

	memset(big, 'x', 2000000);
	big[2000000] = 0;
	await_state(s, SERVICE_READY);
	test_kill((pid_t)service_pid(s), SIGSTOP);
	ask(s, big);
	for (int i = 0; i < 50; i++) {
		double t = clock_mono_s();

		service_update(s, t);
		longest = MAX(longest, clock_mono_s() - t);
		poll(NULL, 0, 1);
	}
	check(longest < 1);
	test_kill((pid_t)service_pid(s), SIGCONT);
	service_free(s);
	free(big);
}
