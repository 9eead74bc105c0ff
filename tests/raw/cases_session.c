/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5043 5.2.3, 6.2 to 6.4: begin, refusal, end and reuse of sessions. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/raw/case.h"
#include "tests/raw/pair.h"
#include "tests/raw/stage.h"

enum { MAX = 512 };

static const size_t lengths[] = {0, 1, 511, MAX};

static const uint8_t *pattern(void)
{
	static uint8_t p[MAX + 1];

	for (unsigned i = 0; i <= MAX; i++)
		p[i] = (uint8_t)(i * 7 + (i >> 8));
	return p;
}

static void send_control(struct link *l, uint16_t sid, uint16_t code, size_t n)
{
	struct raw_msg m = raw_control(code, pattern(), n);

	link_send(l, sid, &m);
}

static void expect_control(struct link *l, uint16_t sid, uint16_t code, size_t n)
{
	struct raw_msg m = raw_control(code, pattern(), n);

	link_expect(l, sid, &m, "the control message");
}

/* The next event has so many bytes of the pattern. Returns its id. */
static struct ddp_id *event_with(enum ddp_cm_event_type type, size_t n)
{
	struct ddp_cm_event *ev = client_event(type);
	struct ddp_id *id = ev->id;

	EXPECT(ev->private_len == n &&
		       memcmp(ev->private_data ? ev->private_data : "", pattern(), n) == 0,
	       "%zu bytes of private data, not %zu", ev->private_len, n);
	ddp_ack_cm_event(ev);
	return id;
}

static struct ddp_conn_param with(size_t n)
{
	struct ddp_conn_param param = DDP_INIT(ddp_conn_param);

	param.private_data = pattern();
	param.private_len = n;
	return param;
}

/* ---- the daemon is the passive side ---- */

static struct ddp_id *request(struct link *l, uint16_t sid, size_t n)
{
	link_begin(l, sid, false);
	send_control(l, sid, RAW_INITIATE, n);
	return event_with(DDP_CM_CONNECT_REQUEST, n);
}

static void accepted(void)
{
	struct link *l = pair_listener(0);
	struct pair p = {.l = l};

	for (unsigned i = 0; i < 4; i++) {
		struct ddp_conn_param param = with(lengths[3 - i]);

		p.v = client_end(request(l, p.sid, lengths[i]), NULL);
		MUST(ddp_accept(p.v.id, &param));
		expect_control(l, p.sid, RAW_ACCEPT, lengths[3 - i]);
		ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
		pair_end(&p);
		p.sid += 2;
	}
	link_nothing_left(l);
}

static void rejected(void)
{
	struct link *l = pair_listener(0);

	/* The same stream many times: nothing follows a Reject, and the stream can be reused. */
	for (unsigned i = 0; i < 4; i++) {
		struct ddp_conn_param param = with(lengths[i]);
		struct ddp_id *id = request(l, 4, 0);

		MUST(ddp_reject(id, &param));
		MUST(ddp_destroy_id(id));
		expect_control(l, 4, RAW_REJECT, lengths[i]);
		link_wait_acked(l);
		pair_marker(l);
		EXPECT(link_waiting(l, 4) == 0, "a message follows the Reject");
	}
}

/* Nothing is answered before the program decides, and segments wait for its decision. */
static void undecided(void)
{
	static const struct client_opts o = {.recvs = 1, .size = 16};
	struct link *l = pair_listener(0);
	struct pair p = {.l = l, .sid = 2, .opts = o};
	struct ddp_id *id = request(l, p.sid, 0);

	pair_marker(l);
	EXPECT(link_waiting(l, p.sid) == 0, "an answer before the decision");
	pair_tx(&p, raw_send(1, "early", 5));
	pair_marker(l);
	EXPECT(link_waiting(l, p.sid) == 0, "an answer before the decision");
	p.v = client_end(id, &o);
	MUST(ddp_accept(p.v.id, NULL));
	expect_control(l, p.sid, RAW_ACCEPT, 0);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	client_received(&p.v, 0, 5);
	EXPECT(memcmp(client_inbox(&o, 0), "early", 5) == 0, "other bytes arrived");
	pair_end(&p);
}

static void refuse_at_limit(int backlog, unsigned n)
{
	struct link *l = pair_listener(backlog);
	struct ddp_id *id[16];
	uint16_t sid;

	for (unsigned i = 0; i < n; i++)
		id[i] = request(l, (uint16_t)(2 * i), 1);
	for (sid = (uint16_t)(2 * n); sid < 2 * n + 8; sid += 2) {
		link_begin(l, sid, false);
		send_control(l, sid, RAW_INITIATE, 1);
		expect_control(l, sid, RAW_END, 0);
	}
	client_no_event();
	for (unsigned i = 0; i < n; i++) {
		struct pair p = {.l = l, .sid = (uint16_t)(2 * i), .v = client_end(id[i], NULL)};

		MUST(ddp_accept(p.v.id, NULL));
		expect_control(l, p.sid, RAW_ACCEPT, 0);
		ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
		pair_end(&p);
	}
	/* There is room again, also on a stream whose first request was over the limit. */
	MUST(ddp_destroy_id(request(l, (uint16_t)(2 * n), 1)));
	expect_control(l, (uint16_t)(2 * n), RAW_REJECT, 0);
	link_nothing_left(l);
}

static void backlog_limit(void)
{
	refuse_at_limit(2, 2);
}

/* raw-peer.sh sets session.pending_max to 8. */
static void pending_limit(void)
{
	refuse_at_limit(16, 8);
}

/* A refusal without the program's decision is a Terminate with DDP-SSN 0 and no data. */
static void refused(void)
{
	struct link *l;
	struct ddp_id *listener, *id;

	client_open(0);
	listener = client_listen(0);
	l = link_to(stage.daemon[0].addr, stage.port);
	id = request(l, 2, 3);
	MUST(ddp_destroy_id(listener));
	expect_control(l, 2, RAW_END, 0);
	EXPECT(ddp_reject(id, NULL) < 0, "a late answer was accepted");
	MUST(ddp_destroy_id(id));
	link_begin(l, 4, false);
	send_control(l, 4, RAW_INITIATE, 0);
	expect_control(l, 4, RAW_END, 0);
	client_no_event();
}

/* A program that listens, and dies when a request comes; it writes a byte when it listens. */
static void listen_and_exit(int fd)
{
	struct ddp_cm_event *ev;

	client_open(0);
	client_listen(0);
	if (write(fd, "r", 1) != 1)
		_exit(1);
	_exit(ddp_get_cm_event(client_ctx(), &ev, STAGE_WAIT_MS) ? 1 : 0);
}

static void died(void)
{
	struct link *l;
	char byte;
	int fds[2];
	pid_t pid;

	EXPECT(pipe(fds) == 0, "pipe: %d", errno);
	pid = fork();
	if (pid == 0)
		listen_and_exit(fds[1]);
	EXPECT(pid > 0 && read(fds[0], &byte, 1) == 1, "the program did not start");
	l = link_to(stage.daemon[0].addr, stage.port);
	send_control(l, 0, RAW_INITIATE, 3);
	expect_control(l, 0, RAW_END, 0);
	EXPECT(waitpid(pid, &fds[0], 0) == pid && fds[0] == 0, "the program: %d", fds[0]);
}

/* raw-peer.sh sets session.answer_ms of this daemon to 200. */
static void unanswered(void)
{
	struct link *l;
	struct ddp_id *id;

	client_open(STAGE_HASTY);
	client_listen(0);
	l = link_to(stage.daemon[STAGE_HASTY].addr, stage.port);
	id = request(l, 0, 3);
	expect_control(l, 0, RAW_END, 0);
	ddp_ack_cm_event(client_event(DDP_CM_REQUEST_GONE));
	EXPECT(ddp_reject(id, NULL) < 0, "a late answer was accepted");
	MUST(ddp_destroy_id(id));
	link_nothing_left(l);
}

/* A program that disconnects at once: its Terminate follows the Accept. */
static void accept_and_close(void)
{
	struct pair p = {.l = pair_listener(0), .sid = 6};

	p.v = client_end(request(p.l, 6, 0), NULL);
	MUST(ddp_accept(p.v.id, NULL));
	MUST(ddp_disconnect(p.v.id));
	expect_control(p.l, 6, RAW_ACCEPT, 0);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	expect_control(p.l, 6, RAW_END, 0);
	send_control(p.l, 6, RAW_END, 0);
	pair_disconnected(&p, false, 0);
	link_nothing_left(p.l);
}

static void too_much_data(void)
{
	struct ddp_conn_param param = with(MAX + 1);
	struct link *l = pair_listener(0);
	struct ddp_id *id;

	/* Of ours: the program gets no request. */
	link_begin(l, 0, false);
	send_control(l, 0, RAW_INITIATE, MAX + 1);
	expect_control(l, 0, RAW_END, 0);
	pair_marker(l);
	/* Of the client's: the calls fail and nothing is sent. */
	id = request(l, 2, MAX);
	EXPECT(ddp_reject(id, &param) == -EINVAL, "513 bytes of private data were accepted");
	pair_marker(l);
	link_nothing_left(l);
	param.private_len = MAX;
	MUST(ddp_reject(id, &param));
	expect_control(l, 2, RAW_REJECT, MAX);
}

/* ---- the daemon is the active side ---- */

static void connect_plain(struct pair *p, size_t n)
{
	struct ddp_conn_param param = with(n);

	p->v = client_end(NULL, NULL);
	MUST(ddp_connect_name(p->v.id, stage.addr, stage.port, &param));
	if (!p->l)
		p->l = link_from();
	p->sid = link_new_stream(p->l);
	link_begin(p->l, p->sid, true);
	expect_control(p->l, p->sid, RAW_INITIATE, n);
}

static void open_active(void)
{
	client_open(0);
	link_listen(stage.port);
}

static void answers(void)
{
	struct pair p = {0};

	open_active();
	for (unsigned i = 0; i < 4; i++) {
		connect_plain(&p, lengths[i]);
		send_control(p.l, p.sid, RAW_ACCEPT, lengths[3 - i]);
		event_with(DDP_CM_ESTABLISHED, lengths[3 - i]);
		pair_end(&p);
		connect_plain(&p, lengths[i]);
		send_control(p.l, p.sid, RAW_REJECT, lengths[3 - i]);
		event_with(DDP_CM_REJECTED, lengths[3 - i]);
		client_end_free(&p.v);
		connect_plain(&p, lengths[i]);
		send_control(p.l, p.sid, RAW_END, 0);
		event_with(DDP_CM_CONNECT_ERROR, 0);
		client_end_free(&p.v);
	}
	/* Only Initiates were sent on all streams: no Terminate after Reject or Terminate. */
	connect_plain(&p, 0);
	link_nothing_left(p.l);
}

static void too_long_answer(void)
{
	static const uint16_t codes[] = {RAW_ACCEPT, RAW_REJECT};
	struct pair p = {0};

	open_active();
	for (unsigned i = 0; i < 2; i++) {
		connect_plain(&p, MAX);
		send_control(p.l, p.sid, codes[i], MAX + 1);
		event_with(DDP_CM_CONNECT_ERROR, 0);
		client_end_free(&p.v);
		expect_control(p.l, p.sid, RAW_END, 0);
	}
}

/* There is no cancel message: a program that gives up waits for the answer, and then ends the
 * session. */
static void given_up(void)
{
	struct pair p = {0};

	open_active();
	connect_plain(&p, 0);
	client_end_free(&p.v);
	send_control(p.l, p.sid, RAW_ACCEPT, 0);
	expect_control(p.l, p.sid, RAW_END, 0);
	send_control(p.l, p.sid, RAW_END, 0);
	connect_plain(&p, 0);
	client_end_free(&p.v);
	send_control(p.l, p.sid, RAW_REJECT, 5);
	connect_plain(&p, 0);
	client_no_event();
	link_nothing_left(p.l);
}

/* ---- the end ---- */

/* Sessions one after the other on one stream: each begins with 0 in both directions. */
static void reuse(void)
{
	static const struct client_opts o = {.recvs = 8, .size = 16};
	struct pair p = pair_new(&o);

	for (unsigned i = 0; i < 50; i++) {
		for (unsigned k = 0; k < i % 8; k++)
			pair_alive(&p);
		pair_end(&p);
		link_wait_acked(p.l);
		p = pair_passive(p.l, p.sid, &o);
	}
}

/* Bytes after a Terminate code are ignored. */
static void trailing(void)
{
	struct pair p = pair_new(NULL);

	send_control(p.l, p.sid, RAW_END, 200);
	expect_control(p.l, p.sid, RAW_END, 0);
	pair_disconnected(&p, false, 0);
}

/* The client ends it: all posted messages arrive first, and our messages before our own Terminate
 * are still accepted. */
static void local_end(void)
{
	static uint8_t bytes[100000];
	struct client_opts o = {.recvs = 2, .size = 64};
	struct pair p = pair_new(&o);
	struct client_region r = client_region(client_pd(), sizeof(bytes), 0x1000, 0);
	struct ddp_sge sge = {0x1000, sizeof(bytes), r.mr->lkey};
	struct ddp_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = DDP_WR_SEND};
	size_t sum = 0;
	struct raw_msg m;

	client_post(&p.v, wr);
	EXPECT(client_wc(p.v.scq).status == DDP_WC_SUCCESS, "the Send failed");
	MUST(ddp_disconnect(p.v.id));
	while ((m = link_take(p.l, p.sid)).ppid == RAW_SEGMENT) {
		uint32_t n;

		raw_body(&m, &n);
		sum += n;
	}
	EXPECT(sum == sizeof(bytes), "%zu bytes came before the Terminate", sum);
	EXPECT(raw_code(&m) == RAW_END && m.len == 4, "a message other than a Terminate arrived");
	pair_alive(&p);
	send_control(p.l, p.sid, RAW_END, 0);
	pair_disconnected(&p, false, 0);
	link_nothing_left(p.l);
}

/* ---- the association ends ---- */

enum { SESSIONS = 20 };

/* Each session is reported once, and pending requests are void. No session sends anything more. */
static void all_end(void (*how)(struct link *))
{
	struct link *l = pair_listener(0);
	struct pair p[SESSIONS];
	struct ddp_id *id;

	for (uint16_t i = 0; i < SESSIONS; i++)
		p[i] = pair_passive(l, (uint16_t)(2 * i), NULL);
	id = request(l, 2 * SESSIONS, 0);
	how(l);
	for (unsigned i = 0; i < SESSIONS + 1; i++) {
		struct ddp_cm_event *ev = NULL;

		UNTIL(ddp_get_cm_event(client_ctx(), &ev, 0) == 0, ddp_fd(client_ctx()), "an end");
		EXPECT(ev->type == (ev->id == id ? DDP_CM_REQUEST_GONE : DDP_CM_DISCONNECTED),
		       "event %s", ddp_event_str(ev->type));
		EXPECT(ev->err && ev->reason[0], "an end without error or reason");
		ddp_ack_cm_event(ev);
	}
	for (unsigned i = 0; i < SESSIONS; i++) {
		client_flushed(&p[i].v);
		client_end_free(&p[i].v);
	}
	MUST(ddp_destroy_id(id));
	client_no_event();
	link_nothing_left(l);
	/* The next association works like the first one. */
	p[0] = pair_passive(link_to(stage.daemon[0].addr, stage.port), 0, NULL);
	pair_alive(&p[0]);
}

static void aborted(void)
{
	all_end(link_abort);
}

static void shut_down(void)
{
	all_end(link_shutdown);
}

const struct raw_case case_session[] = {
	{"accepted",
	 "5043-5.2.3-01 5043-5.2.3-02 5043-5.2.3-03 5043-5.2.3-06 5043-5.2.3-07 5043-6-01 "
	 "5043-6-06 5043-6.2-01 5043-6.2-02 5043-6.2-04 5043-9-03",
	 accepted},
	{"rejected", "5043-6.3-02 5043-6.3-03 5043-6.4-02", rejected},
	{"undecided", "5043-6.4-01 5043-6.4-02 5043-6.2-02", undecided},
	{"backlog-limit", "5043-5.2.3-08 5043-5.2.3-09 5043-6.4-03 5043-6.4-04", backlog_limit},
	{"pending-limit", "5043-5.2.3-08 5043-5.2.3-09 5043-6.4-03 5043-6.4-04", pending_limit},
	{"refused", "5043-6.3-04 5043-5.2.3-05", refused},
	{"died", "5043-6.3-04 5043-5.2.3-05", died},
	{"unanswered", "5043-6.3-04", unanswered},
	{"accept-and-close", "5043-6.2-02 5043-6.2-03 5043-6.2-04", accept_and_close},
	{"too-much-data", "5043-5.2.3-04", too_much_data},
	{"answers", "5043-5.2.3-01 5043-5.2.3-06 5043-5.2.3-07 5043-6.2-01 5043-6.3-03", answers},
	{"too-long-answer", "5043-5.2.3-04 5043-6.1-04", too_long_answer},
	{"given-up", "5043-6.1-03 5043-6.2-04", given_up},
	{"reuse", "5043-6-03 5043-6-04 5043-6.1-01", reuse},
	{"trailing", "5043-5.2.3-05", trailing},
	{"local-end", "5043-6.2-03 5041-6.2.1-01 5041-6.2.1-06", local_end},
	{"aborted", "5041-3-03 5041-6.2.2-01 5041-6.2.2-02 5043-11.3-01 5043-11.3-03", aborted},
	{"shut-down", "5041-3-12 5043-11.3-02 5043-11.3-03", shut_down},
	{0},
};
