/* SPDX-License-Identifier: BSD-2-Clause */
/* Promise: the end of each session has a sentence and an errno value, by its reason. */
#include <criterion/criterion.h>
#include <errno.h>

#include "daemon/net/association.h"
#include "daemon/objects/sessions/reason.h"
#include "proto/association/assoc.h"

#define AT                                                                                         \
	": tagged segment: outside the region: STag 0x12345678, offset 0x5000, 8 bytes "           \
	"(Terminate 1/1/01)"
#define IRD ": insufficient IRD for the Reads that the peer requests (Terminate 2/0/06)"
#define RTR ": no ready-to-receive message that both sides support (Terminate 2/0/07)"
#define ESTABLISH ": local error during session establishment (Terminate 2/0/05)"
#define MESSAGE                                                                                    \
	": untagged segment: no buffer posted for the message: message 7, offset 9, 10 bytes "     \
	"(Terminate 1/2/02)"

static const struct perr_at bounds = {PERR_TAGGED_BOUNDS, 0x1101, 0x12345678, 0x5000, 8, 3};
static const struct perr_at message = {PERR_NO_BUFFER, 0x1202, 0, 9, 10, 7};
static const struct perr_at ird = {PERR_ENH_IRD, 0x2006, 0, 0, 0, 0};
static const struct perr_at rtr = {PERR_ENH_RTR, 0x2007, 0, 0, 0, 0};
static const struct perr_at request = {PERR_REQUEST, 0, 0, 0, 0, 0};
static const struct perr_at establish = {PERR_ENH_LOCAL, 0x2005, 0, 0, 0, 0};

static const struct {
	enum assoc_reason reason;
	const struct perr_at *at;
	int err;
	const char *text;
} rows[] = {
	{ASSOC_REASON_LOCAL, NULL, 0, ""},
	{ASSOC_REASON_PEER, NULL, 0, "ended by the peer"},
	{ASSOC_REASON_VIOLATION, NULL, EPROTO,
	 "the peer violated the message sequences of RFC 5043 section 6"},
	{ASSOC_REASON_ERROR, &bounds, EPROTO, "this side refused what the peer sent" AT},
	{ASSOC_REASON_ERROR, &message, EPROTO, "this side refused what the peer sent" MESSAGE},
	{ASSOC_REASON_ERROR, &ird, EPROTO, "this side did not agree to the peer's answer" IRD},
	{ASSOC_REASON_ERROR, &rtr, EPROTO, "this side did not agree to the peer's answer" RTR},
	{ASSOC_REASON_ERROR, &establish, EPROTO,
	 "this side did not agree to the peer's answer" ESTABLISH},
	{ASSOC_REASON_ERROR, &request, EINVAL,
	 "a request of this side failed, and its queue pair stops at errors"},
	{ASSOC_REASON_REMOTE, &bounds, EREMOTEIO, "the peer refused what this side sent" AT},
	{ASSOC_REASON_REMOTE, &ird, EREMOTEIO, "the peer did not agree to this side's answer" IRD},
	{ASSOC_REASON_REMOTE, &rtr, EREMOTEIO, "the peer did not agree to this side's answer" RTR},
	{ASSOC_REASON_REMOTE, &establish, EREMOTEIO,
	 "the peer did not agree to this side's answer" ESTABLISH},
};

Test(reason, each_end_has_its_sentence)
{
	static const struct association assoc;
	char text[512];

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assoc_event ev = {.reason = rows[i].reason};

		if (rows[i].at)
			ev.at = *rows[i].at;
		cr_assert_eq(reason_closed(&assoc, &ev, text, sizeof(text)), rows[i].err, "row %u",
			     i);
		cr_assert_str_eq(text, rows[i].text);
	}
}

Test(reason, a_lost_association_says_why_if_that_is_known)
{
	const struct assoc_event ev = {.reason = ASSOC_REASON_LOST};
	struct association assoc = {.lost_err = ETIMEDOUT};
	char text[512];

	cr_assert_eq(reason_closed(&assoc, &ev, text, sizeof(text)), ETIMEDOUT);
	cr_assert_str_eq(text, "the association was lost");
	assoc.lost = (char[]){"closed"};
	assoc.lost_err = EPIPE;
	cr_assert_eq(reason_closed(&assoc, &ev, text, sizeof(text)), ECONNRESET);
	cr_assert_str_eq(text, "closed; the association was lost");
}

/* The longest: of a rule at a peer with the longest address. */
Test(reason, what_a_peer_says_is_whole_in_an_event)
{
	const struct assoc_event ev = {.reason = ASSOC_REASON_LOST};
	struct association assoc = {.lost_err = ECONNRESET};
	char lost[256] = "2001:db8:1111:2222:3333:4444:5555:6666 aborted the association: ";
	char text[MSG_REASON_MAX];

	memset(lost + strlen(lost), 'r', LLP_ABORT_TEXT - 1);
	assoc.lost = lost;
	reason_closed(&assoc, &ev, text, sizeof(text));
	cr_assert(strncmp(text, lost, strlen(lost)) == 0, "%s", text);
}

Test(reason, an_error_of_a_raw_session_has_its_place)
{
	const struct assoc_event ev = {.at = bounds};
	char text[512];

	cr_assert_eq(reason_error(&ev, text, sizeof(text)), EPROTO);
	cr_assert_str_eq(text, "the peer sent a faulty message" AT);
}
