/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports that the daemon chooses, addresses that programs ask for, and listeners that share a port.
 *
 *   ports SOCKET ADDRESS SOCKET2 ADDRESS2     a client of the first daemon connects to clients of
 * the second one; both may be the same
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/patience.h"
#include "tests/system/rig.h"

enum { FIRST_FREE = 49152, LISTENERS = 3, NOBODY = 65534, FLOOD = 200 };

static struct end a, b[LISTENERS], more;
static const char *address;

static uint16_t port_of(const struct sockaddr_storage *ss)
{
	struct sockaddr_in in;

	memcpy(&in, ss, sizeof(in));
	return ntohs(in.sin_port);
}

static void is_address(const char *what, const struct sockaddr_storage *ss)
{
	struct sockaddr_in in;
	char text[INET_ADDRSTRLEN] = "";

	memcpy(&in, ss, sizeof(in));
	inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
	if (in.sin_family != AF_INET || strcmp(text, address) != 0)
		fail("%s: %s was expected, %s came", what, address, text);
	ok("%s", what);
}

static struct ddp_id_attr query(struct ddp_id *id)
{
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);

	MUST(ddp_query_id(id, &attr));
	return attr;
}

/* ---- ports and addresses ---- */

static void addresses(void)
{
	struct sockaddr_storage ss[8];

	is("the daemon has one address", (uint64_t)MUST(ddp_query_addrs(b[0].ctx, ss, 8)), 1);
	is_address("which is the one it listens on", &ss[0]);
	is("without a port", port_of(&ss[0]), 0);
	is("a list of no entries returns the number, too",
	   (uint64_t)MUST(ddp_query_addrs(b[0].ctx, NULL, 0)), 1);
}

static void free_ports(void)
{
	uint16_t port[LISTENERS];
	struct ddp_id_attr here, at;
	struct session s;
	struct ddp_cm_event *ev;

	for (int i = 0; i < LISTENERS; i++) {
		MUST(ddp_create_id(b[i].ctx, NULL, &b[i].listener));
		MUST(ddp_listen(b[i].listener, NULL, 0, 0));
		port[i] = b[i].port = query(b[i].listener).port;
		if (port[i] < FIRST_FREE)
			fail("port 0 became port %u", port[i]);
	}
	if (port[0] == port[1] || port[1] == port[2] || port[0] == port[2])
		fail("two listeners have one port: %u %u %u", port[0], port[1], port[2]);
	ok("each listener at port 0 has a port of its own");
	session_connect(&s, &a, &b[1], address, NULL);
	ev = session_request(&s);
	is("the local port of a session request", query(s.id[1]).port, port[1]);
	is("its stream", query(s.id[1]).stream, ev->stream);
	is("its association", query(s.id[1]).assoc, ev->assoc);
	ddp_ack_cm_event(ev);
	session_make_qp(&s, 1, NULL);
	MUST(ddp_accept(s.id[1], NULL));
	end_expect(&b[1], DDP_CM_ESTABLISHED);
	end_expect(&a, DDP_CM_ESTABLISHED);
	here = query(s.id[1]);
	is("the local port of its session", here.port, port[1]);
	at = query(s.id[0]);
	is("the port of the peer at the other side", port_of(&at.remote), port[1]);
	is("the local port there is that of the peer here", at.port, port_of(&here.remote));
	session_close(&s, 0);
	for (int i = 0; i < LISTENERS; i++)
		MUST(ddp_destroy_id(b[i].listener));
}

/* ---- service keys ---- */

static int listen_with(struct end *e, uint16_t port, uint64_t key)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);
	int r;

	attr.port = port;
	attr.service_key = key;
	MUST(ddp_create_id(e->ctx, NULL, &e->listener));
	r = ddp_listen_service(e->listener, &attr);
	if (r)
		MUST(ddp_destroy_id(e->listener));
	else
		e->port = query(e->listener).port;
	return r;
}

/* A session with this key and private data reaches the end `to`, which sees the data alone. Returns
 * the association at the end that connected. */
static uint32_t reaches(struct end *to, uint64_t key, const void *priv, size_t len)
{
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct how how = {.request = &p};
	struct session s;
	struct ddp_cm_event *ev;
	uint32_t assoc;

	p.service_key = key;
	p.private_data = priv;
	p.private_len = len;
	session_connect(&s, &a, to, address, &how);
	ev = session_request(&s);
	if (ev->listener != to->listener)
		fail("key 0x%llx: the request came to another listener", (unsigned long long)key);
	is("bytes of private data", ev->private_len, len);
	same("private data", ev->private_data, priv, len);
	ddp_ack_cm_event(ev);
	session_make_qp(&s, 1, NULL);
	MUST(ddp_accept(s.id[1], NULL));
	end_expect(to, DDP_CM_ESTABLISHED);
	ev = end_event(&a, DDP_CM_ESTABLISHED);
	assoc = ev->assoc;
	ddp_ack_cm_event(ev);
	session_close(&s, 0);
	return assoc;
}

/* No listener gets a session with these parameters. */
static void refused(const char *what, uint64_t key, const void *priv, size_t len)
{
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct how how = {.request = &p};
	struct ddp_cm_event *ev;
	struct session s;

	p.service_key = key;
	p.private_data = priv;
	p.private_len = len;
	session_connect(&s, &a, &b[0], address, &how);
	ev = end_event(&a, DDP_CM_CONNECT_ERROR);
	if (ev->err != -ECONNREFUSED)
		fail("%s: %s", what, ev->reason);
	ok("%s is refused", what);
	ddp_ack_cm_event(ev);
	MUST(ddp_destroy_qp(s.qp[0]));
	MUST(ddp_destroy_id(s.id[0]));
}

static void malformed_keys(void)
{
	static const uint8_t key[16] = {0x8b, 'D', 'D', 'P', 'k', 'e', 'y', 1, [15] = 1};
	uint8_t bad[16];

	refused("a key that is cut off", 0, key, 15);
	memcpy(bad, key, sizeof(bad));
	bad[15] = 0;
	refused("key 0", 0, bad, sizeof(bad));
	bad[15] = 1;
	bad[7] = 2;
	refused("a key of another version", 0, bad, sizeof(bad));
	for (unsigned i = 0; i < FLOOD; i++) {
		memcpy(bad, key, sizeof(bad));
		bad[8] = 1;
		bad[14] = (uint8_t)i;
		refused("one of many unknown keys", 0, bad, sizeof(bad));
	}
}

static void lengths(void)
{
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param);
	struct sockaddr_in to = {.sin_family = AF_INET};
	char priv[512] = "";
	struct session s = {.end = {&a, &b[0]}};

	p.service_key = 1;
	p.private_data = priv;
	p.private_len = 497;
	MUST(ddp_create_id(a.ctx, NULL, &s.id[0]));
	session_make_qp(&s, 0, NULL);
	REFUSED("497 bytes behind a key", ddp_connect(s.id[0], (struct sockaddr *)&to, &p), EINVAL);
	p.private_len = 493;
	p.flags = DDP_CONN_NEGOTIATE;
	REFUSED("493 in an enhanced message", ddp_connect(s.id[0], (struct sockaddr *)&to, &p),
		EINVAL);
	MUST(ddp_destroy_qp(s.qp[0]));
	MUST(ddp_destroy_id(s.id[0]));
	reaches(&b[0], 1, priv, 496);
}

/* As root: another user may neither share the port nor take a key of it. */
static void other_user(uint16_t port)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		return;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct end e;

		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		end_open(&e, "another user", b[0].socket);
		REFUSED("another user with a key of the port", listen_with(&e, port, 1),
			EADDRINUSE);
		REFUSED("with a free key", listen_with(&e, port, 99), EADDRINUSE);
		REFUSED("without a key", listen_with(&e, port, 0), EADDRINUSE);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		fail("another user: status %d", status);
}

static void keys(void)
{
	uint32_t assoc;
	uint16_t port;

	MUST(listen_with(&b[0], 0, 1));
	port = b[0].port;
	is("the key of a listener", query(b[0].listener).service_key, 1);
	MUST(listen_with(&b[1], port, UINT64_MAX));
	assoc = reaches(&b[0], 0, "without a key: the first", 24);
	MUST(listen_with(&b[2], port, 0));
	REFUSED("a key twice", listen_with(&more, port, 1), EADDRINUSE);
	REFUSED("two listeners without a key", listen_with(&more, port, 0), EADDRINUSE);
	is("one association", reaches(&b[0], 1, "abc", 3), assoc);
	is("for another key", reaches(&b[1], UINT64_MAX, "defg", 4), assoc);
	is("and for none", reaches(&b[2], 0, "h", 1), assoc);
	is("with private data like text", reaches(&b[2], 0, "DDPkey", 6), assoc);
	refused("an unknown key", 2, "abc", 3);
	malformed_keys();
	lengths();
	other_user(port);
	MUST(ddp_destroy_id(b[2].listener));
	MUST(ddp_destroy_id(b[0].listener));
	refused("the key of a listener that is closed", 1, "abc", 3);
	is("the association goes on", reaches(&b[1], UINT64_MAX, "i", 1), assoc);
	is("also without a key", reaches(&b[1], 0, "j", 1), assoc);
	MUST(ddp_destroy_id(b[1].listener));
	MUST(listen_with(&b[0], port, 5));
	is("and with the next listener of the port", reaches(&b[0], 5, "k", 1), assoc);
	MUST(ddp_destroy_id(b[0].listener));
}

/* Two programs that listen and connect to each other share one association, in both directions. */
static void both_ways(const char *address_of_a)
{
	struct ddp_cm_event *ev;
	struct session s, back;
	struct ddp_id_attr at;

	end_listen(&a);
	end_listen(&b[0]);
	session_open(&s, &a, &b[0], address, NULL);
	at = query(s.id[1]);
	is("the association of a program that listens comes from its port", port_of(&at.remote),
	   a.port);
	session_open(&back, &b[0], &a, address_of_a, NULL);
	is("and is that of sessions to this port", query(back.id[0]).assoc, at.assoc);
	session_close(&back, 0);
	MUST(ddp_destroy_id(a.listener));
	session_connect(&back, &b[0], &a, address_of_a, NULL);
	ev = end_event(&b[0], DDP_CM_CONNECT_ERROR);
	is("which end with the listener", (uint64_t)-ev->err, ECONNREFUSED);
	ddp_ack_cm_event(ev);
	MUST(ddp_destroy_qp(back.qp[0]));
	MUST(ddp_destroy_id(back.id[0]));
	session_close(&s, 0);
	MUST(ddp_destroy_id(b[0].listener));
}

/* ---- listening again ---- */

static void begin(struct session *s, struct ddp_conn_param *p, const char *priv)
{
	struct how how = {.request = p};

	p->private_data = priv;
	p->private_len = 5;
	session_connect(s, &a, &b[0], address, &how);
}

/* Its client waits less long than the daemon. */
static void times_out(struct session *s)
{
	struct ddp_cm_event *ev = end_event(&a, DDP_CM_CONNECT_ERROR);

	is("the request of a client that gives up", (uint64_t)-ev->err, ETIMEDOUT);
	ddp_ack_cm_event(ev);
	MUST(ddp_destroy_qp(s->qp[0]));
	MUST(ddp_destroy_id(s->id[0]));
}

/* The listener is asked for the request that waits for it, and for the one whose client has given
 * up. */
static void take_waiting(struct session *s)
{
	for (int i = 0; i < 2; i++) {
		struct ddp_cm_event *ev = end_event(&b[0], DDP_CM_CONNECT_REQUEST);
		bool waits = ev->private_len == 5 && memcmp(ev->private_data, "waits", 5) == 0;
		struct ddp_id *id = ev->id;

		ddp_ack_cm_event(ev);
		if (waits)
			s->id[1] = id;
		else
			MUST(ddp_destroy_id(id));
	}
	if (!s->id[1])
		fail("the request that waits for a listener did not come");
	session_make_qp(s, 1, NULL);
	MUST(ddp_accept(s->id[1], NULL));
	end_expect(&b[0], DDP_CM_ESTABLISHED);
	end_expect(&a, DDP_CM_ESTABLISHED);
	ok("a request waits until a program listens again");
	session_close(s, 0);
}

/* kept: the daemon lets requests wait for the next listener. */
static void listening_again(bool kept)
{
	struct ddp_conn_param p = DDP_INIT(ddp_conn_param), brief = DDP_INIT(ddp_conn_param);
	struct session waits, gone;
	uint16_t port;

	MUST(listen_with(&b[0], 0, 0));
	port = b[0].port;
	reaches(&b[0], 0, "first", 5);
	MUST(ddp_destroy_id(b[0].listener));
	if (!kept) {
		refused("a port whose listener has ended", 0, "later", 5);
		return;
	}
	begin(&waits, &p, "waits");
	brief.timeout_ms = 200;
	begin(&gone, &brief, "gone.");
	times_out(&gone);
	MUST(listen_with(&b[0], port, 0));
	take_waiting(&waits);
	MUST(ddp_destroy_id(b[0].listener));
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: ports SOCKET ADDRESS SOCKET2 ADDRESS2\n");
		return 2;
	}
	alarm(LIFE_S);
	address = argv[4];
	end_open(&a, "a", argv[1]);
	for (int i = 0; i < LISTENERS; i++)
		end_open(&b[i], "b", argv[3]);
	end_open(&more, "another one", argv[3]);
	addresses();
	free_ports();
	keys();
	if (!getenv("DDP_TRANSPORT") || !strcmp(getenv("DDP_TRANSPORT"), "user") ||
	    !strcmp(argv[1], argv[3]))
		both_ways(argv[2]);
	listening_again(strcmp(argv[1], argv[3]) != 0);
	return 0;
}
