/* preflight_network.c - the network between the hosts, from what each says of its interfaces and routes */
#include <stdio.h>
#include <string.h>

#include "share/base/text.h"
#include "share/base/util.h"
#include "train/launch/hosts/preflight_internal.h"

static const struct json *interfaces(const struct json *facts)
{
	return json_get(facts, "interfaces");
}

static const char *word(const struct json *o, const char *key)
{
	return json_text(json_get(o, key), "");
}

static bool is_loopback(const struct json *interface)
{
	return json_truth(json_get(interface, "loopback"), false);
}

/* The interface with this member, loopback left out; NULL: none. */
static const struct json *find_interface(const struct json *facts, const char *key,
					 const char *value)
{
	const struct json *all = interfaces(facts);

	for (size_t i = 0; i < json_len(all); i++)
		if (!is_loopback(json_at(all, i)) && !strcmp(word(json_at(all, i), key), value))
			return json_at(all, i);
	return NULL;
}

/* "eth0 10.0.0.1/24's network, …", for messages. */
static void list_interfaces(const struct json *facts, char *to, size_t size)
{
	const struct json *all = interfaces(facts);
	size_t n = 0;

	snprintf(to, size, "none");
	for (size_t i = 0; i < json_len(all); i++) {
		const struct json *one = json_at(all, i);

		if (is_loopback(one) || n + 40 > size)
			continue;
		n += (size_t)snprintf(to + n, size - n, "%s%.15s %.20s", n ? ", " : "",
				      word(one, "name"), word(one, "network"));
	}
}

/* ---- candidates ------------------------------------------------------------------- */

/* What host i sends through to host j; NULL: not known, or to itself. */
static const struct json *route_interface(const struct preflight *p,
					  const struct preflight_facts *f, size_t i, size_t j)
{
	const struct json *route = json_at(json_get(f->of[i], "routes"), j);

	if (i == j || strcmp(word(route, "name"), p->hosts[j].host->name) != 0)
		return NULL;
	return find_interface(f->of[i], "address", word(route, "source"));
}

/* The one network that all routes between the hosts take; false: they take several, or none. */
static bool network_of_routes(const struct preflight *p, const struct preflight_facts *f,
			      char *network, size_t size)
{
	const char *common = NULL;

	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; f->of[i] && j < p->n; j++) {
			const struct json *one = f->of[j] ? route_interface(p, f, i, j) : NULL;

			if (!one)
				continue;
			if (common && strcmp(common, word(one, "network")) != 0)
				return false;
			common = word(one, "network");
		}
	if (common)
		snprintf(network, size, "%s", common);
	return common != NULL;
}

/*
 * Every host has an address of its own there: networks inside each host (of containers) have
 * the same one everywhere.
 */
static bool is_common(const struct preflight *p, const struct preflight_facts *f,
		      const char *network)
{
	const char *before = NULL;

	for (size_t i = 0; i < p->n; i++) {
		const struct json *one = f->of[i] ? find_interface(f->of[i], "network", network) :
						    NULL;

		if (!f->of[i])
			continue;
		if (!one || (before && !strcmp(before, word(one, "address"))))
			return false;
		before = word(one, "address");
	}
	return before != NULL;
}

/* Mbit/s of the slowest interface in a network; 0: unknown. */
static int64_t speed_of(const struct preflight *p, const struct preflight_facts *f,
			const char *network)
{
	int64_t slowest = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct json *one = f->of[i] ? find_interface(f->of[i], "network", network) :
						    NULL;
		int64_t mbit = json_integer(json_get(one, "mbit_s"), 0);

		if (one && !mbit)
			return 0;
		if (one && (!slowest || mbit < slowest))
			slowest = mbit;
	}
	return slowest;
}

struct choice {
	const char *network;	/* borrowed from the facts; NULL: none */
	int64_t speed;
	int n;			/* how many networks are common */
	char all[160];		/* their names */
};

/* Of the networks that all hosts are in, the fastest. */
static void choose_common(const struct preflight *p, const struct preflight_facts *f,
			  struct choice *c)
{
	const struct json *all = NULL;
	size_t used = 0;

	*c = (struct choice){ 0 };
	for (size_t i = 0; i < p->n && !all; i++)
		all = f->of[i] ? interfaces(f->of[i]) : NULL;
	for (size_t k = 0; k < json_len(all); k++) {
		const char *network = word(json_at(all, k), "network");
		int64_t speed;

		if (is_loopback(json_at(all, k)) || !*network || !is_common(p, f, network))
			continue;
		speed = speed_of(p, f, network);
		if (!c->network || speed > c->speed) {
			c->network = network;
			c->speed = speed;
		}
		c->n++;
		if (used + 24 < sizeof(c->all))
			used += (size_t)snprintf(c->all + used, sizeof(c->all) - used, "%s%.20s",
						 used ? ", " : "", network);
	}
}

/* ---- what was chosen ----------------------------------------------------------------- */

static void note_first(struct preflight *p, const struct preflight_facts *f,
		       enum finding_level level, const char *text)
{
	for (size_t i = 0; i < p->n; i++)
		if (f->of[i]) {
			preflight_note(&p->hosts[i], level, "network", "%s", text);
			return;
		}
}

static void find_network(struct preflight *p, const struct preflight_facts *f)
{
	struct choice c;
	char text[400];

	choose_common(p, f, &c);
	if (network_of_routes(p, f, p->network, sizeof(p->network))) {
		int64_t speed = speed_of(p, f, p->network);

		if (c.network && strcmp(c.network, p->network) != 0 && speed && c.speed > speed) {
			snprintf(text, sizeof(text), "the routes between the hosts take %.30s with "
				 "%lld Mbit/s, but all of them are in %.30s with %lld Mbit/s too: "
				 "--network %.30s takes that one", p->network, (long long)speed,
				 c.network, (long long)c.speed, c.network);
			note_first(p, f, FINDING_WARNING, text);
		}
		return;
	}
	if (c.network)
		snprintf(p->network, sizeof(p->network), "%s", c.network);
	if (c.n > 1) {
		snprintf(text, sizeof(text), "the routes do not say which network is between the "
			 "hosts, and there are %d (%.150s): %.30s is taken; --network names "
			 "another", c.n, c.all, c.network);
		note_first(p, f, FINDING_WARNING, text);
	} else if (!c.n) {
		note_first(p, f, FINDING_WARNING, "no network has an address of every host, so MPI "
			   "tries all interfaces: where they hang, name the right one with "
			   "--network");
	}
}

/* From --network: an interface's name, or a network as CIDR. */
static void set_given_network(struct preflight *p, const struct preflight_facts *f)
{
	const char *given = f->how->network;

	if (strchr(given, '/')) {
		snprintf(p->network, sizeof(p->network), "%s", given);
		return;
	}
	for (size_t i = 0; i < p->n && !p->network[0]; i++) {
		const struct json *one = f->of[i] ? find_interface(f->of[i], "name", given) : NULL;

		if (one)
			snprintf(p->network, sizeof(p->network), "%s", word(one, "network"));
	}
}

/* Without a network: the address that a host sends from to the first of the others. */
static void find_source(struct preflight *p, const struct preflight_facts *f, size_t i)
{
	const struct json *one = NULL;

	for (size_t j = 0; j < p->n && !one; j++)
		one = f->of[j] ? route_interface(p, f, i, j) : NULL;
	snprintf(p->hosts[i].interface, sizeof(p->hosts[i].interface), "%s", word(one, "name"));
	snprintf(p->hosts[i].address, sizeof(p->hosts[i].address), "%s", word(one, "address"));
}

/* Each host's own end of it. */
static void find_ends(struct preflight *p, const struct preflight_facts *f)
{
	const char *given = f->how->network;
	bool by_name = given && !strchr(given, '/');
	char list[160];

	for (size_t i = 0; i < p->n; i++) {
		struct preflight_host *h = &p->hosts[i];
		const struct json *one;

		if (f->of[i] && !given && !p->network[0])
			find_source(p, f, i);
		if (!f->of[i] || (!given && !p->network[0]))
			continue;
		one = by_name ? find_interface(f->of[i], "name", given) :
				find_interface(f->of[i], "network", p->network);
		list_interfaces(f->of[i], list, sizeof(list));
		if (!one) {
			preflight_note(h, FINDING_ERROR, "network", "%s has no interface %s%s (it "
				       "has %s): name the network between the hosts with --network",
				       h->host->name, by_name ? "" : "in ",
				       given ? given : p->network, list);
			continue;
		}
		snprintf(h->interface, sizeof(h->interface), "%s", word(one, "name"));
		snprintf(h->address, sizeof(h->address), "%s", word(one, "address"));
		if (!json_truth(json_get(one, "carrier"), true))
			preflight_note(h, FINDING_ERROR, "network", "%s of %s has no link: is the "
				       "cable in?", h->interface, h->host->name);
		if (by_name && strcmp(word(one, "network"), p->network) != 0)
			preflight_note(h, FINDING_ERROR, "network", "%s of %s is in %.30s, but on "
				       "the first host in %.30s: give the network itself, "
				       "--network %.30s", given, h->host->name,
				       word(one, "network"), p->network, p->network);
	}
}

/* ---- names ---------------------------------------------------------------------------- */

static const char *first_address(const struct json *facts, size_t j, const char *name)
{
	const struct json *route = json_at(json_get(facts, "routes"), j);

	if (strcmp(word(route, "name"), name) != 0)
		return "";
	return json_text(json_at(json_get(route, "addresses"), 0), "");
}

static bool has_address(const struct json *facts, const char *address)
{
	return find_interface(facts, "address", address) != NULL;
}

/* What host i takes the name of host j for; a host may call itself 127.0.1.1. */
static void judge_name(struct preflight *p, const struct preflight_facts *f, size_t i, size_t j)
{
	const char *name = p->hosts[j].host->name, *from = p->hosts[i].host->name;
	const char *seen = first_address(f->of[i], j, name);
	struct preflight_host *h = &p->hosts[i];

	if (*seen && has_address(f->of[j], seen))
		return;
	if (text_starts_with(seen, "127."))
		preflight_note(h, FINDING_ERROR, "names", "%s takes %s for itself (%s): correct "
			       "/etc/hosts there", from, name, seen);
	else if (*seen)
		preflight_note(h, FINDING_WARNING, "names", "%s takes %s for %s, which is none of "
			       "its addresses: correct /etc/hosts or the name server", from, name,
			       seen);
	else if (p->n > 2)
		preflight_note(h, FINDING_WARNING, "names", "%s knows no address of %s: with many "
			       "hosts they start each other; put the name into /etc/hosts there",
			       from, name);
}

void preflight_network(struct preflight *p, const struct preflight_facts *f)
{
	size_t alive = 0;

	for (size_t i = 0; i < p->n; i++)
		alive += f->of[i] != NULL;
	for (size_t i = 0; i < p->n; i++) {
		size_t before = p->hosts[i].n_findings;

		for (size_t j = 0; f->of[i] && j < p->n; j++)
			if (i != j && f->of[j] && json_at(json_get(f->of[i], "routes"), j) &&
			    p->hosts[i].n_findings < before + 2)
				judge_name(p, f, i, j);
	}
	if (f->how->network && *f->how->network)
		set_given_network(p, f);
	else if (alive > 1)
		find_network(p, f);
	find_ends(p, f);
}
