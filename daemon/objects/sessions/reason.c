/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/sessions/reason.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/net/association.h"
#include "proto/association/assoc.h"

/* "tagged segment: outside the region: STag 0x12345678, offset 0x5000, 8 bytes (Terminate 1/1/01)"
 */
static void explain_error(const char *who, const struct perr_at *at, char *ret, size_t len)
{
	char where[96] = "";

	if (at->stag)
		snprintf(where, sizeof(where), ": STag 0x%08x, offset 0x%llx, %u bytes", at->stag,
			 (unsigned long long)at->to, at->len);
	else if (at->msn)
		snprintf(where, sizeof(where), ": message %u, offset %llu, %u bytes", at->msn,
			 (unsigned long long)at->to, at->len);
	snprintf(ret, len, "%s: %s%s (Terminate %u/%u/%02x)", who, perr_text(at->perr), where,
		 at->term >> 12, at->term >> 8 & 15, at->term & 0xff);
}

/* Errors of the negotiation (RFC 6581): no message was faulty. */
static bool of_agreement(const struct perr_at *at)
{
	return at->perr == PERR_ENH_LOCAL || at->perr == PERR_ENH_IRD || at->perr == PERR_ENH_RTR;
}

int reason_error(const struct assoc_event *ev, char *ret, size_t len)
{
	explain_error("the peer sent a faulty message", &ev->at, ret, len);
	return EPROTO;
}

/* This side ends the session. */
static int reason_own(const struct perr_at *at, char *ret, size_t len)
{
	if (at->perr == PERR_REQUEST) {
		snprintf(ret, len, "%s", perr_text(at->perr));
		return EINVAL;
	}
	explain_error(of_agreement(at) ? "this side did not agree to the peer's answer"
				       : "this side refused what the peer sent",
		      at, ret, len);
	return EPROTO;
}

static int reason_lost(const struct association *assoc, char *ret, size_t len)
{
	/* A long reason loses these words, and no others. */
	snprintf(ret, len, "%s%sthe association was lost", assoc->lost ? assoc->lost : "",
		 assoc->lost ? "; " : "");
	return assoc->lost_err == ETIMEDOUT ? ETIMEDOUT : ECONNRESET;
}

int reason_closed(const struct association *assoc, const struct assoc_event *ev, char *ret,
		  size_t len)
{
	switch (ev->reason) {
	case ASSOC_REASON_LOCAL:
		snprintf(ret, len, "%s", "");
		return 0;
	case ASSOC_REASON_PEER:
		snprintf(ret, len, "ended by the peer");
		return 0;
	case ASSOC_REASON_ERROR:
		return reason_own(&ev->at, ret, len);
	case ASSOC_REASON_REMOTE:
		explain_error(of_agreement(&ev->at) ? "the peer did not agree to this side's answer"
						    : "the peer refused what this side sent",
			      &ev->at, ret, len);
		return EREMOTEIO;
	case ASSOC_REASON_VIOLATION:
		snprintf(ret, len, "the peer violated the message sequences of RFC 5043 section 6");
		return EPROTO;
	case ASSOC_REASON_LOST:
		break;
	}
	return reason_lost(assoc, ret, len);
}
