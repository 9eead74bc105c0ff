/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of ours, with a socket for each cover. */
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

	for (unsigned k = 0; k < t->ncovers; k++)
		for (unsigned i = 0; i < t->naddrs; i++)
			window = min_u32(window, udp_rcvbuf(t->sock[k][i].udp) / 2);
	return max_u32(window, LEAST_WINDOW);
}

/* Address i with the port of its socket. */
static struct sockaddr_storage with_port(const struct user *t, const struct sockaddr_storage *a,
					 unsigned cover)
{
	struct sockaddr_storage at = *a;

	addr_set_port(&at, llp_user_port(t, cover));
	return at;
}

static void store_socks(const struct user *t, unsigned i)
{
	const struct llp_fd_store *s = t->sctp.cfg.fd_store;

	for (unsigned k = 0; s && k < t->ncovers; k++) {
		struct sockaddr_storage at = with_port(t, &t->sctp.addrs[i], k);

		s->put(s->arg, &at, udp_fd(t->sock[k][i].udp));
	}
}

static void unstore_socks(const struct user *t, const struct sockaddr_storage *a)
{
	const struct llp_fd_store *s = t->sctp.cfg.fd_store;

	for (unsigned k = 0; s && k < t->ncovers; k++) {
		struct sockaddr_storage at = with_port(t, a, k);

		s->drop(s->arg, &at);
	}
}

/* The socket that an earlier process had. at: with the port. */
static bool take_stored(const struct user *t, const struct sockaddr_storage *at, struct udp **ret)
{
	const struct llp_fd_store *s = t->sctp.cfg.fd_store;
	int fd = s ? s->take(s->arg, at) : -1;

	if (fd < 0)
		return false;
	if (udp_adopt(fd, at, addr_port(at), SOCKET_BUFFER, ret) == 0)
		return true;
	s->drop(s->arg, at);
	return false;
}

/* Who has the port. To find it out takes long: not where addresses are tried one after the other.
 */
static const char *holder_text(const struct user *t, const struct sockaddr_storage *at,
			       char ret[UDP_HOLDER_MAX])
{
	if (!t->sctp.cfg.fd_store)
		return "";
	return udp_holder_text(at, addr_port(at), ret);
}

static int open_sock(const struct user *t, const struct sockaddr_storage *a, unsigned cover,
		     struct udp **ret, char *ret_reason, size_t len)
{
	struct sockaddr_storage at = with_port(t, a, cover);
	unsigned port = addr_port(&at);
	char text[ADDR_TEXT_MAX], holder[UDP_HOLDER_MAX];
	int r = take_stored(t, &at, ret) ? 0 : udp_open(a, (uint16_t)port, SOCKET_BUFFER, ret);

	addr_host_text(a, text);
	if (r == -EADDRINUSE)
		snprintf(ret_reason, len, "UDP port %u of %s is in use%s", port, text,
			 holder_text(t, &at, holder));
	else if (r == -EADDRNOTAVAIL)
		snprintf(ret_reason, len, "%s is not an address of this host", text);
	else if (r < 0)
		snprintf(ret_reason, len, "UDP port %u of %s: %s", port, text, strerror(-r));
	return r;
}

/* A socket for each cover, or none. */
static int open_socks(const struct user *t, const struct sockaddr_storage *a,
		      struct udp *ret[USER_COVERS], char *ret_reason, size_t len)
{
	struct udp *u[USER_COVERS] = {NULL};

	for (unsigned k = 0; k < t->ncovers; k++) {
		int r = open_sock(t, a, k, &u[k], ret_reason, len);

		if (r < 0) {
			udp_close(u[0]);
			return r;
		}
	}
	memcpy(ret, u, sizeof(u));
	return 0;
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
	for (unsigned i = 0; i < t->naddrs; i++)
		if (addr_same_host(&t->sctp.addrs[i], a))
			return (int)i;
	if (t->naddrs < LLP_MAX_OWN)
		return (int)t->naddrs;
	for (unsigned i = 0; i < t->naddrs; i++)
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
	for (unsigned k = 0; k < t->ncovers; k++)
		for (unsigned i = 0; i < t->naddrs; i++)
			add_stats(ret, t->sock[k][i].udp);
}

void llp_user_close_socks(struct user *t, unsigned i)
{
	for (unsigned k = 0; k < t->ncovers; k++) {
		add_stats(&t->closed, t->sock[k][i].udp);
		udp_close(t->sock[k][i].udp);
		t->sock[k][i] = (struct user_sock){.udp = NULL};
	}
}

static void put_socks(struct user *t, unsigned i, const struct sockaddr_storage *a,
		      struct udp *const u[USER_COVERS])
{
	if (i < t->naddrs)
		llp_user_close_socks(t, i);
	else
		t->sctp.cfg.naddrs = ++t->naddrs;
	for (unsigned k = 0; k < t->ncovers; k++)
		t->sock[k][i].udp = u[k];
	t->sctp.addrs[i] = *a;
	take_free_port(t, u[USER_CLEAR]);
	sctp_set_recv_first(t->core, first_window(t));
	for (unsigned k = 0; k < t->ncovers; k++)
		llp_user_guard_renew(t, k);
}

int llp_user_add_addr(struct llp *llp, const struct sockaddr_storage *a, char *ret_reason,
		      size_t len)
{
	struct user *t = (struct user *)llp;
	int i = find_place(t, a), r = llp_sctp_check_addr(a, ret_reason, len);
	struct sctp_addr own;
	struct udp *u[USER_COVERS];

	_Static_assert((int)LLP_MAX_OWN <= (int)SCTP_MAX_OWN, "the core takes them all");
	if (r < 0)
		return r;
	if (i < 0) {
		snprintf(ret_reason, len, "at most %d addresses, and all are in use", LLP_MAX_OWN);
		return -ENOBUFS;
	}
	if ((unsigned)i == t->naddrs || !addr_same_host(&t->sctp.addrs[i], a)) {
		r = open_socks(t, a, u, ret_reason, len);
		if (r < 0)
			return r;
		put_socks(t, (unsigned)i, a, u);
	}
	t->sctp.dropped[i] = false;
	store_socks(t, (unsigned)i);
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
	unstore_socks(t, a);
	sctp_drop_local(t->core, (uint8_t)i);
	llp_user_forget_routes(t);
}
