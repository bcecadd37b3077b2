/* preflight_network.c - finds the network between the hosts from their interfaces and routes */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "train/launch/preflight/preflight_internal.h"

static const struct json *facts_interfaces(const struct json *facts)
{
	return json_get(facts, "interfaces");
}

static const char *json_text_or_empty(const struct json *o, const char *key)
{
	return json_text(json_get(o, key), "");
}

static bool is_loopback(const struct json *interface)
{
	return json_boolean(json_get(interface, "loopback"), false);
}

/* The first interface other than loopback whose member `key` is `value`; NULL: none. */
static const struct json *find_interface(const struct json *facts, const char *key,
					 const char *value)
{
	const struct json *all = facts_interfaces(facts);

	for (size_t i = 0; i < json_len(all); i++)
		if (!is_loopback(json_at(all, i)) &&
		    !strcmp(json_text_or_empty(json_at(all, i), key), value))
			return json_at(all, i);
	return NULL;
}

/* Write "eth0 10.0.0.0/24, eth1 …" to `to`, for messages. */
static void list_interfaces(const struct json *facts, char *to, size_t size)
{
	const struct json *all = facts_interfaces(facts);
	size_t n = 0;

	snprintf(to, size, "none");
	for (size_t i = 0; i < json_len(all); i++) {
		const struct json *one = json_at(all, i);

		if (is_loopback(one) || n + 40 > size)
			continue;
		n += (size_t)snprintf(to + n, size - n, "%s%.15s %.20s", n ? ", " : "",
				      json_text_or_empty(one, "name"),
				      json_text_or_empty(one, "network"));
	}
}

/* ---- candidates ------------------------------------------------------------------- */

/* The interface of host i on its route to host j; NULL: unknown, or i is j. */
static const struct json *route_interface(const struct preflight_check *p,
					  const struct preflight_facts *f, size_t i, size_t j)
{
	const struct json *route = json_at(json_get(f->by_host[i], "routes"), j);

	assert(i < p->n && j < p->n);
	if (i == j || strcmp(json_text_or_empty(route, "name"), p->hosts[j].host->name) != 0)
		return NULL;
	return find_interface(f->by_host[i], "address", json_text_or_empty(route, "source"));
}

static int compare_addresses(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The hosts that answered, those with an address in a network, and whether two have the same one. */
struct network_members {
	size_t answered, n;
	bool has_equal;
};

static void find_network_members(const struct preflight_check *p, const struct preflight_facts *f,
				 const char *network, struct network_members *m)
{
	struct err lost;
	const char **all = mem_alloc(p->n, sizeof(*all), &lost);

	*m = (struct network_members){ 0 };
	for (size_t i = 0; all && i < p->n; i++) {
		const struct json *one = find_interface(f->by_host[i], "network", network);

		m->answered += f->by_host[i] != NULL;
		if (one)
			all[m->n++] = json_text_or_empty(one, "address");
	}
	if (all)
		qsort(all, m->n, sizeof(*all), compare_addresses);
	for (size_t i = 1; all && i < m->n; i++)
		m->has_equal = m->has_equal || !strcmp(all[i - 1], all[i]);
	free(all);
}

/*
 * Does every host have its own address in this network? A network inside each host (a bridge of
 * containers) has the same address on several hosts.
 */
static bool is_common_network(const struct preflight_check *p, const struct preflight_facts *f,
			      const char *network)
{
	struct network_members m;

	find_network_members(p, f, network, &m);
	return m.n > 0 && m.n == m.answered && !m.has_equal;
}

/*
 * The network that all routes between the hosts use; false: several networks, or no routes known.
 */
static bool find_route_network(const struct preflight_check *p, const struct preflight_facts *f,
			       char *network, size_t size)
{
	const char *common = NULL;
	struct network_members m;

	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; f->by_host[i] && j < p->n; j++) {
			const struct json *one = f->by_host[j] ? route_interface(p, f, i, j) : NULL;

			if (!one)
				continue;
			if (common && strcmp(common, json_text_or_empty(one, "network")) != 0)
				return false;
			common = json_text_or_empty(one, "network");
		}
	if (!common)
		return false;
	find_network_members(p, f, common, &m);
	if (m.has_equal)
		return false;
	snprintf(network, size, "%s", common);
	return true;
}

/* Mbit/s of the slowest interface in a network; 0: unknown. */
static int64_t network_mbit_s(const struct preflight_check *p, const struct preflight_facts *f,
			      const char *network)
{
	int64_t slowest = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct json *one = find_interface(f->by_host[i], "network", network);
		int64_t mbit = json_integer(json_get(one, "mbit_s"), 0);

		if (one && !mbit)
			return 0;
		if (one && (!slowest || mbit < slowest))
			slowest = mbit;
	}
	return slowest;
}

struct network_choice {
	const char *network; /* borrowed from the facts; NULL: none */
	int64_t speed;	     /* Mbit/s; 0: unknown */
	int n;		     /* number of common networks */
	char all[160];	     /* their CIDRs, for messages */
};

/* Choose the fastest of the networks that all hosts are in. */
static void choose_common_network(const struct preflight_check *p, const struct preflight_facts *f,
				  struct network_choice *c)
{
	const struct json *all = NULL;
	size_t used = 0;

	*c = (struct network_choice){ 0 };
	for (size_t i = 0; i < p->n && !all; i++)
		all = facts_interfaces(f->by_host[i]);
	for (size_t k = 0; k < json_len(all); k++) {
		const char *network = json_text_or_empty(json_at(all, k), "network");
		int64_t speed;

		if (is_loopback(json_at(all, k)) || !*network || !is_common_network(p, f, network))
			continue;
		speed = network_mbit_s(p, f, network);
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

/* ---- the choice ---------------------------------------------------------------------- */

static void warn_network_choice(struct preflight_check *p, const struct preflight_facts *f,
				enum finding_level level, const char *text)
{
	for (size_t i = 0; i < p->n; i++)
		if (f->by_host[i]) {
			preflight_add_finding(&p->hosts[i], level, "network", "%s", text);
			return;
		}
}

static void choose_network(struct preflight_check *p, const struct preflight_facts *f)
{
	struct network_choice c;
	char text[400];

	choose_common_network(p, f, &c);
	if (find_route_network(p, f, p->network, sizeof(p->network))) {
		int64_t speed = network_mbit_s(p, f, p->network);

		if (c.network && strcmp(c.network, p->network) != 0 && speed && c.speed > speed) {
			snprintf(text, sizeof(text),
				 "the routes between the hosts use %.30s with "
				 "%lld Mbit/s, but all hosts are also in %.30s with %lld Mbit/s: "
				 "choose it with --network %.30s",
				 p->network, (long long)speed, c.network, (long long)c.speed,
				 c.network);
			warn_network_choice(p, f, FINDING_WARNING, text);
		}
		return;
	}
	if (c.network)
		snprintf(p->network, sizeof(p->network), "%s", c.network);
	if (c.n > 1) {
		snprintf(text, sizeof(text),
			 "the routes between the hosts do not use one network, and "
			 "%d networks contain all hosts (%.150s): using %.30s; choose "
			 "another with --network",
			 c.n, c.all, c.network);
		warn_network_choice(p, f, FINDING_WARNING, text);
	} else if (!c.n) {
		warn_network_choice(p, f, FINDING_WARNING,
				    "no network contains an address of every host, so MPI "
				    "tries all interfaces: if it hangs, name the network with "
				    "--network");
	}
}

/* From --network: an interface's name, or a network as CIDR. */
static void set_given_network(struct preflight_check *p, const struct preflight_facts *f)
{
	const char *given = f->how->network;

	if (strchr(given, '/')) {
		snprintf(p->network, sizeof(p->network), "%s", given);
		return;
	}
	for (size_t i = 0; i < p->n && !p->network[0]; i++) {
		const struct json *one = find_interface(f->by_host[i], "name", given);

		if (one)
			snprintf(p->network, sizeof(p->network), "%s",
				 json_text_or_empty(one, "network"));
	}
}

/* Without a common network: the source address of the first known route to another host. */
static void find_source_interface(struct preflight_check *p, const struct preflight_facts *f,
				  size_t i)
{
	const struct json *one = NULL;

	for (size_t j = 0; j < p->n && !one; j++)
		one = f->by_host[j] ? route_interface(p, f, i, j) : NULL;
	snprintf(p->hosts[i].interface, sizeof(p->hosts[i].interface), "%s",
		 json_text_or_empty(one, "name"));
	snprintf(p->hosts[i].address, sizeof(p->hosts[i].address), "%s",
		 json_text_or_empty(one, "address"));
}

/* Set interface and address of each host. */
static void find_host_interfaces(struct preflight_check *p, const struct preflight_facts *f)
{
	const char *given = f->how->network;
	bool by_name = given && !strchr(given, '/');
	char list[160];

	for (size_t i = 0; i < p->n; i++) {
		struct preflight_host *h = &p->hosts[i];
		const struct json *one;

		if (f->by_host[i] && !given && !p->network[0])
			find_source_interface(p, f, i);
		if (!f->by_host[i] || (!given && !p->network[0]))
			continue;
		one = by_name ? find_interface(f->by_host[i], "name", given)
			      : find_interface(f->by_host[i], "network", p->network);
		list_interfaces(f->by_host[i], list, sizeof(list));
		if (!one) {
			add_error(h, "network",
				  "%s has no interface %s%s (it has %s): name the network between "
				  "the hosts with --network",
				  h->host->name, by_name ? "" : "in ", given ? given : p->network,
				  list);
			continue;
		}
		snprintf(h->interface, sizeof(h->interface), "%s", json_text_or_empty(one, "name"));
		snprintf(h->address, sizeof(h->address), "%s", json_text_or_empty(one, "address"));
		if (!json_boolean(json_get(one, "carrier"), true))
			add_error(h, "network", "%s of %s has no link: check the cable",
				  h->interface, h->host->name);
		if (by_name && strcmp(json_text_or_empty(one, "network"), p->network) != 0)
			add_error(h, "network",
				  "%s of %s is in %.30s, but on the first host in %.30s: give the "
				  "network instead of the interface, --network %.30s",
				  given, h->host->name, json_text_or_empty(one, "network"),
				  p->network, p->network);
	}
}

/* ---- names ---------------------------------------------------------------------------- */

static const char *first_resolved_address(const struct json *facts, size_t j, const char *name)
{
	const struct json *route = json_at(json_get(facts, "routes"), j);

	if (strcmp(json_text_or_empty(route, "name"), name) != 0)
		return "";
	return json_text(json_at(json_get(route, "addresses"), 0), "");
}

static bool has_interface_address(const struct json *facts, const char *address)
{
	return find_interface(facts, "address", address) != NULL;
}

/* Compare the address that host i resolves for host j with the addresses of j. */
static void check_host_name(struct preflight_check *p, const struct preflight_facts *f, size_t i,
			    size_t j)
{
	const char *name = p->hosts[j].host->name, *from = p->hosts[i].host->name;
	const char *resolved = first_resolved_address(f->by_host[i], j, name);
	struct preflight_host *h = &p->hosts[i];

	if (*resolved && has_interface_address(f->by_host[j], resolved))
		return;
	if (text_starts_with(resolved, "127."))
		add_error(h, "names", "%s resolves %s to itself (%s): correct its /etc/hosts", from,
			  name, resolved);
	else if (*resolved)
		add_warning(h, "names",
			    "%s resolves %s to %s, which is not one of its addresses: correct "
			    "/etc/hosts or the name server",
			    from, name, resolved);
	else if (p->n > 2)
		add_warning(h, "names",
			    "%s cannot resolve %s, which it must reach to start ranks: add the "
			    "name to its /etc/hosts",
			    from, name);
}

void preflight_find_network(struct preflight_check *p, const struct preflight_facts *f)
{
	size_t alive = 0;

	for (size_t i = 0; i < p->n; i++)
		alive += f->by_host[i] != NULL;
	for (size_t i = 0; i < p->n; i++) {
		size_t before = p->hosts[i].n_findings;

		for (size_t j = 0; f->by_host[i] && j < p->n; j++)
			if (i != j && f->by_host[j] &&
			    json_at(json_get(f->by_host[i], "routes"), j) &&
			    p->hosts[i].n_findings < before + 2)
				check_host_name(p, f, i, j);
	}
	if (f->how->network && *f->how->network)
		set_given_network(p, f);
	else if (alive > 1)
		choose_network(p, f);
	find_host_interfaces(p, f);
}
