/* SPDX-License-Identifier: BSD-2-Clause */
/* Notifications of the kernel's SCTP. */
#include "llp/kernel/kernel.h"

#include <errno.h>
#include <string.h>

#include "util/addr.h"

enum {
	CAUSE_HEADER = 4, /* of the error cause that follows the event */
};

static int error_of(const struct kernel_conn *c)
{
	return c->sock_err ? c->sock_err : kernel_sock_error(c->watch.fd);
}

static void on_lost(struct kernel_conn *c, const struct sctp_assoc_change *a, size_t len)
{
	int err = error_of(c);
	char addr[ADDR_TEXT_MAX];

	addr_host_text(&c->remote, addr);
	if (err == ETIMEDOUT)
		llp_sctp_end(&c->sctp, err, "%s does not answer any more", addr);
	else if (err != ECONNRESET && len <= sizeof(*a))
		llp_sctp_end(&c->sctp, ECONNABORTED, "the association with %s failed", addr);
	else
		llp_sctp_end_aborted(&c->sctp, &c->remote, ntohs(a->sac_error), a,
				     sizeof(*a) + CAUSE_HEADER, len);
}

static void on_refused(struct kernel_conn *c)
{
	int err = error_of(c);
	char addr[ADDR_TEXT_MAX], why[KERNEL_SILENCE_MAX];

	addr_host_text(&c->remote, addr);
	if (err == ECONNREFUSED)
		llp_sctp_end(&c->sctp, err,
			     "%s refuses associations to SCTP port %u: no program listens there, "
			     "or its ddpsctpd has the transport user (ddpctl status there)",
			     addr, addr_port(&c->remote));
	else if (err == ENOPROTOOPT || err == EPROTONOSUPPORT)
		llp_sctp_end(&c->sctp, err,
			     "%s has no SCTP: its ddpsctpd may have the transport user (ddpctl "
			     "status there)",
			     addr);
	else if (err == 0 || err == ETIMEDOUT)
		llp_sctp_end(&c->sctp, ETIMEDOUT, "%s does not answer: %s", addr,
			     kernel_silence(kernel_of(c)->sctp.cfg.udp_port, why));
	else
		llp_sctp_end(&c->sctp, err, "%s: %s", addr, strerror(err));
}

static void on_assoc_change(struct kernel_conn *c, const struct sctp_assoc_change *a, size_t len)
{
	switch (a->sac_state) {
	case SCTP_COMM_UP:
		if (c->sctp.state == LLP_SCTP_CONNECTING)
			c->sctp.state = LLP_SCTP_VERIFYING;
		break;
	case SCTP_COMM_LOST:
		on_lost(c, a, len);
		break;
	case SCTP_CANT_STR_ASSOC:
		on_refused(c);
		break;
	case SCTP_RESTART:
		/* The peer has lost its state, and sends no indication. */
		llp_sctp_end(&c->sctp, ECONNRESET, "the peer restarted");
		break;
	case SCTP_SHUTDOWN_COMP:
		llp_sctp_end(&c->sctp, 0, "closed");
		break;
	}
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
			llp_sctp_indication(&c->sctp, n->sn_adaptation_event.sai_adaptation_ind);
		break;
	case SCTP_SENDER_DRY_EVENT:
		c->sctp.acked = true;
		break;
	case SCTP_PEER_ADDR_CHANGE:
		if (len >= sizeof(n->sn_paddr_change))
			on_path(c, &n->sn_paddr_change);
		break;
	case SCTP_PARTIAL_DELIVERY_EVENT:
		llp_sctp_drop_part(&c->sctp);
		break;
	}
}
