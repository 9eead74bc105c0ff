/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/clock.h"
#include "tools/common/json_out.h"
#include "tools/common/message.h"
#include "tools/common/samples.h"
#include "tools/common/session.h"
#include "tools/common/tool.h"
#include "tools/ddping/ddping.h"
#include "tools/ddping/ddping_proto.h"

enum {
	PONG_OFF = 64, /* of the record to receive; the one to send is at 0 */
	CTL_LEN = 128,
};

struct pinger {
	const struct ddping_opts *o;
	struct session s;
	struct ddp_mr *ctl, *src, *sink;
	uint64_t sent, good;
	uint64_t began;       /* ns */
	struct samples rtt;   /* us, of good rounds */
	struct json_out json; /* with --json */
};

/* The data of a round; every byte differs from that of the round before. */
static uint8_t pattern(uint32_t seq, uint32_t i)
{
	return (uint8_t)(seq * 197 + i * 31 + (i >> 8));
}

static void fill_pattern(uint8_t *buf, uint32_t len, uint32_t seq)
{
	for (uint32_t i = 0; i < len; i++)
		buf[i] = pattern(seq, i);
}

/* A line among those of the rounds: "path to ..." */
static void print_path(const char *sentence)
{
	printf("%s\n", sentence);
	fflush(stdout);
}

static int open_connection(struct pinger *p)
{
	const struct session_need need = {.send_wr = 8, .recv_wr = 2};
	uint8_t hello[DDPING_HELLO_LEN];
	const struct session_target target = {
		.socket = p->o->socket,
		.host = p->o->host,
		.port = p->o->port,
		.bind = p->o->bind,
		.on_path = p->o->quiet  ? NULL
			   : p->o->json ? session_note_path
					: print_path,
		.hello = hello,
		.hello_len = sizeof(hello),
		.server = "ddping -s",
	};
	int r = session_open(&p->s, target.socket);

	ddping_hello_put(hello, p->o->size);
	if (r == 0)
		r = session_make_qp(&p->s, &need);
	if (r == 0)
		r = session_alloc(&p->s, CTL_LEN, DDP_ACCESS_LOCAL_WRITE, &p->ctl);
	if (r == 0)
		r = session_alloc(&p->s, p->o->size, DDP_ACCESS_REMOTE_READ, &p->src);
	if (r == 0)
		r = session_alloc(&p->s, p->o->size, DDP_ACCESS_REMOTE_WRITE, &p->sink);
	if (r == 0)
		r = session_connect(&p->s, &target);
	return r;
}

/* Without a completion of the Send: it would wake this program before the pong does. */
static int post_ping(struct pinger *p, uint32_t seq)
{
	const struct ddping_rec rec = {
		.kind = DDPING_PING,
		.seq = seq,
		.len = p->o->size,
		.src_stag = p->src->rkey,
		.sink_stag = p->sink->rkey,
		.src_to = p->src->iova,
		.sink_to = p->sink->iova,
	};
	int r = session_post_recv(&p->s, p->ctl, PONG_OFF, DDPING_REC_LEN, seq);

	ddping_rec_put(p->ctl->addr, &rec);
	if (r == 0)
		r = session_post_send(&p->s, p->ctl, 0, DDPING_REC_LEN, seq, 0);
	return r;
}

/* The pong of this round, which is the only receive. */
static int await_pong(struct pinger *p, uint32_t seq)
{
	struct ddping_rec rec;
	struct ddp_wc wc;
	int n;

	do {
		n = session_wait(&p->s, 1, &wc, (int)(p->o->wait * 1000));
		if (n < 0)
			return n;
		if (n == 0) {
			message_error("no answer within %g s", p->o->wait);
			return -ETIMEDOUT;
		}
		if (wc.status != DDP_WC_SUCCESS)
			return session_wc_fail(&p->s, "round", &wc);
	} while (wc.opcode != DDP_WC_RECV);
	if (ddping_rec_get((uint8_t *)p->ctl->addr + PONG_OFF, wc.byte_len, DDPING_PONG, &rec) <
		    0 ||
	    rec.seq != seq) {
		message_error("unexpected answer from the server");
		return -EPROTO;
	}
	return 0;
}

static void json_round(struct pinger *p, uint32_t seq, double us, bool ok)
{
	json_out_item_begin(&p->json);
	json_out_uint(&p->json, "seq", seq);
	json_out_fixed(&p->json, "rtt_us", us, 1);
	json_out_bool(&p->json, "ok", ok);
	json_out_item_end(&p->json);
}

static void print_round(struct pinger *p, uint32_t seq, double us, bool ok)
{
	if (p->o->quiet)
		return;
	if (p->o->json) {
		json_round(p, seq, us, ok);
		return;
	}
	printf("%u bytes from %s: seq=%u time=%.3f ms%s\n", p->o->size, p->s.peer, seq, us / 1000,
	       ok ? "" : " WRONG DATA");
	fflush(stdout);
}

/* One round. A failure that is not the end of all is counted and 0. */
static int one_round(struct pinger *p, uint32_t seq)
{
	uint64_t t0;
	double us;
	bool ok;
	int r;

	fill_pattern(p->src->addr, p->o->size, seq);
	t0 = clock_now_ns();
	p->sent++;
	r = post_ping(p, seq);
	if (r == 0)
		r = await_pong(p, seq);
	us = (double)(clock_now_ns() - t0) / 1000;
	if (r == -EINTR)
		p->sent--; /* interrupted, neither good nor bad */
	if (r < 0)
		return r;
	ok = !p->o->verify || !memcmp(p->src->addr, p->sink->addr, p->o->size);
	print_round(p, seq, us, ok);
	if (!ok)
		return 0;
	p->good++;
	return samples_add(&p->rtt, us);
}

/* Until it is time for the next round. The end of the session is noticed at once. */
static int pause_until(struct pinger *p, uint64_t when)
{
	struct ddp_wc wc;

	for (;;) {
		uint64_t now = clock_now_ns();
		int n;

		if (now >= when)
			return tool_stopped() ? -EINTR : 0;
		n = session_wait(&p->s, 1, &wc, (int)((when - now + 999999) / 1000000));
		if (n < 0)
			return n;
		if (n > 0 && wc.status != DDP_WC_SUCCESS)
			return session_wc_fail(&p->s, "session", &wc);
	}
}

static int run_rounds(struct pinger *p)
{
	uint64_t step = (uint64_t)(p->o->interval * 1e9), next = p->began;
	int r = 0;

	for (uint64_t i = 1; r == 0 && (!p->o->count || i <= p->o->count); i++) {
		r = pause_until(p, next);
		next += step;
		if (r == 0)
			r = one_round(p, (uint32_t)i);
	}
	return r == -EINTR ? 0 : r;
}

/* A figure of the good rounds, null without any. */
static void json_rtt(struct pinger *p, const char *key, const struct samples_summary *st, double us)
{
	if (st->n)
		json_out_fixed(&p->json, key, us, 1);
	else
		json_out_null(&p->json, key);
}

static int json_summary(struct pinger *p, const struct samples_summary *st, double elapsed)
{
	struct json_out *j = &p->json;

	if (!p->o->quiet)
		json_out_list_end(j);
	json_out_uint(j, "sent", p->sent);
	json_out_uint(j, "good", p->good);
	json_out_uint(j, "failed", p->sent - p->good);
	json_out_fixed(j, "elapsed_s", elapsed, 3);
	json_rtt(p, "rtt_min_us", st, st->min);
	json_rtt(p, "rtt_median_us", st, st->median);
	json_rtt(p, "rtt_mean_us", st, st->mean);
	json_rtt(p, "rtt_p99_us", st, st->p99);
	json_rtt(p, "rtt_max_us", st, st->max);
	if (*message_last_error())
		json_out_str(j, "error", message_last_error());
	else
		json_out_null(j, "error");
	return json_out_end(j);
}

/* The summary. 0 or -ENOMEM. */
static int print_end(struct pinger *p)
{
	double elapsed = p->began ? (double)(clock_now_ns() - p->began) / 1e9 : 0;
	struct samples_summary st;

	samples_summarize(&p->rtt, &st);
	if (p->o->json)
		return json_summary(p, &st, elapsed);
	if (!p->began)
		return 0;
	printf("%s--- %s ddping statistics ---\n", p->o->quiet ? "" : "\n", p->o->host);
	printf("%llu rounds, %llu good, %llu failed, %.3f s\n", (unsigned long long)p->sent,
	       (unsigned long long)p->good, (unsigned long long)(p->sent - p->good), elapsed);
	if (st.n)
		printf("rtt min/avg/max = %.3f/%.3f/%.3f ms, median %.3f ms\n", st.min / 1000,
		       st.mean / 1000, st.max / 1000, st.median / 1000);
	return 0;
}

static void json_head(struct pinger *p)
{
	struct json_out *j = &p->json;

	json_out_begin(j, stdout);
	json_out_str(j, "tool", "ddping");
	json_out_str(j, "version", PACKAGE_VERSION);
	json_out_str(j, "host", p->o->host);
	json_out_uint(j, "port", p->o->port);
	json_out_uint(j, "size_bytes", p->o->size);
	json_out_bool(j, "verify", p->o->verify);
	if (!p->o->quiet)
		json_out_list_begin(j, "rounds");
}

int ddping_client(const struct ddping_opts *o)
{
	struct pinger p = {.o = o};
	int r, printed;

	if (o->json)
		json_head(&p);
	r = open_connection(&p);
	if (r == 0) {
		if (!o->json)
			printf("DDPING %s: %s, %u bytes read and written back in each round\n",
			       o->host, p.s.peer, o->size);
		p.began = clock_now_ns();
		r = run_rounds(&p);
	}
	printed = print_end(&p);
	session_close(&p.s);
	samples_free(&p.rtt);
	if (printed < 0)
		message_error("JSON: %s", message_strerror(printed));
	return r == 0 && printed == 0 && p.good && p.good == p.sent ? TOOL_OK : TOOL_FAILED;
}
