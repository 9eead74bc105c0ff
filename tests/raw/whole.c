/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/raw/whole.h"

#include <string.h>

#include "tests/raw/stage.h"

enum { ROOM = 32 << 20 };

static uint8_t data[ROOM];

static void begin(struct whole *w, const struct raw_msg *m)
{
	w->tagged = m->b[RAW_HOP] & 0x80;
	w->rdmap = m->b[RAW_HOP + 1];
	w->stag = raw_stag(m);
	w->to = raw_to(m);
	w->q = raw_queue_of(m);
	w->data = data;
	EXPECT(w->tagged || w->q.mo == 0, "the first segment has MO %u", w->q.mo);
	EXPECT((w->rdmap & 0xf0) == 0x40, "RDMAP control octet %02x", w->rdmap);
}

static void same(const struct whole *w, const struct raw_msg *m)
{
	struct raw_queue q = raw_queue_of(m);

	EXPECT(w->tagged == !!(m->b[RAW_HOP] & 0x80) && w->rdmap == m->b[RAW_HOP + 1],
	       "a segment of another message came in the middle of one");
	if (w->tagged)
		EXPECT(w->stag == raw_stag(m) && raw_to(m) == w->to + w->len,
		       "STag %x TO %llx where %x %llx was expected", raw_stag(m),
		       (unsigned long long)raw_to(m), w->stag, (unsigned long long)w->to + w->len);
	else
		EXPECT(q.qn == w->q.qn && q.msn == w->q.msn && q.inv == w->q.inv && q.mo == w->len,
		       "QN %u MSN %u MO %u RsvdULP %x where %u %u %u %x was expected", q.qn, q.msn,
		       q.mo, q.inv, w->q.qn, w->q.msn, w->len, w->q.inv);
}

/* True after the last one. */
static bool add(struct whole *w, const struct raw_msg *m)
{
	bool last = m->b[RAW_HOP] & 0x40;
	const uint8_t *p;
	uint32_t n;

	EXPECT((m->b[RAW_HOP] & 0x3f) == 1, "DDP control octet %02x", m->b[RAW_HOP]);
	p = raw_body(m, &n);
	EXPECT(n > 0 || (last && w->segments == 0), "an empty segment of a longer message");
	EXPECT(n <= ROOM - w->len, "a message of more than %u bytes", ROOM);
	memcpy(data + w->len, p, n);
	w->len += n;
	w->segments++;
	return last;
}

struct whole whole_take(struct link *l, uint16_t sid)
{
	struct whole w = {.len = 0};
	bool last = false;

	while (!last) {
		struct raw_msg m = link_take(l, sid);

		EXPECT(m.ppid == RAW_SEGMENT && m.len >= RAW_HOP + RAW_TAGGED,
		       "PPID %u, %u bytes: not a segment", m.ppid, m.len);
		if (raw_opcode(&m) == 7) {
			w.cut = true;
			w.term = m;
			return w;
		}
		if (!w.segments)
			begin(&w, &m);
		same(&w, &m);
		last = add(&w, &m);
	}
	return w;
}

void whole_response(struct link *l, uint16_t sid, struct raw_read r, const uint8_t *bytes)
{
	struct whole w = whole_take(l, sid);

	EXPECT(!w.cut && w.tagged && w.rdmap == RAW_READ_RSP, "octet %02x is not a Read Response",
	       w.rdmap);
	EXPECT(w.stag == r.sink_stag && w.to == r.sink_to, "a Response to STag %x, TO %llx", w.stag,
	       (unsigned long long)w.to);
	EXPECT(w.len == r.size && (w.len == 0 || memcmp(w.data, bytes, w.len) == 0),
	       "%u bytes of %u, or other bytes", w.len, r.size);
}
