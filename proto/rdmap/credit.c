/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto/rdmap/credit.h"

#include "proto/rdmap/hold.h"
#include "proto/ddp/wire.h"

enum { LONGEST = WIRE_SSN_LEN + WIRE_MULPDU_MAX };

/* a is after b, of numbers that wrap. */
static bool is_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/*
 * A message that arrived out of order keeps its place in the hold while those before it are
 * delivered, and at most a window of them arrived after it. So the hold may have to span two
 * windows, and the end of a ring may have no room for the longest segment. Half a window has room
 * for it, else there might be no report.
 */
uint32_t credit_window(uint32_t hold_bytes)
{
	uint32_t longest = hold_room(LONGEST), half = hold_bytes / 2;
	uint32_t window = half > longest ? half - longest : 0;

	if (window < 2 * longest)
		return 0;
	return window < CREDIT_WINDOW_MAX ? window : CREDIT_WINDOW_MAX;
}

uint32_t credit_hold_min(void)
{
	return 6 * hold_room(LONGEST);
}

void credit_rx_begin(struct credit_rx *c, uint32_t window)
{
	*c = (struct credit_rx){.window = window};
}

bool credit_rx_add(struct credit_rx *c, uint32_t room, bool takes)
{
	c->got += room;
	c->takes = c->takes || takes;
	if (c->stalled) {
		c->stalled = c->not_ready = false;
		c->due = true;
		return true;
	}
	if (c->due || c->window == 0 || !c->takes || c->got - c->reported < c->window / 2)
		return false;
	c->due = true;
	return true;
}

bool credit_rx_stall(struct credit_rx *c)
{
	if (c->stalled)
		return false;
	c->stalled = c->not_ready = true;
	return true;
}

void credit_rx_reported(struct credit_rx *c, uint64_t pos)
{
	c->reported = pos;
	c->takes = c->due = c->not_ready = false;
}

void credit_tx_begin(struct credit_tx *c, uint32_t window, uint32_t receives)
{
	*c = (struct credit_tx){.window = window, .limit = receives};
}

static bool goes_beyond(const struct credit_tx *c, bool takes, uint32_t msn)
{
	return c->beyond || (takes && is_after(msn, c->limit));
}

bool credit_tx_may(const struct credit_tx *c, uint32_t room, bool takes, uint32_t msn)
{
	uint64_t used = c->beyond ? c->sent - c->base : 0;

	if (c->window == 0 || used == 0 || !goes_beyond(c, takes, msn))
		return true;
	return used + room <= c->window;
}

void credit_tx_sent(struct credit_tx *c, uint32_t room, bool takes, uint32_t msn)
{
	if (takes)
		c->last = msn;
	if (!c->beyond && goes_beyond(c, takes, msn)) {
		c->beyond = true;
		c->base = c->sent;
	}
	c->sent += room;
}

bool credit_tx_update(struct credit_tx *c, uint64_t pos, uint32_t limit)
{
	if (pos < c->reported || pos > c->sent)
		return false;
	c->reported = pos;
	if (is_after(limit, c->limit))
		c->limit = limit;
	if (!c->beyond)
		return false;
	c->beyond = is_after(c->last, c->limit);
	if (pos > c->base)
		c->base = pos;
	return true;
}

bool credit_tx_is_stalled(const struct credit_tx *c, uint64_t pos)
{
	return pos >= c->reported && pos < c->sent;
}
