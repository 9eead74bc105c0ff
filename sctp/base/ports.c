/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/base/ports.h"

void sctp_assoc_use_port(struct sctp_assoc *a, uint16_t port)
{
	a->id.own_port = port;
	if (port >= SCTP_FIRST_PORT)
		a->s->port_uses[port - SCTP_FIRST_PORT]++;
}

void sctp_assoc_leave_port(struct sctp_assoc *a)
{
	if (a->id.own_port >= SCTP_FIRST_PORT)
		a->s->port_uses[a->id.own_port - SCTP_FIRST_PORT]--;
	a->id.own_port = 0;
}

static bool port_used(const struct sctp *s, uint16_t port)
{
	if (s->port_uses[port - SCTP_FIRST_PORT])
		return true;
	list_foreach (it, &s->listeners)
		if (list_entry(it, struct sctp_listener, all)->port == port)
			return true;
	return false;
}

uint16_t sctp_free_port(struct sctp *s)
{
	for (unsigned i = 0; i < SCTP_OWN_PORTS; i++) {
		uint16_t port = (uint16_t)(SCTP_FIRST_PORT + s->next_port++ % SCTP_OWN_PORTS);

		if (!port_used(s, port))
			return port;
	}
	return 0;
}
