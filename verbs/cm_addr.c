/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/cm_addr.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/cm_event.h"
#include "verbs/cm_sync.h"
#include "verbs/words.h"

/* ---- addresses ---- */

static socklen_t len_of(const struct sockaddr *a)
{
	return a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static bool is_ip(const struct sockaddr *a)
{
	return a->sa_family == AF_INET || a->sa_family == AF_INET6;
}

static bool is_any(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)a)->sin6_addr);
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr == 0;
	return true;
}

static uint16_t port_of(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)a)->sin6_port);
	return ntohs(((const struct sockaddr_in *)a)->sin_port);
}

void cm_addr_set_port(struct sockaddr_storage *a, uint16_t port)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)a)->sin_port = htons(port);
}

static void copy(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, len_of(from));
}

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	struct sockaddr_storage x = *a, y = *b;

	if (x.ss_family != y.ss_family)
		return false;
	cm_addr_set_port(&x, 0);
	cm_addr_set_port(&y, 0);
	return memcmp(&x, &y, len_of((struct sockaddr *)&x)) == 0;
}

bool cm_addr_chosen(const struct cm_id *id)
{
	return id->has_source;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return htons(port_of(&id->route.addr.src_storage));
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return htons(port_of(&id->route.addr.dst_storage));
}

/* ---- daemons ---- */

static bool has_addr(struct host *h, const struct sockaddr_storage *a)
{
	struct sockaddr_storage own[8];
	int n = ddp_query_addrs(h->ddp, own, 8);

	for (int i = 0; i < n && i < 8; i++)
		if (same_host(&own[i], a) || (is_any(&own[i]) && own[i].ss_family == a->ss_family))
			return true;
	return false;
}

/* The daemon that has the address; the first one if the address is a wildcard. NULL with errno. */
static struct host *host_of(const struct sockaddr_storage *a)
{
	unsigned n = host_count();

	if (n == 0) {
		errno = ENODEV;
		return NULL;
	}
	if (is_any(a))
		return host_at(0);
	for (unsigned i = 0; i < n; i++)
		if (has_addr(host_at(i), a))
			return host_at(i);
	words_once("rdma_bind_addr", "no daemon has this address: see the key 'listen' in "
				     "ddpsctpd.yaml(5)");
	errno = EADDRNOTAVAIL;
	return NULL;
}

int cm_addr_any_host(struct cm_id *id)
{
	struct host *h = host_of(&id->ibv.route.addr.src_storage);

	if (!h)
		return -1;
	if (id->host)
		return 0;
	return cm_take_host(id, h);
}

/* ---- binding and resolving ---- */

int rdma_bind_addr(struct rdma_cm_id *ibv, struct sockaddr *addr)
{
	struct cm_id *id = cm_of(ibv);
	struct sockaddr_storage *src = &ibv->route.addr.src_storage;

	if (!is_ip(addr))
		return cm_fail(
			words_lacks("rdma_bind_addr", "only IPv4 and IPv6 addresses", EINVAL));
	copy(src, addr);
	if (is_any(src))
		return 0;
	id->has_source = true;
	return cm_addr_any_host(id);
}

/* The address that the kernel would send from. */
static void find_source(struct cm_id *id)
{
	struct rdma_addr *a = &id->ibv.route.addr;
	socklen_t len = sizeof(a->src_storage);
	int fd = socket(a->dst_addr.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (connect(fd, &a->dst_addr, len_of(&a->dst_addr)) == 0)
		getsockname(fd, &a->src_addr, &len);
	cm_addr_set_port(&a->src_storage, 0);
	close(fd);
}

static int resolve(struct cm_id *id, const struct sockaddr *src, const struct sockaddr *dst)
{
	struct rdma_addr *a = &id->ibv.route.addr;

	if (!is_ip(dst))
		return EINVAL;
	copy(&a->dst_storage, dst);
	if (src && is_ip(src)) {
		copy(&a->src_storage, src);
		id->has_source = !is_any(&a->src_storage);
	}
	if (cm_addr_any_host(id))
		return errno;
	if (!id->has_source)
		find_source(id);
	return 0;
}

/* The event comes at once: the daemon resolves when it connects. */
int rdma_resolve_addr(struct rdma_cm_id *ibv, struct sockaddr *src, struct sockaddr *dst,
		      int timeout_ms)
{
	struct cm_id *id = cm_of(ibv);
	int r = resolve(id, src, dst);

	(void)timeout_ms;
	if (r)
		return cm_fail(r);
	cm_event_simple(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return cm_sync(id);
}

int rdma_resolve_route(struct rdma_cm_id *ibv, int timeout_ms)
{
	struct cm_id *id = cm_of(ibv);

	(void)timeout_ms;
	if (!id->host)
		return cm_fail(EINVAL);
	id->path.mtu = IBV_MTU_4096;
	id->path.sgid = ibv->route.addr.addr.ibaddr.sgid;
	ibv->route.path_rec = &id->path;
	ibv->route.num_paths = 1;
	cm_event_simple(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return cm_sync(id);
}

/* ---- listening, sessions ---- */

int cm_addr_listen(struct cm_id *id, int backlog)
{
	struct sockaddr_storage *src = &id->ibv.route.addr.src_storage;
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);
	const struct sockaddr *addr = is_any(src) ? NULL : (struct sockaddr *)src;
	uint16_t port = port_of(src);
	int r = ddp_listen(id->ddp, addr, port, backlog);

	if (r || port)
		return r;
	r = ddp_query_id(id->ddp, &attr);
	if (src->ss_family != AF_INET6)
		src->ss_family = AF_INET;
	cm_addr_set_port(src, attr.port);
	return r;
}

void cm_addr_of_session(struct cm_id *id)
{
	struct rdma_addr *a = &id->ibv.route.addr;
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);

	if (ddp_query_id(id->ddp, &attr))
		return;
	if (attr.local.ss_family != AF_UNSPEC)
		a->src_storage = attr.local;
	if (attr.remote.ss_family != AF_UNSPEC)
		a->dst_storage = attr.remote;
}

void cm_addr_of_request(struct cm_id *id, const struct ddp_cm_event *ev)
{
	id->ibv.route.addr.dst_storage = ev->peer;
	cm_addr_of_session(id);
}

/* ---- names ---- */

static int copy_addr(struct sockaddr **to, socklen_t *len, const struct addrinfo *from)
{
	*to = malloc(from->ai_addrlen);
	if (!*to)
		return EAI_MEMORY;
	memcpy(*to, from->ai_addr, from->ai_addrlen);
	*len = from->ai_addrlen;
	return 0;
}

static int copy_hints(struct rdma_addrinfo *res, const struct rdma_addrinfo *hints)
{
	res->ai_qp_type = hints->ai_qp_type ? hints->ai_qp_type : IBV_QPT_RC;
	res->ai_port_space = hints->ai_port_space ? hints->ai_port_space : RDMA_PS_TCP;
	res->ai_flags = hints->ai_flags;
	if (!hints->ai_src_addr || hints->ai_flags & RAI_PASSIVE)
		return 0;
	res->ai_src_addr = malloc(hints->ai_src_len);
	if (!res->ai_src_addr)
		return EAI_MEMORY;
	memcpy(res->ai_src_addr, hints->ai_src_addr, hints->ai_src_len);
	res->ai_src_len = hints->ai_src_len;
	return 0;
}

static int convert(const struct addrinfo *from, const struct rdma_addrinfo *hints,
		   struct rdma_addrinfo *res)
{
	int r = copy_hints(res, hints);

	res->ai_family = from->ai_family;
	if (r)
		return r;
	if (hints->ai_flags & RAI_PASSIVE)
		return copy_addr(&res->ai_src_addr, &res->ai_src_len, from);
	return copy_addr(&res->ai_dst_addr, &res->ai_dst_len, from);
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **ret)
{
	const struct rdma_addrinfo none = {.ai_flags = 0};
	struct rdma_addrinfo *res;
	struct addrinfo want = {.ai_socktype = SOCK_STREAM}, *got;
	int r;

	hints = hints ? hints : &none;
	if (hints->ai_flags & RAI_PASSIVE)
		want.ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		want.ai_flags |= AI_NUMERICHOST;
	if (hints->ai_flags & RAI_FAMILY)
		want.ai_family = hints->ai_family;
	r = getaddrinfo(node, service, &want, &got);
	if (r)
		return r;
	res = calloc(1, sizeof(*res));
	r = res ? convert(got, hints, res) : EAI_MEMORY;
	freeaddrinfo(got);
	if (r)
		rdma_freeaddrinfo(res);
	else
		*ret = res;
	return r;
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
