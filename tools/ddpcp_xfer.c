/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp_xfer.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common.h"

static EVP_MD_CTX *sum_new(void)
{
	EVP_MD_CTX *sum = EVP_MD_CTX_new();

	if (sum && EVP_DigestInit_ex(sum, EVP_sha256(), NULL) != 1) {
		EVP_MD_CTX_free(sum);
		return NULL;
	}
	return sum;
}

static int sum_end(struct ddpcp_xfer *x, EVP_MD_CTX *sum)
{
	return EVP_DigestFinal_ex(sum, x->sha256, NULL) == 1
		       ? 0
		       : ddpcp_link_fail(x->link, -EIO, "SHA-256 failed");
}

static void report(const struct ddpcp_xfer *x, const struct ddpcp_window *w, uint64_t chunks)
{
	uint64_t done = chunks * w->chunk;

	if (x->progress)
		x->progress(x->arg, done < x->size ? done : x->size);
}

/* One chunk from the file to the peer. It is summed up while it is on its way. */
static int put_chunk(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w,
		     const struct ddp_mr *mr, EVP_MD_CTX *sum, uint64_t seq)
{
	uint64_t off = seq % w->slots * w->chunk;
	uint8_t *buf = (uint8_t *)mr->addr + off;
	struct ddpcp_rec rec = {
		.kind = DDPCP_CHUNK,
		.seq = seq,
		.len = ddpcp_chunk_len(x->size, w->chunk, seq),
	};
	int r = ddpcp_file_pread(fd, buf, rec.len, seq * w->chunk);

	if (r == -ENODATA)
		return ddpcp_link_fail(x->link, r, "the file became shorter during the copy");
	if (r < 0)
		return ddpcp_link_fail(x->link, r, "read: %s", common_strerror(r));
	r = ddpcp_link_write(x->link, mr, off, rec.len, w->to + off, w->stag);
	if (r == 0)
		r = ddpcp_link_send(x->link, &rec);
	if (r == 0 && EVP_DigestUpdate(sum, buf, rec.len) != 1)
		r = ddpcp_link_fail(x->link, -EIO, "SHA-256 failed");
	return r;
}

static int take_ack(struct ddpcp_xfer *x, uint64_t seq)
{
	struct ddpcp_rec rec;
	int r = ddpcp_link_recv(x->link, DDPCP_LINK_KIND(DDPCP_ACK), DDPCP_WAIT_MS, &rec);

	if (r == 0 && rec.seq != seq)
		r = ddpcp_link_fail(x->link, -EPROTO, "a chunk was acknowledged out of order");
	return r;
}

static int put_all(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w,
		   const struct ddp_mr *mr, EVP_MD_CTX *sum)
{
	uint64_t chunks = ddpcp_chunks(x->size, w->chunk), sent = 0, acked = 0;
	int r = 0;

	while (r == 0 && acked < chunks) {
		while (r == 0 && sent < chunks && sent - acked < w->slots)
			r = put_chunk(x, fd, w, mr, sum, sent++);
		if (r == 0)
			r = take_ack(x, acked++);
		if (r == 0)
			report(x, w, acked);
	}
	return r;
}

int ddpcp_xfer_source(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w)
{
	struct ddpcp_rec done = {.kind = DDPCP_DONE};
	EVP_MD_CTX *sum = sum_new();
	struct ddp_mr *mr;
	int r = sum ? 0 : ddpcp_link_fail(x->link, -ENOMEM, "out of memory");

	if (r == 0)
		r = session_alloc(x->link->s, (size_t)w->chunk * w->slots, 0, &mr);
	if (r < 0)
		ddpcp_link_fail(x->link, r, "out of memory for a window");
	if (r == 0)
		r = put_all(x, fd, w, mr, sum);
	if (r == 0)
		r = sum_end(x, sum);
	EVP_MD_CTX_free(sum);
	if (r < 0)
		return r;
	memcpy(done.sha256, x->sha256, sizeof(done.sha256));
	return ddpcp_link_send(x->link, &done);
}

/* What a sink works with. */
struct sink {
	const struct ddpcp_file *f;
	const struct ddpcp_window *w;
	struct ddp_mr *mr;
	uint8_t *scratch; /* a chunk, read back */
	EVP_MD_CTX *sum;
};

/* Writes a chunk and sums up what the file then holds, whatever the peer does to the window. */
static int store(struct ddpcp_xfer *x, const struct sink *k, uint64_t seq, uint32_t len)
{
	const uint8_t *slot = (uint8_t *)k->mr->addr + seq % k->w->slots * k->w->chunk;
	uint64_t off = seq * k->w->chunk;
	int r = ddpcp_file_pwrite(k->f->fd, slot, len, off);

	if (r < 0)
		return ddpcp_link_fail(x->link, r, "write: %s", common_strerror(r));
	r = ddpcp_file_pread(k->f->fd, k->scratch, len, off);
	if (r < 0)
		return ddpcp_link_fail(x->link, r, "read back: %s", common_strerror(r));
	if (EVP_DigestUpdate(k->sum, k->scratch, len) != 1)
		return ddpcp_link_fail(x->link, -EIO, "SHA-256 failed");
	return 0;
}

static int get_chunk(struct ddpcp_xfer *x, const struct sink *k, uint64_t seq)
{
	struct ddpcp_rec rec, ack = {.kind = DDPCP_ACK, .seq = seq};
	int r = ddpcp_link_recv(x->link, DDPCP_LINK_KIND(DDPCP_CHUNK), DDPCP_WAIT_MS, &rec);

	if (r < 0)
		return r;
	if (rec.seq != seq || rec.len != ddpcp_chunk_len(x->size, k->w->chunk, seq))
		return ddpcp_link_fail(x->link, -EPROTO, "a chunk came out of order");
	r = store(x, k, seq, rec.len);
	return r == 0 ? ddpcp_link_send(x->link, &ack) : r;
}

static int get_all(struct ddpcp_xfer *x, const struct sink *k)
{
	uint64_t chunks = ddpcp_chunks(x->size, k->w->chunk);
	struct ddpcp_rec rec;
	int r = 0;

	for (uint64_t seq = 0; r == 0 && seq < chunks; seq++) {
		r = get_chunk(x, k, seq);
		if (r == 0)
			report(x, k->w, seq + 1);
	}
	if (r == 0)
		r = sum_end(x, k->sum);
	if (r == 0)
		r = ddpcp_link_recv(x->link, DDPCP_LINK_KIND(DDPCP_DONE), DDPCP_WAIT_MS, &rec);
	if (r == 0 && memcmp(rec.sha256, x->sha256, sizeof(rec.sha256)))
		r = ddpcp_link_fail(
			x->link, -EBADMSG,
			"the SHA-256 of the written file differs from that of the sent one");
	return r;
}

static int offer(struct ddpcp_xfer *x, struct ddpcp_window *w, struct ddp_mr **ret_mr)
{
	struct ddpcp_rec rec = {.kind = DDPCP_WINDOW};
	int r = session_alloc(x->link->s, (size_t)w->chunk * w->slots, DDP_ACCESS_REMOTE_WRITE,
			      ret_mr);

	if (r < 0)
		return ddpcp_link_fail(x->link, r, "out of memory for a window");
	w->to = (*ret_mr)->iova;
	w->stag = (*ret_mr)->rkey;
	rec.window = *w;
	return ddpcp_link_send(x->link, &rec);
}

int ddpcp_xfer_sink(struct ddpcp_xfer *x, const struct ddpcp_file *f)
{
	struct ddpcp_window w = ddpcp_window_for(x->size);
	struct sink k = {.f = f, .w = &w, .scratch = malloc(w.chunk), .sum = sum_new()};
	int r = 0;

	if (!k.scratch || !k.sum)
		r = ddpcp_link_fail(x->link, -ENOMEM, "out of memory");
	if (r == 0)
		r = offer(x, &w, &k.mr);
	if (r == 0)
		r = get_all(x, &k);
	EVP_MD_CTX_free(k.sum);
	free(k.scratch);
	return r;
}
