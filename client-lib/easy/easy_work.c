/* SPDX-License-Identifier: BSD-2-Clause */
#include "client-lib/easy/easy_work.h"

#include <errno.h>
#include <string.h>

#include "client-lib/base/deadline.h"
#include "client-lib/easy/easy_memory.h"

static int late(struct ddp_easy *e, int err, const char *what)
{
	return easy_error_set(&e->error, err, "%s in time", what);
}

/* ---- messages ---- */

static uint32_t idle_slots(const struct ddp_easy *e)
{
	return e->idle_sends & ((1U << EASY_SENDS) - 1);
}

static bool can_send(const struct ddp_easy *e)
{
	return e->state == EASY_CONNECTED && !e->flushed && e->credits > 0 && idle_slots(e) != 0;
}

int ddp_easy_send(struct ddp_easy *e, const void *data, size_t length, int timeout_ms)
{
	unsigned slot;
	int r = easy_link_check(e);

	if (r < 0)
		return r;
	if (length > e->longest)
		return easy_error_set(&e->error, -EMSGSIZE,
				      "ddp_easy_send: %zu bytes; a message of this connection has "
				      "at most %u",
				      length, e->longest);
	r = easy_link_look(e);
	if (r < 0)
		return r;
	r = easy_link_wait(e, can_send, deadline_in(timeout_ms));
	if (r == -ETIMEDOUT)
		return late(e, r,
			    e->credits ? "ddp_easy_send: earlier messages were not sent"
				       : "ddp_easy_send: the peer did not take earlier messages");
	if (r < 0)
		return r;
	slot = (unsigned)__builtin_ctz(idle_slots(e));
	if (length > 0)
		memcpy(easy_link_send_at(e, slot), data, length);
	r = easy_link_send(e, slot, EASY_DATA, length);
	e->credits -= r == 0;
	return r;
}

static bool has_message(const struct ddp_easy *e)
{
	return e->arrived_count > 0;
}

ssize_t ddp_easy_recv(struct ddp_easy *e, void *data, size_t length, int timeout_ms)
{
	const uint8_t *message;
	size_t size;
	int r;

	if (e->state != EASY_CONNECTED && !has_message(e))
		return easy_link_check(e);
	r = easy_link_wait(e, has_message, deadline_in(timeout_ms));
	if (r == -ETIMEDOUT)
		return late(e, r, "ddp_easy_recv: no message");
	if (r < 0)
		return r;
	message = easy_link_message(e, &size);
	if (size > length)
		return easy_error_set(&e->error, -EMSGSIZE,
				      "ddp_easy_recv: the message has %zu bytes, there is room for "
				      "%zu",
				      size, length);
	if (size > 0)
		memcpy(data, message, size);
	easy_link_release(e); /* a failure is that of the next call */
	return (ssize_t)size;
}

/* ---- Writes and Reads ---- */

static bool can_start(const struct ddp_easy *e)
{
	return e->rdma < EASY_RDMA;
}

static bool all_done(const struct ddp_easy *e)
{
	return e->rdma == 0;
}

static int check_offer(struct ddp_easy *e, const char *call, uint64_t offset, size_t length,
		       unsigned right)
{
	if (!(e->peer.access & right))
		return easy_error_set(&e->error, -EACCES,
				      "%s: the peer does not offer memory for that", call);
	if (length > UINT32_MAX || offset > e->peer.length || length > e->peer.length - offset)
		return easy_error_set(&e->error, -ERANGE,
				      "%s: %zu bytes at %llu: the peer offers %llu, and one call "
				      "moves less than 4 GiB",
				      call, length, (unsigned long long)offset,
				      (unsigned long long)e->peer.length);
	return 0;
}

/* Until all that was started is complete. */
static int finish_rdma(struct ddp_easy *e, uint64_t deadline)
{
	int r = easy_link_wait(e, all_done, deadline);

	if (r == -ETIMEDOUT)
		return late(e, -EINPROGRESS, "Writes and Reads did not complete");
	if (r == 0 && e->rdma_err) {
		r = e->rdma_err;
		e->rdma_err = 0;
	}
	return r;
}

static int start_rdma(struct ddp_easy *e, struct ddp_send_wr *wr, uint64_t deadline)
{
	int r = easy_link_look(e);

	wr->rdma.remote_addr += e->peer.addr;
	wr->rdma.rkey = e->peer.rkey;
	if (r == 0)
		r = easy_link_wait(e, can_start, deadline);
	if (r == -ETIMEDOUT)
		return late(e, r, "earlier Writes and Reads did not complete");
	if (r == 0)
		r = easy_link_check(e);
	return r < 0 ? r : easy_link_rdma(e, wr);
}

static int rdma(struct ddp_easy *e, struct ddp_send_wr *wr, const void *data, size_t length,
		int timeout_ms)
{
	bool read = wr->opcode == DDP_WR_RDMA_READ;
	unsigned right = read ? DDP_ACCESS_REMOTE_READ : DDP_ACCESS_REMOTE_WRITE;
	const char *call = read ? "ddp_easy_read" : "ddp_easy_write";
	uint64_t deadline = deadline_in(timeout_ms);
	struct ddp_sge sge;
	int r = easy_link_check(e);

	if (r == 0)
		r = check_offer(e, call, wr->rdma.remote_addr, length, right);
	if (r < 0 || length == 0)
		return r;
	r = easy_memory_find(e->hub, &e->error, data, length, &sge);
	if (r < 0)
		return r;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	r = start_rdma(e, wr, deadline);
	return r < 0 ? r : finish_rdma(e, deadline);
}

int ddp_easy_write(struct ddp_easy *e, uint64_t offset, const void *data, size_t length,
		   int timeout_ms)
{
	struct ddp_send_wr wr = {
		.opcode = DDP_WR_RDMA_WRITE,
		.send_flags = DDP_SEND_SIGNALED | DDP_SEND_PLACED,
		.rdma = {.remote_addr = offset},
	};

	return rdma(e, &wr, data, length, timeout_ms);
}

int ddp_easy_read(struct ddp_easy *e, uint64_t offset, void *data, size_t length, int timeout_ms)
{
	struct ddp_send_wr wr = {
		.opcode = DDP_WR_RDMA_READ,
		.send_flags = DDP_SEND_SIGNALED,
		.rdma = {.remote_addr = offset},
	};

	return rdma(e, &wr, data, length, timeout_ms);
}

int easy_work_finish(struct ddp_easy *e, uint64_t deadline)
{
	int r = easy_link_check(e);

	return r < 0 ? r : finish_rdma(e, deadline);
}

static bool all_left(const struct ddp_easy *e)
{
	return e->rdma == 0 && e->idle_sends == (1U << (EASY_SENDS + EASY_CONTROL)) - 1;
}

int easy_work_flush(struct ddp_easy *e, uint64_t deadline)
{
	return easy_link_wait(e, all_left, deadline);
}
