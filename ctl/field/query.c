/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/field/query.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#include "ipc/conn.h"
#include "ipc/local_protocol.h"
#include "util/cleanup.h"
#include "util/limit_text.h"

/* How long to wait for the first reply before a message says so. */
enum { PATIENCE_MS = 1000 };

struct query {
	const char *path;
	int fd;
	int timeout_ms;
	uint32_t seq;
	uint16_t minor; /* of the daemon's version of the local protocol */
	/* the record received last */
	_Alignas(8) uint8_t buf[MSG_MAX];
	size_t len;
	int *ret_fd; /* where the descriptor of a reply goes; NULL: none is needed */
};

static void print_error(const char *text)
{
	fprintf(stderr, "ddpctl: %s\n", text);
}

static query_error_fn *error_fn = print_error;

void query_errors_to(query_error_fn *fn)
{
	error_fn = fn;
}

void query_error(const char *fmt, ...)
{
	char raw[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	for (char *c = raw; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
			*c = '?';
	error_fn(raw);
}

static enum ctl_exit timed_out(const struct query *q)
{
	query_error("%s: no reply within %g s", q->path, q->timeout_ms / 1000.0);
	return CTL_EXIT_TIMEOUT;
}

/* Otherwise connect() and send() would block as long as the daemon does not accept or read. */
static int limit_waiting(const struct query *q)
{
	struct timeval tv = {
		.tv_sec = q->timeout_ms / 1000,
		.tv_usec = (q->timeout_ms % 1000) * 1000,
	};

	return setsockopt(q->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static enum ctl_exit cannot_connect(const struct query *q, int err)
{
	switch (err) {
	case ENOENT:
	case ECONNREFUSED:
		query_error("%s: no daemon listens there; is ddpsctpd running?", q->path);
		return CTL_EXIT_NO_DAEMON;
	case EACCES:
	case EPERM:
		query_error("%s: permission denied; are you a member of the socket's group?",
			    q->path);
		return CTL_EXIT_PERMISSION;
	case EAGAIN:
		return timed_out(q);
	default:
		query_error("%s: %s", q->path, strerror(err));
		return CTL_EXIT_NO_DAEMON;
	}
}

static enum ctl_exit connect_daemon(struct query *q)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	char words[LIMIT_TEXT_MAX];

	if (strlen(q->path) >= sizeof(sun.sun_path)) {
		query_error("%s: the path of a socket has at most %zu characters", q->path,
			    sizeof(sun.sun_path) - 1);
		return CTL_EXIT_USAGE;
	}
	strcpy(sun.sun_path, q->path);
	q->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (q->fd < 0 || limit_waiting(q) < 0) {
		query_error("socket: %s", limit_text(errno, words, sizeof(words)));
		return CTL_EXIT_FAILED;
	}
	if (connect(q->fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
		return cannot_connect(q, errno);
	return CTL_EXIT_OK;
}

/* A closed connection is not a failure yet: the daemon may have sent the reason before, which
 * receive_any() reads. */
static enum ctl_exit send_record(struct query *q, struct msg_hdr *hdr, size_t len)
{
	int r;

	hdr->seq = ++q->seq;
	r = conn_send(q->fd, hdr, len, NULL, 0);
	if (r == 0 || r == CONN_E_CLOSED)
		return CTL_EXIT_OK;
	if (r == CONN_E_AGAIN)
		return timed_out(q);
	query_error("%s: %s", q->path, strerror(-r));
	return CTL_EXIT_NO_DAEMON;
}

static uint64_t monotonic_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* poll() that signals do not interrupt; -1 ms: without end. */
static int poll_readable(int fd, int ms)
{
	uint64_t end = monotonic_ms() + (uint64_t)ms;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int r;

	do {
		uint64_t now = monotonic_ms();

		r = poll(&p, 1, ms < 0 ? -1 : now < end ? (int)(end - now) : 0);
	} while (r < 0 && errno == EINTR);
	return r;
}

/* Waits until the socket is readable. If the first reply takes more than a second, a message names
 * possible reasons. */
static enum ctl_exit await(const struct query *q)
{
	const bool early = q->seq == 1 && q->timeout_ms > PATIENCE_MS;
	int r = poll_readable(q->fd, early ? PATIENCE_MS : q->timeout_ms);

	if (r == 0 && early) {
		query_error("%s: the daemon has not accepted the connection; waiting another %g s. "
			    "It is "
			    "stopped or busy, or has reached its limit of descriptors "
			    "(RLIMIT_NOFILE): see its log",
			    q->path, (q->timeout_ms - PATIENCE_MS) / 1000.0);
		r = poll_readable(q->fd, q->timeout_ms - PATIENCE_MS);
	}
	if (r > 0)
		return CTL_EXIT_OK;
	if (r == 0)
		return timed_out(q);
	query_error("poll: %s", strerror(errno));
	return CTL_EXIT_FAILED;
}

static enum ctl_exit bad_reply(const struct query *q)
{
	query_error("%s: malformed reply from the daemon; do the versions of ddpctl and ddpsctpd "
		    "match?",
		    q->path);
	return CTL_EXIT_VERSION;
}

/* The next record. Closes descriptors that arrive with it and are not needed. */
static enum ctl_exit receive_any(struct query *q)
{
	int fds[MSG_MAX_FDS], r;
	enum ctl_exit e = await(q);
	char words[LIMIT_TEXT_MAX];
	unsigned nfds = 0;

	if (e != CTL_EXIT_OK)
		return e;
	r = conn_recv(q->fd, q->buf, sizeof(q->buf), &q->len, fds, &nfds);
	if (r == CONN_E_NO_FDS && !q->ret_fd)
		r = 0; /* none of them is needed */
	if (r == CONN_E_NO_FDS)
		r = -EMFILE;
	for (unsigned i = 0; r == 0 && i < nfds; i++) {
		if (q->ret_fd && *q->ret_fd < 0)
			*q->ret_fd = fds[i];
		else
			close(fds[i]);
	}
	if (r == 0 && q->len >= sizeof(struct msg_hdr))
		return CTL_EXIT_OK;
	if (r == CONN_E_CLOSED) {
		query_error("%s: the daemon closed the connection", q->path);
		return CTL_EXIT_NO_DAEMON;
	}
	if (r < 0) {
		query_error("%s: cannot read the reply: %s", q->path,
			    limit_text(-r, words, sizeof(words)));
		return CTL_EXIT_FAILED;
	}
	return bad_reply(q);
}

static enum ctl_exit refused(struct query *q)
{
	struct msg_error *e = (struct msg_error *)q->buf;

	if (q->len != sizeof(*e))
		return bad_reply(q);
	e->reason[MSG_REASON_MAX - 1] = '\0';
	query_error("%s", *e->reason ? e->reason : strerror(e->err));
	switch (e->err) {
	case EACCES:
	case EPERM:
		return CTL_EXIT_PERMISSION;
	case ENOENT:
		return CTL_EXIT_NO_OBJECT;
	case EPROTO:
	case EPROTONOSUPPORT:
		return CTL_EXIT_VERSION;
	default:
		return CTL_EXIT_FAILED;
	}
}

/* The next record of the reply: it has the sequence number of the query and is not an error. */
static enum ctl_exit receive_record(struct query *q)
{
	const struct msg_hdr *hdr = (const struct msg_hdr *)q->buf;
	enum ctl_exit e = receive_any(q);

	if (e != CTL_EXIT_OK)
		return e;
	if (hdr->op == MSG_ERROR)
		return refused(q);
	return hdr->seq == q->seq ? CTL_EXIT_OK : bad_reply(q);
}

/* The same, with this opcode and size. */
static enum ctl_exit receive_reply(struct query *q, uint32_t op, size_t len)
{
	const struct msg_hdr *hdr = (const struct msg_hdr *)q->buf;
	enum ctl_exit e = receive_record(q);

	if (e != CTL_EXIT_OK || (hdr->op == op && q->len == len))
		return e;
	return bad_reply(q);
}

static enum ctl_exit exchange_hello(struct query *q)
{
	struct msg_hello hello = {
		.hdr.op = MSG_HELLO,
		.major = IPC_VERSION_MAJOR,
		.minor = IPC_VERSION_MINOR,
		.comm = "ddpctl",
	};
	const struct msg_hello_reply *reply = (const struct msg_hello_reply *)q->buf;
	enum ctl_exit e = send_record(q, &hello.hdr, sizeof(hello));

	if (e == CTL_EXIT_OK)
		e = receive_reply(q, MSG_HELLO, sizeof(*reply));
	if (e != CTL_EXIT_OK)
		return e;
	q->minor = reply->minor;
	if (reply->major == IPC_VERSION_MAJOR)
		return CTL_EXIT_OK;
	query_error("the daemon speaks version %u.%u of the local protocol, ddpctl %d.%d",
		    reply->major, reply->minor, IPC_VERSION_MAJOR, IPC_VERSION_MINOR);
	return CTL_EXIT_VERSION;
}

/* The record that was received. Members that it lacks are 0, and its len says so; members that only
 * a newer daemon has are dropped. */
static void copy_record(struct ctl_record *ret, const struct query *q)
{
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, q->buf, q->len < sizeof(*ret) ? q->len : sizeof(*ret));
}

/* Adds it. */
static enum ctl_exit keep_record(struct query_reply *a, const struct query *q, size_t *room)
{
	if (a->n == *room) {
		size_t more = *room ? 2 * *room : 64;
		struct ctl_record *bigger = reallocarray(a->recs, more, sizeof(*bigger));

		if (!bigger) {
			query_error("out of memory");
			return CTL_EXIT_FAILED;
		}
		a->recs = bigger;
		*room = more;
	}
	copy_record(&a->recs[a->n++], q);
	return CTL_EXIT_OK;
}

static bool is_record(const struct query *q, enum ctl_object object)
{
	const struct ctl_record *rec = (const struct ctl_record *)q->buf;

	return rec->hdr.op == MSG_CTL_RECORD && q->len >= CTL_HEAD &&
	       q->len - CTL_HEAD == rec->len && rec->object == (uint32_t)object;
}

static enum ctl_exit take_records(struct query *q, enum ctl_object object, struct query_reply *a)
{
	const struct ctl_end *end = (const struct ctl_end *)q->buf;
	size_t room = 0;

	for (;;) {
		enum ctl_exit e = receive_record(q);

		if (e != CTL_EXIT_OK)
			return e;
		if (end->hdr.op == MSG_CTL_END && q->len == sizeof(*end))
			break;
		if (!is_record(q, object))
			return bad_reply(q);
		e = keep_record(a, q, &room);
		if (e != CTL_EXIT_OK)
			return e;
	}
	a->hidden = end->hidden;
	return end->records == a->n ? CTL_EXIT_OK : bad_reply(q);
}

/* Connects and exchanges hellos. */
static enum ctl_exit open_query(struct query *q)
{
	enum ctl_exit e = connect_daemon(q);

	return e == CTL_EXIT_OK ? exchange_hello(q) : e;
}

/* An older daemon does not know the request, and would end the connection. */
static enum ctl_exit need_minor(const struct query *q, int minor, const char *what)
{
	if (q->minor >= minor)
		return CTL_EXIT_OK;
	query_error("%s: not supported by this daemon, which is older than ddpctl (local protocol "
		    "%d.%u, needed %d.%d)",
		    what, IPC_VERSION_MAJOR, q->minor, IPC_VERSION_MAJOR, minor);
	return CTL_EXIT_VERSION;
}

static enum ctl_exit send_verb(struct query *q, const struct ctl_do *verb, const char *what)
{
	struct ctl_do req = *verb;
	enum ctl_exit e = need_minor(q, IPC_MINOR_CTL_DO, what);

	if (e != CTL_EXIT_OK)
		return e;
	req.hdr.op = MSG_CTL_DO;
	req.version = CTL_VERSION;
	e = send_record(q, &req.hdr, sizeof(req));
	return e == CTL_EXIT_OK ? receive_reply(q, MSG_CTL_DO, sizeof(struct msg_hdr)) : e;
}

enum ctl_exit query_do(const char *socket, int timeout_ms, const struct ctl_do *verb,
		       const char *what)
{
	struct query q = {.path = socket, .fd = -1, .timeout_ms = timeout_ms};
	enum ctl_exit e = open_query(&q);

	if (e == CTL_EXIT_OK)
		e = send_verb(&q, verb, what);
	cleanup_close(&q.fd);
	return e;
}

enum ctl_exit query_set(const char *socket, int timeout_ms, const char *key, const char *value)
{
	struct query q = {.path = socket, .fd = -1, .timeout_ms = timeout_ms};
	struct ctl_set req = {.hdr.op = MSG_CTL_SET, .version = CTL_VERSION};
	enum ctl_exit e;

	if (strlen(key) >= sizeof(req.key) || strlen(value) >= sizeof(req.value)) {
		query_error("a key has at most %zu characters, a value %zu", sizeof(req.key) - 1,
			    sizeof(req.value) - 1);
		return CTL_EXIT_USAGE;
	}
	strcpy(req.key, key);
	strcpy(req.value, value);
	e = open_query(&q);
	if (e == CTL_EXIT_OK)
		e = need_minor(&q, IPC_MINOR_CTL_SET, "limit set");
	if (e == CTL_EXIT_OK)
		e = send_record(&q, &req.hdr, sizeof(req));
	if (e == CTL_EXIT_OK)
		e = receive_reply(&q, MSG_CTL_SET, sizeof(struct msg_hdr));
	cleanup_close(&q.fd);
	return e;
}

enum ctl_exit query_watch(const char *socket, int timeout_ms,
			  bool (*fn)(void *arg, const struct ctl_record *rec), void *arg)
{
	struct query q = {.path = socket, .fd = -1, .timeout_ms = timeout_ms};
	const struct ctl_do verb = {.verb = CTL_WATCH};
	enum ctl_exit e = open_query(&q);
	struct ctl_record rec;
	bool more = true;

	if (e == CTL_EXIT_OK)
		e = send_verb(&q, &verb, "monitor");
	q.timeout_ms = -1;
	while (more && e == CTL_EXIT_OK) {
		e = receive_record(&q);
		if (e == CTL_EXIT_OK && !is_record(&q, CTL_EVENT))
			e = bad_reply(&q);
		if (e != CTL_EXIT_OK)
			break;
		copy_record(&rec, &q);
		more = fn(arg, &rec);
	}
	cleanup_close(&q.fd);
	return e;
}

enum ctl_exit query_capture(const char *socket, int timeout_ms, const struct ctl_capture *what,
			    int *ret_conn, int *ret_ring, uint64_t *ret_size)
{
	struct query q = {.path = socket, .fd = -1, .timeout_ms = timeout_ms};
	const struct msg_capture *reply = (const struct msg_capture *)q.buf;
	struct ctl_capture req = *what;
	enum ctl_exit e = open_query(&q);
	int ring = -1;

	req.hdr.op = MSG_CTL_CAPTURE;
	req.version = CTL_VERSION;
	if (e == CTL_EXIT_OK)
		e = need_minor(&q, IPC_MINOR_CTL_CAPTURE, "capture");
	if (e == CTL_EXIT_OK)
		e = send_record(&q, &req.hdr, sizeof(req));
	q.ret_fd = &ring;
	if (e == CTL_EXIT_OK)
		e = receive_reply(&q, MSG_CTL_CAPTURE, sizeof(*reply));
	if (e == CTL_EXIT_OK && ring < 0)
		e = bad_reply(&q);
	if (e != CTL_EXIT_OK) {
		cleanup_close(&ring);
		cleanup_close(&q.fd);
		return e;
	}
	*ret_conn = q.fd;
	*ret_ring = ring;
	*ret_size = reply->size;
	return CTL_EXIT_OK;
}

enum ctl_exit query_set_primary(const char *socket, int timeout_ms, uint32_t assoc,
				const struct msg_addr *remote)
{
	struct query q = {.path = socket, .fd = -1, .timeout_ms = timeout_ms};
	struct msg_set_primary set = {.hdr.op = MSG_SET_PRIMARY, .assoc = assoc, .remote = *remote};
	enum ctl_exit e = open_query(&q);

	if (e == CTL_EXIT_OK)
		e = send_record(&q, &set.hdr, sizeof(set));
	if (e == CTL_EXIT_OK)
		e = receive_reply(&q, MSG_SET_PRIMARY, sizeof(struct msg_hdr));
	cleanup_close(&q.fd);
	return e;
}

static bool knows(const struct query *q, enum ctl_object object)
{
	return q->minor >= IPC_MINOR_CTL_USER || (object != CTL_USER && object != CTL_TURN);
}

enum ctl_exit query_show(const char *socket, int timeout_ms, enum ctl_object object,
			 struct query_reply *ret)
{
	struct query q = {.path = socket, .fd = -1, .timeout_ms = timeout_ms};
	struct ctl_show show = {
		.hdr.op = MSG_CTL_SHOW, .object = (uint32_t)object, .version = CTL_VERSION};
	struct query_reply a = {0};
	enum ctl_exit e = open_query(&q);

	a.older = e == CTL_EXIT_OK && !knows(&q, object);
	if (e == CTL_EXIT_OK && !a.older)
		e = send_record(&q, &show.hdr, sizeof(show));
	if (e == CTL_EXIT_OK && !a.older)
		e = take_records(&q, object, &a);
	cleanup_close(&q.fd);
	if (e == CTL_EXIT_OK)
		*ret = a;
	else
		free(a.recs);
	return e;
}
