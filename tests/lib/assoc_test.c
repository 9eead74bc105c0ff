/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/assoc_test.h"

#include <assert.h>

#include "proto/association/assoc_impl.h"

void assoc_test_preset(struct assoc *a, uint16_t sid, uint16_t tx_ssn, uint16_t rx_ssn)
{
	struct assoc_stream *s = assoc_stream_get(a, sid);

	assert(s->ahead == 0);
	s->tx_ssn = tx_ssn;
	s->rx_ssn = rx_ssn;
}

void assoc_test_preset_msn(struct rdmap *ep, uint32_t qn, uint32_t tx_msn, uint32_t rx_msn)
{
	assert(qn < RDMAP_RAW_QUEUES && ep->rq_taken == 0 && ep->ird.busy == 0 &&
	       rdmap_orq_len(&ep->sq) == 0 && ep->credit_tx.sent == 0);
	if (qn == WIRE_QN_SEND) /* the receives that the peer has announced */
		ep->credit_tx.limit += tx_msn - ep->tx.msn[qn];
	ep->tx.msn[qn] = tx_msn;
	if (ep->raw && qn < ep->queues)
		ep->rq[qn].msn = rx_msn;
	if (ep->raw)
		return;
	if (qn == WIRE_QN_SEND)
		ep->rq->msn = rx_msn;
	else if (qn == WIRE_QN_READ_REQ)
		ep->ird.msn = rx_msn;
	else if (qn == WIRE_QN_ATOMIC_RESP)
		ep->sq.resp_msn = rx_msn;
	else
		assert(qn == WIRE_QN_TERMINATE && tx_msn == RDMAP_MSN_FIRST);
}
