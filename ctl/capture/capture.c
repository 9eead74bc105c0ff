/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "ctl/capture/pcapng.h"
#include "ipc/memfd.h"
#include "ipc/packet_ring.h"
#include "util/cleanup.h"
#include "util/limit_text.h"
#include "util/did_you_mean.h"

enum {
	IDLE_MS = 5,     /* between looks at an empty ring: 8 MiB last longer at 10 Gbit/s */
	LOOK_EACH = 256, /* packets between two looks at signals */
	BUFFER = 1 << 18,
	MIN_SNAP = 12,               /* SCTP's common header */
	NO_RIGHTS_FOR_OTHERS = 0600, /* packets contain the data of programs */
};

struct capture {
	const struct ddpctl *c;
	const char *path; /* for messages */
	struct ctl_capture req;
	int conn, signals;
	struct memfd_map map;
	struct packet_ring ring;
	FILE *file;
	uint64_t packets, skipped;
	uint64_t lost; /* as the packet before said */
	uint8_t data[PACKET_RING_MAX];
};

/* ---- the command line ---- */

static enum ctl_exit unknown_word(const char *word)
{
	struct did_you_mean m = {.word = word};

	did_you_mean_consider(&m, "assoc");
	did_you_mean_consider(&m, "qp");
	did_you_mean_consider(&m, "snap");
	if (m.nearest)
		query_error("capture: unknown word '%s'; did you mean %s?", word, m.nearest);
	else
		query_error("capture: unknown word '%s', expected assoc, qp or snap", word);
	return args_hint();
}

static enum ctl_exit read_pair(struct ctl_capture *req, const char *word, const char *value)
{
	bool qp = !strcmp(word, "qp");
	enum ctl_exit e;

	if (!strcmp(word, "snap")) {
		e = args_number(value, "a number of bytes", &req->snap);
		if (e != CTL_EXIT_OK || (req->snap >= MIN_SNAP && req->snap <= PACKET_RING_MAX))
			return e;
		query_error("capture: snap %u is not between %d and %d bytes", req->snap, MIN_SNAP,
			    PACKET_RING_MAX);
		return args_hint();
	}
	if (!qp && strcmp(word, "assoc") != 0)
		return unknown_word(word);
	if (req->what != CTL_CAPTURE_ALL) {
		query_error("capture: expected one assoc or one qp");
		return args_hint();
	}
	req->what = qp ? CTL_CAPTURE_QP : CTL_CAPTURE_ASSOC;
	return args_number(value,
			   qp ? "the number of a queue pair" : "the number of an association",
			   &req->id);
}

static enum ctl_exit read_args(struct capture *cap, int n, char **args)
{
	enum ctl_exit e = CTL_EXIT_OK;

	cap->path = args[0];
	for (int i = 1; e == CTL_EXIT_OK && i < n; i += 2) {
		if (i + 1 == n) {
			query_error("capture: '%s' has no value", args[i]);
			return args_hint();
		}
		e = read_pair(&cap->req, args[i], args[i + 1]);
	}
	return e;
}

/* ---- begin ---- */

static enum ctl_exit map_ring(struct capture *cap, int fd, uint64_t size)
{
	int r = -EINVAL;

	if (size >= PACKET_RING_MAX && size <= UINT32_MAX && (size & (size - 1)) == 0)
		r = memfd_map_client(fd, 0, packet_ring_bytes(size), true, &cap->map);
	if (r == 0) {
		packet_ring_init(&cap->ring, cap->map.addr, size);
		return CTL_EXIT_OK;
	}
	query_error("capture: the daemon's memory: %s", r > 0 ? memfd_reason(r) : strerror(-r));
	return CTL_EXIT_FAILED;
}

static enum ctl_exit request_ring(struct capture *cap)
{
	uint64_t size = 0;
	int fd = -1;
	enum ctl_exit e = query_capture(cap->c->opts.socket, args_timeout_ms(cap->c), &cap->req,
					&cap->conn, &fd, &size);

	if (e == CTL_EXIT_OK)
		e = map_ring(cap, fd, size);
	cleanup_close(&fd);
	return e;
}

static enum ctl_exit write_failed(const struct capture *cap, int err)
{
	query_error("%s: %s; the file has the packets until then", cap->path, strerror(err));
	return CTL_EXIT_FAILED;
}

static enum ctl_exit open_file(struct capture *cap)
{
	bool is_stdout = !strcmp(cap->path, "-");
	char words[LIMIT_TEXT_MAX];
	int fd = is_stdout ? dup(STDOUT_FILENO)
			   : open(cap->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
				  NO_RIGHTS_FOR_OTHERS);

	if (is_stdout)
		cap->path = "stdout";
	cap->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (cap->file && isatty(fd)) {
		query_error("%s is a terminal: name a file, or pipe it to 'tshark -r -'",
			    cap->path);
		return args_hint();
	}
	if (cap->file) {
		setvbuf(cap->file, NULL, _IOFBF, BUFFER);
		return CTL_EXIT_OK;
	}
	query_error("%s: %s", cap->path, limit_text(errno, words, sizeof(words)));
	cleanup_close(&fd);
	return CTL_EXIT_FAILED;
}

static sigset_t ending_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	return set;
}

/* Before the file is made, so that a failure leaves none. */
static enum ctl_exit open_signals(struct capture *cap)
{
	char words[LIMIT_TEXT_MAX];
	sigset_t set = ending_signals();

	cap->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (cap->signals >= 0)
		return CTL_EXIT_OK;
	query_error("capture: signals: %s", limit_text(errno, words, sizeof(words)));
	return CTL_EXIT_FAILED;
}

/* Afterwards they are read from the descriptor. */
static void catch_signals(void)
{
	sigset_t set = ending_signals();

	sigprocmask(SIG_BLOCK, &set, NULL);
}

static enum ctl_exit write_head(struct capture *cap)
{
	static const char *const what[] = {"all packets", "packets of assoc", "packets of qp"};
	uint32_t snap = cap->req.snap ? cap->req.snap : PACKET_RING_MAX;
	char about[80];
	int r;

	if (cap->req.what == CTL_CAPTURE_ALL)
		snprintf(about, sizeof(about), "%s", what[0]);
	else
		snprintf(about, sizeof(about), "%s %u", what[cap->req.what], cap->req.id);
	r = pcapng_begin(cap->file, "ddpctl " PACKAGE_VERSION, about, snap + PCAPNG_MAX_HEADERS);
	if (r == 0 && fflush(cap->file) != 0)
		r = -errno;
	return r ? write_failed(cap, -r) : CTL_EXIT_OK;
}

/* ---- packets ---- */

static bool enough(const struct capture *cap)
{
	return cap->c->opts.count && cap->packets >= cap->c->opts.count;
}

/* Writes the packets that are there, a limited number. *ret_more: there may be more. */
static enum ctl_exit take_packets(struct capture *cap, bool *ret_more)
{
	struct packet_head h;
	int r = PACKET_RING_E_OK;

	*ret_more = false;
	for (unsigned i = 0; i < LOOK_EACH; i++) {
		r = packet_ring_take(&cap->ring, &h, cap->data);
		if (r != PACKET_RING_E_OK)
			break;
		r = pcapng_packet(cap->file, &h, cap->data, h.lost - cap->lost);
		if (r < 0)
			return write_failed(cap, -r);
		cap->lost = h.lost;
		cap->packets += r == 0;
		cap->skipped += r > 0;
		if (enough(cap))
			return CTL_EXIT_OK;
		*ret_more = true;
	}
	if (r == PACKET_RING_E_EMPTY) {
		*ret_more = false;
		return fflush(cap->file) == 0 ? CTL_EXIT_OK : write_failed(cap, errno);
	}
	if (r != PACKET_RING_E_WRONG)
		return CTL_EXIT_OK;
	query_error("capture: the daemon wrote a malformed record");
	return CTL_EXIT_FAILED;
}

/* Waits a moment, or not at all. False: a signal, or the daemon ended (*ret says so). */
static bool goes_on(struct capture *cap, int ms, enum ctl_exit *ret)
{
	struct pollfd p[2] = {{.fd = cap->signals, .events = POLLIN},
			      {.fd = cap->conn, .events = POLLIN}};

	if (poll(p, 2, ms) < 0)
		return errno == EINTR;
	if (p[1].revents) {
		query_error("%s: the daemon closed the connection", cap->c->opts.socket);
		*ret = CTL_EXIT_NO_DAEMON;
	}
	return !p[0].revents && !p[1].revents;
}

static enum ctl_exit take_all(struct capture *cap)
{
	enum ctl_exit e, end = CTL_EXIT_OK;
	uint64_t last;
	bool more;

	do {
		e = take_packets(cap, &more);
		if (e != CTL_EXIT_OK || enough(cap))
			return e;
	} while (goes_on(cap, more ? 0 : IDLE_MS, &end));
	/* Packets that were in the ring at the end: the daemon may continue to write. */
	last = cap->ring.at + cap->ring.size;
	do {
		e = take_packets(cap, &more);
	} while (e == CTL_EXIT_OK && more && !enough(cap) && cap->ring.at < last);
	return e == CTL_EXIT_OK ? end : e;
}

static enum ctl_exit end_file(struct capture *cap, enum ctl_exit e)
{
	uint64_t lost = packet_ring_lost(&cap->ring) + cap->skipped;
	struct timespec now;
	int r;

	/* Of a stream that has failed, the end is not written: it would be in the wrong place. */
	if (!ferror(cap->file)) {
		clock_gettime(CLOCK_REALTIME, &now);
		r = pcapng_end(cap->file, cap->packets, lost,
			       (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
		if (r == 0 && fflush(cap->file) != 0)
			r = -errno;
		if (r)
			e = write_failed(cap, -r);
	}
	fprintf(stderr, "%" PRIu64 " packets, %" PRIu64 " left out\n", cap->packets, lost);
	return e;
}

static enum ctl_exit capture_packets(struct capture *cap)
{
	enum ctl_exit e = request_ring(cap);

	if (e == CTL_EXIT_OK)
		e = open_signals(cap);
	if (e == CTL_EXIT_OK)
		e = open_file(cap);
	if (e != CTL_EXIT_OK)
		return e;
	catch_signals();
	e = write_head(cap);
	if (e == CTL_EXIT_OK) {
		fprintf(stderr, "capturing to %s\n", cap->path);
		e = take_all(cap);
	}
	return end_file(cap, e);
}

enum ctl_exit capture_run(struct ddpctl *c, int n, char **args)
{
	struct capture *cap = calloc(1, sizeof(*cap));
	enum ctl_exit e;

	if (!cap) {
		query_error("out of memory");
		return CTL_EXIT_FAILED;
	}
	cap->c = c;
	cap->conn = cap->signals = -1;
	e = read_args(cap, n, args);
	if (e == CTL_EXIT_OK)
		e = capture_packets(cap);
	if (cap->file)
		fclose(cap->file);
	cleanup_close(&cap->conn);
	cleanup_close(&cap->signals);
	memfd_unmap(&cap->map);
	free(cap);
	return e;
}
