/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/owner.h"

#include "llp/common/llp_sctp.h"

enum { AT_ONCE = 3 }; /* messages that it takes, then others have their turn */

struct owner owner[OWNERS];
bool owner_is_deaf;

static volatile uint8_t seen; /* of what arrived */

struct owner *owner_new(void)
{
	for (unsigned i = 0; i < OWNERS; i++)
		if (!owner[i].c && !owner[i].up)
			return &owner[i];
	return NULL;
}

static void *on_incoming(void *user, struct llp_conn *c)
{
	struct owner *o = owner_new();

	must(user == &owner);
	if (o)
		*o = (struct owner){.c = c, .up = true};
	return o;
}

static void on_up(void *user)
{
	struct owner *o = user;

	must(o->c && !o->up && !o->over);
	o->up = true;
}

static void on_down(void *user, int err, const char *reason)
{
	struct owner *o = user;

	must(o->c && !o->over && err >= 0 && *reason);
	o->over = true;
}

static bool on_readable(void *user)
{
	struct owner *o = user;
	struct llp_msg m;
	unsigned n = 0;

	must(o->up && !o->over);
	for (; n < AT_ONCE && !owner_is_deaf && llp_recv(o->c, &m) == LLP_E_OK; n++) {
		must(m.n > 0 && m.len > 0 && m.len <= LLP_SCTP_MAX_MESSAGE);
		must(span_total(m.part, m.n) == m.len);
		for (size_t i = 0; i < m.part[0].len; i++)
			seen = m.part[0].p[i];
	}
	return n == AT_ONCE;
}

static void on_room(void *user)
{
	struct owner *o = user;

	must(o->up && !o->over);
}

static void on_path(void *user, const struct llp_path *p, const char *what)
{
	struct owner *o = user;

	must(o->up && !o->over && *what && p->remote.ss_family != AF_UNSPEC);
}

static void on_progress(void *user, uint32_t unacked)
{
	(void)unacked;
	on_room(user);
}

const struct llp_events owner_events = {
	.incoming = on_incoming,
	.up = on_up,
	.down = on_down,
	.readable = on_readable,
	.writable = on_room,
	.acked = on_room,
	.path = on_path,
	.resized = on_room,
	.progress = on_progress,
};

void owner_send(struct owner *o, struct input *in)
{
	static uint8_t payload[4096];
	uint8_t how = in_8(in);
	struct llp_msg m = {.sid = how % 16, .ppid = 16, .len = in_16(in), .n = 1};

	m.part[0] = (struct span){payload, m.len % sizeof(payload)};
	m.len = (uint32_t)m.part[0].len;
	m.urgent = m.sid & 1;
	for (unsigned i = 0; o->c && i <= how / 16 * 32u; i++)
		llp_send(o->c, &m);
}

void owner_shut_down(const struct owner *o)
{
	if (o->c && o->up)
		llp_shutdown(o->c);
}

void owner_let_go(struct owner *o)
{
	o->c = llp_conn_free(o->c);
	*o = (struct owner){0};
}
