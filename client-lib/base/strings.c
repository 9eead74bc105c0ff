/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "client-lib/base/exported.h"
#include "client-lib/base/reason.h"
#include "util/opcode.h"
#include "util/wc_status.h"

#define NUMBER_OF(major, minor, patch) ((uint32_t)(major) << 16 | (minor) << 8 | (patch))
#define NUMBER_OF_PARTS(parts) NUMBER_OF(parts)

uint32_t ddp_version(void)
{
	return NUMBER_OF_PARTS(PACKAGE_VERSION_PARTS);
}

static const char *const statuses[] = {
#define X(name, kind, text, subject, predicate) [DDP_WC_##name] = text,
	WC_STATUS_TABLE(X)
#undef X
};

static const char *const events[] = {
	[DDP_CM_CONNECT_REQUEST] = "connect request",
	[DDP_CM_ESTABLISHED] = "established",
	[DDP_CM_REJECTED] = "rejected",
	[DDP_CM_CONNECT_ERROR] = "connect error",
	[DDP_CM_DISCONNECTED] = "disconnected",
	[DDP_CM_REQUEST_GONE] = "request gone",
	[DDP_CM_ERROR] = "error",
	[DDP_CM_HALF_CLOSED] = "half closed",
	[DDP_CM_SRQ_LIMIT] = "SRQ limit",
	[DDP_CM_PATH] = "path",
};

static const char *const async_events[] = {
	[DDP_ASYNC_QP_FATAL] = "QP fatal",   [DDP_ASYNC_CQ_OVERRUN] = "CQ overrun",
	[DDP_ASYNC_SRQ_LIMIT] = "SRQ limit", [DDP_ASYNC_PORT_DOWN] = "port down",
	[DDP_ASYNC_PORT_UP] = "port up",     [DDP_ASYNC_DEVICE_GONE] = "device gone",
};

static const char *const path_states[] = {
	[DDP_PATH_UNCONFIRMED] = "unconfirmed",
	[DDP_PATH_ACTIVE] = "active",
	[DDP_PATH_FAILING] = "failing",
	[DDP_PATH_INACTIVE] = "inactive",
};

#define NAME(table, i) (i < sizeof(table) / sizeof(table[0]) && table[i] ? table[i] : "?")

const char *ddp_wc_status_str(enum ddp_wc_status status)
{
	return NAME(statuses, (unsigned)status);
}

const char *ddp_wc_opcode_str(enum ddp_wc_opcode opcode)
{
	const struct opcode *op = opcode_get((unsigned)opcode);

	return op ? op->text : "?";
}

const char *ddp_event_str(enum ddp_cm_event_type type)
{
	return NAME(events, (unsigned)type);
}

const char *ddp_async_str(enum ddp_async_type type)
{
	return NAME(async_events, (unsigned)type);
}

const char *ddp_path_state_str(enum ddp_path_state state)
{
	return NAME(path_states, (unsigned)state);
}

/* ---- ddp_explain() ---- */

struct cause {
	uint16_t key;             /* of the table: term, or status */
	enum wc_status_kind kind; /* which members of the completion the text continues */
	const char *text;
};

/* The meaning of each Terminate (RFC 5040 4.8, RFC 5041 7.2, RFC 7306 8, RFC 6581 9). A row for
 * each one of PERR_TABLE. */
static const struct cause terms[] = {
	{0x0100, WC_STATUS_KEY, "does not name a region of the peer"},
	{0x0101, WC_STATUS_RANGE, "is outside the region"},
	{0x0102, WC_STATUS_KEY, "does not permit reads or atomics"},
	{0x0103, WC_STATUS_KEY, "belongs to another stream or domain"},
	{0x0104, WC_STATUS_RANGE, "exceeds 2^64"},
	{0x0109, WC_STATUS_KEY, "of another stream or domain cannot be invalidated"},
	{0x0205, WC_STATUS_PLAIN, "this version of RDMAP is not supported"},
	{0x0206, WC_STATUS_PLAIN, "the RDMAP opcode was not expected"},
	{0x0207, WC_STATUS_PLAIN,
	 "this stream cannot continue, or the target of an atomic is not aligned"},
	{0x0209, WC_STATUS_KEY, "cannot be invalidated"},
	{0x02ff, WC_STATUS_PLAIN, "the RDMAP message has the wrong length"},
	{0x1000, WC_STATUS_PLAIN, "DDP cannot continue"},
	{0x1100, WC_STATUS_KEY, "does not name a region of the peer, or does not permit writes"},
	{0x1101, WC_STATUS_RANGE, "is outside the region"},
	{0x1102, WC_STATUS_KEY, "belongs to another stream or domain"},
	{0x1103, WC_STATUS_RANGE, "exceeds 2^64"},
	{0x1104, WC_STATUS_PLAIN, "this version of DDP is not supported"},
	{0x1201, WC_STATUS_PLAIN, "the queue does not exist"},
	{0x1202, WC_STATUS_PLAIN, "no receive was posted for the message"},
	{0x1203, WC_STATUS_PLAIN, "the message number is out of range"},
	{0x1204, WC_STATUS_PLAIN, "the message offset is wrong"},
	{0x1205, WC_STATUS_PLAIN, "the message is longer than the receive that was posted for it"},
	{0x1206, WC_STATUS_PLAIN, "this version of DDP is not supported"},
	{0x2000, WC_STATUS_PLAIN, "the association was lost"},
	{0x2005, WC_STATUS_PLAIN, "the session could not be established"},
	{0x2006, WC_STATUS_PLAIN, "more inbound Reads were requested than are supported"},
	{0x2007, WC_STATUS_PLAIN, "no ready-to-receive message is supported by both sides"},
};

/* The meaning of each status, which is the index. */
static const struct cause causes[] = {
#define X(name, kind, text, subject, predicate)                                                    \
	{DDP_WC_##name, WC_STATUS_##kind,                                                          \
	 WC_STATUS_##kind >= WC_STATUS_KEY ? predicate : subject " " predicate},
	WC_STATUS_TABLE(X)
#undef X
};

/* The text of LOCAL_INV, where it differs. */
static const struct cause invalidations[] = {
	{DDP_WC_LOC_KEY_ERR, WC_STATUS_KEY,
	 "is neither a window nor a region, or is no longer valid"},
	{DDP_WC_LOC_PD_ERR, WC_STATUS_KEY, "does not belong to this QP"},
};

#define FIND(table, key) find_cause(table, sizeof(table) / sizeof(table[0]), key)

static const struct cause *find_cause(const struct cause *table, size_t n, unsigned key)
{
	for (size_t i = 0; i < n; i++) {
		if (table[i].key == key)
			return &table[i];
	}
	return NULL;
}

/* Like snprintf() in several steps: len also counts the bytes that did not fit. */
struct text {
	char *buf;
	size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void add_text(struct text *t, const char *fmt, ...)
{
	size_t at = t->len < t->size ? t->len : t->size;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->size > at ? t->buf + at : NULL, t->size - at, fmt, ap);
	va_end(ap);
	t->len += n > 0 ? (size_t)n : 0;
}

/* A fault that this side found is about an lkey, except for invalidations. */
static const char *key_word(const struct ddp_wc *wc)
{
	if (wc->status >= DDP_WC_REM_ACCESS_ERR || wc->opcode == DDP_WC_LOCAL_INV)
		return "STag";
	return "lkey";
}

static void add_cause(struct text *t, const struct ddp_wc *wc, const struct cause *c)
{
	if (c->kind >= WC_STATUS_KEY)
		add_text(t, ": %s 0x%08x", key_word(wc), wc->err_stag);
	/* Small offsets are printed in decimal, addresses in hexadecimal. */
	if (c->kind == WC_STATUS_RANGE)
		add_text(t,
			 wc->err_to >> 32 ? ": offset 0x%llx + %u bytes"
					  : ": offset %llu + %u bytes",
			 (unsigned long long)wc->err_to, wc->err_len);
	add_text(t, "%s %s", c->kind < WC_STATUS_KEY ? ":" : "", c->text);
}

static void add_success(struct text *t, const struct ddp_wc *wc)
{
	unsigned long long imm = wc->imm_data;

	add_text(t, "%s completed", ddp_wc_opcode_str(wc->opcode));
	if (wc->wc_flags & DDP_WC_WITH_IMM)
		add_text(t, ": Immediate Data 0x%016llx", imm);
	else if (wc->opcode == DDP_WC_RECV || wc->opcode == DDP_WC_RDMA_READ)
		add_text(t, ": %u bytes", wc->byte_len);
	else if (wc->opcode == DDP_WC_RECV_TAGGED)
		add_text(t, ": %u bytes to STag 0x%08x", wc->byte_len, wc->stag);
	else if (wc->opcode == DDP_WC_WRITE_NOTICE)
		add_text(t, ": %llu to STag 0x%08x", imm, wc->stag);
	else if (wc->opcode == DDP_WC_FETCH_ADD || wc->opcode == DDP_WC_CMP_SWAP)
		add_text(t, ": the old value was %llu", imm);
	if (wc->wc_flags & DDP_WC_WITH_INV)
		add_text(t, "; STag 0x%08x was invalidated", wc->invalidated_rkey);
}

/* The cause of an error that this side found, or NULL. */
static const struct cause *local_cause(enum ddp_wc_status status)
{
	const struct cause *c = FIND(causes, (unsigned)status);

	return c && c->kind != WC_STATUS_PLAIN ? c : NULL;
}

static void add_failure(struct text *t, const struct ddp_wc *wc)
{
	const struct cause *c = NULL;

	add_text(t, "%s ", ddp_wc_opcode_str(wc->opcode));
	if (wc->status == DDP_WC_FLUSH_ERR && wc->err_kind == REASON_DAEMON_ENDED)
		add_text(t, "was not done: the daemon has ended, or has ended this connection");
	else if (wc->status == DDP_WC_FLUSH_ERR)
		add_text(t, "was not done: %s", causes[DDP_WC_FLUSH_ERR].text);
	else if (wc->status == DDP_WC_REM_ACCESS_ERR || wc->status == DDP_WC_REM_OP_ERR)
		add_text(t, "refused by the peer");
	else
		add_text(t, "failed on this side");
	if (wc->term)
		c = FIND(terms, wc->term);
	if (!c && wc->opcode == DDP_WC_LOCAL_INV)
		c = FIND(invalidations, (unsigned)wc->status);
	if (!c)
		c = local_cause(wc->status);
	/* A flushed work request did not cause the fault. */
	if (c && (wc->status != DDP_WC_FLUSH_ERR || c->kind == WC_STATUS_PLAIN))
		add_cause(t, wc, c);
	if (wc->term)
		add_text(t, " (layer %u, type %u, code %02x)", wc->term >> 12, wc->term >> 8 & 15,
			 wc->term & 255);
}

int ddp_explain(const struct ddp_wc *wc, char *buf, size_t len)
{
	struct text t = {.buf = buf, .size = len};

	if (wc->status == DDP_WC_SUCCESS)
		add_success(&t, wc);
	else
		add_failure(&t, wc);
	return (int)t.len;
}
