/* SPDX-License-Identifier: BSD-2-Clause */
/* Notifications of the kernel's SCTP. */
#include "llp/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "util/addr.h"

enum {
	CAUSE_USER_ABORT = 12,
	CAUSE_HEADER = 4, /* in front of the text */
};

/* The sentence that came with the peer's ABORT, made printable; "" if there was none. */
static const char *abort_text(const struct sctp_assoc_change *a, size_t len, char *ret, size_t size)
{
	size_t head = sizeof(*a) + CAUSE_HEADER;
	size_t n = 0;

	if (ntohs(a->sac_error) == CAUSE_USER_ABORT && len > head) {
		const uint8_t *p = (const uint8_t *)a + head;

		for (; n < len - head && n < size - 1; n++)
			ret[n] = isprint(p[n]) ? (char)p[n] : '?';
	}
	ret[n] = 0;
	return ret;
}

static int error_of(const struct kernel_conn *c)
{
	return c->sock_err ? c->sock_err : kernel_sock_error(c->watch.fd);
}

static void on_lost(struct kernel_conn *c, const struct sctp_assoc_change *a, size_t len)
{
	int err = error_of(c);
	char text[128], addr[ADDR_TEXT_MAX];

	addr_host_text(&c->remote, addr);
	abort_text(a, len, text, sizeof(text));
	if (err == ETIMEDOUT)
		kernel_conn_end(c, err, "%s does not answer any more", addr);
	else if (err != ECONNRESET && len <= sizeof(*a))
		kernel_conn_end(c, ECONNABORTED, "the association with %s broke down", addr);
	else if (text[0])
		kernel_conn_end(c, ECONNRESET, "%s aborted the association: %s", addr, text);
	else
		kernel_conn_end(c, ECONNRESET, "%s aborted the association (cause %u)", addr,
				ntohs(a->sac_error));
}

static void on_refused(struct kernel_conn *c)
{
	int err = error_of(c);
	char addr[ADDR_TEXT_MAX];

	addr_host_text(&c->remote, addr);
	if (err == ECONNREFUSED)
		kernel_conn_end(c, err, "%s refuses associations to SCTP port %u", addr,
				addr_port(&c->remote));
	else if (err == 0 || err == ETIMEDOUT)
		kernel_conn_end(c, ETIMEDOUT, "%s does not answer", addr);
	else
		kernel_conn_end(c, err, "%s: %s", addr, strerror(err));
}

static void on_assoc_change(struct kernel_conn *c, const struct sctp_assoc_change *a, size_t len)
{
	switch (a->sac_state) {
	case SCTP_COMM_UP:
		if (c->state == KERNEL_CONNECTING)
			c->state = KERNEL_VERIFYING;
		break;
	case SCTP_COMM_LOST:
		on_lost(c, a, len);
		break;
	case SCTP_CANT_STR_ASSOC:
		on_refused(c);
		break;
	case SCTP_RESTART:
		/* All that the other side knew of us is gone, and no indication will come. */
		kernel_conn_end(c, ECONNRESET, "the peer restarted");
		break;
	case SCTP_SHUTDOWN_COMP:
		kernel_conn_end(c, 0, "closed");
		break;
	}
}

static void on_indication(struct kernel_conn *c, uint32_t got)
{
	uint32_t want = kernel_of(c)->cfg.adaptation;

	if (c->state != KERNEL_VERIFYING)
		return;
	if (got == want)
		c->state = KERNEL_UP;
	else
		kernel_conn_end(
			c, EPROTONOSUPPORT,
			"the peer speaks no DDP: its adaptation indication is 0x%x, not 0x%x", got,
			want);
}

static void on_path(struct kernel_conn *c, const struct sctp_paddr_change *p)
{
	struct sockaddr_storage remote;

	memcpy(&remote, &p->spc_aaddr, sizeof(remote));
	kernel_path_changed(c, &remote, p->spc_state);
}

void kernel_event(struct kernel_conn *c, const void *data, size_t len)
{
	const union sctp_notification *n = data;

	if (len < sizeof(n->sn_header))
		return;
	switch (n->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		if (len >= sizeof(n->sn_assoc_change))
			on_assoc_change(c, &n->sn_assoc_change, len);
		break;
	case SCTP_ADAPTATION_INDICATION:
		if (len >= sizeof(n->sn_adaptation_event))
			on_indication(c, n->sn_adaptation_event.sai_adaptation_ind);
		break;
	case SCTP_SENDER_DRY_EVENT:
		c->dry = true;
		break;
	case SCTP_PEER_ADDR_CHANGE:
		if (len >= sizeof(n->sn_paddr_change))
			on_path(c, &n->sn_paddr_change);
		break;
	case SCTP_PARTIAL_DELIVERY_EVENT:
		c->part_len = 0;
		break;
	}
}
