/* SPDX-License-Identifier: BSD-2-Clause */
/* The transport as a whole: opening, driving and closing it. */
#include "llp/kernel/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "util/addr.h"
#include "util/cleanup.h"
#include "util/minmax.h"

enum {
	EVENTS = 256,      /* epoll events per turn */
	MEASURE_MS = 1000, /* interval at which the paths of active associations are measured */
};

/* ---- open ---- */

static int check_config(const struct llp_config *cfg, char *ret_reason, size_t len)
{
	if (cfg->adaptation == 0) {
		snprintf(ret_reason, len,
			 "adaptation indication 0: Linux cannot tell it from none; choose another "
			 "value");
		return -EINVAL;
	}
	return llp_sctp_check_config(cfg, ret_reason, len);
}

/* The kernel receives SCTP over UDP at one port per network namespace. */
static int check_tunnel(const struct llp_config *cfg, char *ret_reason, size_t len)
{
	static const char path[] = "/proc/sys/net/sctp/udp_port";
	char text[16] = "";
	autoclose int fd = cfg->udp_port ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (cfg->udp_port == 0)
		return 0;
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0) {
		snprintf(ret_reason, len, "UDP port %u: %s cannot be read: %s", cfg->udp_port, path,
			 strerror(errno));
		return -EOPNOTSUPP;
	}
	if (strtoul(text, NULL, 10) == cfg->udp_port)
		return 0;
	snprintf(ret_reason, len,
		 "UDP port %u: the kernel receives at port %lu; set the sysctl net.sctp.udp_port "
		 "to %u",
		 cfg->udp_port, strtoul(text, NULL, 10), cfg->udp_port);
	return -EOPNOTSUPP;
}

/* Opens a socket with the options of an association's, to see whether that is possible at an
 * address; NULL: at all. */
static int try_addr(struct kernel *t, const struct sockaddr_storage *a, uint32_t *ret_buffer,
		    char *ret_reason, size_t len)
{
	const char *what;
	char text[ADDR_TEXT_MAX];
	int fd = kernel_sock_new(t, &(struct llp_addrs){a, a != NULL}, 0, &what);

	addr_host_text(a ? a : &(struct sockaddr_storage){0}, text);
	if (fd == -EPROTONOSUPPORT || fd == -ESOCKTNOSUPPORT || fd == -EAFNOSUPPORT)
		snprintf(ret_reason, len, "this kernel has no SCTP (%s)", strerror(-fd));
	else if (fd == -EADDRNOTAVAIL)
		snprintf(ret_reason, len, "%s is not an address of this host", text);
	else if (fd < 0)
		snprintf(ret_reason, len, "socket at %s: %s: %s", text, what, strerror(-fd));
	if (fd < 0)
		return fd;
	*ret_buffer = kernel_sock_buffer(fd);
	close(fd);
	return 0;
}

static int try_addrs(struct kernel *t, char *ret_reason, size_t len)
{
	uint32_t buffer = 0;
	int r = try_addr(t, NULL, &buffer, ret_reason, len);

	for (unsigned i = 0; r == 0 && i < t->sctp.cfg.naddrs; i++)
		r = try_addr(t, &t->sctp.addrs[i], &buffer, ret_reason, len);
	if (r)
		return r;
	if (buffer < t->sctp.cfg.buffer)
		snprintf(ret_reason, len,
			 "buffers have %u bytes instead of %u: net.core.rmem_max and "
			 "net.core.wmem_max "
			 "limit a process without CAP_NET_ADMIN",
			 buffer, t->sctp.cfg.buffer);
	return 0;
}

static const struct llp_ops ops;

static struct kernel *alloc_kernel(const struct llp_config *cfg, const struct llp_events *ev)
{
	struct kernel *t = calloc(1, sizeof(*t));
	struct timespec res = {0};

	if (!t)
		return NULL;
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0 || kernel_rx_init(t) < 0) {
		if (t->epoll >= 0)
			close(t->epoll);
		free(t);
		return NULL;
	}
	llp_sctp_init(&t->sctp, &ops, &kernel_upcall_ops, cfg, ev);
	clock_getres(CLOCK_MONOTONIC_COARSE, &res);
	t->tick_ns = (uint64_t)res.tv_nsec;
	list_init(&t->dirty);
	list_init(&t->used);
	list_init(&t->listening);
	list_init(&t->listeners);
	return t;
}

static void free_kernel(struct kernel *t)
{
	close(t->epoll);
	free(t->rx_mem);
	free(t);
}

int llp_kernel_open(const struct llp_config *cfg, const struct llp_events *ev, struct llp **ret,
		    char *ret_reason, size_t len)
{
	struct kernel *t;
	int r;

	*ret_reason = 0;
	r = check_config(cfg, ret_reason, len);
	if (r)
		return r;
	t = alloc_kernel(cfg, ev);
	if (!t) {
		snprintf(ret_reason, len, "no memory");
		return -ENOMEM;
	}
	r = try_addrs(t, ret_reason, len);
	if (r == 0)
		r = check_tunnel(cfg, ret_reason, len);
	if (r) {
		free_kernel(t);
		return r;
	}
	*ret = &t->sctp.base;
	return 0;
}

static void kernel_close(struct llp *llp)
{
	struct kernel *t = (struct kernel *)llp;

	list_foreach_safe (it, &t->listeners) {
		kernel_unlisten(&list_entry(it, struct kernel_listener, all)->base);
	}
	list_foreach_safe (it, &t->sctp.conns) {
		kernel_conn_free(&list_entry(it, struct kernel_conn, sctp.all)->sctp.base);
	}
	free_kernel(t);
}

/* ---- addresses ---- */

static int kernel_add_addr(struct llp *llp, const struct sockaddr_storage *a, char *ret_reason,
			   size_t len)
{
	struct kernel *t = (struct kernel *)llp;
	int r = llp_sctp_check_addr(a, ret_reason, len);
	uint32_t buffer;

	if (r || llp_sctp_find_addr(&t->sctp, a) >= 0)
		return r;
	if (t->sctp.cfg.naddrs == LLP_MAX_OWN) {
		snprintf(ret_reason, len, "at most %d addresses, and all are in use", LLP_MAX_OWN);
		return -ENOBUFS;
	}
	r = try_addr(t, a, &buffer, ret_reason, len);
	if (r == 0) {
		r = kernel_listener_add_addr(t, a);
		if (r)
			snprintf(ret_reason, len, "a socket of a listener: %s", strerror(-r));
	}
	if (r == 0)
		t->sctp.addrs[t->sctp.cfg.naddrs++] = *a;
	return r;
}

static void kernel_drop_addr(struct llp *llp, const struct sockaddr_storage *a)
{
	struct kernel *t = (struct kernel *)llp;
	int i = llp_sctp_find_addr(&t->sctp, a);

	if (i < 0)
		return;
	kernel_listener_drop_addr(t, &t->sctp.addrs[i]);
	t->sctp.addrs[i] = t->sctp.addrs[--t->sctp.cfg.naddrs];
}

/* ---- drive ---- */

static unsigned kernel_fds(const struct llp *llp, int ret_fds[LLP_MAX_FDS])
{
	ret_fds[0] = ((const struct kernel *)llp)->epoll;
	return 1;
}

/* Frees no record: later events of the batch may refer to it. */
static void note_event(struct kernel *t, struct kernel_watch *w, uint32_t events)
{
	struct kernel_conn *c;

	if (w->listening) {
		kernel_listener_accept(t, list_entry(w, struct kernel_listening, watch));
		return;
	}
	c = list_entry(w, struct kernel_conn, watch);
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		c->readable = true;
	if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
		c->writable = true;
	llp_sctp_touch(&c->sctp);
}

static bool kernel_input(struct llp *llp, unsigned budget)
{
	struct kernel *t = (struct kernel *)llp;
	struct epoll_event events[EVENTS];
	int n = epoll_wait(t->epoll, events, EVENTS, 0);
	bool any = n > 0 || !list_empty(&t->sctp.ready);

	for (int i = 0; i < n; i++)
		note_event(t, events[i].data.ptr, events[i].events);
	kernel_dispatch(t, budget);
	return any;
}

/* No event reports that a path MTU has grown. */
static void measure_conns(struct kernel *t)
{
	struct list *l;

	if (t->sctp.now_ms < t->measure_ms)
		return;
	t->measure_ms = t->sctp.now_ms + MEASURE_MS;
	while ((l = list_pop(&t->used))) {
		struct kernel_conn *c = list_entry(l, struct kernel_conn, used);

		if (kernel_conn_measure(c))
			kernel_conn_count(c, &t->stats);
	}
}

static void kernel_tick(struct llp *llp, uint64_t now_ms)
{
	struct kernel *t = (struct kernel *)llp;

	llp_sctp_set_time(&t->sctp, now_ms);
	kernel_conn_expire(t);
	kernel_listener_resume(t);
	measure_conns(t);
	kernel_dispatch(t, EVENTS);
}

static uint64_t kernel_expiry_us(const struct llp *llp)
{
	const struct kernel *t = (const struct kernel *)llp;
	uint64_t connect = llp_sctp_expiry_us(&t->sctp), listen = kernel_listener_expiry_us(t);

	if (!list_empty(&t->sctp.ready))
		return llp_sctp_now_us(&t->sctp);
	return min_u64(connect, listen);
}

static void kernel_stats(const struct llp *llp, struct llp_stats *ret)
{
	const struct kernel *t = (const struct kernel *)llp;

	*ret = t->stats;
	/* Packets of idle associations, heartbeats, are counted when they are used again or end. */
	list_foreach (it, &t->used) {
		struct kernel_conn now = *list_entry(it, struct kernel_conn, used);

		kernel_conn_count(&now, ret);
	}
}

static const struct llp_ops ops = {
	.name = "kernel",
	.close = kernel_close,
	.add_addr = kernel_add_addr,
	.drop_addr = kernel_drop_addr,
	.fds = kernel_fds,
	.input = kernel_input,
	.tick = kernel_tick,
	.expiry_us = kernel_expiry_us,
	.flush = kernel_flush,
	.listen = kernel_listen,
	.unlisten = kernel_unlisten,
	.connect = kernel_connect,
	.send = kernel_send,
	.recv = kernel_recv,
	.info = kernel_info,
	.paths = kernel_paths,
	.set_primary = kernel_set_primary,
	.stats = kernel_stats,
	.shutdown = kernel_shutdown,
	.abort = kernel_abort,
	.conn_free = kernel_conn_free,
};
