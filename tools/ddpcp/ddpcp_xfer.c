/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_xfer.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/common/tool.h"
#include "tools/ddpcp/ddpcp_file.h"
#include "util/minmax.h"

int ddpcp_xfer_sum(const void *p, size_t len, uint8_t ret[DDPCP_SHA_LEN])
{
	return EVP_Digest(p, len, ret, NULL, EVP_sha256(), NULL) == 1 ? 0 : -EIO;
}

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

static int sum_add(const struct ddpcp_xfer *x, EVP_MD_CTX *sum, const void *p, size_t len)
{
	return EVP_DigestUpdate(sum, p, len) == 1
		       ? 0
		       : ddpcp_link_fail(x->link, -EIO, "SHA-256 failed");
}

/* The sum so far; more can be added. */
static int sum_so_far(const struct ddpcp_xfer *x, const EVP_MD_CTX *sum, uint8_t ret[DDPCP_SHA_LEN])
{
	EVP_MD_CTX *copy = EVP_MD_CTX_new();
	bool good = copy && EVP_MD_CTX_copy_ex(copy, sum) == 1 &&
		    EVP_DigestFinal_ex(copy, ret, NULL) == 1;

	EVP_MD_CTX_free(copy);
	return good ? 0 : ddpcp_link_fail(x->link, -EIO, "SHA-256 failed");
}

/* Adds the first len bytes of a file, and returns their sum. */
static int sum_part(const struct ddpcp_xfer *x, EVP_MD_CTX *sum, int fd, uint64_t len, void *buf,
		    uint32_t chunk, uint8_t ret[DDPCP_SHA_LEN])
{
	int r = 0;

	for (uint64_t off = 0; r == 0 && off < len; off += chunk) {
		r = tool_stopped() ? -EINTR : ddpcp_file_pread(fd, buf, chunk, off);
		if (r < 0)
			return ddpcp_link_fail(x->link, r, "read: %s", message_strerror(r));
		r = sum_add(x, sum, buf, chunk);
	}
	return r == 0 ? sum_so_far(x, sum, ret) : r;
}

/* Adds len bytes of zeros. */
static int sum_zeros(const struct ddpcp_xfer *x, EVP_MD_CTX *sum, size_t len)
{
	static const uint8_t zeros[65536];
	int r = 0;

	while (r == 0 && len) {
		size_t n = min_size(len, sizeof(zeros));

		r = sum_add(x, sum, zeros, n);
		len -= n;
	}
	return r;
}

static void show_progress(const struct ddpcp_xfer *x, uint64_t done)
{
	if (x->progress)
		ddpcp_progress_step(x->progress, done);
}

/* ---- the source ---- */

/* Reads a chunk. A stream has its size once it ends. */
static int read_chunk(struct ddpcp_xfer *x, int fd, void *buf, uint32_t chunk, uint64_t seq,
		      uint32_t *ret_len)
{
	size_t len = 0;
	int r;

	if (x->size == DDPCP_STREAM) {
		r = ddpcp_file_read(fd, buf, chunk, &len);
		if (r == 0 && len < chunk)
			x->size = seq * chunk + len;
	} else {
		len = ddpcp_chunk_len(x->size, chunk, seq);
		r = ddpcp_file_pread(fd, buf, len, seq * chunk);
	}
	if (r == -ENODATA)
		return ddpcp_link_fail(x->link, r, "the file became shorter during the copy");
	if (r < 0)
		return ddpcp_link_fail(x->link, r, "read: %s", message_strerror(r));
	*ret_len = (uint32_t)len;
	return 0;
}

/* Whether the chunk is a hole, of which the peer hears without data. */
static bool is_hole(const struct ddpcp_xfer *x, int fd, uint32_t chunk, uint64_t seq,
		    uint32_t *ret_len)
{
	if (!x->sparse || x->link->level == 0 || x->size == DDPCP_STREAM)
		return false;
	*ret_len = ddpcp_chunk_len(x->size, chunk, seq);
	return ddpcp_file_is_hole(fd, seq * chunk, *ret_len);
}

/* One chunk from the file to the peer. It is summed up while it is on its way. */
static int put_chunk(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w, EVP_MD_CTX *sum,
		     uint64_t seq)
{
	const struct ddp_mr *mr = x->link->out;
	uint64_t off = seq % w->slots * w->chunk;
	uint8_t *buf = (uint8_t *)mr->addr + off;
	struct ddpcp_rec rec = {.kind = DDPCP_CHUNK, .seq = seq};
	int r;

	if (is_hole(x, fd, w->chunk, seq, &rec.len)) {
		rec.hole = true;
		r = ddpcp_link_send(x->link, &rec);
		return r == 0 ? sum_zeros(x, sum, rec.len) : r;
	}
	r = read_chunk(x, fd, buf, w->chunk, seq, &rec.len);

	if (r < 0 || rec.len == 0) /* the stream ended where a chunk did */
		return r;
	r = ddpcp_link_write(x->link, mr, off, rec.len, w->to + off, w->stag);
	if (r == 0)
		r = ddpcp_link_send(x->link, &rec);
	return r == 0 ? sum_add(x, sum, buf, rec.len) : r;
}

static int take_ack(struct ddpcp_xfer *x, uint64_t seq)
{
	struct ddpcp_rec rec;
	int r = ddpcp_link_recv(x->link, DDPCP_LINK_KIND(DDPCP_ACK), DDPCP_WAIT_MS, &rec);

	if (r == 0 && rec.seq != seq)
		r = ddpcp_link_fail(x->link, -EPROTO, "a chunk was acknowledged out of order");
	return r;
}

static bool has_more(const struct ddpcp_xfer *x, uint32_t chunk, uint64_t seq)
{
	return x->size == DDPCP_STREAM || seq < ddpcp_chunks(x->size, chunk);
}

static int put_all(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w, EVP_MD_CTX *sum)
{
	uint64_t sent = x->from / w->chunk, acked = sent;
	int r = 0;

	while (r == 0 && has_more(x, w->chunk, acked)) {
		while (r == 0 && has_more(x, w->chunk, sent) && sent - acked < w->slots)
			r = put_chunk(x, fd, w, sum, sent++);
		if (r < 0 || !has_more(x, w->chunk, acked))
			break;
		r = take_ack(x, acked++);
		if (r == 0)
			show_progress(x, acked * w->chunk);
	}
	return r;
}

/* Decides where the copy starts: after the sink's part, if that is a part of this file. */
static int put_start(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w, EVP_MD_CTX *sum)
{
	struct ddpcp_rec rec = {.kind = DDPCP_START};
	uint8_t mine[DDPCP_SHA_LEN];
	int r = 0;

	if (w->have && x->size != DDPCP_STREAM && w->have <= x->size) {
		r = sum_part(x, sum, fd, w->have, x->link->out->addr, w->chunk, mine);
		if (r == 0 && !memcmp(mine, w->sha256, sizeof(mine)))
			rec.offset = w->have;
		else if (r == 0 && EVP_DigestInit_ex(sum, NULL, NULL) != 1)
			r = ddpcp_link_fail(x->link, -EIO, "SHA-256 failed");
	}
	x->from = rec.offset;
	return r == 0 ? ddpcp_link_send(x->link, &rec) : r;
}

int ddpcp_xfer_source(struct ddpcp_xfer *x, int fd, const struct ddpcp_window *w)
{
	struct ddpcp_rec done = {.kind = DDPCP_DONE};
	EVP_MD_CTX *sum = sum_new();
	int r = sum ? 0 : ddpcp_link_fail(x->link, -ENOMEM, "out of memory");

	if (r == 0)
		r = ddpcp_link_out(x->link, (size_t)w->chunk * w->slots);
	if (r == 0)
		r = put_start(x, fd, w, sum);
	if (r == 0 && x->progress)
		ddpcp_progress_from(x->progress, x->from);
	if (r == 0)
		r = put_all(x, fd, w, sum);
	if (r == 0)
		r = sum_end(x, sum);
	EVP_MD_CTX_free(sum);
	if (r < 0)
		return r;
	memcpy(done.sha256, x->sha256, sizeof(done.sha256));
	return ddpcp_link_send(x->link, &done);
}

/* ---- the sink ---- */

/* The state of a sink. */
struct sink {
	int fd;
	bool back;
	struct ddpcp_window w;
	uint8_t *scratch; /* a chunk, read back */
	EVP_MD_CTX *sum;
};

/* A file that ends with a hole. */
static int reach_size(int fd, uint64_t size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	return (uint64_t)st.st_size < size && ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
}

static int write_hole(struct ddpcp_xfer *x, const struct sink *k, uint64_t end, uint32_t len)
{
	int r = k->back && x->sparse ? reach_size(k->fd, end) : -EPROTO;

	return r < 0 ? ddpcp_link_fail(x->link, r, "write: %s", message_strerror(r))
		     : sum_zeros(x, k->sum, len);
}

/* Writes a chunk and sums up the bytes of the file, so that the peer cannot change them in the
 * window in between. */
static int write_chunk(struct ddpcp_xfer *x, const struct sink *k, uint64_t seq, uint32_t len)
{
	const uint8_t *slot = (uint8_t *)x->link->in->addr + seq % k->w.slots * k->w.chunk;
	uint64_t off = seq * k->w.chunk;
	int r;

	if (k->back) {
		r = x->sparse ? ddpcp_file_pwrite_sparse(k->fd, slot, len, off)
			      : ddpcp_file_pwrite(k->fd, slot, len, off);
		if (r == 0 && x->sparse)
			r = reach_size(k->fd, off + len);
	} else {
		memcpy(k->scratch, slot, len);
		r = ddpcp_file_write(k->fd, k->scratch, len);
	}
	if (r < 0)
		return ddpcp_link_fail(x->link, r, "write: %s", message_strerror(r));
	if (k->back)
		r = ddpcp_file_pread(k->fd, k->scratch, len, off);
	if (r < 0)
		return ddpcp_link_fail(x->link, r, "read back: %s", message_strerror(r));
	return sum_add(x, k->sum, k->scratch, len);
}

/* Whether this is the next chunk, and no longer than the file. A short one ends a stream. */
static bool is_expected(struct ddpcp_xfer *x, const struct sink *k, uint64_t seq,
			const struct ddpcp_rec *rec)
{
	if (rec->seq != seq || !has_more(x, k->w.chunk, seq))
		return false;
	if (x->size != DDPCP_STREAM)
		return rec->len == ddpcp_chunk_len(x->size, k->w.chunk, seq);
	if (rec->len < k->w.chunk)
		x->size = seq * k->w.chunk + rec->len;
	return rec->len <= k->w.chunk && seq < (uint64_t)INT64_MAX / k->w.chunk;
}

static int get_chunk(struct ddpcp_xfer *x, const struct sink *k, uint64_t seq,
		     const struct ddpcp_rec *rec)
{
	struct ddpcp_rec ack = {.kind = DDPCP_ACK, .seq = seq};
	int r;

	if (!is_expected(x, k, seq, rec))
		return ddpcp_link_fail(x->link, -EPROTO, "a chunk arrived out of order");
	r = rec->hole ? write_hole(x, k, seq * k->w.chunk + rec->len, rec->len)
		      : write_chunk(x, k, seq, rec->len);
	if (r == 0)
		show_progress(x, seq * k->w.chunk + rec->len);
	return r == 0 ? ddpcp_link_send(x->link, &ack) : r;
}

/* A record that may be next. The source of a stream may itself wait for its data. */
static int get_next(struct ddpcp_xfer *x, const struct sink *k, uint64_t seq, struct ddpcp_rec *rec)
{
	bool stream = x->size == DDPCP_STREAM;
	unsigned kinds = has_more(x, k->w.chunk, seq) ? DDPCP_LINK_KIND(DDPCP_CHUNK) : 0;

	if (stream || !kinds)
		kinds |= DDPCP_LINK_KIND(DDPCP_DONE);
	return ddpcp_link_recv(x->link, kinds, stream ? DDPCP_LAST_MS : DDPCP_WAIT_MS, rec);
}

static int get_all(struct ddpcp_xfer *x, const struct sink *k)
{
	uint64_t seq = x->from / k->w.chunk;
	struct ddpcp_rec rec;
	int r;

	while ((r = get_next(x, k, seq, &rec)) == 0 && rec.kind == DDPCP_CHUNK) {
		r = get_chunk(x, k, seq++, &rec);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	x->link->midway = false;
	if (x->size == DDPCP_STREAM)
		x->size = seq * k->w.chunk;
	r = sum_end(x, k->sum);
	if (r == 0 && memcmp(rec.sha256, x->sha256, sizeof(rec.sha256)))
		r = ddpcp_link_fail(
			x->link, -EBADMSG,
			"the SHA-256 of the written file differs from that of the sent one");
	return r;
}

/* Offers memory, and the chunks that are already there. */
static int offer_window(struct ddpcp_xfer *x, struct sink *k, uint64_t have)
{
	struct ddpcp_rec rec = {.kind = DDPCP_WINDOW};
	struct ddpcp_window *w = &k->w;
	int r = ddpcp_link_in(x->link, (size_t)w->chunk * w->slots);

	if (r == 0)
		ddpcp_link_touch(x->link, (size_t)w->chunk * w->slots);
	if (k->back && x->size != DDPCP_STREAM && have <= x->size)
		w->have = have - have % w->chunk;
	if (r == 0 && w->have)
		r = sum_part(x, k->sum, k->fd, w->have, k->scratch, w->chunk, w->sha256);
	if (r < 0)
		return r;
	w->to = x->link->in->iova;
	w->stag = x->link->in->rkey;
	rec.window = *w;
	x->link->midway = true;
	return ddpcp_link_send(x->link, &rec);
}

/* Receives where the source starts; the rest of the part is of another file. */
static int get_start(struct ddpcp_xfer *x, const struct sink *k)
{
	struct ddpcp_rec rec;
	int r = ddpcp_link_recv(x->link, DDPCP_LINK_KIND(DDPCP_START), DDPCP_LAST_MS, &rec);

	if (r < 0)
		return r;
	if (rec.offset && rec.offset != k->w.have)
		return ddpcp_link_fail(
			x->link, -EPROTO, "the peer starts at byte %llu, expected 0 or %llu",
			(unsigned long long)rec.offset, (unsigned long long)k->w.have);
	if (!rec.offset && EVP_DigestInit_ex(k->sum, NULL, NULL) != 1)
		return ddpcp_link_fail(x->link, -EIO, "SHA-256 failed");
	x->from = rec.offset;
	if (x->progress)
		ddpcp_progress_from(x->progress, x->from);
	if (k->back && ftruncate(k->fd, (off_t)x->from) < 0)
		return ddpcp_link_fail(x->link, -errno, "truncate: %s", message_strerror(errno));
	return 0;
}

int ddpcp_xfer_sink(struct ddpcp_xfer *x, int fd, uint64_t have, bool back)
{
	struct sink k = {.fd = fd, .back = back, .w = ddpcp_window_for(x->size)};
	int r = 0;

	k.scratch = malloc(k.w.chunk);
	k.sum = sum_new();
	if (!k.scratch || !k.sum)
		r = ddpcp_link_fail(x->link, -ENOMEM, "out of memory");
	if (r == 0)
		r = offer_window(x, &k, have);
	if (r == 0)
		r = get_start(x, &k);
	if (r == 0)
		r = get_all(x, &k);
	EVP_MD_CTX_free(k.sum);
	free(k.scratch);
	return r;
}
