/* SPDX-License-Identifier: BSD-2-Clause */
/* RFC 5043 5.1, 6.6, 7 to 11: the adaptation indication, and what is visible in the packets. */
#include <string.h>

#include "tests/raw/case.h"
#include "tests/raw/packet.h"
#include "tests/raw/stage.h"
#include "tests/raw/client.h"

/* As UNTIL(), for this transport. */
#define AWAIT(cond, what)                                                                          \
	for (uint64_t end_ = stage_now_ms() + STAGE_WAIT_MS; !(cond); packet_turn(-1))             \
	EXPECT(stage_now_ms() < end_, "waited too long for %s", what)

static void begin(void)
{
	client_open(0);
	packet_open(stage.daemon[0].addr);
	stage_use(packet_turn);
}

static void send_control(uint16_t sid, uint16_t code)
{
	packet_send(sid, raw_control(code, NULL, 0), 0, false);
}

/* ---- the indication ---- */

/* Peers without an indication, or with another one. */
static const int others[] = {-1, 0, 2, 0x01000000};

static void refused_incoming(void)
{
	begin();
	client_listen(0);
	for (unsigned i = 0; i < 4; i++) {
		packet_connect(others[i]);
		/* Some refuse the COOKIE ECHO, others abort what is up. */
		AWAIT(packet_was_up() || packet_seen.aborts, "the association");
		if (packet_up())
			send_control(0, RAW_INITIATE);
		AWAIT(packet_seen.aborts, "the ABORT");
		AWAIT(!packet_up(), "the end of the association");
		EXPECT(packet_seen.data == 0, "a DDP message is sent to a peer with indication %d",
		       others[i]);
		client_no_event();
		packet_reset();
	}
	packet_connect(1);
	AWAIT(packet_up(), "the association");
	send_control(0, RAW_INITIATE);
	ddp_ack_cm_event(client_event(DDP_CM_CONNECT_REQUEST));
}

static struct client_end start_connect(void)
{
	struct client_end e = client_end(NULL, NULL);

	MUST(ddp_connect_name(e.id, stage.addr, stage.port, NULL));
	return e;
}

static void refused_outgoing(void)
{
	begin();
	for (unsigned i = 0; i < 4; i++) {
		struct client_end e;
		struct ddp_cm_event *ev;

		packet_listen(others[i]);
		e = start_connect();
		ev = client_event(DDP_CM_CONNECT_ERROR);
		EXPECT(ev->err && ev->reason[0], "an error without a reason");
		ddp_ack_cm_event(ev);
		AWAIT(packet_seen.aborts, "the ABORT");
		EXPECT(packet_seen.data == 0, "a DDP message is sent to a peer with indication %d",
		       others[i]);
		client_end_free(&e);
		packet_reset();
	}
}

/* ---- packets ---- */

/* The daemon offers 2048 streams each way. Its INIT ACK may ask for no more than this peer has. */
static bool check_streams(unsigned n, bool is_ack)
{
	return n == 2048 || (is_ack && n == 256);
}

static void check_init(bool is_ack)
{
	EXPECT(packet_seen.inits && packet_seen.indications == packet_seen.inits &&
		       packet_seen.indication == 1,
	       "%u INITs, %u indications, %u", packet_seen.inits, packet_seen.indications,
	       packet_seen.indication);
	EXPECT(check_streams(packet_seen.inbound, is_ack) &&
		       check_streams(packet_seen.outbound, is_ack),
	       "%u streams out, %u in", packet_seen.outbound, packet_seen.inbound);
	EXPECT(packet_seen.window >= 300000, "a window of %u bytes", packet_seen.window);
	EXPECT(packet_seen.addresses == 0, "addresses are listed");
	EXPECT(packet_seen.unwanted == 0, "parameters of other services");
	EXPECT(packet_seen.elsewhere == 0, "an indication in another chunk");
}

static void check_data(void)
{
	EXPECT(packet_seen.data && !packet_seen.fragments && !packet_seen.ordered &&
		       !packet_seen.foreign,
	       "%u DATA chunks: %u fragments, %u ordered, %u of other PPIDs", packet_seen.data,
	       packet_seen.fragments, packet_seen.ordered, packet_seen.foreign);
	EXPECT(packet_seen.bad_crc == 0, "%u packets with another checksum than CRC32c",
	       packet_seen.bad_crc);
}

static struct client_end accepted(uint16_t sid, const struct client_opts *o)
{
	struct ddp_cm_event *ev;
	struct client_end e;

	send_control(sid, RAW_INITIATE);
	ev = client_event(DDP_CM_CONNECT_REQUEST);
	e = client_end(ev->id, o);
	ddp_ack_cm_event(ev);
	MUST(ddp_accept(e.id, NULL));
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	return e;
}

static void passive_packets(void)
{
	struct client_region r;
	struct client_end e;
	struct ddp_sge sge;
	struct ddp_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = DDP_WR_SEND};

	begin();
	client_listen(0);
	r = client_region(client_pd(), 20000, 0x1000, 0);
	sge = (struct ddp_sge){0x1000, 20000, r.mr->lkey};
	packet_connect(1);
	AWAIT(packet_up(), "the association");
	check_init(true);
	e = accepted(0, NULL);
	client_post(&e, wr);
	EXPECT(client_wc(e.scq).status == DDP_WC_SUCCESS, "the Send failed");
	MUST(ddp_disconnect(e.id));
	AWAIT(packet_code_seen(0, RAW_END), "Session Terminate");
	EXPECT(packet_seen.data > 14, "%u DATA chunks for 20000 bytes", packet_seen.data);
	check_data();
}

static void active_packets(void)
{
	struct client_end e;

	begin();
	packet_listen(1);
	e = start_connect();
	AWAIT(packet_initiate_seen() >= 0, "Initiate");
	check_init(false);
	send_control((uint16_t)packet_initiate_seen(), RAW_ACCEPT);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	MUST(ddp_disconnect(e.id));
	AWAIT(packet_code_seen((uint16_t)packet_initiate_seen(), RAW_END), "Session Terminate");
	check_data();
}

/* A message of several DATA chunks, and one that is ordered: the receiver takes both. */
static void fragmented(void)
{
	static const struct client_opts o = {.recvs = 1, .size = 64};
	struct client_region r;
	struct client_end e;

	begin();
	client_listen(0);
	r = client_region(client_pd(), 60000, 0x1000, DDP_ACCESS_REMOTE_WRITE);
	packet_connect(1);
	AWAIT(packet_up(), "the association");
	e = accepted(0, &o);
	packet_send(0, raw_write(r.mr->rkey, 0x1000, NULL, 0), 60000, false);
	packet_send(0, raw_send(1, "ordered", 7), 0, true);
	client_received(&e, 0, 7);
	for (unsigned i = 0; i < 60000; i++)
		EXPECT(r.p[i] == 0, "byte %u is not there", i);
	client_guards(&r);
}

/* ---- unacknowledged messages ---- */

/* While the Accept may be in flight, no Terminate is sent. */
static void accept_unacknowledged(void)
{
	struct ddp_cm_event *ev;
	struct ddp_id *id;
	struct client_end e;

	begin();
	client_listen(0);
	packet_connect(1);
	AWAIT(packet_up(), "the association");
	packet_hold(true);
	e = accepted(0, NULL);
	MUST(ddp_disconnect(e.id));
	AWAIT(packet_code_seen(0, RAW_ACCEPT), "Accept");
	/* Messages that it sends at once arrive before this. */
	send_control(2, RAW_INITIATE);
	ev = client_event(DDP_CM_CONNECT_REQUEST);
	id = ev->id;
	ddp_ack_cm_event(ev);
	MUST(ddp_reject(id, NULL));
	AWAIT(packet_code_seen(2, RAW_REJECT), "Reject");
	EXPECT(!packet_code_seen(0, RAW_END), "the Terminate may overtake the Accept");
	packet_hold(false);
	AWAIT(packet_code_seen(0, RAW_END), "Session Terminate");
}

/* While the last chunk of a session may be in flight, its stream is not reused. */
static void stream_unacknowledged(void)
{
	struct client_end e;
	int first, second;

	begin();
	packet_listen(1);
	e = start_connect();
	AWAIT(packet_initiate_seen() >= 0, "Initiate");
	first = packet_initiate_seen();
	send_control((uint16_t)first, RAW_ACCEPT);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
	packet_hold(true);
	send_control((uint16_t)first, RAW_END);
	AWAIT(packet_code_seen((uint16_t)first, RAW_END), "Session Terminate");
	ddp_ack_cm_event(client_event(DDP_CM_DISCONNECTED));
	client_end_free(&e);
	e = start_connect();
	AWAIT((second = packet_initiate_seen()) != first, "an Initiate on another stream");
	packet_hold(false);
	send_control((uint16_t)second, RAW_ACCEPT);
	ddp_ack_cm_event(client_event(DDP_CM_ESTABLISHED));
}

const struct raw_case case_packet[] = {
	{"refused-incoming", "5043-7.1-03 5043-11.1-02 5043-11.1-03 5043-11.1-04 5043-11.1-05",
	 refused_incoming},
	{"refused-outgoing", "5043-7.1-03 5043-11.1-02 5043-11.1-03 5043-11.1-05",
	 refused_outgoing},
	{"passive-packets",
	 "5043-5.1-01 5043-11.1-01 5043-5.2-01 5043-7.2-02 5043-8-02 5043-8-03 5043-9-04 "
	 "5043-10-01 5041-3-07 5041-11.1-01 5061-4.2.6-01",
	 passive_packets},
	{"active-packets",
	 "5043-5.1-01 5043-11.1-01 5043-7.2-02 5043-8-02 5043-10-01 5041-3-07 5061-4.2.6-01",
	 active_packets},
	{"fragmented", "5041-3-04 5041-3-08", fragmented},
	{"accept-unacknowledged", "5043-6.6-01", accept_unacknowledged},
	{"stream-unacknowledged", "5043-6.6-04 5043-6-04", stream_unacknowledged},
	{0},
};
