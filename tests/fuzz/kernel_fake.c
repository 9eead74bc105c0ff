/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/kernel_fake.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "llp/common/route.h"

enum {
	SOCKETS = 64, /* descriptors below are ours */
	QUEUE = 12,   /* messages that wait at a socket; fewer than a pair of sockets holds */
	BYTES = 400,  /* of one */
};

struct message {
	int flags;
	size_t len;
	bool has_info;
	struct sctp_rcvinfo info;
	_Alignas(max_align_t) uint8_t b[BYTES];
};

static struct fake_socket {
	bool used, ended, eof, listening;
	int far; /* the end that makes it readable */
	int err, send_err;
	unsigned arrivals; /* to accept */
	unsigned n;
	struct message q[QUEUE];
} sockets[SOCKETS];

static struct input *in;

static struct fake_socket *fake(int fd)
{
	return fd >= 0 && fd < SOCKETS && sockets[fd].used ? &sockets[fd] : NULL;
}

/* Descriptors of closed sockets are used again. */
static int new_socket(void)
{
	int sv[2];

	must(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv) == 0);
	must(sv[0] < SOCKETS);
	if (sockets[sv[0]].used)
		close(sockets[sv[0]].far);
	sockets[sv[0]] = (struct fake_socket){.used = true, .far = sv[1]};
	return sv[0];
}

static void make_readable(const struct fake_socket *s)
{
	(void)!write(s->far, "", 1);
}

/* ---- system calls ---- */

int socket(int family, int type, int protocol)
{
	if (protocol != IPPROTO_SCTP)
		return (int)syscall(SYS_socket, family, type, protocol);
	if (in && in_8(in) == 0xff) {
		errno = EMFILE;
		return -1;
	}
	return new_socket();
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return fake(fd) ? 0 : (int)syscall(SYS_bind, fd, addr, len);
}

int listen(int fd, int backlog)
{
	(void)backlog;
	must(fake(fd));
	sockets[fd].listening = true;
	return 0;
}

static struct message *new_message(struct fake_socket *s)
{
	struct message *m = s && s->n < QUEUE ? &s->q[s->n] : NULL;

	if (!m)
		return NULL;
	memset(m, 0, sizeof(*m));
	s->n++;
	make_readable(s);
	return m;
}

/* Linux has both events when it accepts an association of a peer with an indication. */
static void arrive_up(struct fake_socket *s)
{
	struct message *m = new_message(s);
	union sctp_notification *n = (void *)m->b;

	m->flags = MSG_NOTIFICATION | MSG_EOR;
	m->len = sizeof(n->sn_assoc_change);
	n->sn_header.sn_type = SCTP_ASSOC_CHANGE;
	n->sn_assoc_change.sac_state = SCTP_COMM_UP;
	m = new_message(s);
	n = (void *)m->b;
	m->flags = MSG_NOTIFICATION | MSG_EOR;
	m->len = sizeof(n->sn_adaptation_event);
	n->sn_header.sn_type = SCTP_ADAPTATION_INDICATION;
	n->sn_adaptation_event.sai_adaptation_ind = in_8(in);
}

int accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	const struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(4000)};
	struct fake_socket *s = fake(fd);
	uint8_t byte;
	int got;

	(void)flags;
	must(s && s->listening);
	while (recv(fd, &byte, 1, 0) > 0)
		;
	if (s->err || s->arrivals == 0) {
		errno = s->err ? s->err : EAGAIN;
		s->err = 0;
		return -1;
	}
	s->arrivals--;
	memcpy(addr, &from, sizeof(from));
	*len = sizeof(from);
	got = new_socket();
	if (in_8(in) % 4)
		arrive_up(&sockets[got]);
	return got;
}

int shutdown(int fd, int how)
{
	(void)how;
	must(fake(fd));
	return 0;
}

int getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(5043)};

	must(fake(fd) && *len >= sizeof(a));
	a.sin_addr.s_addr = htonl(0x0a000001);
	memcpy(addr, &a, sizeof(a));
	*len = sizeof(a);
	return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (level == IPPROTO_SCTP || fake(fd))
		return 0;
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

static int get_sctp(const struct fake_socket *s, int name, void *value, socklen_t len)
{
	struct sctp_status *st = value;
	struct sctp_prim *prim = value;

	if (s->ended) {
		errno = EINVAL;
		return -1;
	}
	memset(value, 0, len);
	if (name == SCTP_STATUS) {
		st->sstat_instrms = st->sstat_outstrms = 8;
		st->sstat_fragmentation_point = 1400;
		st->sstat_primary.spinfo_cwnd = 4380;
	} else if (name == SCTP_PRIMARY_ADDR) {
		prim->ssp_addr.ss_family = AF_INET;
	} else if (name == SCTP_GET_PEER_ADDR_INFO) {
		((struct sctp_paddrinfo *)value)->spinfo_state = in_8(in) % 8;
	}
	return 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct fake_socket *s = fake(fd);

	if (!s)
		return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
	if (level == IPPROTO_SCTP)
		return get_sctp(s, name, value, *len);
	memset(value, 0, *len);
	if (name == SO_ERROR) {
		memcpy(value, &s->err, sizeof(s->err));
		s->err = 0;
	} else if (name == SO_RCVBUF || name == SO_SNDBUF) {
		memcpy(value, &(int){1 << 22}, sizeof(int));
	}
	return 0;
}

static void put_info(struct msghdr *h, const struct message *m)
{
	struct cmsghdr *cm;

	if (!m->has_info) {
		h->msg_controllen = 0;
		return;
	}
	must(h->msg_controllen >= CMSG_SPACE(sizeof(m->info)));
	cm = CMSG_FIRSTHDR(h);
	cm->cmsg_level = IPPROTO_SCTP;
	cm->cmsg_type = SCTP_RCVINFO;
	cm->cmsg_len = CMSG_LEN(sizeof(m->info));
	memcpy(CMSG_DATA(cm), &m->info, sizeof(m->info));
	h->msg_controllen = CMSG_SPACE(sizeof(m->info));
}

static void take(struct fake_socket *s, struct mmsghdr *to)
{
	const struct message *m = &s->q[0];

	must(to->msg_hdr.msg_iov->iov_len >= m->len);
	memcpy(to->msg_hdr.msg_iov->iov_base, m->b, m->len);
	to->msg_len = (unsigned)m->len;
	to->msg_hdr.msg_flags = m->flags;
	put_info(&to->msg_hdr, m);
	memmove(&s->q[0], &s->q[1], --s->n * sizeof(s->q[0]));
}

int recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout)
{
	struct fake_socket *s = fake(fd);
	unsigned got = 0;
	uint8_t byte;

	(void)flags;
	(void)timeout;
	must(s && !s->listening);
	while (recv(fd, &byte, 1, 0) > 0)
		;
	if (s->err) {
		errno = s->err;
		s->err = 0;
		return -1;
	}
	for (; got < n && s->n > 0; got++)
		take(s, &msgs[got]);
	if (got == 0 && s->eof) {
		msgs[0].msg_len = 0;
		msgs[0].msg_hdr.msg_flags = 0;
		msgs[0].msg_hdr.msg_controllen = 0;
		return 1;
	}
	errno = EAGAIN;
	return got ? (int)got : -1;
}

int sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	struct fake_socket *s = fake(fd);

	(void)msgs;
	(void)flags;
	must(s && n > 0);
	if (!s->send_err)
		return (int)n;
	errno = s->send_err;
	s->send_err = 0;
	return -1;
}

/* ---- libsctp ---- */

int sctp_bindx(int fd, struct sockaddr *addrs, int n, int flags)
{
	(void)addrs;
	(void)n;
	(void)flags;
	must(fake(fd));
	return 0;
}

int sctp_connectx(int fd, struct sockaddr *addrs, int n, sctp_assoc_t *id)
{
	(void)addrs;
	(void)n;
	(void)id;
	must(fake(fd));
	errno = in_8(in) == 0xff ? ENETUNREACH : EINPROGRESS;
	return -1;
}

int sctp_getpaddrs(int fd, sctp_assoc_t id, struct sockaddr **ret)
{
	unsigned n = in_8(in) % 24;
	struct sockaddr_in *a = calloc(n + 1, sizeof(*a));

	(void)id;
	must(a && fake(fd));
	if (n == 0 || fake(fd)->ended) {
		free(a);
		return -1;
	}
	for (unsigned i = 0; i < n; i++) {
		a[i].sin_family = AF_INET;
		a[i].sin_addr.s_addr = htonl(0x0a000000 | i);
	}
	*ret = (struct sockaddr *)a;
	return (int)n;
}

int sctp_freepaddrs(struct sockaddr *addrs)
{
	free(addrs);
	return 0;
}

int route_find(const struct sockaddr_storage *local, const struct sockaddr_storage *to,
	       struct route *ret)
{
	(void)local;
	(void)to;
	(void)ret;
	return -ENETUNREACH;
}

/* ---- what arrives ---- */

static struct fake_socket *some_socket(bool listening)
{
	unsigned skip = in_8(in) % 8;
	struct fake_socket *last = NULL;

	for (unsigned i = 0; i < SOCKETS; i++) {
		if (!sockets[i].used || sockets[i].listening != listening)
			continue;
		last = &sockets[i];
		if (skip-- == 0)
			break;
	}
	return last;
}

static size_t put_assoc_change(union sctp_notification *n, uint16_t state)
{
	n->sn_assoc_change.sac_state = state;
	n->sn_assoc_change.sac_error = htons(in_8(in));
	return sizeof(n->sn_assoc_change);
}

static size_t put_path(union sctp_notification *n)
{
	n->sn_paddr_change.spc_state = in_8(in) % 8;
	n->sn_paddr_change.spc_aaddr.ss_family = in_8(in) % 4 ? AF_INET : in_16(in);
	return sizeof(n->sn_paddr_change);
}

/* Returns its length without what may follow it. */
static size_t put_notification(union sctp_notification *n, uint8_t kind)
{
	static const uint16_t types[] = {
		SCTP_ASSOC_CHANGE,     SCTP_ADAPTATION_INDICATION,  SCTP_SENDER_DRY_EVENT,
		SCTP_PEER_ADDR_CHANGE, SCTP_PARTIAL_DELIVERY_EVENT, SCTP_SHUTDOWN_EVENT,
	};

	n->sn_header.sn_type = types[kind % 6];
	switch (n->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		return put_assoc_change(n, in_8(in) % 6);
	case SCTP_ADAPTATION_INDICATION:
		n->sn_adaptation_event.sai_adaptation_ind = in_8(in);
		return sizeof(n->sn_adaptation_event);
	case SCTP_PEER_ADDR_CHANGE:
		return put_path(n);
	default:
		return sizeof(n->sn_header);
	}
}

void kernel_fake_notify(void)
{
	struct message *m = new_message(some_socket(false));
	uint8_t kind = in_8(in);

	if (!m)
		return;
	m->flags = MSG_NOTIFICATION | (kind & 64 ? 0 : MSG_EOR);
	m->len = put_notification((union sctp_notification *)(void *)m->b, kind % 32);
	if (kind & 128)
		m->len += in_copy(in, m->b + m->len, in_8(in) % 200);
	if (kind & 32)
		m->len = in_8(in) % (m->len + 1);
}

void kernel_fake_message(void)
{
	struct message *m = new_message(some_socket(false));
	uint8_t bits = in_8(in);

	if (!m)
		return;
	m->flags = bits & 1 ? 0 : MSG_EOR;
	m->has_info = !(bits & 2);
	m->info.rcv_sid = in_8(in);
	m->info.rcv_ppid = htonl(in_8(in));
	m->info.rcv_flags = bits & 4 ? 0 : SCTP_UNORDERED;
	m->len = bits & 8 ? BYTES : in_8(in);
	in_copy(in, m->b, bits & 8 ? 0 : m->len);
}

static const int errors[] = {ECONNREFUSED, ETIMEDOUT, ECONNRESET, ENOPROTOOPT, EMFILE, EINTR,
			     EPIPE,        EMSGSIZE,  EAGAIN,     ENOMEM,      EINVAL, 0};

void kernel_fake_change(void)
{
	uint8_t what = in_8(in);
	struct fake_socket *s = some_socket(what % 8 == 0);
	int err = errors[what / 8 % 12];

	if (!s)
		return;
	switch (what % 8) {
	case 0:
		s->arrivals++;
		s->err = err == EMFILE ? err : 0;
		break;
	case 1:
		s->err = err;
		break;
	case 2:
		s->send_err = err;
		break;
	case 3:
		s->eof = true;
		break;
	case 4:
		s->ended = true;
		break;
	default:
		s->ended = s->eof = true;
		s->err = err;
	}
	make_readable(s);
}

/* ---- one input ---- */

void kernel_fake_begin(struct input *from)
{
	in = from;
}

void kernel_fake_end(void)
{
	for (unsigned i = 0; i < SOCKETS; i++) {
		if (sockets[i].used)
			close(sockets[i].far);
		sockets[i].used = false;
	}
}
