/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that was registered untouched, and that the daemon fills for peers.
 *
 *   holes SOCKET SOCKET2 ADDRESS LIMIT
 *
 * The owner of the memory is a client at SOCKET2, whose daemon has ADDRESS and limits.sparse_bytes
 * LIMIT; a friend at SOCKET accesses it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/system/rig.h"

enum {
	PAGE = 4096,
	CELL = 8,
	UNSEEN = 2048 * PAGE, /* at most this much may be filled behind punched holes */
};

static struct end friend, owner;
static const char *address;
static uint64_t limit, region;
static int seals; /* of new memfds */

/* A memfd of the owner. */
struct sparse {
	int fd;
	uint8_t *map;
	struct ddp_mr *mr;
};

/* An access of CELL bytes at this offset: posts it, and waits for its end. */
typedef enum ddp_wc_status step(struct session *s, const struct sparse *m, uint64_t offset);

static void make_sparse(struct sparse *m, unsigned access)
{
	m->fd = MUST(memfd_create("holes", MFD_ALLOW_SEALING | MFD_CLOEXEC));
	MUST(ftruncate(m->fd, (off_t)region));
	MUST(fcntl(m->fd, F_ADD_SEALS, seals));
	m->map = mmap(NULL, region, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->map == MAP_FAILED)
		fail("mmap");
	MUST(ddp_reg_memfd(owner.pd, m->fd, 0, region, NULL, 0, access, &m->mr));
}

static void free_sparse(struct sparse *m)
{
	MUST(ddp_dereg_mr(m->mr));
	munmap(m->map, region);
	close(m->fd);
}

static uint64_t filled(const struct sparse *m)
{
	struct stat st;

	MUST(fstat(m->fd, &st));
	return (uint64_t)st.st_blocks * 512;
}

static void punch(const struct sparse *m)
{
	MUST(fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)region));
	is("bytes of a punched memfd", filled(m), 0);
}

static enum ddp_wc_status request(struct session *s, int side, enum ddp_wr_opcode op,
				  const struct ddp_mr *to, uint64_t addr, struct ddp_sge sge)
{
	struct ddp_send_wr wr = {.opcode = op, .sg_list = &sge, .num_sge = 1};

	if (op != DDP_WR_SEND) {
		wr.rdma.remote_addr = addr;
		wr.rdma.rkey = to->rkey;
	}
	if (op == DDP_WR_RDMA_WRITE || op == DDP_WR_SEND)
		wr.send_flags = DDP_SEND_PLACED;
	session_post(s, side, wr);
	return end_wc(s->end[side]).status;
}

static struct ddp_sge in(const struct sparse *m, uint64_t offset)
{
	return (struct ddp_sge){offset, CELL, m->mr->lkey};
}

static enum ddp_wc_status write_to(struct session *s, const struct sparse *m, uint64_t offset)
{
	return request(s, 0, DDP_WR_RDMA_WRITE, m->mr, offset, end_sge(&friend, 0, CELL));
}

static enum ddp_wc_status read_from(struct session *s, const struct sparse *m, uint64_t offset)
{
	return request(s, 0, DDP_WR_RDMA_READ, m->mr, offset, end_sge(&friend, 0, CELL));
}

static enum ddp_wc_status add_to(struct session *s, const struct sparse *m, uint64_t offset)
{
	return request(s, 0, DDP_WR_ATOMIC_FETCH_AND_ADD, m->mr, offset, end_sge(&friend, 0, CELL));
}

static enum ddp_wc_status receive_in(struct session *s, const struct sparse *m, uint64_t offset)
{
	struct ddp_sge sge = in(m, offset);
	struct ddp_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	enum ddp_wc_status r;

	MUST(ddp_post_recv(s->qp[1], &wr, NULL));
	r = request(s, 0, DDP_WR_SEND, NULL, 0, end_sge(&friend, 0, CELL));
	end_wc(&owner);
	return r;
}

static enum ddp_wc_status read_into(struct session *s, const struct sparse *m, uint64_t offset)
{
	return request(s, 1, DDP_WR_RDMA_READ, friend.mr, friend.mr->iova, in(m, offset));
}

static enum ddp_wc_status write_from(struct session *s, const struct sparse *m, uint64_t offset)
{
	return request(s, 1, DDP_WR_RDMA_WRITE, friend.mr, friend.mr->iova, in(m, offset));
}

/* In each page up to there. Returns how many accesses succeeded. */
static uint64_t touch_pages(step *touch, struct session *s, const struct sparse *m, uint64_t end)
{
	uint64_t n = 0;

	while (n < end / PAGE && touch(s, m, n * PAGE) == DDP_WC_SUCCESS)
		n++;
	return n;
}

static void open_sparse(struct session *s, struct sparse *m)
{
	make_sparse(m, RIG_ALL);
	is("bytes of a new memfd", filled(m), 0);
	session_open(s, &friend, &owner, address, &(struct how){.request = NULL});
}

/* The session has ended at the limit, and only its owner learns why. */
static void is_refused(struct session *s, const char *what)
{
	struct ddp_cm_event *ev;
	char value[32];

	ev = end_event(&owner, DDP_CM_DISCONNECTED);
	snprintf(value, sizeof(value), " of %" PRIu64 " bytes", limit);
	if (ev->err != -EDQUOT || !strstr(ev->reason, "limits.sparse_bytes") ||
	    !strstr(ev->reason, value))
		fail("%s: error %d: %s", what, ev->err, ev->reason);
	ddp_ack_cm_event(ev);
	ev = end_event(&friend, DDP_CM_DISCONNECTED);
	if (ev->err != -EREMOTEIO || strstr(ev->reason, "limits"))
		fail("%s: the friend learns error %d: %s", what, ev->err, ev->reason);
	ddp_ack_cm_event(ev);
	session_free(s);
}

static void is_charged(const char *what, step *touch)
{
	struct session s;
	struct sparse m;
	uint64_t n;

	open_sparse(&s, &m);
	n = touch_pages(touch, &s, &m, region);
	if (n > limit / PAGE || filled(&m) > limit)
		fail("%s: %" PRIu64 " pages, %" PRIu64 " bytes filled", what, n, filled(&m));
	is(what, n, limit / PAGE);
	is_refused(&s, what);
	free_sparse(&m);
	ok("%s is charged, and ends at the limit", what);
}

static void touched_memory_is_free(void)
{
	struct session s;
	struct sparse m;

	open_sparse(&s, &m);
	memset(m.map, 1, region);
	is("Writes to touched memory", touch_pages(write_to, &s, &m, region), region / PAGE);
	is("Reads of it", touch_pages(read_from, &s, &m, region), region / PAGE);
	ok("memory that its program has written to is not charged");
	punch(&m);
	if (touch_pages(write_to, &s, &m, region) == region / PAGE)
		fail("all of the punched memory is filled: %" PRIu64 " bytes", filled(&m));
	if (filled(&m) > limit + UNSEEN)
		fail("%" PRIu64 " bytes of punched memory are filled", filled(&m));
	is_refused(&s, "punched memory");
	free_sparse(&m);
	ok("holes that are punched later count");
}

static void freed_memory_counts_no_more(void)
{
	struct session s;
	struct sparse m;

	open_sparse(&s, &m);
	for (int i = 0; i < 16; i++) {
		is("accesses to a part", touch_pages(write_to, &s, &m, limit / 4 * 3),
		   limit / 4 * 3 / PAGE);
		punch(&m);
	}
	session_close(&s, 0);
	free_sparse(&m);
	ok("memory that was freed does not count");
}

static void populated_memory_is_free(void)
{
	struct session s;
	struct sparse m;

	make_sparse(&m, RIG_ALL | DDP_ACCESS_POPULATE);
	is("bytes that are populated", filled(&m), region);
	session_open(&s, &friend, &owner, address, &(struct how){.request = NULL});
	is("Writes to them", touch_pages(write_to, &s, &m, region), region / PAGE);
	session_close(&s, 0);
	free_sparse(&m);
	ok("populated memory is not charged");
}

static void memory_of_a_populated_region_is_populated(void)
{
	struct ddp_rereg_attr attr = DDP_INIT(ddp_rereg_attr);
	struct sparse m, next[2];

	make_sparse(&m, RIG_ALL | DDP_ACCESS_POPULATE);
	for (int i = 0; i < 2; i++) {
		make_sparse(&next[i], RIG_ALL);
		attr.fd = next[i].fd;
		attr.length = region;
		attr.addr = next[i].map;
		attr.access = RIG_ALL | DDP_ACCESS_POPULATE;
		MUST(ddp_rereg_mr(m.mr, DDP_REREG_TRANSLATION | (i > 0 ? DDP_REREG_ACCESS : 0),
				  &attr));
		is("bytes of the new memory", filled(&next[i]), region);
	}
	for (int i = 0; i < 2; i++)
		free_sparse(&next[i]);
	free_sparse(&m);
	ok("a populated region that gets other memory is populated");
}

/* The daemon may not ask the kernel which pages of such a memfd are there. */
static void rights_of_the_memfd_do_not_matter(void)
{
	struct session s;
	struct sparse m;

	open_sparse(&s, &m);
	MUST(fchmod(m.fd, 0));
	if (touch_pages(write_to, &s, &m, region) > limit / PAGE || filled(&m) > limit)
		fail("%" PRIu64 " bytes of a memfd without rights are filled", filled(&m));
	is_refused(&s, "a memfd without rights");
	free_sparse(&m);
	ok("a memfd without rights is charged as well");
}

static void registered_twice_counts_once(void)
{
	struct session s;
	struct sparse m;
	struct ddp_mr *again;

	open_sparse(&s, &m);
	MUST(ddp_reg_memfd(owner.pd, m.fd, 0, region, m.map, 0, DDP_ACCESS_REMOTE_READ, &again));
	is("Writes", touch_pages(write_to, &s, &m, limit / 4 * 3), limit / 4 * 3 / PAGE);
	is("Reads by another key",
	   touch_pages(read_from, &s, &(struct sparse){.mr = again}, limit / 4 * 3),
	   limit / 4 * 3 / PAGE);
	session_close(&s, 0);
	MUST(ddp_dereg_mr(again));
	free_sparse(&m);
	ok("memory that is registered twice counts once");
}

int main(int argc, char **argv)
{
	struct session good;
	struct end other;

	if (argc != 5)
		return 2;
	address = argv[3];
	limit = strtoull(argv[4], NULL, 0);
	region = limit * 8;
	end_open(&friend, "the friend", argv[1]);
	end_open(&owner, "the owner", argv[2]);
	end_open(&other, "another program", argv[2]);
	end_listen(&other);
	session_open(&good, &friend, &other, address, &(struct how){.request = NULL});
	end_listen(&owner);
	freed_memory_counts_no_more();
	is_charged("a Write of a peer", write_to);
	is_charged("a Read of a peer", read_from);
	is_charged("an atomic of a peer", add_to);
	is_charged("a Send of a peer", receive_in);
	is_charged("a Read into it", read_into);
	is_charged("a Write from it", write_from);
	populated_memory_is_free();
	memory_of_a_populated_region_is_populated();
	registered_twice_counts_once();
	for (int i = 0; i < 2; i++, seals = F_SEAL_GROW) {
		touched_memory_is_free();
		rights_of_the_memfd_do_not_matter();
	}
	session_send(&good, 0,
		     (struct ddp_send_wr){.opcode = DDP_WR_RDMA_READ,
					  .rdma = {other.mr->iova, other.mr->rkey}},
		     0, 8);
	end_done(&friend, DDP_WC_RDMA_READ, DDP_WC_SUCCESS);
	session_close(&good, 0);
	ok("the session of another program goes on");
	end_close(&friend);
	end_close(&other);
	end_close(&owner);
	return 0;
}
