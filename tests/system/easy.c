/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * easy SOCKET-A SOCKET-B ADDRESS-B ADDRESS-NOBODY [orphan|survive]
 *
 * What ddp_easy(3) promises, between a client of daemon A and a listener of daemon B.
 */
#include <ddp/ddp_easy.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/system/easy_rig.h"

enum { MESSAGES = 10000, MEMORY = 1 << 16, OFFER = 4096 };

static const char *nobody;

/* ---- what cannot work ---- */

static void wrong(void)
{
	struct ddp_easy_attr attr = DDP_INIT(ddp_easy_attr);
	struct ddp_easy *listener = listen_with(0, 0), *e, *b;
	uint64_t length;
	char byte;

	attr.socket = "/nonexistent/ddp.sock";
	refused(NULL, "no daemon", ddp_easy_open(&attr, &e), ENOENT);
	attr.socket = socket_a;
	attr.messages = 4097;
	refused(NULL, "too many messages", ddp_easy_open(&attr, &e), EINVAL);
	refused(listener, "accept without client", ddp_easy_accept(listener, &b, 0), ETIMEDOUT);
	refused(listener, "a name to listen at", ddp_easy_listen(listener, "localhost", 0), EINVAL);
	e = open_at(socket_a, 0, 0);
	refused(e, "ddp_easy_send before", ddp_easy_send(e, "x", 1, 0), ENOTCONN);
	refused(e, "ddp_easy_recv before", ddp_easy_recv(e, &byte, 1, 0), ENOTCONN);
	refused(e, "ddp_easy_offered before", ddp_easy_offered(e, &length, NULL), ENOTCONN);
	refused(e, "ddp_easy_accept without a listener", ddp_easy_accept(e, &b, 0), EINVAL);
	refused(e, "ddp_easy_free of other memory", ddp_easy_free(e, &byte), ENOENT);
	refused(e, "ddp_easy_register of nothing", ddp_easy_register(e, NULL, 8, -1), EINVAL);
	refused(e, "other memory", ddp_easy_offer(e, &byte, 1, DDP_ACCESS_REMOTE_READ), EFAULT);
	EASY(NULL, ddp_easy_close(listener, 0));
	refused(e, "nobody listens at the port", ddp_easy_connect(e, address_b, port, 60000),
		ECONNREFUSED);
	refused(e, "the same object again", ddp_easy_connect(e, address_b, port, 60000),
		ECONNREFUSED);
	EASY(NULL, ddp_easy_close(e, 0));
	e = open_at(socket_a, 0, 0);
	if (ddp_easy_connect(e, nobody, port, 100) >= 0)
		fail("a connection without a daemon");
	ok("no daemon at the address: %s", ddp_easy_error(e));
	EASY(NULL, ddp_easy_close(e, 0));
	EASY(NULL, ddp_easy_close(NULL, 0));
}

/* A program of ddp.h connects to a listener of ddp_easy.h. */
static void foreign(void)
{
	struct ddp_easy *listener = listen_with(0, 0), *a = open_at(socket_a, 0, 0), *b;
	struct end end;
	struct session s = {.end = {&end, &end}};

	end_open(&end, "foreign", socket_a);
	MUST(ddp_create_id(end.ctx, NULL, &s.id[0]));
	session_make_qp(&s, 0, NULL);
	MUST(ddp_connect_name(s.id[0], address_b, port, NULL));
	refused(listener, "a client without the hello", ddp_easy_accept(listener, &b, -1), EPROTO);
	end_expect(&end, DDP_CM_REJECTED);
	session_free(&s);
	end_close(&end);
	pair(listener, a, &b);
	ok("the listener is as before");
	close_all(a, b, listener);
}

/* ---- a peer that does not keep the rules ---- */

/* Its hello: byte `at` is another one. */
static void bad_peer_connect(struct session *s, struct end *end, size_t at, uint8_t value)
{
	uint8_t hello[32] = {'D', 'D', 'P', 'E', 1, 2, 0, 4, 0, 0, 4, 0, 0, 0, 0, 1};
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);
	struct end peer = {.port = port};

	hello[at] = value;
	hello[31] = 16; /* bytes of its offer */
	param.private_data = hello;
	param.private_len = sizeof(hello);
	session_connect(s, end, &peer, address_b, &(struct how){.request = &param});
}

static void bad_hello(struct end *end, const char *what, size_t at, uint8_t value)
{
	struct ddp_easy *listener = listen_with(4, 64), *b;
	struct session s;

	bad_peer_connect(&s, end, at, value);
	refused(listener, what, ddp_easy_accept(listener, &b, -1), EPROTO);
	end_expect(end, DDP_CM_REJECTED);
	session_free(&s);
	EASY(NULL, ddp_easy_close(listener, 0));
}

/* It sends `n` messages of these bytes, of which the program may take `taken`. */
static void bad_message(struct end *end, const char *what, const uint8_t *bytes, uint32_t len,
			int n, int taken)
{
	struct ddp_easy *listener = listen_with(4, 64), *b;
	struct session s;
	char text[64];

	bad_peer_connect(&s, end, 0, 'D');
	EASY(listener, ddp_easy_accept(listener, &b, -1));
	ddp_ack_cm_event(end_event(end, DDP_CM_ESTABLISHED));
	memcpy(end_at(end, 0), bytes, len);
	for (int i = 0; i < n; i++) {
		session_send(&s, 0, (struct ddp_send_wr){.opcode = DDP_WR_SEND}, 0, len);
		end_done(end, DDP_WC_SEND, DDP_WC_SUCCESS);
	}
	/* What was sent has arrived when the session has ended. */
	MUST(ddp_disconnect(s.id[0]));
	ddp_ack_cm_event(end_event(end, DDP_CM_DISCONNECTED));
	for (int i = 0; i < taken; i++)
		EASY(b, ddp_easy_recv(b, text, sizeof(text), -1));
	refused(b, what, ddp_easy_recv(b, text, sizeof(text), -1), EPROTO);
	refused(b, "a message to it", ddp_easy_send(b, "x", 1, -1), EPROTO);
	session_free(&s);
	EASY(NULL, ddp_easy_close(b, 0));
	EASY(NULL, ddp_easy_close(listener, 0));
}

static void bad_peer(void)
{
	static const uint8_t data[8] = {0, 0, 0, 1}, unknown[8] = {0, 0, 0, 3};
	static const uint8_t credits[8] = {0, 0, 0, 2, 0, 0, 0, 1}, many[8] = {0, 0, 0, 1, 255};
	struct end end;

	end_open(&end, "bad peer", socket_a);
	bad_hello(&end, "another version", 4, 2);
	bad_hello(&end, "no receives", 7, 0);
	bad_hello(&end, "too many receives", 6, 255);
	bad_hello(&end, "no bytes of a message", 10, 0);
	bad_message(&end, "a message without a header", data, 7, 1, 0);
	bad_message(&end, "a message of an unknown kind", unknown, 8, 1, 0);
	bad_message(&end, "a credit that was not taken", credits, 8, 1, 0);
	bad_message(&end, "4 billion credits", many, 8, 1, 0);
	bad_message(&end, "a message without a credit", data, 8, 5, 4);
	end_close(&end);
}

/* ---- messages ---- */

static void messages(void)
{
	struct ddp_easy *listener = listen_with(8, 100), *a = open_at(socket_a, 0, 0), *b;
	char text[101] = "";
	int sent = 0;

	pair(listener, a, &b);
	refused(b, "ddp_easy_recv with time-out 0", ddp_easy_recv(b, text, 100, 0), ETIMEDOUT);
	refused(a, "a message of 101 bytes", ddp_easy_send(a, text, 101, 0), EMSGSIZE);
	while (ddp_easy_send(a, &"0123456789"[sent], 1, 0) == 0)
		sent++;
	refused(a, "no credit", ddp_easy_send(a, "x", 1, 0), ETIMEDOUT);
	is("messages that the peer does not take", (unsigned)sent, 8);
	refused(b, "no room for a message", ddp_easy_recv(b, text, 0, -1), EMSGSIZE);
	for (int i = 0; i < 8; i++) {
		is("length", (uint64_t)EASY(b, ddp_easy_recv(b, text, 100, -1)), 1);
		is("its byte", (unsigned char)text[0], (unsigned char)('0' + i));
	}
	EASY(a, ddp_easy_send(a, NULL, 0, -1));
	is("a message of no bytes", (uint64_t)EASY(b, ddp_easy_recv(b, NULL, 0, -1)), 0);
	EASY(b, ddp_easy_send(b, "back", 4, -1));
	EASY(a, ddp_easy_recv(a, text, 100, -1));
	same("a message of the server", text, "back", 4);
	close_all(a, b, listener);
}

/* Sends numbers and takes the same numbers; `both` ways if the peer does, too. */
struct stream {
	struct ddp_easy *e;
	bool sends, takes;
};

static void *run(void *arg)
{
	struct stream *s = arg;
	uint32_t n;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		if (s->sends)
			EASY(s->e, ddp_easy_send(s->e, &i, sizeof(i), -1));
		if (!s->takes)
			continue;
		if (EASY(s->e, ddp_easy_recv(s->e, &n, sizeof(n), -1)) != sizeof(n) || n != i)
			fail("message %u instead of %u", n, i);
	}
	return NULL;
}

static void stream(const char *what, uint32_t credits, bool both)
{
	struct ddp_easy *listener = listen_with(credits, 64), *a = open_at(socket_a, credits, 64);
	struct ddp_easy *b;
	struct stream to, from;
	pthread_t thread;

	pair(listener, a, &b);
	to = (struct stream){a, true, both};
	from = (struct stream){b, both, true};
	if (pthread_create(&thread, NULL, run, &to) != 0)
		fail("pthread_create");
	run(&from);
	pthread_join(thread, NULL);
	ok("%d messages, %s", MESSAGES, what);
	close_all(a, b, listener);
}

/* The largest numbers that the page allows work. */
static void largest(void)
{
	struct ddp_easy *listener = listen_with(4096, 1), *a = open_at(socket_a, 1, 16 << 20), *b;
	size_t length = 16 << 20;
	char *text = malloc(length), byte;

	if (!text)
		fail("no memory");
	pair(listener, a, &b);
	for (int i = 0; i < 4096; i++)
		EASY(a, ddp_easy_send(a, "x", 1, -1));
	refused(a, "message 4097", ddp_easy_send(a, "x", 1, 0), ETIMEDOUT);
	for (int i = 0; i < 4096; i++)
		EASY(b, ddp_easy_recv(b, &byte, 1, -1));
	close_all(a, b, listener);

	listener = listen_with(1, 16 << 20);
	a = open_at(socket_a, 1, 16 << 20);
	pair(listener, a, &b);
	memset(text, 7, length);
	EASY(a, ddp_easy_send(a, text, length, -1));
	memset(text, 0, length);
	is("the longest message", (uint64_t)EASY(b, ddp_easy_recv(b, text, length, -1)), length);
	is("its last byte", (unsigned char)text[length - 1], 7);
	free(text);
	close_all(a, b, listener);
}

/* ---- threads ---- */

static void *serve(void *arg)
{
	struct ddp_easy *e = arg;
	char text[64];
	ssize_t n;

	while ((n = ddp_easy_recv(e, text, sizeof(text), -1)) >= 0)
		EASY(e, ddp_easy_send(e, text, (size_t)n, -1));
	if (n != -ESHUTDOWN)
		fail("a server's thread: %s", ddp_easy_error(e));
	EASY(NULL, ddp_easy_close(e, -1));
	return NULL;
}

static void *use(void *arg)
{
	struct ddp_easy *e = open_at(socket_a, 4, 64);
	uint32_t n;

	(void)arg;
	EASY(e, ddp_easy_connect(e, address_b, port, -1));
	for (uint32_t i = 0; i < 100; i++) {
		EASY(e, ddp_easy_send(e, &i, sizeof(i), -1));
		EASY(e, ddp_easy_recv(e, &n, sizeof(n), -1));
		if (n != i)
			fail("the server's thread returned %u instead of %u", n, i);
	}
	EASY(NULL, ddp_easy_close(e, -1));
	return NULL;
}

/* Connections begin and end while others work: a thread each, with one context at the server. */
static void threads(void)
{
	enum { CLIENTS = 12 };
	struct ddp_easy *listener = listen_with(4, 64), *e;
	pthread_t client[CLIENTS], server[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		start(&client[i], use, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		EASY(listener, ddp_easy_accept(listener, &e, -1));
		start(&server[i], serve, e);
	}
	EASY(NULL, ddp_easy_close(listener, 0));
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(client[i], NULL);
		pthread_join(server[i], NULL);
	}
	ok("%d connections with a thread at each side", CLIENTS);
}

/* ---- memory ---- */

static void limits_of_offer(struct ddp_easy *a, uint8_t *mine)
{
	uint64_t length;
	unsigned access;

	EASY(a, ddp_easy_offered(a, &length, &access));
	is("length of the offer", length, OFFER);
	is("rights of the offer", access, DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_WRITE);
	refused(a, "beyond the offer", ddp_easy_write(a, OFFER - 1, mine, 2, -1), ERANGE);
	refused(a, "an offset that overflows", ddp_easy_read(a, UINT64_MAX, mine, 2, -1), ERANGE);
	refused(a, "other memory", ddp_easy_write(a, 0, &length, 8, -1), EFAULT);
	refused(a, "beyond the memory", ddp_easy_read(a, 0, mine + MEMORY - 1, 2, -1), EFAULT);
	EASY(a, ddp_easy_write(a, OFFER, mine, 0, -1));
}

static void memory(void)
{
	struct ddp_easy *listener = listen_with(0, 0), *a = open_at(socket_a, 0, 0), *b;
	int fd = memfd_create("easy", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;
	uint8_t *theirs = malloc(MEMORY), *mine;
	void *more;

	if (fd < 0 || !theirs || ftruncate(fd, MEMORY) < 0)
		fail("no memory");
	mine = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(theirs, 1, MEMORY);
	EASY(listener, ddp_easy_register(listener, theirs, MEMORY, -1));
	EASY(a, ddp_easy_register(a, mine, MEMORY, fd));
	EASY(a, ddp_easy_alloc(a, MEMORY, &more));
	refused(listener, "an offer without rights", ddp_easy_offer(listener, theirs, 1, 0),
		EINVAL);
	EASY(listener, ddp_easy_offer(listener, theirs + 100, OFFER,
				      DDP_ACCESS_REMOTE_READ | DDP_ACCESS_REMOTE_WRITE));
	pair(listener, a, &b);
	refused(b, "an offer too late", ddp_easy_offer(b, theirs, 1, 1), EISCONN);
	refused(b, "no offer of the client", ddp_easy_write(b, 0, theirs, 1, -1), EACCES);
	limits_of_offer(a, mine);
	memset(mine, 2, MEMORY);
	EASY(a, ddp_easy_write(a, 10, mine, 20, -1));
	is("the byte before a Write", theirs[109], 1);
	is("the first byte of it", theirs[110], 2);
	is("the last byte of it", theirs[129], 2);
	is("the byte after it", theirs[130], 1);
	EASY(a, ddp_easy_read(a, 9, more, 22, -1));
	same("a Read", more, theirs + 109, 22);
	for (int i = 0; i < 100; i++) {
		r = ddp_easy_write(a, (uint64_t)i, mine, 1, 0);
		if (r == -ETIMEDOUT && i-- > 0) /* 16 are in flight */
			EASY(a, ddp_easy_wait(a, -1));
		else if (r < 0 && r != -EINPROGRESS)
			fail("a Write with time-out 0: %s", ddp_easy_error(a));
	}
	EASY(a, ddp_easy_wait(a, -1));
	is("the last of 100 Writes that were only started", theirs[199], 2);
	EASY(NULL, ddp_easy_close(listener, 0));
	EASY(a, ddp_easy_write(a, 200, mine, 1, -1));
	is("a Write after the end of the listener", theirs[300], 2);
	EASY(b, ddp_easy_free(b, theirs));
	refused(a, "memory that was freed", ddp_easy_write(a, 0, mine, 1, -1), EACCES);
	EASY(NULL, ddp_easy_close(a, -1));
	EASY(NULL, ddp_easy_close(b, -1));
	free(theirs);
	munmap(mine, MEMORY);
	close(fd);
}

/* A connection frees what the listener offers: the next one has no offer. */
static void freed(void)
{
	struct ddp_easy *listener = listen_with(0, 0), *a, *b;
	uint64_t length;
	void *offer;

	EASY(listener, ddp_easy_alloc(listener, MEMORY, &offer));
	EASY(listener, ddp_easy_offer(listener, offer, MEMORY, DDP_ACCESS_REMOTE_READ));
	for (int i = 0; i < 2; i++) {
		a = open_at(socket_a, 0, 0);
		pair(listener, a, &b);
		EASY(a, ddp_easy_offered(a, &length, NULL));
		is("bytes of the offer", length, i == 0 ? MEMORY : 0);
		if (i == 0)
			EASY(b, ddp_easy_free(b, offer));
		EASY(NULL, ddp_easy_close(a, -1));
		EASY(NULL, ddp_easy_close(b, -1));
	}
	EASY(NULL, ddp_easy_close(listener, 0));
}

/* ---- ends ---- */

static void *wait_for_message(void *arg)
{
	char byte;

	return (void *)(intptr_t)ddp_easy_recv(arg, &byte, 1, -1);
}

static void ends(void)
{
	struct ddp_easy *listener = listen_with(0, 0), *a = open_at(socket_a, 0, 0), *b;
	pthread_t thread;
	void *result;
	char text[8];

	pair(listener, a, &b);
	if (pthread_create(&thread, NULL, wait_for_message, b) != 0)
		fail("pthread_create");
	EASY(NULL, ddp_easy_close(a, -1));
	pthread_join(thread, &result);
	refused(b, "ddp_easy_recv while the peer closes", (intptr_t)result, ESHUTDOWN);
	refused(b, "ddp_easy_send then", ddp_easy_send(b, "x", 1, -1), ESHUTDOWN);
	EASY(NULL, ddp_easy_close(b, -1));

	a = open_at(socket_a, 0, 0);
	pair(listener, a, &b);
	EASY(b, ddp_easy_send(b, "one", 3, -1));
	EASY(b, ddp_easy_send(b, "two", 3, -1));
	EASY(NULL, ddp_easy_close(b, -1));
	EASY(a, ddp_easy_recv(a, text, sizeof(text), -1));
	EASY(a, ddp_easy_recv(a, text, sizeof(text), -1));
	same("a message from before the end", text, "two", 3);
	refused(a, "no message after it", ddp_easy_recv(a, text, sizeof(text), -1), ESHUTDOWN);
	EASY(NULL, ddp_easy_close(a, 0));
	EASY(NULL, ddp_easy_close(listener, 0));
}

/* ---- event loops ---- */

static void loop(void)
{
	struct ddp_easy *listener = listen_with(1, 8), *a = open_at(socket_a, 1, 8), *b;
	uint64_t seen_a = 0, seen_b = 0;
	char text[8];

	ddp_easy_connect(a, address_b, port, 0);
	while (ddp_easy_accept(listener, &b, 0) < 0)
		sleep_until(listener);
	while (ddp_easy_wait(a, 0) < 0)
		sleep_until(a);
	for (int i = 0; i < 100; i++) {
		while (ddp_easy_send(a, "message", 8, 0) < 0)
			if (EASY(a, ddp_easy_arm(a, &seen_a)) == 0)
				sleep_until(a);
		while (ddp_easy_recv(b, text, 8, 0) < 0)
			if (EASY(b, ddp_easy_arm(b, &seen_b)) == 0)
				sleep_until(b);
	}
	ok("100 messages with descriptors");
	close_all(a, b, listener);
}

int main(int argc, char **argv)
{
	if (argc < 5)
		fail("usage: easy SOCKET-A SOCKET-B ADDRESS-B ADDRESS-NOBODY [orphan|survive]");
	socket_a = argv[1];
	socket_b = argv[2];
	address_b = argv[3];
	nobody = argv[4];
	if (argc > 5) {
		(strcmp(argv[5], "orphan") ? easy_survives : easy_is_orphan)();
		return 0;
	}
	wrong();
	foreign();
	bad_peer();
	messages();
	stream("64 credits, one way", 64, false);
	stream("1 credit, one way", 1, false);
	stream("3 credits, both ways", 3, true);
	threads();
	largest();
	memory();
	freed();
	ends();
	loop();
	return 0;
}
