/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/memory/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/objects/client/client.h"
#include "daemon/objects/memory/unmapping.h"
#include "util/checked.h"

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int compare_mappings(const void *left, const void *right)
{
	const struct mapping *a = left, *b = right;

	if (a->ino != b->ino)
		return ORDER(a->ino, b->ino);
	if (a->dev != b->dev)
		return ORDER(a->dev, b->dev);
	if (a->start != b->start)
		return ORDER(a->start, b->start);
	if (a->end != b->end)
		return ORDER(a->end, b->end);
	if (a->may_write != b->may_write)
		return ORDER(a->may_write, b->may_write);
	return ORDER(a->write, b->write);
}

static int compare_files(const void *left, const void *right)
{
	const struct mapping *a = left, *b = right;

	return a->ino != b->ino ? ORDER(a->ino, b->ino) : ORDER(a->dev, b->dev);
}

/* A reference to the client's mapping with that key, or NULL. */
static struct mapping *find_mapping(const struct mapping *key)
{
	struct mapping **found = tfind(key, &key->client->regions.mappings, compare_mappings);

	if (!found)
		return NULL;
	(*found)->users++;
	return *found;
}

/* The caller fills in the map. */
static int make_mapping(const struct mapping *key, struct mapping **ret, struct reply *rep)
{
	struct client *c = key->client;
	struct mapping *m = malloc(sizeof(*m));
	int r;

	if (!m)
		return reply_refuse(rep, ENOMEM, "memory region: out of memory");
	*m = *key;
	list_init(&m->holes.link);
	r = client_charge(c, ACCT_MAPS, 1, &m->charge, rep);
	if (!r && !tsearch(m, &c->regions.mappings, compare_mappings))
		r = reply_refuse(rep, ENOMEM, "memory region: out of memory");
	if (r) {
		acct_release(&m->charge);
		free(m);
		return r;
	}
	m->users = 1;
	*ret = m;
	return 0;
}

/* ---- witnesses ---- */

/* The witness of another mapping of the same memfd, or NULL. */
static struct mapping_witness *find_witness(const struct mapping *m)
{
	struct mapping **found = tfind(m, &m->client->regions.mappings, compare_files);

	return found ? (*found)->witness : NULL;
}

static int map_witness(int fd, struct mapping_witness *w)
{
	/* Behind the end of any file that has a use. */
	const off_t far = (off_t)1 << (sizeof(void *) == 8 ? 62 : 42);
	void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE, MAP_PRIVATE, fd, far);

	if (page == MAP_FAILED)
		return -errno;
	w->page = page;
	return 0;
}

static void put_witness(struct mapping_witness *w)
{
	if (!w || --w->users)
		return;
	if (w->page)
		munmap(w->page, (size_t)sysconf(_SC_PAGESIZE));
	acct_release(&w->charge);
	free(w);
}

static int make_witness(struct client *c, int fd, struct mapping_witness **ret, struct reply *rep)
{
	struct mapping_witness *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return reply_refuse(rep, ENOMEM, "memory region: out of memory");
	w->users = 1;
	r = client_charge(c, ACCT_MAPS, 1, &w->charge, rep);
	if (!r && map_witness(fd, w))
		r = reply_refuse(rep, ENOMEM, "memory region: it cannot be mapped");
	if (r) {
		put_witness(w);
		return r;
	}
	*ret = w;
	return 0;
}

/* A reference, for a mapping that is to be made, if it needs one. */
static int get_witness(struct mapping *key, int fd, struct reply *rep)
{
	struct mapping_witness *w = key->to_end ? NULL : find_witness(key);

	if (key->to_end)
		return 0;
	if (!w)
		return make_witness(key->client, fd, &key->witness, rep);
	w->users++;
	key->witness = w;
	return 0;
}

/* ---- mappings ---- */

static bool cannot_grow(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_GROW;
}

/* Verifies the memfd, and says which mapping the range needs. Returns as memfd_verify(). */
static int plan_mapping(int fd, uint64_t offset, uint64_t len, struct mapping *key)
{
	const uint64_t window = MAPPING_WINDOW;
	struct stat st;
	int r = memfd_verify(fd, offset, len, key->write);

	if (r)
		return r;
	/* Reads the size when the memfd cannot shrink any more. */
	if (fstat(fd, &st) < 0)
		return -errno;
	key->dev = st.st_dev;
	key->ino = st.st_ino;
	key->start = offset & ~(window - 1);
	key->end = checked_round_up(offset + len, window);
	if (key->end >= (uint64_t)st.st_size) {
		key->end = (uint64_t)st.st_size;
		key->to_end = cannot_grow(fd);
	}
	key->may_write = key->write || memfd_verify(fd, offset, len, true) == 0;
	return 0;
}

static int refuse_mapping(int r, uint64_t offset, uint64_t len, struct reply *rep)
{
	if (r > 0)
		return reply_refuse(rep, memfd_errno(r),
				    "memory region of %llu bytes at %llu of the descriptor: %s",
				    (unsigned long long)len, (unsigned long long)offset,
				    memfd_reason(r));
	return reply_refuse(rep, -r, "memory region of %llu bytes: cannot be mapped",
			    (unsigned long long)len);
}

/* One map for memory and hole: a user with many small memfds has twice as many. */
static int append_hole(struct mapping *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = checked_round_up(m->map.map_len, page) + page;
	void *map = mremap(m->map.map, m->map.map_len, len, MREMAP_MAYMOVE);

	if (map == MAP_FAILED)
		return -errno;
	m->map.addr = m->map.map = map;
	m->map.map_len = len;
	return 0;
}

static uint8_t *hole_of(const struct mapping *m)
{
	if (m->witness)
		return m->witness->page;
	return (uint8_t *)m->map.map + m->map.map_len - (size_t)sysconf(_SC_PAGESIZE);
}

static int map_memfd(struct mapping *m, int fd)
{
	int r = memfd_map_client(fd, m->start, m->end - m->start, m->write, &m->map);

	if (r == -ENOMEM && unmapping_finish(m->client->worker))
		r = memfd_map_client(fd, m->start, m->end - m->start, m->write, &m->map);
	if (!r && m->to_end)
		r = append_hole(m);
	if (!r)
		m->hole = hole_of(m);
	return r;
}

int mapping_get(struct client *c, int fd, uint64_t offset, uint64_t len, bool write,
		struct mapping **ret, struct reply *rep)
{
	struct mapping key = {.client = c, .write = write};
	struct mapping *m;
	int r = plan_mapping(fd, offset, len, &key);

	if (r)
		return refuse_mapping(r, offset, len, rep);
	*ret = find_mapping(&key);
	if (*ret)
		return 0;
	r = get_witness(&key, fd, rep);
	if (!r)
		r = make_mapping(&key, &m, rep);
	if (r) {
		put_witness(key.witness);
		return r;
	}
	r = map_memfd(m, fd);
	r = r ? refuse_mapping(r, offset, len, rep) : holes_watch(m, rep);
	if (r) {
		mapping_put(m);
		return r;
	}
	*ret = m;
	return 0;
}

/* Maps the pages of `from` a second time, for writing. */
static int map_for_writing(struct mapping *m, const struct mapping *from)
{
	void *map = mremap(from->map.map, 0, from->map.map_len, MREMAP_MAYMOVE);

	if (map == MAP_FAILED)
		return -errno;
	m->map = (struct memfd_map){.addr = map, .map = map, .map_len = from->map.map_len};
	m->hole = hole_of(m);
	return mprotect(map, m->map.map_len, PROT_READ | PROT_WRITE) < 0 ? -errno : 0;
}

int mapping_share(struct mapping *m, bool write, struct mapping **ret, struct reply *rep)
{
	struct mapping key = *m;
	struct mapping *next;
	int r;

	key.write |= write;
	if (key.write && !m->may_write)
		return reply_refuse(rep, EACCES,
				    "memory region: its descriptor was not opened for writing, or "
				    "is sealed against it");
	*ret = find_mapping(&key);
	if (*ret)
		return 0;
	key.map = (struct memfd_map){0};
	key.charge = (struct acct_charge){0};
	key.holes = (struct holes_filled){0};
	r = make_mapping(&key, &next, rep);
	if (r)
		return r;
	if (next->witness)
		next->witness->users++;
	r = map_for_writing(next, m);
	r = r ? refuse_mapping(r, m->start, m->end - m->start, rep) : holes_watch(next, rep);
	if (r) {
		mapping_put(next);
		return r;
	}
	*ret = next;
	return 0;
}

uint8_t *mapping_at(const struct mapping *m, uint64_t offset)
{
	return m->map.addr + (offset - m->start);
}

void mapping_put(struct mapping *m)
{
	if (!m || --m->users)
		return;
	tdelete(m, &m->client->regions.mappings, compare_mappings);
	holes_unwatch(m);
	put_witness(m->witness);
	unmapping_add(m->client->worker, &m->map, &m->charge);
	free(m);
}
