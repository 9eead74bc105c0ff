/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/wire/param.h"

#include <string.h>

#include "util/be.h"

enum {
	FIXED = 20, /* chunk header, tag, a_rwnd, streams, TSN */
	MIN_RWND = 1500,
	IPV4_LEN = 8, /* of the whole parameter */
	IPV6_LEN = 20,
	ADAPTATION_LEN = 8,
	ZERO_CHECKSUM_LEN = 8,
};

/* ---- reading ---- */

static void list_addr(struct sctp_init *i, const struct sctp_addr *a)
{
	if (i->naddrs == SCTP_MAX_PATHS - 1 || !sctp_addr_unicast(a))
		return;
	for (unsigned k = 0; k < i->naddrs; k++)
		if (sctp_addr_equal(&i->addr[k], a))
			return;
	i->addr[i->naddrs++] = *a;
}

static enum sctp_init_result get_addr_param(struct sctp_init *i, const struct sctp_chunk *param,
					    bool v4)
{
	const uint8_t *ip = param->p + SCTP_CHUNK_HEAD;
	struct sctp_addr a = {.scope = 0};

	if (param->len != (v4 ? IPV4_LEN : IPV6_LEN))
		return SCTP_INIT_MALFORMED;
	if (v4)
		a = sctp_addr_v4(ip);
	else
		memcpy(a.ip, ip, sizeof(a.ip));
	list_addr(i, &a);
	return SCTP_INIT_OK;
}

static enum sctp_init_result get_adaptation(struct sctp_init *i, const struct sctp_chunk *param)
{
	if (param->len != ADAPTATION_LEN)
		return SCTP_INIT_MALFORMED;
	if (!i->has_adaptation)
		i->adaptation = be_get32(param->p + SCTP_CHUNK_HEAD);
	i->has_adaptation = true;
	return SCTP_INIT_OK;
}

/* One of another length is skipped, as who does not know it does. */
static void get_zero_checksum(struct sctp_init *i, const struct sctp_chunk *param)
{
	if (i->has_zero_checksum || param->len != ZERO_CHECKSUM_LEN)
		return;
	i->has_zero_checksum = true;
	i->zero_checksum = be_get32(param->p + SCTP_CHUNK_HEAD);
}

static void get_families(struct sctp_init *i, const struct sctp_chunk *param)
{
	if (i->families_listed)
		return;
	i->families_listed = true;
	i->takes_v4 = i->takes_v6 = false;
	for (uint32_t at = SCTP_CHUNK_HEAD; at + 2 <= param->len; at += 2) {
		i->takes_v4 |= be_get16(param->p + at) == SCTP_PARAM_IPV4;
		i->takes_v6 |= be_get16(param->p + at) == SCTP_PARAM_IPV6;
	}
}

static void get_cookie(struct sctp_init *i, const struct sctp_chunk *param)
{
	if (i->cookie)
		return;
	i->cookie = param->p + SCTP_CHUNK_HEAD;
	i->cookie_len = param->len - SCTP_CHUNK_HEAD;
}

/* Takes note of an unknown parameter. True if the next one shall be read. */
static bool skip_unknown(struct sctp_init *i, const struct sctp_chunk *param)
{
	unsigned high_bits = param->p[0] >> 6;

	if (sctp_unknown_reports(high_bits) && i->nunknown < SCTP_MAX_UNKNOWN)
		i->unknown[i->nunknown++] = *param;
	return sctp_unknown_skips(high_bits);
}

/* Reads one parameter. Clears *more if no further one shall be read. */
static enum sctp_init_result get_param(struct sctp_init *i, const struct sctp_chunk *param,
				       bool is_ack, bool *more)
{
	uint16_t type = be_get16(param->p);

	switch (type) {
	case SCTP_PARAM_IPV4:
	case SCTP_PARAM_IPV6:
		return get_addr_param(i, param, type == SCTP_PARAM_IPV4);
	case SCTP_PARAM_ADAPTATION:
		return get_adaptation(i, param);
	case SCTP_PARAM_ZERO_CHECKSUM:
		get_zero_checksum(i, param);
		break;
	case SCTP_PARAM_HOST_NAME:
		i->unknown[0] = *param;
		i->nunknown = 1;
		return SCTP_INIT_HOST_NAME;
	case SCTP_PARAM_FAMILIES:
		get_families(i, param);
		break;
	case SCTP_PARAM_COOKIE:
		if (is_ack)
			get_cookie(i, param);
		break;
	case SCTP_PARAM_BATCHES:
		i->takes_batches = true;
		break;
	case SCTP_PARAM_HEARTBEAT:
	case SCTP_PARAM_UNRECOGNIZED:
	case SCTP_PARAM_PRESERVATIVE:
	case SCTP_PARAM_ECN:
	case SCTP_PARAM_PAD:
		break;
	default:
		*more = skip_unknown(i, param);
	}
	return SCTP_INIT_OK;
}

/* COOKIE ECHO is sent also if an unknown parameter stops the reading in front of the cookie
 * (3.2.1). */
static void find_cookie(struct sctp_init *i, struct sctp_cursor at)
{
	struct sctp_chunk param;

	while (!i->cookie && sctp_chunk_next(&at, &param) == SCTP_NEXT_OK)
		if (be_get16(param.p) == SCTP_PARAM_COOKIE)
			get_cookie(i, &param);
}

static enum sctp_init_result get_params(struct sctp_init *i, const struct sctp_chunk *c)
{
	/* Parameters and chunks share where the length is and how they are padded. */
	struct sctp_cursor at = {c->p + FIXED, c->p + c->len};
	struct sctp_chunk param;
	bool more = true;

	while (more) {
		enum sctp_next next = sctp_chunk_next(&at, &param);
		enum sctp_init_result r;

		if (next == SCTP_NEXT_END)
			break;
		if (next == SCTP_NEXT_BAD)
			return SCTP_INIT_MALFORMED;
		r = get_param(i, &param, c->type == SCTP_INIT_ACK, &more);
		if (r != SCTP_INIT_OK)
			return r;
	}
	if (c->type == SCTP_INIT_ACK)
		find_cookie(i, at);
	return SCTP_INIT_OK;
}

enum sctp_init_result sctp_init_get(const struct sctp_chunk *c, struct sctp_init *ret)
{
	enum sctp_init_result r;

	memset(ret, 0, sizeof(*ret));
	if (c->len < FIXED)
		return SCTP_INIT_MALFORMED;
	ret->tag = be_get32(c->p + 4);
	ret->a_rwnd = be_get32(c->p + 8);
	ret->out_streams = be_get16(c->p + 12);
	ret->in_streams = be_get16(c->p + 14);
	ret->tsn = be_get32(c->p + 16);
	ret->takes_v4 = ret->takes_v6 = true;
	if (ret->tag == 0)
		return SCTP_INIT_BAD_TAG;
	if (ret->out_streams == 0 || ret->in_streams == 0)
		return SCTP_INIT_BAD_STREAMS;
	if (ret->a_rwnd < MIN_RWND)
		return SCTP_INIT_BAD_RWND;
	r = get_params(ret, c);
	if (r != SCTP_INIT_OK)
		return r;
	return c->type == SCTP_INIT_ACK && !ret->cookie ? SCTP_INIT_NO_COOKIE : SCTP_INIT_OK;
}

/* ---- writing ---- */

static void put_param(struct sctp_writer *w, uint16_t type, const void *p, uint32_t len)
{
	uint32_t at = sctp_begin_tlv(w, type);

	sctp_put_bytes(w, p, len);
	sctp_end_chunk(w, at);
}

static void put_addr_param(struct sctp_writer *w, const struct sctp_addr *a)
{
	if (sctp_addr_is_v4(a))
		put_param(w, SCTP_PARAM_IPV4, a->ip + 12, 4);
	else
		put_param(w, SCTP_PARAM_IPV6, a->ip, 16);
}

static void put_number_param(struct sctp_writer *w, uint16_t type, uint32_t value)
{
	uint32_t at = sctp_begin_tlv(w, type);

	sctp_put32(w, value);
	sctp_end_chunk(w, at);
}

static void put_families(struct sctp_writer *w, bool v4, bool v6)
{
	uint32_t at = sctp_begin_tlv(w, SCTP_PARAM_FAMILIES);

	if (v4)
		sctp_put16(w, SCTP_PARAM_IPV4);
	if (v6)
		sctp_put16(w, SCTP_PARAM_IPV6);
	sctp_end_chunk(w, at);
}

/* A report that does not fit is left out: it is worth less than the handshake. */
static void report_unknown_params(struct sctp_writer *w, const struct sctp_chunk *unknown)
{
	struct sctp_writer before = *w;

	put_param(w, SCTP_PARAM_UNRECOGNIZED, unknown->p, unknown->len);
	if (w->full && !before.full)
		*w = before;
}

void sctp_init_put(struct sctp_writer *w, uint8_t type, const struct sctp_init *i,
		   const struct sctp_chunk *unknown, unsigned nunknown)
{
	uint32_t at = sctp_begin_chunk(w, type, 0);

	sctp_put32(w, i->tag);
	sctp_put32(w, i->a_rwnd);
	sctp_put16(w, i->out_streams);
	sctp_put16(w, i->in_streams);
	sctp_put32(w, i->tsn);
	for (unsigned k = 0; k < i->naddrs; k++)
		put_addr_param(w, &i->addr[k]);
	if (i->has_adaptation)
		put_number_param(w, SCTP_PARAM_ADAPTATION, i->adaptation);
	if (i->takes_batches)
		put_param(w, SCTP_PARAM_BATCHES, NULL, 0);
	if (i->has_zero_checksum)
		put_number_param(w, SCTP_PARAM_ZERO_CHECKSUM, i->zero_checksum);
	if (type == SCTP_INIT && (i->takes_v4 || i->takes_v6))
		put_families(w, i->takes_v4, i->takes_v6);
	if (type == SCTP_INIT_ACK) {
		put_param(w, SCTP_PARAM_COOKIE, i->cookie, i->cookie_len);
		for (unsigned k = 0; k < nunknown; k++)
			report_unknown_params(w, &unknown[k]);
	}
	sctp_end_chunk(w, at);
}
