/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of ours, with a socket each. */
#include "llp/user/user.h"

#include <errno.h>
#include <stdio.h>

#include "llp/user/udp_holder.h"
#include "util/addr.h"
#include "util/minmax.h"

enum {
	SOCKET_BUFFER = 8 << 20, /* bytes that arrive while we are busy */
	FIRST_WINDOW = 2 << 20,
	LEAST_WINDOW = 8 * 65536,
};

/* On a short path the window may arrive at once, and has to fit into the sockets' receive buffers.
 * On a long path it is spread over a round trip. */
static uint32_t first_window(const struct user *t)
{
	uint32_t window = FIRST_WINDOW;

	for (unsigned i = 0; i < t->nsocks; i++)
		window = min_u32(window, udp_rcvbuf(t->sock[i]) / 2);
	return max_u32(window, LEAST_WINDOW);
}

static struct sockaddr_storage with_port(const struct user *t, const struct sockaddr_storage *a)
{
	struct sockaddr_storage at = *a;

	addr_set_port(&at, t->sctp.cfg.udp_port);
	return at;
}

static void store_sock(const struct user *t, const struct sockaddr_storage *a, const struct udp *u)
{
	const struct llp_fd_store *s = t->sctp.cfg.fd_store;
	struct sockaddr_storage at = with_port(t, a);

	if (s)
		s->put(s->arg, &at, udp_fd(u));
}

static void unstore_sock(const struct user *t, const struct sockaddr_storage *a)
{
	const struct llp_fd_store *s = t->sctp.cfg.fd_store;
	struct sockaddr_storage at = with_port(t, a);

	if (s)
		s->drop(s->arg, &at);
}

/* The socket that an earlier process had. */
static bool take_stored(const struct user *t, const struct sockaddr_storage *a, struct udp **ret)
{
	const struct llp_fd_store *s = t->sctp.cfg.fd_store;
	struct sockaddr_storage at = with_port(t, a);
	int fd = s ? s->take(s->arg, &at) : -1;

	if (fd < 0)
		return false;
	if (udp_adopt(fd, a, t->sctp.cfg.udp_port, SOCKET_BUFFER, ret) == 0)
		return true;
	unstore_sock(t, a);
	return false;
}

/* Who has the port. To find it out takes long: not where addresses are tried one after the other.
 */
static const char *holder_text(const struct user *t, const struct sockaddr_storage *a,
			       char ret[UDP_HOLDER_MAX])
{
	if (!t->sctp.cfg.fd_store)
		return "";
	return udp_holder_text(a, t->sctp.cfg.udp_port, ret);
}

static int open_sock(const struct user *t, const struct sockaddr_storage *a, struct udp **ret,
		     char *ret_reason, size_t len)
{
	unsigned port = t->sctp.cfg.udp_port;
	char text[ADDR_TEXT_MAX], holder[UDP_HOLDER_MAX];
	int r = take_stored(t, a, ret) ? 0 : udp_open(a, (uint16_t)port, SOCKET_BUFFER, ret);

	addr_host_text(a, text);
	if (r == -EADDRINUSE)
		snprintf(ret_reason, len, "UDP port %u of %s is in use%s", port, text,
			 holder_text(t, a, holder));
	else if (r == -EADDRNOTAVAIL)
		snprintf(ret_reason, len, "%s is not an address of this host", text);
	else if (r < 0)
		snprintf(ret_reason, len, "UDP port %u of %s: %s", port, text, strerror(-r));
	return r;
}

/* The kernel has chosen a port for the first socket: the others have it, too. */
static void take_free_port(struct user *t, const struct udp *first)
{
	const struct llp_config *cfg = &t->sctp.cfg;

	if (!cfg->ret_free_port || cfg->udp_port)
		return;
	*cfg->ret_free_port = addr_port(udp_local(first));
	t->sctp.cfg.udp_port = *cfg->ret_free_port;
	sctp_set_udp_port(t->core, t->sctp.cfg.udp_port);
}

/* The place of the address if it had one, else one that no association needs; -1: none. */
static int find_place(const struct user *t, const struct sockaddr_storage *a)
{
	for (unsigned i = 0; i < t->nsocks; i++)
		if (addr_same_host(&t->sctp.addrs[i], a))
			return (int)i;
	if (t->nsocks < LLP_MAX_OWN)
		return (int)t->nsocks;
	for (unsigned i = 0; i < t->nsocks; i++)
		if (t->sctp.dropped[i] && !sctp_uses_local(t->core, (uint8_t)i))
			return (int)i;
	return -1;
}

static void add_stats(struct udp_stats *sum, const struct udp *sock)
{
	struct udp_stats u;

	udp_stats(sock, &u);
	sum->tx_packets += u.tx_packets;
	sum->tx_batches += u.tx_batches;
	sum->tx_bytes += u.tx_bytes;
	sum->tx_errors += u.tx_errors;
	sum->rx_packets += u.rx_packets;
	sum->rx_batches += u.rx_batches;
	sum->rx_bytes += u.rx_bytes;
	sum->rx_cut += u.rx_cut;
	sum->rx_dropped += u.rx_dropped;
}

void llp_user_udp_stats(const struct user *t, struct udp_stats *ret)
{
	*ret = t->closed;
	for (unsigned i = 0; i < t->nsocks; i++)
		add_stats(ret, t->sock[i]);
}

static void close_sock(struct user *t, unsigned i)
{
	add_stats(&t->closed, t->sock[i]);
	t->sock[i] = udp_close(t->sock[i]);
	t->watched[i] = false;
}

static void put_sock(struct user *t, unsigned i, const struct sockaddr_storage *a, struct udp *u)
{
	if (i < t->nsocks)
		close_sock(t, i);
	else
		t->sctp.cfg.naddrs = ++t->nsocks;
	t->sock[i] = u;
	t->quiet[i] = 0;
	t->sctp.addrs[i] = *a;
	take_free_port(t, u);
	sctp_set_recv_first(t->core, first_window(t));
	t->guard.stale = true;
}

int llp_user_add_addr(struct llp *llp, const struct sockaddr_storage *a, char *ret_reason,
		      size_t len)
{
	struct user *t = (struct user *)llp;
	int i = find_place(t, a), r = llp_sctp_check_addr(a, ret_reason, len);
	struct sctp_addr own;
	struct udp *u;

	_Static_assert((int)LLP_MAX_OWN <= (int)SCTP_MAX_OWN, "the core takes them all");
	if (r < 0)
		return r;
	if (i < 0) {
		snprintf(ret_reason, len, "at most %d addresses, and all are in use", LLP_MAX_OWN);
		return -ENOBUFS;
	}
	if ((unsigned)i == t->nsocks || !addr_same_host(&t->sctp.addrs[i], a)) {
		r = open_sock(t, a, &u, ret_reason, len);
		if (r < 0)
			return r;
		put_sock(t, (unsigned)i, a, u);
	}
	t->sctp.dropped[i] = false;
	store_sock(t, a, t->sock[i]);
	own = llp_user_addr(a);
	sctp_set_local(t->core, (uint8_t)i, &own);
	llp_user_forget_routes(t);
	return 0;
}

void llp_user_drop_addr(struct llp *llp, const struct sockaddr_storage *a)
{
	struct user *t = (struct user *)llp;
	int i = llp_sctp_find_addr(&t->sctp, a);

	if (i < 0)
		return;
	t->sctp.dropped[i] = true;
	unstore_sock(t, a);
	sctp_drop_local(t->core, (uint8_t)i);
	llp_user_forget_routes(t);
}
