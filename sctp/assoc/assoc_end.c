/* SPDX-License-Identifier: BSD-2-Clause */
#include "sctp/assoc/assoc_end.h"

#include <string.h>

#include "sctp/assoc/handshake.h"
#include "sctp/assoc/path_model.h"
#include "sctp/base/admission.h"
#include "sctp/base/alloc.h"
#include "sctp/base/lookup.h"
#include "sctp/base/ports.h"
#include "sctp/base/reply.h"

/* Removes it from lookup, timers and lists: from here on it neither receives nor sends packets. */
static void detach_assoc(struct sctp_assoc *a)
{
	struct sctp *s = a->s;

	for (unsigned i = 0; i < a->paths.n; i++)
		sctp_lookup_del(&a->paths.at[i]);
	timer_cancel(&s->timers, &a->deadline.timer);
	a->deadline.armed_us = SCTP_NEVER;
	list_del(&a->pending);
	for (unsigned i = 0; i < a->paths.n; i++)
		sctp_path_free_model(&a->paths.at[i]);
	sctp_queue_deinit(&a->tx, &a->origin.account);
	sctp_flight_clear(&a->flight);
	a->window = (struct sctp_window){0};
	sctp_tsn_map_deinit(&a->map);
	sctp_rwnd_release(&a->acks.rwnd, &s->windows);
	sctp_handshake_end(a);
	a->state = SCTP_CLOSED;
}

void sctp_assoc_end(struct sctp_assoc *a, enum sctp_end end, uint32_t cause, const char *text,
		    uint32_t len)
{
	if (a->state == SCTP_CLOSED && sctp_events_due(&a->events, SCTP_DOWN))
		return;
	detach_assoc(a);
	sctp_events_end(&a->events, &a->s->eventful, end, cause, text, len);
}

static void send_abort(struct sctp_assoc *a, uint16_t cause, const void *value, uint32_t len)
{
	struct sctp_writer w;
	uint32_t at;

	if (a->state == SCTP_CLOSED || a->id.peer_tag == 0)
		return;
	w = sctp_reply_alone(sctp_primary(a));
	at = sctp_begin_chunk(&w, SCTP_ABORT, 0);
	if (cause != SCTP_CAUSE_NONE)
		sctp_put_cause(&w, cause, value, len);
	sctp_end_chunk(&w, at);
	sctp_reply_end(a->s, &w);
}

void sctp_assoc_break(struct sctp_assoc *a, enum sctp_end end, uint16_t cause, const void *value,
		      uint32_t len, const char *text)
{
	send_abort(a, cause, value, len);
	sctp_assoc_end(a, end, end == SCTP_END_INDICATION ? a->agreed.adaptation : 0, text,
		       (uint32_t)strlen(text));
}

void sctp_assoc_abort(struct sctp_assoc *a, const char *text)
{
	uint32_t len = text ? (uint32_t)strlen(text) : 0;

	if (a->state == SCTP_CLOSED)
		return;
	send_abort(a, SCTP_CAUSE_USER, text, len < SCTP_ABORT_TEXT ? len : SCTP_ABORT_TEXT);
	detach_assoc(a);
	sctp_events_clear(&a->events);
}

struct sctp_assoc *sctp_assoc_free(struct sctp_assoc *a)
{
	struct sctp *s;

	if (!a)
		return NULL;
	s = a->s;
	sctp_assoc_abort(a, NULL);
	detach_assoc(a);
	if (s->rx_assoc == a)
		s->rx_assoc = NULL;
	sctp_recv_deinit(&a->recv);
	sctp_events_clear(&a->events);
	list_del(&a->all);
	sctp_assoc_leave_port(a);
	network_drop(a->origin.account.network);
	sctp_release(s, a->paths.at, a->paths.allocated * sizeof(a->paths.at[0]));
	sctp_release(s, a, sizeof(*a));
	s->nassocs--;
	return NULL;
}

unsigned sctp_assoc_max_errors(const struct sctp_assoc *a)
{
	const struct sctp_config *cfg = &a->s->cfg;

	return cfg->assoc_max_retrans ? cfg->assoc_max_retrans : a->paths.n * cfg->path_max_retrans;
}

bool sctp_assoc_error(struct sctp_assoc *a)
{
	if (++a->errors <= sctp_assoc_max_errors(a))
		return true;
	send_abort(a, SCTP_CAUSE_NONE, NULL, 0);
	sctp_assoc_end(a, SCTP_END_TIMEOUT, 0, NULL, 0);
	return false;
}
