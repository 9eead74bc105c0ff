/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_flight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/common/tool.h"
#include "tools/ddpcp/ddpcp_file.h"

enum flown_state { FLOWN_FREE, FLOWN_OFFERED, FLOWN_TAKEN, FLOWN_LARGE, FLOWN_SENT };

struct flown {
	enum flown_state state;
	int fd;
	struct ddpcp_rec rec;
	uint64_t end; /* SENT: of its bytes, as fl->head counts */
};

struct ddpcp_flight {
	struct ddpcp_source *source;
	ddpcp_flight_put *put;
	struct flown slot[DDPCP_FLIGHT];
	unsigned used, large;
	uint16_t taken[DDPCP_FLIGHT]; /* slots whose data is to be sent, in order */
	unsigned first, ntaken;
	uint64_t to; /* the sink's memory; size 0: not known */
	uint32_t stag, size;
	uint64_t head, tail; /* bytes of it that were used, and that are free again */
	unsigned named;      /* files since the last flush */
};

struct ddpcp_flight *ddpcp_flight_new(struct ddpcp_source *s, ddpcp_flight_put *put)
{
	struct ddpcp_flight *fl = calloc(1, sizeof(*fl));

	if (!fl)
		return NULL;
	fl->source = s;
	fl->put = put;
	return fl;
}

void ddpcp_flight_free(struct ddpcp_flight *fl)
{
	if (!fl)
		return;
	for (unsigned i = 0; i < DDPCP_FLIGHT; i++)
		if (fl->slot[i].state != FLOWN_FREE && fl->slot[i].fd >= 0)
			close(fl->slot[i].fd);
	free(fl);
}

unsigned ddpcp_flight_open(const struct ddpcp_flight *fl)
{
	return fl ? fl->named + fl->used : 0;
}

static void end_flown(struct ddpcp_flight *fl, struct flown *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->state = FLOWN_FREE;
	fl->used--;
}

/* ---- data ---- */

/* Room for len bytes without a gap. False: acknowledgements are awaited. */
static bool find_room(struct ddpcp_flight *fl, uint32_t len, uint64_t *ret_off)
{
	uint64_t need = ddpcp_room(len), at = fl->head % fl->size;

	if (fl->head == fl->tail) /* the cache has the first bytes */
		fl->head = fl->tail = at = 0;
	if (at + need > fl->size) { /* not around the end */
		need += fl->size - at;
		at = 0;
	}
	if (fl->head + need - fl->tail > fl->size)
		return false;
	fl->head += need;
	*ret_off = at;
	return true;
}

/* The file cannot be read as it was offered: the sink hears why. */
static int send_absent(struct ddpcp_flight *fl, struct flown *f, int r)
{
	const char *why =
		r == -ENODATA ? "the file became shorter during the copy" : message_strerror(r);

	f->rec.type = DDPCP_ABSENT;
	f->rec.flags = DDPCP_FAILED;
	strncpy(f->rec.target, why, sizeof(f->rec.target) - 1);
	return ddpcp_link_send(fl->source->link, &f->rec);
}

static int send_data(struct ddpcp_flight *fl, struct flown *f, uint64_t off)
{
	struct ddpcp_link *l = fl->source->link;
	uint32_t len = (uint32_t)f->rec.meta.size;
	uint8_t *buf = (uint8_t *)l->out->addr + off;
	int r = ddpcp_file_pread(f->fd, buf, len, 0);

	if (r < 0)
		return send_absent(fl, f, r);
	if (ddpcp_xfer_sum(buf, len, f->rec.sha256) < 0)
		return ddpcp_link_fail(l, -EIO, "SHA-256 failed");
	f->rec.kind = DDPCP_DATA;
	f->rec.offset = off;
	if (len)
		r = ddpcp_link_write(l, l->out, off, len, fl->to + off, fl->stag);
	return r == 0 ? ddpcp_link_send(l, &f->rec) : r;
}

/* As many as have room. */
static int send_taken(struct ddpcp_flight *fl)
{
	uint64_t off;
	int r = ddpcp_link_out(fl->source->link, fl->size);

	while (r == 0 && fl->ntaken) {
		struct flown *f = &fl->slot[fl->taken[fl->first]];

		if (!find_room(fl, (uint32_t)f->rec.meta.size, &off))
			break;
		fl->first = (fl->first + 1) % DDPCP_FLIGHT;
		fl->ntaken--;
		f->state = FLOWN_SENT;
		f->end = fl->head;
		r = send_data(fl, f, off);
	}
	return r;
}

/* ---- answers ---- */

static int on_take(struct ddpcp_flight *fl, struct flown *f, const struct ddpcp_rec *rec)
{
	if (f->state != FLOWN_OFFERED || f->rec.type != DDPCP_FILE)
		return ddpcp_link_fail(fl->source->link, -EPROTO,
				       "the peer takes a file that was not offered");
	fl->to = rec->window.to;
	fl->stag = rec->window.stag;
	fl->size = rec->len;
	if (f->rec.meta.size > DDPCP_MAX_CHUNK) {
		f->state = FLOWN_LARGE;
		fl->large++;
		return 0;
	}
	f->state = FLOWN_TAKEN;
	fl->taken[(fl->first + fl->ntaken++) % DDPCP_FLIGHT] = rec->id;
	return 0;
}

/* The name may be missing: the reason has that of a file that got none. */
static int notify_failure(const struct ddpcp_flight *fl, const char *name,
			  const struct ddpcp_rec *rec, const struct ddpcp_xfer *x)
{
	struct ddpcp_source *s = fl->source;
	char text[2 * DDPCP_TEXT_MAX], clean[DDPCP_TEXT_MAX + 1];

	snprintf(text, sizeof(text), "%s: %s", s->link->s->peer, rec->text);
	message_sanitize(clean, sizeof(clean), text, strlen(text));
	return s->notify(s->arg, name, DDPCP_FAILED, clean, x);
}

static int on_answer(struct ddpcp_flight *fl, struct flown *f, const struct ddpcp_rec *rec)
{
	struct ddpcp_source *s = fl->source;
	struct ddpcp_xfer x = {.link = s->link, .size = f->rec.meta.size};
	const struct ddpcp_rec of = f->rec;
	bool unread = of.type == DDPCP_ABSENT && f->fd >= 0; /* was offered as a file */

	if (f->state != FLOWN_OFFERED && f->state != FLOWN_SENT)
		return ddpcp_link_fail(s->link, -EPROTO, "the peer answers what was not offered");
	if (f->state == FLOWN_SENT && f->end > fl->tail)
		fl->tail = f->end;
	memcpy(x.sha256, of.sha256, sizeof(x.sha256));
	fl->named += f->state == FLOWN_SENT && rec->status == DDPCP_OK;
	end_flown(fl, f);
	if (of.type == DDPCP_FLUSH)
		fl->named = 0;
	if (rec->status == DDPCP_FAILED)
		return notify_failure(fl, of.type == DDPCP_FLUSH ? NULL : of.name, rec, &x);
	if (unread)
		return s->notify(s->arg, of.name, DDPCP_FAILED, of.target, &x);
	if (of.type == DDPCP_FILE)
		return s->notify(s->arg, of.name, rec->status, "", &x);
	return of.type == DDPCP_SYMLINK || of.type == DDPCP_HARDLINK
		       ? s->notify(s->arg, of.name, DDPCP_OK, "", NULL)
		       : 0;
}

static int take_turn(struct ddpcp_flight *fl)
{
	struct ddpcp_link *l = fl->source->link;
	struct ddpcp_rec rec;
	int r = ddpcp_link_recv(l, DDPCP_LINK_KIND(DDPCP_TAKE) | DDPCP_LINK_KIND(DDPCP_ANSWER),
				DDPCP_LAST_MS, &rec);

	if (r < 0)
		return r;
	r = rec.kind == DDPCP_TAKE ? on_take(fl, &fl->slot[rec.id], &rec)
				   : on_answer(fl, &fl->slot[rec.id], &rec);
	return r == 0 && fl->ntaken ? send_taken(fl) : r;
}

/* When all others have arrived: their records have no id, and their windows take the place of
 * the memory. */
static int send_large(struct ddpcp_flight *fl)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < DDPCP_FLIGHT; i++) {
		struct flown *f = &fl->slot[i];

		if (f->state != FLOWN_LARGE)
			continue;
		fl->large--;
		r = fl->put(fl->source, f->fd, &f->rec.meta, f->rec.name);
		end_flown(fl, f);
	}
	return r;
}

static int wait_for_some(struct ddpcp_flight *fl)
{
	int r = fl->large && fl->large == fl->used ? send_large(fl) : take_turn(fl);

	if (r < 0 && !fl->source->link->over && !fl->source->link->peer_knows) {
		ddpcp_link_fail(fl->source->link, r, "%s", message_strerror(r));
		ddpcp_link_send_result(fl->source->link);
	}
	return r;
}

/* Large files arrive after those that were offered later: of one name, the last shall stay. */
static bool has_file(const struct ddpcp_flight *fl, const struct ddpcp_rec *rec)
{
	for (unsigned i = 0; rec->type == DDPCP_FILE && i < DDPCP_FLIGHT; i++) {
		const struct flown *f = &fl->slot[i];

		if (f->state != FLOWN_FREE && f->rec.type == DDPCP_FILE &&
		    !strcmp(f->rec.name, rec->name))
			return true;
	}
	return false;
}

int ddpcp_flight_offer(struct ddpcp_flight *fl, const struct ddpcp_rec *rec, int fd)
{
	unsigned i = 0;
	int r = 0;

	while (r == 0 && (fl->used == DDPCP_FLIGHT || fl->large || has_file(fl, rec)))
		r = wait_for_some(fl);
	if (r < 0) {
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (fl->slot[i].state != FLOWN_FREE)
		i++;
	fl->slot[i].state = FLOWN_OFFERED;
	fl->slot[i].fd = fd;
	fl->slot[i].rec = *rec;
	fl->slot[i].rec.id = (uint16_t)i;
	fl->used++;
	return ddpcp_link_send(fl->source->link, &fl->slot[i].rec);
}

int ddpcp_flight_end(struct ddpcp_flight *fl)
{
	const struct ddpcp_rec flush = {.kind = DDPCP_OFFER, .type = DDPCP_FLUSH};
	int r = 0;

	while (r == 0 && fl->used)
		r = wait_for_some(fl);
	if (r == 0)
		r = ddpcp_flight_offer(fl, &flush, -1);
	while (r == 0 && fl->used)
		r = wait_for_some(fl);
	return r;
}
