/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening, querying and closing a context. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "client-lib/base/attr.h"
#include "client-lib/base/reason.h"
#include "client-lib/context/ddp_impl.h"
#include "client-lib/context/request.h"
#include "ipc/local_protocol.h"
#include "util/cleanup.h"
#include "util/yield.h"

enum { MAX_IDS = 65535, OPEN_MS = 30000 };

/* The most frequent failure. Access depends on a group, so the message names it. */
static int no_access(const char *call, const char *path)
{
	struct group grp, *found = NULL;
	struct stat st;
	char buf[1024];

	if (stat(path, &st) < 0)
		return reason_fail(-EACCES, "%s: %s: this user may not search its directory", call,
				   path);
	getgrgid_r(st.st_gid, &grp, buf, sizeof(buf), &found);
	if (!found)
		return reason_fail(-EACCES, "%s: %s: this user is not in group %u", call, path,
				   (unsigned)st.st_gid);
	return reason_fail(-EACCES, "%s: %s: this user is not in group %s", call, path,
			   found->gr_name);
}

/* Calls that block on the socket fail with EAGAIN after this time. 0 and less: never. */
static void set_timeout(struct ddp_ctx *ctx, int ms)
{
	const struct timeval t = {ms > 0 ? ms / 1000 : 0, ms > 0 ? ms % 1000 * 1000 : 0};

	(void)setsockopt(ctx->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	(void)setsockopt(ctx->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

static int connect_to(struct ddp_ctx *ctx, const char *call, const char *path, int timeout_ms)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int r;

	if (strlen(path) >= sizeof(sun.sun_path))
		return reason_fail(-ENAMETOOLONG, "%s: %s: longer than %zu characters", call, path,
				   sizeof(sun.sun_path) - 1);
	strcpy(sun.sun_path, path);
	ctx->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (ctx->fd < 0)
		return reason_errno(-errno, call, "socket");
	set_timeout(ctx, timeout_ms);
	do {
		r = connect(ctx->fd, (struct sockaddr *)&sun, sizeof(sun));
	} while (r < 0 && errno == EINTR);
	if (r == 0)
		return 0;
	switch (errno) {
	case EACCES:
		return no_access(call, path);
	case ENOENT:
	case ECONNREFUSED:
		return reason_fail(-errno, "%s: %s: no daemon there; is ddpsctpd running?", call,
				   path);
	default:
		return reason_errno(-errno, call, path);
	}
}

/* Takes ownership of the reply's three descriptors. */
static int use_hello_reply(struct ddp_ctx *ctx, const char *call,
			   const struct msg_hello_reply *reply, int fds[3])
{
	autoclose int page = fds[1];
	int r;

	ctx->event_fd = fds[0];
	ctx->bell = fds[2];
	if (reply->major != IPC_VERSION_MAJOR)
		return reason_fail(-EPROTO,
				   "%s: the daemon speaks version %u.%u of the local protocol, "
				   "this library %u.%u",
				   call, reply->major, reply->minor, IPC_VERSION_MAJOR,
				   IPC_VERSION_MINOR);
	ctx->minor = reply->minor;
	r = ring_map_memfd(call, page, sizeof(struct bell_page), &ctx->page);
	if (r)
		return r;
	if (fcntl(ctx->event_fd, F_SETFL, O_NONBLOCK) < 0)
		return reason_errno(-errno, call, "event socket");
	ctx->one_cpu = yield_has_one_cpu();
	ctx->poll_us = ctx->one_cpu ? 0 : reply->poll_us;
	return 0;
}

static int hello(struct ddp_ctx *ctx, const char *call)
{
	struct msg_hello req = {
		.major = IPC_VERSION_MAJOR,
		.minor = IPC_VERSION_MINOR,
	};
	struct msg_hello_reply reply;
	int fds[3];
	int r;

	strncpy(req.comm, program_invocation_short_name, sizeof(req.comm) - 1);
	r = request_hello(ctx, call, &req, &reply, fds);
	return r ? r : use_hello_reply(ctx, call, &reply, fds);
}

/* A page that the kernel clears in a child, however it is forked. A kernel before 4.14 cannot: then
 * the page stays as it is. */
static int mark_process(struct ddp_ctx *ctx, const char *call)
{
	uint32_t *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return reason_fail(-ENOMEM, "%s: out of memory", call);
	madvise(page, sizeof(*page), MADV_WIPEONFORK);
	*page = 1;
	ctx->here = page;
	return 0;
}

static int open_at(struct ddp_ctx *ctx, const char *call, const char *path, int timeout_ms)
{
	int r = connect_to(ctx, call, path, timeout_ms);

	if (r == 0)
		r = hello(ctx, call);
	if (r == -EAGAIN)
		return reason_fail(-ETIMEDOUT,
				   "%s: %s: the daemon does not answer within %d ms: it is "
				   "stopped or busy, or has reached its limit of descriptors "
				   "(RLIMIT_NOFILE)",
				   call, path, timeout_ms);
	if (r == 0)
		set_timeout(ctx, 0);
	return r;
}

void open_free(struct ddp_ctx *ctx)
{
	agent_close(ctx);
	if (ctx->here)
		munmap((void *)(uintptr_t)ctx->here, sizeof(*ctx->here));
	cleanup_close(&ctx->fd);
	cleanup_close(&ctx->event_fd);
	cleanup_close(&ctx->async_fd);
	cleanup_close(&ctx->bell);
	memfd_unmap(&ctx->page);
	slab_deinit(&ctx->slabs);
	ring_maps_deinit(&ctx->maps);
	idtab_deinit(&ctx->ids);
	idtab_deinit(&ctx->srqs);
	qp_table_deinit(&ctx->qps);
	pthread_mutex_destroy(&ctx->agent_lock);
	pthread_mutex_destroy(&ctx->calls);
	pthread_mutex_destroy(&ctx->events);
	pthread_mutex_destroy(&ctx->async);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx->path);
	free(ctx);
}

static const char *socket_path(const struct ddp_open_attr *attr)
{
	const char *env = secure_getenv(IPC_SOCKET_ENV);

	if (attr->socket)
		return attr->socket;
	return env && *env ? env : IPC_DEFAULT_SOCKET;
}

static struct ddp_ctx *new_context(const char *path)
{
	struct ddp_ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->fd = ctx->event_fd = ctx->async_fd = ctx->bell = -1;
	pthread_mutex_init(&ctx->agent_lock, NULL);
	pthread_mutex_init(&ctx->calls, NULL);
	pthread_mutex_init(&ctx->events, NULL);
	pthread_mutex_init(&ctx->async, NULL);
	pthread_mutex_init(&ctx->lock, NULL);
	slab_init(&ctx->slabs, "ddp-mr-slab", SLAB_BYTES_MAX);
	ring_maps_init(&ctx->maps);
	list_init(&ctx->pds);
	list_init(&ctx->mrs);
	list_init(&ctx->mws);
	list_init(&ctx->cqs);
	list_init(&ctx->ahs);
	idtab_init(&ctx->ids, MAX_IDS);
	idtab_init(&ctx->srqs, MAX_IDS);
	ctx->path = strdup(path);
	return ctx;
}

int open_context(const char *call, const char *path, int timeout_ms, struct ddp_ctx **ret)
{
	struct ddp_ctx *ctx = new_context(path);
	int r = 0;

	if (!ctx || !ctx->path)
		r = reason_fail(-ENOMEM, "%s: out of memory", call);
	if (r == 0)
		r = mark_process(ctx, call);
	if (r == 0)
		r = open_at(ctx, call, path, timeout_ms);
	if (r == 0)
		*ret = ctx;
	else if (ctx)
		open_free(ctx);
	return r;
}

int ddp_open(const struct ddp_open_attr *attr, struct ddp_ctx **ret)
{
	struct ddp_open_attr a = {0};
	int r = attr ? attr_read("ddp_open", &a, sizeof(a), attr) : 0;

	return r ? r
		 : open_context("ddp_open", socket_path(&a), a.timeout_ms ? a.timeout_ms : OPEN_MS,
				ret);
}

int ddp_close(struct ddp_ctx *ctx)
{
	unsigned uses;
	int r;

	if (!ctx)
		return 0;
	r = context_here(ctx, "ddp_close");
	if (r)
		return r;
	uses = context_uses(ctx, &ctx->uses);
	if (uses)
		return reason_fail(-EBUSY, "ddp_close: the context still has %u objects", uses);
	open_free(ctx);
	return 0;
}

int ddp_fd(struct ddp_ctx *ctx)
{
	int r = context_here(ctx, "ddp_fd");

	return r ? r : ctx->event_fd;
}

_Static_assert((int)DDP_CAP_ATOMIC == MSG_CAP_ATOMIC && (int)DDP_CAP_ENHANCED == MSG_CAP_ENHANCED &&
		       (int)DDP_CAP_RAW == MSG_CAP_RAW &&
		       (int)DDP_CAP_MULTIHOMED == MSG_CAP_MULTIHOMED &&
		       (int)DDP_CAP_RNR == MSG_CAP_RNR &&
		       (int)DDP_CAP_DATAGRAM == MSG_CAP_DATAGRAM &&
		       (int)DDP_CAP_STRICT_SENDS == MSG_CAP_STRICT_SENDS &&
		       (int)DDP_CAP_WITH_IMM == MSG_CAP_WITH_IMM,
	       "features keep their bits");

int ddp_query(struct ddp_ctx *ctx, struct ddp_caps *caps)
{
	struct msg_caps m = {.cpu_user_us = 0};
	struct ddp_caps c = {0};
	int r = attr_check("ddp_query", caps);

	if (r == 0)
		r = request_query(ctx, "ddp_query", &m);
	if (r)
		return r;
	c.max_qp = m.max_qp;
	c.max_cq = m.max_cq;
	c.max_mr = m.max_mr;
	c.max_pd = m.max_pd;
	c.max_qp_wr = m.max_qp_wr;
	c.max_cqe = m.max_cqe;
	c.max_sge = m.max_sge;
	c.max_inline = m.max_inline;
	c.max_ird = m.max_ird;
	c.max_ord = m.max_ord;
	c.max_private = m.max_private;
	c.poll_us = m.poll_us;
	c.max_mr_bytes = m.max_mr_bytes;
	c.retransmits = m.retransmits;
	memcpy(c.transport, m.transport, sizeof(c.transport) - 1);
	memcpy(c.version, m.version, sizeof(c.version) - 1);
	c.max_srq = m.max_srq;
	c.max_mw = m.max_mw;
	c.features = m.features;
	c.max_raw_queues = m.max_raw_queues;
	c.cpu_user_us = m.cpu_user_us;
	c.cpu_system_us = m.cpu_system_us;
	attr_write(caps, &c, sizeof(c));
	return 0;
}
