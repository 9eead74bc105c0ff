/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/assoc_check.h"

#include <sys/mman.h>

#include "util/be.h"
#include "util/opcode.h"

enum { FILL = 0x5e }; /* of memory that must not be written */

struct world w;

/* A new session starts its own numbers. */
void check_trace(void *user, uint16_t sid, const char *from, const char *to, const char *event)
{
	(void)user;
	must(*to && *event && sid < STREAMS);
	if (strcmp(from, "idle") != 0)
		return;
	w.tx_ssn[sid] = 0;
	for (unsigned q = 0; q < QNS; q++)
		w.tx_msn[sid][q] = w.rx_msn[sid][q] = 1;
}

/* Checks the completions so far: in the order of requests, and no more than were taken. */
static void check_done(struct slot *s)
{
	const struct pair_qp *qp = s->qp;

	for (; s->seen < qp->ndone; s->seen++) {
		const struct rdmap_done *d = &qp->done[s->seen];

		must(d->status < RDMAP_STATUS_COUNT && d->op < RDMAP_OP_COUNT);
		if (opcode_is_send(d->op)) {
			must(s->sends < qp->taken && d->cookie == qp->send[s->sends].cookie);
			must(d->op == qp->send[s->sends].op);
			s->sends++;
		} else {
			must(s->recvs < qp->recv_taken);
			must(w.like.raw || d->cookie == qp->recv[s->recvs].cookie);
			s->recvs++;
		}
	}
}

void check_slot(struct slot *s)
{
	struct rdmap_info info;

	if (!s->qp)
		return;
	check_done(s);
	rdmap_query(s->qp->ep, &info);
	must(info.ord <= w.like.ord && info.ird <= w.like.ird);
	must(info.reads_out <= info.ord && info.reads_in <= info.ird);
	/* They may include a ready-to-receive message of proto itself. */
	must(info.in_flight - (s->qp->taken - s->sends) <= 1);
}

static void check_segment(const struct pair_msg *m)
{
	struct wire_ddp h;
	uint32_t *msn;

	must(m->len <= w.node.mulpdu + WIRE_SSN_LEN);
	must(wire_ddp_get(m->b + WIRE_SSN_LEN, m->len - WIRE_SSN_LEN, &h) > 0 && h.dv == 1);
	must(w.like.raw || (h.rv == 1 && h.rsv == 0 && h.opcode <= WIRE_OP_ATOMIC_RESP));
	must(!w.like.plain_rdmap || h.opcode < WIRE_OP_IMM);
	if (h.tagged)
		return;
	must(h.qn < (w.like.raw ? RDMAP_RAW_QUEUES : WIRE_QN_ATOMIC_RESP + 1));
	msn = &w.tx_msn[m->sid][h.qn];
	must(h.msn == *msn);
	*msn += h.last;
}

/* It has no DDP-SSN. */
static void check_credit(const struct pair_msg *m)
{
	must(w.options & RDMAP_CREDITS && m->sid < STREAMS);
	must(m->len == WIRE_CREDIT_LEN || (m->len == WIRE_NOT_READY_LEN && w.options & RDMAP_RNR));
}

void check_message(const struct pair_msg *m)
{
	if (m->ppid == WIRE_PPID_CREDIT) {
		check_credit(m);
		return;
	}
	must(m->sid < STREAMS && be_get16(m->b) == w.tx_ssn[m->sid]++);
	if (m->ppid == WIRE_PPID_SEGMENT) {
		check_segment(m);
		return;
	}
	must(m->ppid == WIRE_PPID_CONTROL && m->len >= WIRE_CONTROL_LEN);
	must(m->len <= WIRE_CONTROL_LEN + WIRE_PRIVATE_MAX);
}

/* ---- endpoints ---- */

static struct slot *slot_of(const struct rdmap *ep)
{
	for (unsigned i = 0; i < EPS; i++)
		if (w.ep[i].qp && w.ep[i].qp->ep == ep)
			return &w.ep[i];
	must(!"an endpoint that is bound");
	return NULL;
}

/* Its session has ended: all requests that it took are complete. */
static void retire(struct slot *s)
{
	if (rdmap_keeps_recvs(s->qp->ep))
		rdmap_flush_recvs(s->qp->ep);
	check_slot(s);
	must(s->sends == s->qp->taken && s->recvs == s->qp->recv_taken);
	*s = (struct slot){0};
}

void check_events(void)
{
	struct assoc_event ev;

	while (pair_event(&w.node, &ev)) {
		must(ev.sid < STREAMS && ev.priv_len <= WIRE_PRIVATE_MAX);
		switch (ev.type) {
		case ASSOC_EV_REJECTED:
		case ASSOC_EV_REFUSED:
			slot_of(ev.ep)->bound = false;
			break;
		case ASSOC_EV_CLOSED:
			retire(slot_of(ev.ep));
			break;
		case ASSOC_EV_ACCEPTED:
		case ASSOC_EV_ERROR:
		case ASSOC_EV_HALF_CLOSED:
			must(slot_of(ev.ep)->bound);
			break;
		default:
			must(!ev.ep);
		}
	}
}

/* ---- memory ---- */

const struct stag_region check_regions[REGIONS] = {
	{.stag = 0x12345678, .rights = 0x1f, .to = 0x4000, .len = 4096},
	{.stag = 0x00c0ffee, .rights = 0x1f, .to = 0x100, .len = 512},
	{.stag = 0x0badcafe, .rights = 0x1f, .to = 0, .len = 256, .scope = 100},
	{.stag = 0x00000401, .rights = STAG_REMOTE_READ, .to = UINT64_MAX - 256, .len = 256},
	{.stag = 0x00000601, .rights = 0x1f, .to = 0x1000, .len = 256, .pd = PAIR_PD + 1},
	{.stag = 0x00000701, .rights = 0x1f, .to = 0x1000, .len = 256, .scope = 99},
};

static uint8_t *mem[OURS]; /* NULL: revoked */

/* Memory outside the regions cannot even be read. */
static uint8_t *untouchable(void)
{
	static uint8_t *page;

	if (!page)
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(page != MAP_FAILED);
	return page;
}

static void add_region(unsigned i)
{
	struct stag_region r = check_regions[i];

	r.pd = r.pd ? r.pd : PAIR_PD;
	if (i < OURS) {
		r.base = mem[i] = malloc(r.len);
		must(r.base);
		memset(r.base, FILL, r.len);
	} else {
		r.base = untouchable();
	}
	must(stag_add(w.node.stags, &r) == STAG_ADD_OK);
}

void check_memory_begin(void)
{
	const struct stag_region window = {
		.stag = WINDOW, .pd = PAIR_PD, .kind = STAG_WINDOW_STREAM};

	for (unsigned i = 0; i < REGIONS; i++)
		add_region(i);
	must(stag_add(w.node.stags, &window) == STAG_ADD_OK);
}

void check_memory_revoke(unsigned n)
{
	const struct stag_region *window = stag_find_any_key(w.node.stags, WINDOW);

	if (window && (n == OURS || (window->valid && window->parent == check_regions[n].stag)))
		stag_remove(w.node.stags, window->stag);
	if (n == OURS || !mem[n])
		return;
	must(stag_remove(w.node.stags, check_regions[n].stag));
	free(mem[n]);
	mem[n] = NULL;
}

void check_memory_end(void)
{
	for (unsigned i = 0; mem[RO] && i < check_regions[RO].len; i++)
		must(mem[RO][i] == FILL);
	for (unsigned i = 0; i < OURS; i++)
		free(mem[i]);
}
