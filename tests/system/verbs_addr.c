/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program for librdmacm at two devices with IPv4 addresses alone, in a network namespace without
 * other interfaces. Promise: each call with each kind of address has an answer, the one in the
 * table below, and none waits without end; ports are taken when they are bound; the addresses in
 * an id are for the program to read.
 *
 *   verbs_addr ADDRESS-OF-FIRST-DEVICE ADDRESS-OF-SECOND      exit status 0 if it held
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/patience.h"
#include "tests/system/verbs_cm_rig.h"

enum { NOBODY = 39 /* a port without a listener */ };

/* ---- answers ---- */

static const char *error_name(void)
{
	return strerrorname_np(errno);
}

/* The name of the next event, without its prefix, and the id after it is acknowledged. */
static const char *next_event(struct rdma_event_channel *ch)
{
	struct pollfd p = {.fd = ch->fd, .events = POLLIN};
	struct rdma_cm_event *ev;
	const char *name;

	if (poll(&p, 1, PATIENCE_MS) != 1)
		return "no answer";
	VERB(rdma_get_cm_event(ch, &ev) == 0);
	name = rdma_event_str(ev->event) + strlen("RDMA_CM_EVENT_");
	VERB(rdma_ack_cm_event(ev) == 0);
	return name;
}

static struct rdma_cm_id *new_id(void)
{
	struct rdma_cm_id *id;

	VERB(rdma_create_id(clients, &id, NULL, RDMA_PS_TCP) == 0);
	return id;
}

struct answers {
	const char *bind, *listen, *resolve, *connect;
};

static void ask_bind(struct sockaddr *a, struct answers *ret)
{
	struct rdma_cm_id *id = new_id();

	ret->bind = rdma_bind_addr(id, a) ? error_name() : "ok";
	ret->listen = "-";
	if (strcmp(ret->bind, "ok") == 0)
		ret->listen = rdma_listen(id, 1) ? error_name() : "ok";
	VERB(rdma_destroy_id(id) == 0);
}

static const char *ask_connect(struct rdma_cm_id *id)
{
	struct end e = {.id = id};
	const char *ret;

	VERB(rdma_resolve_route(id, 1000) == 0);
	VERB(strcmp(next_event(clients), "ROUTE_RESOLVED") == 0);
	end_objects(&e);
	make_qp(&e);
	ret = rdma_connect(id, NULL) ? error_name() : next_event(clients);
	rdma_destroy_qp(id);
	end_free(&e);
	return ret;
}

static void ask_resolve(struct sockaddr *a, struct answers *ret)
{
	struct rdma_cm_id *id = new_id();

	ret->resolve = rdma_resolve_addr(id, NULL, a, 1000) ? error_name() : next_event(clients);
	ret->connect = "-";
	if (strcmp(ret->resolve, "ADDR_RESOLVED") == 0)
		ret->connect = ask_connect(id);
	VERB(rdma_destroy_id(id) == 0);
}

/* ---- the table ---- */

struct row {
	const char *addr; /* FIRST, SECOND: of a device */
	struct answers want;
};

static const struct row rows[] = {
	{"FIRST", {"ok", "ok", "ADDR_RESOLVED", "REJECTED"}},
	{"SECOND", {"ok", "ok", "ADDR_RESOLVED", "REJECTED"}},
	{"127.0.0.1", {"ok", "EADDRNOTAVAIL", "ADDR_RESOLVED", "REJECTED"}},
	{"127.99.99.99", {"ok", "EADDRNOTAVAIL", "ADDR_RESOLVED", "REJECTED"}},
	{"0.0.0.0", {"ok", "ok", "ADDR_RESOLVED", "REJECTED"}},
	{"0.0.0.1", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"255.255.255.255", {"EADDRNOTAVAIL", "-", "EINVAL", "-"}},
	{"127.255.255.255", {"ok", "EADDRNOTAVAIL", "EINVAL", "-"}},
	{"224.0.0.1", {"EADDRNOTAVAIL", "-", "EINVAL", "-"}},
	{"239.1.2.3", {"EADDRNOTAVAIL", "-", "EINVAL", "-"}},
	{"240.0.0.1", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"192.0.2.1", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"169.254.1.1", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"10.255.255.255", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"::", {"ok", "ok", "ADDR_ERROR", "-"}},
	{"::1", {"ok", "EADDRNOTAVAIL", "ADDR_ERROR", "-"}},
	{"::ffff:FIRST", {"EADDRNOTAVAIL", "-", "ADDR_ERROR", "-"}},
	{"::ffff:SECOND", {"EADDRNOTAVAIL", "-", "ADDR_ERROR", "-"}},
	{"::ffff:0.0.0.0", {"EADDRNOTAVAIL", "-", "ADDR_ERROR", "-"}},
	{"::ffff:127.0.0.1", {"EADDRNOTAVAIL", "-", "ADDR_ERROR", "-"}},
	{"::ffff:192.0.2.1", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"::ffff:224.0.0.1", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"::FIRST", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"2001:db8::1", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"fd00::1", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"fe80::1", {"EINVAL", "-", "EINVAL", "-"}},
	{"fe80::1%1", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"fe80::1%99", {"EADDRNOTAVAIL", "-", "ENETUNREACH", "-"}},
	{"ff02::1", {"EADDRNOTAVAIL", "-", "EINVAL", "-"}},
	{"ff02::1%1", {"EADDRNOTAVAIL", "-", "EINVAL", "-"}},
	{"ff0e::1", {"EADDRNOTAVAIL", "-", "EINVAL", "-"}},
};

/* Replaces the name of a device by its address. */
static void expand(const char *name, char *ret, size_t size)
{
	static const char *const devices[2] = {"FIRST", "SECOND"};
	char text[INET_ADDRSTRLEN];

	snprintf(ret, size, "%s", name);
	for (int i = 0; i < 2; i++) {
		char *at = strstr(ret, devices[i]);

		if (!at)
			continue;
		inet_ntop(AF_INET, &addr[i].sin_addr, text, sizeof(text));
		snprintf(at, size - (size_t)(at - ret), "%s", text);
	}
}

static void parse(const char *name, struct sockaddr_storage *ret)
{
	struct sockaddr_in *a4 = (void *)ret;
	struct sockaddr_in6 *a6 = (void *)ret;
	char text[80], *scope;

	expand(name, text, sizeof(text));
	memset(ret, 0, sizeof(*ret));
	scope = strchr(text, '%');
	if (scope)
		*scope++ = 0;
	if (!strchr(text, ':')) {
		a4->sin_family = AF_INET;
		a4->sin_port = htons(NOBODY);
		VERB(inet_pton(AF_INET, text, &a4->sin_addr) == 1);
		return;
	}
	a6->sin6_family = AF_INET6;
	a6->sin6_port = htons(NOBODY);
	a6->sin6_scope_id = scope ? (uint32_t)atoi(scope) : 0;
	VERB(inet_pton(AF_INET6, text, &a6->sin6_addr) == 1);
}

static bool same(const struct answers *a, const struct answers *b)
{
	return strcmp(a->bind, b->bind) == 0 && strcmp(a->listen, b->listen) == 0 &&
	       strcmp(a->resolve, b->resolve) == 0 && strcmp(a->connect, b->connect) == 0;
}

static void each_address(void)
{
	unsigned bad = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		struct sockaddr_storage a;
		struct answers got;

		parse(r->addr, &a);
		ask_bind((struct sockaddr *)&a, &got);
		ask_resolve((struct sockaddr *)&a, &got);
		if (same(&got, &r->want))
			continue;
		bad++;
		printf("{\"%s\", {\"%s\", \"%s\", \"%s\", \"%s\"}},\n", r->addr, got.bind,
		       got.listen, got.resolve, got.connect);
	}
	VERB(bad == 0);
	printf("%zu addresses have their answers\n", sizeof(rows) / sizeof(rows[0]));
}

/* ---- ports ---- */

static int bind_at(struct rdma_cm_id *id, const char *name, __be16 port)
{
	struct sockaddr_storage a;

	parse(name, &a);
	((struct sockaddr_in *)&a)->sin_port = port; /* at the same place for IPv6 */
	return rdma_bind_addr(id, (struct sockaddr *)&a);
}

/* A port that is bound at one address is taken there, and for the wildcard; and the reverse. */
static void taken_ports(void)
{
	static const char *const first[] = {"0.0.0.0", "::", "FIRST", "SECOND"};
	const __be16 port = htons(4711);

	for (unsigned i = 0; i < 4; i++) {
		const char *second = i < 2 ? "SECOND" : "0.0.0.0";
		struct rdma_cm_id *a = new_id(), *b = new_id();

		VERB(bind_at(a, first[i], port) == 0 && rdma_get_src_port(a) == port);
		VERB(bind_at(a, first[i], port) == -1 && errno == EINVAL);
		VERB(bind_at(b, first[i], port) == -1 && errno == EADDRINUSE);
		VERB(bind_at(b, second, port) == -1 && errno == EADDRINUSE);
		VERB(rdma_listen(a, 1) == 0);
		VERB(bind_at(b, second, port) == -1 && errno == EADDRINUSE);
		VERB(rdma_destroy_id(a) == 0);
		VERB(bind_at(b, second, port) == 0 && rdma_listen(b, 1) == 0);
		VERB(rdma_destroy_id(b) == 0);
	}
	puts("a bound port is taken, also that of a wildcard");
}

/* Requests to a port that is only bound wait for the program, which may be about to listen. */
static void bound_ports_wait(void)
{
	struct rdma_event_channel *own = rdma_create_event_channel();
	struct rdma_cm_id *l, *c = new_id();
	struct end e = {.id = c};
	struct rdma_cm_event *ev;
	struct sockaddr_storage a;

	VERB(own && rdma_create_id(own, &l, NULL, RDMA_PS_TCP) == 0);
	VERB(bind_at(l, "0.0.0.0", htons(NOBODY)) == 0);
	parse("FIRST", &a);
	VERB(rdma_resolve_addr(c, NULL, (struct sockaddr *)&a, 1000) == 0);
	VERB(strcmp(next_event(clients), "ADDR_RESOLVED") == 0);
	VERB(rdma_resolve_route(c, 1000) == 0);
	VERB(strcmp(next_event(clients), "ROUTE_RESOLVED") == 0);
	end_objects(&e);
	make_qp(&e);
	VERB(rdma_connect(c, NULL) == 0);
	VERB(rdma_listen(l, 4) == 0 && rdma_get_cm_event(own, &ev) == 0);
	VERB(ev->event == RDMA_CM_EVENT_CONNECT_REQUEST && ev->listen_id == l);
	VERB(rdma_reject(ev->id, NULL, 0) == 0 && rdma_destroy_id(ev->id) == 0);
	VERB(rdma_ack_cm_event(ev) == 0);
	VERB(strcmp(next_event(clients), "REJECTED") == 0);
	VERB(rdma_listen(l, 4) && errno == EINVAL);
	rdma_destroy_qp(c);
	end_free(&e);
	VERB(rdma_destroy_id(c) == 0 && rdma_destroy_id(l) == 0);
	rdma_destroy_event_channel(own);
	puts("requests to a bound port wait for rdma_listen()");
}

static struct rdma_cm_id *with_backlog(__be16 port, bool asks, int backlog)
{
	struct rdma_cm_id *l;

	VERB(rdma_create_id(servers, &l, &addr, RDMA_PS_TCP) == 0);
	VERB(bind_at(l, "FIRST", port) == 0);
	if (asks)
		VERB(rdma_get_src_port(l) != 0);
	VERB(rdma_listen(l, backlog) == 0);
	return l;
}

static void ask_from(unsigned device, struct end *c, struct rdma_cm_id *l)
{
	resolve(c, device, 0, rdma_get_src_port(l));
	make_qp(c);
	ask(c, 0);
}

/* Rejects requests that the program has taken. */
static void reject_taken(struct end *s, int n)
{
	for (int i = 0; i < n; i++) {
		VERB(rdma_reject(s[i].id, NULL, 0) == 0 && rdma_destroy_id(s[i].id) == 0);
		end_free(&s[i]);
		VERB(strcmp(next_event(clients), "REJECTED") == 0);
	}
}

/* As many requests wait as the backlog says, and further ones are refused. Those that the program
 * has taken do not count, answered or not. */
static void backlog_holds(__be16 port, bool asks)
{
	enum { BACKLOG = 2, ALL = BACKLOG + 2 };
	struct rdma_cm_id *l = with_backlog(port, asks, BACKLOG);
	struct end c[ALL], s[ALL - 1];

	for (int i = 0; i < ALL - 1; i++)
		ask_from(1, &c[i], l);
	VERB(strcmp(next_event(clients), "REJECTED") == 0);
	take_request(&s[0], l);
	ask_from(1, &c[ALL - 1], l);
	for (int i = 1; i < ALL - 1; i++)
		take_request(&s[i], l);
	reject_taken(s, ALL - 1);
	for (int i = 0; i < ALL; i++)
		end_close(&c[i], NULL);
	VERB(rdma_destroy_id(l) == 0);
}

static void backlogs_hold(void)
{
	struct rdma_cm_id *l;

	backlog_holds(0, false);
	backlog_holds(0, true);
	backlog_holds(htons(NOBODY), false);
	l = with_backlog(0, false, -1); /* as many as the daemon holds */
	VERB(rdma_destroy_id(l) == 0);
	puts("a backlog is that of rdma_listen(), for a port of either side");
}

/* The requests of one address take all but a quarter; then there is room for another one. */
static void last_quarter_is_for_others(void)
{
	enum { BACKLOG = 24, SHARE = 18 };
	struct rdma_cm_id *l = with_backlog(0, false, BACKLOG);
	struct end c[SHARE + 2], s[SHARE + 1];

	for (int i = 0; i <= SHARE; i++)
		ask_from(1, &c[i], l);
	VERB(strcmp(next_event(clients), "REJECTED") == 0);
	ask_from(0, &c[SHARE + 1], l);
	for (int i = 0; i <= SHARE; i++)
		take_request(&s[i], l);
	VERB(s[SHARE].id->route.addr.dst_sin.sin_addr.s_addr == addr[0].sin_addr.s_addr);
	reject_taken(s, SHARE + 1);
	for (int i = 0; i < SHARE + 2; i++)
		end_close(&c[i], NULL);
	VERB(rdma_destroy_id(l) == 0);
	puts("the last quarter of a backlog is for other addresses");
}

/* A program that binds to connect hears of no peer that asks its port. */
static void active_ports_refuse(void)
{
	struct rdma_cm_id *l = new_id(), *c = new_id();
	struct sockaddr_storage a;

	VERB(bind_at(l, "0.0.0.0", htons(NOBODY)) == 0);
	parse("FIRST", &a);
	VERB(rdma_resolve_addr(l, NULL, (struct sockaddr *)&a, 1000) == 0);
	VERB(strcmp(next_event(clients), "ADDR_RESOLVED") == 0);
	VERB(rdma_resolve_addr(c, NULL, (struct sockaddr *)&a, 1000) == 0);
	VERB(strcmp(next_event(clients), "ADDR_RESOLVED") == 0);
	VERB(strcmp(ask_connect(c), "REJECTED") == 0);
	VERB(rdma_destroy_id(c) == 0 && rdma_destroy_id(l) == 0);
	puts("the port of an id that connects refuses");
}

/* ---- addresses of ids ---- */

static void expect_ports(struct rdma_cm_id *id, __be16 src, __be16 dst)
{
	VERB(rdma_get_src_port(id) == src && rdma_get_dst_port(id) == dst);
	VERB(id->route.addr.src_sin.sin_port == src && id->route.addr.dst_sin.sin_port == dst);
}

/* An id that connects has a port from its resolution on, and the program may overwrite its copies
 * of the addresses. */
static void ids_have_addresses(void)
{
	struct rdma_cm_id *l = listener_at(&addr[0]);
	const __be16 to = rdma_get_src_port(l);
	struct end c, s;
	__be16 from;

	resolve(&c, 1, 0, to);
	from = rdma_get_src_port(c.id);
	VERB(from != 0 && to != 0);
	expect_ports(c.id, from, to);
	make_qp(&c);
	memset(&c.id->route.addr.src_storage, 0xff, sizeof(c.id->route.addr.src_storage));
	memset(&c.id->route.addr.dst_storage, 0xff, sizeof(c.id->route.addr.dst_storage));
	ask(&c, 0);
	take_request(&s, l);
	VERB(rdma_get_src_port(s.id) == to);
	make_qp(&s);
	VERB(rdma_accept(s.id, NULL) == 0);
	expect_only(servers, RDMA_CM_EVENT_ESTABLISHED);
	expect_only(clients, RDMA_CM_EVENT_ESTABLISHED);
	expect_ports(c.id, from, to);
	VERB(rdma_get_src_port(s.id) == to);
	exchange(&c, &s, c.id->qp, s.id->qp);
	end_close(&c, NULL);
	end_close(&s, NULL);
	VERB(rdma_destroy_id(l) == 0);
	puts("ids have addresses and ports, whatever the program writes there");
}

int main(int argc, char **argv)
{
	cm_rig_open(argc, argv);
	each_address();
	taken_ports();
	bound_ports_wait();
	backlogs_hold();
	last_quarter_is_for_others();
	active_ports_refuse();
	ids_have_addresses();
	return 0;
}
