/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/datagrams/wire_datagram.h"

#include "daemon/objects/datagrams/flight.h"
#include "ipc/wqe.h"
#include "util/be.h"

enum {
	VERSION = 1,
	SOLICITED = 1,
	IMMEDIATE = 2,
	AT_FLAGS = 1,
	AT_LEN = 2,
	AT_FROM = 4,
	AT_NUMBER = 8,
	AT_QKEY = 12,
	AT_IMM = 16,
};

void wire_datagram_put(uint8_t ret[WIRE_DATAGRAM_HEAD], const struct flight *f)
{
	ret[0] = VERSION;
	ret[AT_FLAGS] = (uint8_t)((f->solicited ? SOLICITED : 0) | (f->immediate ? IMMEDIATE : 0));
	be_put16(ret + AT_LEN, (uint16_t)f->len);
	be_put32(ret + AT_FROM, f->from_number);
	be_put32(ret + AT_NUMBER, f->number);
	be_put32(ret + AT_QKEY, f->qkey);
	be_put64(ret + AT_IMM, f->immediate ? f->imm : 0);
}

uint32_t wire_datagram_len(const uint8_t head[WIRE_DATAGRAM_HEAD])
{
	return WIRE_DATAGRAM_HEAD + be_get16(head + AT_LEN);
}

bool wire_datagram_get(uint8_t *p, uint32_t len, struct flight *ret)
{
	if (len < WIRE_DATAGRAM_HEAD || len > WIRE_DATAGRAM_HEAD + WQE_DATAGRAM_MAX ||
	    p[0] != VERSION || p[AT_FLAGS] > (SOLICITED | IMMEDIATE) || wire_datagram_len(p) != len)
		return false;
	*ret = (struct flight){
		.from_number = be_get32(p + AT_FROM),
		.number = be_get32(p + AT_NUMBER),
		.qkey = be_get32(p + AT_QKEY),
		.solicited = p[AT_FLAGS] & SOLICITED,
		.immediate = p[AT_FLAGS] & IMMEDIATE,
		.imm = be_get64(p + AT_IMM),
		.bytes = {{p + WIRE_DATAGRAM_HEAD, len - WIRE_DATAGRAM_HEAD}},
		.nbytes = 1,
		.len = len - WIRE_DATAGRAM_HEAD,
	};
	return ret->from_number < WQE_NUMBERS && ret->number < WQE_NUMBERS;
}
