/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/datagrams/datagram.h"

#include <assert.h>
#include <stdlib.h>

#include "daemon/objects/client/client.h"
#include "daemon/objects/client/pd.h"
#include "daemon/objects/datagrams/ah.h"
#include "daemon/objects/datagrams/flight.h"
#include "daemon/objects/datagrams/grh.h"
#include "daemon/objects/datagrams/numbers.h"
#include "daemon/objects/memory/agent.h"
#include "daemon/objects/memory/stags.h"
#include "ipc/wqe.h"
#include "proto/rdmap/rdmap.h"
#include "util/span.h"

enum {
	A_BELL = 16,         /* requests */
	BYTES_A_BELL = 1024, /* that cost as much as a bell */
	PAGE = 4096,         /* the smallest one */
	BAD = 16,            /* receives that cannot be used, for one datagram */
	FLAGS = WQE_SIGNALED | WQE_SOLICITED | WQE_INLINE | WQE_WITH_IMM,
};

/* ---- memory ---- */

/* Resolves the first len bytes of the elements. */
static enum rdmap_status find_bytes(const struct datagram *d, struct sgl list, uint32_t len,
				    uint32_t rights, struct span ret[SGL_MAX], unsigned *ret_n,
				    struct perr_at *ret_at)
{
	const struct sgl_access access = {
		.stags = stags_table(d->client->daemon->stags),
		.accessor = &d->accessor,
		.rights = rights,
	};
	struct sgl_fault fault;
	int n = sgl_resolve(list, 0, len, &access, ret, &fault);

	if (n < 0) {
		*ret_at = (struct perr_at){
			.stag = fault.elem->stag, .to = fault.elem->to, .len = fault.elem->len};
		return rdmap_status_of_stag(fault.reason);
	}
	*ret_n = (unsigned)n;
	return d->ops->touch(d->user, ret, *ret_n) ? RDMAP_SUCCESS : RDMAP_LOC_ACCESS_ERR;
}

/* ---- receiving ---- */

/* Places the datagram in the memory of the receive. */
static enum rdmap_status place(struct datagram *d, const struct rdmap_recv *r,
			       const struct flight *f, struct perr_at *ret_at)
{
	uint8_t grh[WQE_GRH];
	struct span src[1 + SGL_MAX] = {{grh, WQE_GRH}}, dst[SGL_MAX];
	uint32_t len = WQE_GRH + f->len;
	enum rdmap_status status;
	unsigned n;

	if (sgl_total(r->sge, r->nsge) < len)
		return RDMAP_LOC_LEN_ERR;
	status = find_bytes(d, (struct sgl){r->sge, r->nsge}, len, STAG_LOCAL_WRITE, dst, &n,
			    ret_at);
	if (status != RDMAP_SUCCESS)
		return status;
	grh_put(grh, f->from, f->to, f->len);
	span_copy_list(src + 1, f->bytes, f->nbytes);
	span_copy(dst, n, src, 1 + f->nbytes, 0, len);
	agent_placed(d->client->worker, dst, n);
	return RDMAP_SUCCESS;
}

static enum rdmap_status fill_receive(struct datagram *d, const struct rdmap_recv *r,
				      const struct flight *f)
{
	struct rdmap_done done = {.cookie = r->cookie, .op = RDMAP_RECV, .signaled = true};

	done.status = r->status;
	if (done.status == RDMAP_SUCCESS)
		done.status = (uint8_t)place(d, r, f, &done.at);
	if (done.status == RDMAP_SUCCESS) {
		done.len = WQE_GRH + f->len;
		done.inv_stag = f->from_number;
		done.solicited = f->solicited;
		done.immediate = f->immediate;
		done.imm = f->immediate ? f->imm : 0;
	}
	d->ops->complete(d->user, &done);
	return done.status;
}

/* False: it is dropped. A receive that cannot be used completes with its error, and the datagram
 * takes the next one. */
static bool arrive(struct datagram *d, const struct flight *f)
{
	struct rdmap_recv r;

	if (f->qkey != d->qkey)
		return false;
	for (unsigned i = 0; i < BAD && d->ops->take_recv(d->user, &r); i++)
		if (fill_receive(d, &r, f) == RDMAP_SUCCESS)
			return true;
	return false;
}

bool datagram_deliver(struct worker *w, const struct flight *f)
{
	struct datagram *d = numbers_find(w, f->number);

	if (!d)
		return false;
	if (!arrive(d, f)) {
		d->rx_dropped++;
		return true;
	}
	d->traffic.rx_msgs++;
	d->traffic.rx_bytes += f->len;
	return true;
}

/* ---- sending ---- */

/* Memory that was charged is filled, also where the datagram is dropped unread: a page that is
 * still a hole when it is looked at again counts as punched by the user. */
static void read_spans(const struct span *at, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const volatile uint8_t *p = at[i].p;

		for (size_t k = 0; k < at[i].len; k += PAGE)
			(void)p[k];
		if (at[i].len > 0)
			(void)p[at[i].len - 1];
	}
}

static enum rdmap_status read_payload(const struct datagram *d, struct rdmap_wr *wr,
				      struct flight *f, struct perr_at *ret_at)
{
	enum rdmap_status status;
	uint64_t len = wr->flags & RDMAP_INLINE ? wr->len : sgl_total(wr->sge, wr->nsge);

	if (len > WQE_DATAGRAM_MAX)
		return RDMAP_LOC_LEN_ERR;
	f->len = (uint32_t)len;
	if (wr->flags & RDMAP_INLINE) {
		f->bytes[0] = (struct span){wr->inl, f->len};
		f->nbytes = 1;
		return RDMAP_SUCCESS;
	}
	status = find_bytes(d, (struct sgl){wr->sge, wr->nsge}, f->len, 0, f->bytes, &f->nbytes,
			    ret_at);
	if (status == RDMAP_SUCCESS)
		read_spans(f->bytes, f->nbytes);
	return status;
}

/* The library refuses all of this in the call. */
static enum rdmap_status read_request(struct datagram *d, struct rdmap_wr *wr, const struct ah *ah,
				      struct flight *f, struct perr_at *ret_at)
{
	if (wr->status != RDMAP_SUCCESS)
		return wr->status;
	if (wr->op != RDMAP_SEND || wr->flags & ~FLAGS || wr->fetch || !ah ||
	    ah->pd->number != d->accessor.pd)
		return RDMAP_LOC_OP_ERR;
	f->from = &ah->local;
	f->to = &ah->remote;
	f->from_number = d->number.value;
	f->number = wr->rstag;
	f->qkey = wr->rto & WQE_QKEY_OWN ? d->qkey : (uint32_t)wr->rto;
	f->solicited = wr->flags & WQE_SOLICITED;
	f->immediate = wr->flags & WQE_WITH_IMM;
	f->imm = wr->imm;
	return read_payload(d, wr, f, ret_at);
}

static void pass_on(struct datagram *d, const struct flight *f, bool here)
{
	if (!(here ? datagram_deliver(d->client->worker, f) : d->carry(d->user, f))) {
		d->tx_dropped++;
		return;
	}
	d->traffic.tx_msgs++;
	d->traffic.tx_bytes += f->len;
}

static void send_one(struct datagram *d, struct rdmap_wr *wr)
{
	struct rdmap_done done = {
		.cookie = wr->cookie,
		.op = wr->op,
		.signaled = wr->flags & RDMAP_SIGNALED,
	};
	const struct ah *ah = idtab_get(&d->client->handles.ahs, wr->inv_stag);
	struct flight f;

	done.status =
		(uint8_t)(d->stopped ? RDMAP_FLUSH_ERR : read_request(d, wr, ah, &f, &done.at));
	if (done.status == RDMAP_SUCCESS)
		pass_on(d, &f, ah->here);
	else
		d->stopped = true;
	d->ops->complete(d->user, &done);
}

unsigned datagram_send(struct datagram *d, bool *ret_more)
{
	uint64_t before = d->traffic.tx_bytes;
	struct rdmap_wr wr;
	unsigned n = 0;

	while (n < A_BELL && d->ops->take_send(d->user, &wr)) {
		send_one(d, &wr);
		n++;
	}
	*ret_more = n == A_BELL;
	return n + (unsigned)((d->traffic.tx_bytes - before) / BYTES_A_BELL);
}

/* ---- life ---- */

struct datagram *datagram_new(const struct datagram_cfg *cfg)
{
	struct datagram *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->number.value = cfg->number;
	d->client = cfg->client;
	d->ops = cfg->ops;
	d->carry = cfg->carry;
	d->user = cfg->user;
	d->accessor = cfg->accessor;
	list_init(&d->number.link);
	list_init(&d->first.link);
	numbers_add(cfg->client->worker, d);
	return d;
}

void datagram_stop(struct datagram *d)
{
	d->number.to = NULL;
}

void datagram_set_qkey(struct datagram *d, uint32_t qkey)
{
	d->qkey = qkey;
	d->stopped = false;
}

struct datagram *datagram_free(struct datagram *d)
{
	if (!d)
		return NULL;
	numbers_del(d);
	list_assert_out(&d->number.link);
	list_assert_out(&d->first.link);
	assert(!d->carriers);
	free(d);
	return NULL;
}
