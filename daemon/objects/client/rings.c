/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/client/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/base/descriptors.h"
#include "daemon/objects/client/client.h"
#include "ipc/local_protocol.h"
#include "ipc/memfd.h"

/* ---- memfds that rings share ---- */

/* Charges the client for n shared memfds in all. */
static int charge_slabs(struct client *c, unsigned n, struct reply *rep)
{
	unsigned before = c->rings.slabs.count;
	int r = client_set_charge(c, ACCT_MEMORY, (uint64_t)n * RINGS_SLAB_BYTES, &c->rings.memory,
				  rep);

	if (r)
		return r;
	r = client_set_charge(c, ACCT_MAPS, n, &c->rings.maps, rep);
	if (!r && (r = client_set_charge(c, ACCT_DESCRIPTORS, n, &c->rings.fds, rep)))
		client_change(c, &c->rings.maps, before, rep);
	if (r)
		client_change(c, &c->rings.memory, (uint64_t)before * RINGS_SLAB_BYTES, rep);
	return r;
}

static int make_shared(struct rings *r, struct reply *rep)
{
	struct client *c = r->client;
	int e = 0, fd;

	if (!slab_fits(&c->rings.slabs, r->bytes))
		e = charge_slabs(c, c->rings.slabs.count + 1, rep);
	if (e)
		return e;
	e = slab_alloc(&c->rings.slabs, r->bytes, &r->range);
	if (e) {
		charge_slabs(c, c->rings.slabs.count, rep);
		return descriptors_refuse(rep, -e, "rings");
	}
	r->mem = r->range.addr;
	r->offset = r->range.offset;
	fd = fcntl(r->range.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return descriptors_refuse(rep, errno, "rings");
	reply_add_fd(rep, fd);
	return 0;
}

static void free_shared(struct rings *r)
{
	struct client *c = r->client;
	struct reply unused;

	slab_free(&c->rings.slabs, &r->range);
	charge_slabs(c, c->rings.slabs.count,
		     &unused); /* cannot fail: it is not more than before */
}

/* ---- a memfd of its own ---- */

static int make_own(struct rings *r, struct reply *rep)
{
	struct client *c = r->client;
	void *map;
	int e = client_charge(c, ACCT_MEMORY, r->bytes, &r->memory, rep), fd;

	if (!e)
		e = client_charge(c, ACCT_MAPS, 1, &r->maps, rep);
	if (e)
		return e;
	e = memfd_create_mapped(RINGS_NAME, r->bytes, &fd, &map);
	if (e)
		return descriptors_refuse(rep, -e, "rings");
	reply_add_fd(rep, fd);
	r->mem = map;
	return 0;
}

/* ---- both ---- */

int rings_make(struct client *c, uint64_t bytes, struct rings *ret, struct reply *rep)
{
	bool shared = c->hello.minor >= IPC_MINOR_OFFSETS && bytes <= SLAB_RANGE_MAX;
	int e;

	*ret = (struct rings){.client = c, .bytes = bytes};
	e = shared ? make_shared(ret, rep) : make_own(ret, rep);
	if (e)
		rings_free(ret);
	return e;
}

void rings_free(struct rings *r)
{
	if (r->range.slab)
		free_shared(r);
	else if (r->mem)
		munmap(r->mem, r->bytes);
	acct_release(&r->maps);
	acct_release(&r->memory);
	*r = (struct rings){0};
}
