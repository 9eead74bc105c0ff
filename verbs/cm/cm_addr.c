/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm/cm_addr.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/base/addr.h"
#include "verbs/base/error.h"
#include "verbs/cm/cm_event.h"
#include "verbs/cm/cm_listen.h"
#include "verbs/cm/cm_sync.h"

/* ---- ids ---- */

void cm_addr_publish(struct cm_id *id)
{
	id->ibv.route.addr.src_storage = id->src;
	id->ibv.route.addr.dst_storage = id->dst;
}

bool cm_addr_chosen(const struct cm_id *id)
{
	return id->has_source;
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return htons(addr_port(&cm_of(id)->dst));
}

/* ---- daemons ---- */

/* All that a daemon has. */
struct own_addrs {
	struct sockaddr_storage a[GID_TABLE_MAX];
	int n;
};

static void query_own(struct host *h, struct own_addrs *ret)
{
	int n = ddp_query_addrs(host_ddp(h), ret->a, GID_TABLE_MAX);

	ret->n = n < 0 ? 0 : n;
}

static bool has_addr(struct host *h, const struct sockaddr_storage *a)
{
	struct own_addrs own;

	query_own(h, &own);
	for (int i = 0; i < own.n; i++)
		if (addr_same(&own.a[i], a) ||
		    (addr_is_any(&own.a[i]) && own.a[i].ss_family == a->ss_family))
			return true;
	return false;
}

bool cm_addr_to_listen(const struct cm_id *id, struct host *h, struct sockaddr_storage *ret)
{
	const struct sockaddr_storage *src = &id->src;
	const uint16_t port = addr_port(src);
	struct own_addrs own;
	int of_family = 0;

	*ret = *src;
	if (!id->family_only || !addr_is_any(src))
		return true;
	query_own(h, &own);
	for (int i = own.n; i-- > 0;)
		if (own.a[i].ss_family == src->ss_family) {
			*ret = own.a[i];
			of_family++;
		}
	if (of_family == own.n)
		*ret = *src;
	addr_set_port(ret, port);
	return of_family > 0;
}

/* The daemon that has the address, or NULL. */
static struct host *host_with(const struct sockaddr_storage *a)
{
	const unsigned n = host_count();

	for (unsigned i = 0; i < n; i++)
		if (has_addr(host_at(i), a))
			return host_at(i);
	return NULL;
}

/* The same; the first daemon if the address is a wildcard. NULL with errno. */
static struct host *host_of(const struct sockaddr_storage *a)
{
	struct host *h;

	if (host_count() == 0) {
		errno = ENODEV;
		return NULL;
	}
	h = addr_is_any(a) ? host_at(0) : host_with(a);
	if (h)
		return h;
	error_probed("rdma_bind_addr",
		     "no daemon has this address: see the key 'listen' in ddpsctpd.yaml(5)",
		     EADDRNOTAVAIL);
	return NULL;
}

int cm_addr_any_host(struct cm_id *id)
{
	struct host *h;

	if (!id->host)
		host_revive_all();
	h = host_of(&id->src);
	if (!h)
		return -1;
	if (id->host)
		return 0;
	return cm_take_host(id, h);
}

/* ---- binding and resolving ---- */

/* As in the kernel, a loopback address does not bind to a device. Programs use it to list devices.
 */
static bool binds_no_device(const struct sockaddr_storage *src)
{
	return addr_is_any(src) || (addr_is_loopback(src) && host_count() && !host_with(src));
}

/* As in the kernel, the port is taken from now on. */
static int reserve_port(struct cm_id *id)
{
	int r = addr_port(&id->src) && !id->reuses ? cm_listen_reserve(id) : 0;

	return r ? error_of_call("rdma_bind_addr", r) : 0;
}

int rdma_bind_addr(struct rdma_cm_id *ibv, struct sockaddr *addr)
{
	struct cm_id *id = cm_of(ibv);
	struct sockaddr_storage *src = &id->src;
	int r = 0;

	if (addr->sa_family == AF_IB)
		return cm_fail(EINVAL); /* every program with rsockets tries it */
	if (!addr_is_ip(addr))
		return cm_fail(error_unsupported(
			"rdma_bind_addr", "only IPv4 and IPv6 addresses are supported", EINVAL));
	if (id->bound)
		return cm_fail(EINVAL);
	addr_copy(src, addr);
	if (addr_needs_scope(src))
		return cm_fail(EINVAL);
	host_revive_all();
	id->has_source = !binds_no_device(src);
	if (id->has_source && cm_addr_any_host(id))
		r = errno;
	else if (id->has_source || addr_is_any(src))
		r = reserve_port(id);
	id->bound = r == 0;
	if (r) {
		id->has_source = false;
		*src = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
	}
	cm_addr_publish(id);
	return r ? cm_fail(r) : 0;
}

/* The address that the kernel would send from. 0 or a positive errno value: there is no way. */
static int find_source(struct cm_id *id)
{
	const struct sockaddr *dst = (const struct sockaddr *)&id->dst;
	struct sockaddr_storage src;
	socklen_t len = sizeof(src);
	int fd = socket(dst->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return errno;
	r = connect(fd, dst, addr_len(dst)) || getsockname(fd, (struct sockaddr *)&src, &len)
		    ? errno
		    : 0;
	close(fd);
	if (r == EACCES)
		return EINVAL; /* a broadcast address */
	if (r == 0) {
		addr_set_port(&src, addr_port(&id->src));
		id->src = src;
	}
	return r;
}

/* An address of the daemon of this family. */
static bool find_own(struct host *h, sa_family_t family, struct sockaddr_storage *ret)
{
	struct own_addrs own;

	query_own(h, &own);
	for (int i = 0; i < own.n; i++)
		if (own.a[i].ss_family == family) {
			*ret = own.a[i];
			return true;
		}
	return false;
}

/* As in the kernel, the wildcard as a destination is this host. */
static int replace_any(struct cm_id *id)
{
	const sa_family_t family = id->dst.ss_family;
	const uint16_t port = addr_port(&id->dst);
	bool found = id->host && find_own(id->host, family, &id->dst);

	for (unsigned i = 0; !found && !id->host && i < host_count(); i++)
		found = find_own(host_at(i), family, &id->dst);
	if (!found)
		return ENODEV;
	if (addr_is_any(&id->dst))
		addr_set_loopback(&id->dst, family);
	addr_set_port(&id->dst, port);
	return 0;
}

/* The daemon that has that address, else the first one that has the family. */
static int take_route(struct cm_id *id)
{
	const sa_family_t family = id->dst.ss_family;
	struct host *h = host_with(&id->src);
	struct sockaddr_storage own;

	for (unsigned i = 0; !h && i < host_count(); i++)
		if (find_own(host_at(i), family, &own))
			h = host_at(i);
	if (!h)
		return ENODEV;
	return cm_take_host(id, h) ? errno : 0;
}

static int resolve(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst)
{
	int r = 0;

	if (!addr_is_ip(dst))
		return EINVAL;
	addr_copy(&id->dst, dst);
	cm_listen_refuse(id);
	if (addr_is_group(&id->dst) || addr_needs_scope(&id->dst))
		return EINVAL;
	if (src && addr_is_ip(src) && !id->bound) {
		addr_copy(&id->src, src);
		id->has_source = !addr_is_any(&id->src);
	}
	if (id->has_source && id->src.ss_family != id->dst.ss_family)
		return EINVAL;
	if (!id->host)
		host_revive_all();
	if (id->has_source && cm_addr_any_host(id))
		return errno;
	if (addr_is_any(&id->dst))
		r = replace_any(id);
	if (r || id->has_source)
		return r;
	r = find_source(id);
	return r ? r : take_route(id);
}

/* As in the kernel, an id that connects has a port, too: a number that few others have. The daemon
 * needs none. */
static uint16_t next_port(struct host *h)
{
	enum { FIRST = 32768, COUNT = 28232 };
	uint32_t n;

	pthread_mutex_lock(&h->event_lock);
	n = (uint32_t)getpid() * 101 + h->active_ids++;
	pthread_mutex_unlock(&h->event_lock);
	return (uint16_t)(FIRST + n % COUNT);
}

/* The event is queued at once: the daemon resolves when it connects. As in the kernel, an address
 * that no device can reach is an event; wrong addresses and missing ways are errors of the call. */
int rdma_resolve_addr(struct rdma_cm_id *ibv, struct sockaddr *src, struct sockaddr *dst,
		      int timeout_ms)
{
	struct cm_id *id = cm_of(ibv);
	int r = resolve(id, src, dst);

	(void)timeout_ms;
	if (r == 0 && addr_port(&id->src) == 0)
		addr_set_port(&id->src, next_port(id->host));
	cm_addr_publish(id);
	if (r && r != ENODEV)
		return cm_fail(r);
	cm_event_simple(id, r ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, -r);
	return cm_sync(id);
}

int rdma_resolve_route(struct rdma_cm_id *ibv, int timeout_ms)
{
	struct cm_id *id = cm_of(ibv);

	(void)timeout_ms;
	if (!id->host)
		return cm_fail(EINVAL);
	id->path.mtu = IBV_MTU_4096;
	id->path.sgid = id->host->gid;
	ibv->route.path_rec = &id->path;
	ibv->route.num_paths = 1;
	cm_event_simple(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return cm_sync(id);
}

/* ---- sessions ---- */

void cm_addr_of_session(struct cm_id *id)
{
	const uint16_t port = addr_port(&id->src), peer_port = addr_port(&id->dst);
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);

	if (ddp_query_id(id->end.id, &attr))
		return;
	if (attr.local.ss_family != AF_UNSPEC)
		id->src = attr.local;
	if (attr.remote.ss_family != AF_UNSPEC)
		id->dst = attr.remote;
	if (port)
		addr_set_port(&id->src, port);
	if (peer_port)
		addr_set_port(&id->dst, peer_port);
	cm_addr_publish(id);
}

void cm_addr_of_request(struct cm_id *id, const struct ddp_cm_event *ev)
{
	id->dst = ev->peer;
	cm_addr_of_session(id);
}

/* ---- names ---- */

static int copy_addr(struct sockaddr **to, socklen_t *len, const struct sockaddr *from, socklen_t n)
{
	*to = malloc(n);
	if (!*to)
		return EAI_MEMORY;
	memcpy(*to, from, n);
	*len = n;
	return 0;
}

static void copy_hints(struct rdma_addrinfo *res, const struct rdma_addrinfo *hints)
{
	const bool datagrams =
		hints->ai_port_space == RDMA_PS_UDP || hints->ai_qp_type == IBV_QPT_UD;

	res->ai_qp_type = hints->ai_qp_type ? hints->ai_qp_type
			  : datagrams       ? IBV_QPT_UD
					    : IBV_QPT_RC;
	res->ai_port_space = hints->ai_port_space ? hints->ai_port_space
			     : datagrams          ? RDMA_PS_UDP
						  : RDMA_PS_TCP;
	res->ai_flags = hints->ai_flags;
}

static int copy_source(struct rdma_addrinfo *res, const struct rdma_addrinfo *hints)
{
	if (!hints->ai_src_addr || res->ai_src_addr)
		return 0;
	return copy_addr(&res->ai_src_addr, &res->ai_src_len, hints->ai_src_addr,
			 hints->ai_src_len);
}

static int take_result(const struct addrinfo *from, const struct rdma_addrinfo *hints,
		       struct rdma_addrinfo *res)
{
	res->ai_family = from->ai_family;
	if (hints->ai_flags & RAI_PASSIVE)
		return copy_addr(&res->ai_src_addr, &res->ai_src_len, from->ai_addr,
				 from->ai_addrlen);
	return copy_addr(&res->ai_dst_addr, &res->ai_dst_len, from->ai_addr, from->ai_addrlen);
}

static int find_names(const char *node, const char *service, const struct rdma_addrinfo *hints,
		      struct rdma_addrinfo *res)
{
	struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *got;
	int r;

	if (hints->ai_flags & RAI_PASSIVE)
		want.ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		want.ai_flags |= AI_NUMERICHOST;
	if (hints->ai_flags & RAI_FAMILY)
		want.ai_family = hints->ai_family;
	r = getaddrinfo(node, service, &want, &got);
	if (r)
		return r;
	r = take_result(got, hints, res);
	freeaddrinfo(got);
	return r;
}

/* Without a name, the addresses are those of the hints. */
static int find_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *res)
{
	res->ai_family = hints->ai_family;
	if (!hints->ai_dst_addr)
		return hints->ai_src_addr ? 0 : EAI_NONAME;
	return copy_addr(&res->ai_dst_addr, &res->ai_dst_len, hints->ai_dst_addr,
			 hints->ai_dst_len);
}

/* Programs look at the result, or at errno as the manual says. */
static int set_errno(int r)
{
	if (r == EAI_MEMORY)
		errno = ENOMEM;
	else if (r == EAI_AGAIN)
		errno = EAGAIN;
	else if (r != 0 && r != EAI_SYSTEM)
		errno = ENOENT;
	return r;
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **ret)
{
	const struct rdma_addrinfo none = {.ai_flags = 0};
	struct rdma_addrinfo *res = calloc(1, sizeof(*res));
	int r;

	if (!res)
		return set_errno(EAI_MEMORY);
	hints = hints ? hints : &none;
	copy_hints(res, hints);
	r = node || service ? find_names(node, service, hints, res) : find_hints(hints, res);
	if (r == 0)
		r = copy_source(res, hints);
	if (r)
		rdma_freeaddrinfo(res);
	else
		*ret = res;
	return set_errno(r);
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	if (!res)
		return;
	free(res->ai_src_addr);
	free(res->ai_dst_addr);
	free(res->ai_src_canonname);
	free(res->ai_dst_canonname);
	free(res->ai_route);
	free(res->ai_connect);
	free(res);
}
