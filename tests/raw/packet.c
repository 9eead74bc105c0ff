/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/raw/packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <usrsctp.h>

#include "tests/raw/stage.h"
#include "util/be.h"

enum { UDP_PORT = 9899, STREAMS = 256, KEPT = 64, TICK_MS = 5, OWN_PORT = 20000 };

struct packet_seen packet_seen;

static int udp = -1;
static struct socket *listener, *assoc;
static bool up, was_up, holding;
static uint16_t tx[STREAMS];
static uint32_t codes[STREAMS]; /* bit i: control code i was seen */
static int initiate = -1;
static struct {
	size_t n;
	uint8_t b[2048];
} kept[KEPT];
static unsigned nkept;

/* ---- inspection of packets ---- */

static uint32_t crc32c(const uint8_t *p, size_t n)
{
	uint32_t c = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		c ^= i >= 8 && i < 12 ? 0 : p[i];
		for (unsigned k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
	}
	return ~c;
}

static uint32_t le_get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* INIT and INIT ACK: RFC 9260 3.3.2, the parameters at offset 20. */
static void look_init(const uint8_t *c, uint32_t len)
{
	packet_seen.inits++;
	packet_seen.window = be_get32(c + 8);
	packet_seen.outbound = be_get16(c + 12);
	packet_seen.inbound = be_get16(c + 14);
	for (uint32_t off = 20; off + 4 <= len;) {
		uint16_t type = be_get16(c + off), n = be_get16(c + off + 2);

		EXPECT(n >= 4 && n <= len - off, "a parameter of %u bytes", n);
		if (type == 0xc006 && n == 8) {
			packet_seen.indications++;
			packet_seen.indication = be_get32(c + off + 4);
		}
		packet_seen.addresses += type == 5 || type == 6;
		packet_seen.unwanted += type == 0x8001 || (type == 0xc000 && n == 4);
		off += (n + 3u) & ~3u;
	}
}

/* DATA: RFC 9260 3.3.1. */
static void look_data(const uint8_t *c, uint32_t len)
{
	uint16_t sid = be_get16(c + 8), code = len >= 20 ? be_get16(c + 18) : 0;
	uint32_t ppid = be_get32(c + 12);

	packet_seen.data++;
	packet_seen.fragments += (c[1] & 3) != 3;
	packet_seen.ordered += !(c[1] & 4);
	packet_seen.foreign += ppid != RAW_SEGMENT && ppid != RAW_CONTROL;
	if (ppid == RAW_CONTROL && sid < STREAMS && code < 32)
		codes[sid] |= 1u << code;
	if (ppid == RAW_CONTROL && code == RAW_INITIATE)
		initiate = sid;
}

static void look(const uint8_t *p, size_t n)
{
	packet_seen.packets++;
	packet_seen.bad_crc += le_get32(p + 8) != crc32c(p, n);
	for (size_t off = 12; off + 4 <= n;) {
		uint16_t len = be_get16(p + off + 2);

		EXPECT(len >= 4 && len <= n - off, "a chunk of %u bytes", len);
		if (p[off] == 1 || p[off] == 2)
			look_init(p + off, len);
		else if (p[off] == 0)
			look_data(p + off, len);
		else if (p[off] == 0xc1 && len >= 16)
			packet_seen.elsewhere += be_get16(p + off + 8) == 0xc006;
		packet_seen.aborts += p[off] == 6;
		off += (len + 3u) & ~3u;
	}
}

/* False for a late packet of the case before, whose association the daemon still ends. */
static bool of_this_case(const uint8_t *p, size_t n)
{
	return n >= 12 && (be_get16(p) == stage.port || be_get16(p + 2) == stage.port);
}

/* ---- SCTP ---- */

static int output(void *addr, void *buffer, size_t len, uint8_t tos, uint8_t df)
{
	(void)addr;
	(void)tos;
	(void)df;
	(void)send(udp, buffer, len, 0);
	return 0;
}

static struct sockaddr_in ipv4(const char *text)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(UDP_PORT)};

	EXPECT(inet_pton(AF_INET, text, &a.sin_addr) == 1, "%s is not an address", text);
	return a;
}

void packet_open(const char *daemon)
{
	struct sockaddr_in a = ipv4(stage.addr), to = ipv4(daemon);

	udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	EXPECT(udp >= 0 && bind(udp, (struct sockaddr *)&a, sizeof(a)) == 0 &&
		       connect(udp, (struct sockaddr *)&to, sizeof(to)) == 0,
	       "UDP: %s", strerror(errno));
	usrsctp_init_nothreads(0, output, NULL);
	usrsctp_register_address(&udp);
}

static struct socket *make(int adaptation, uint16_t port)
{
	struct socket *so = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sockaddr_conn a = {.sconn_family = AF_CONN, .sconn_addr = &udp};
	struct sctp_setadaptation ad = {.ssb_adaptation_ind = (uint32_t)adaptation};
	struct sctp_event e = {.se_type = SCTP_ASSOC_CHANGE, .se_on = 1};
	struct sctp_initmsg init = {.sinit_num_ostreams = STREAMS, .sinit_max_instreams = STREAMS};
	struct sctp_rtoinfo rto = {.srto_initial = 100, .srto_min = 100, .srto_max = 1000};
	struct sctp_paddrparams path = {.spp_pathmtu = 1400, .spp_flags = SPP_PMTUD_DISABLE};
	int one = 1, big = 1 << 20;

	EXPECT(so, "SCTP socket: %s", strerror(errno));
	path.spp_address.ss_family = AF_CONN;
	usrsctp_set_non_blocking(so, 1);
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_EVENT, &e, sizeof(e));
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof(init));
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_RTOINFO, &rto, sizeof(rto));
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof(path));
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_NODELAY, &one, sizeof(one));
	usrsctp_setsockopt(so, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	if (adaptation >= 0)
		usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &ad, sizeof(ad));
	a.sconn_port = htons(port);
	EXPECT(usrsctp_bind(so, (struct sockaddr *)&a, sizeof(a)) == 0, "SCTP: %s",
	       strerror(errno));
	return so;
}

void packet_connect(int adaptation)
{
	static uint16_t own = OWN_PORT;
	struct sockaddr_conn a = {.sconn_family = AF_CONN, .sconn_addr = &udp};

	assoc = make(adaptation, own++);
	a.sconn_port = htons(stage.port);
	EXPECT(usrsctp_connect(assoc, (struct sockaddr *)&a, sizeof(a)) == 0 ||
		       errno == EINPROGRESS,
	       "SCTP connect: %s", strerror(errno));
}

void packet_listen(int adaptation)
{
	listener = make(adaptation, stage.port);
	EXPECT(usrsctp_listen(listener, 1) == 0, "SCTP listen: %s", strerror(errno));
}

static void close_one(struct socket **so)
{
	struct linger l = {.l_onoff = 1};

	if (!*so)
		return;
	usrsctp_setsockopt(*so, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	usrsctp_close(*so);
	*so = NULL;
}

void packet_reset(void)
{
	close_one(&assoc);
	close_one(&listener);
	up = was_up = false;
	memset(&packet_seen, 0, sizeof(packet_seen));
	memset(tx, 0, sizeof(tx));
	memset(codes, 0, sizeof(codes));
	initiate = -1;
}

bool packet_up(void)
{
	return up;
}

bool packet_was_up(void)
{
	return was_up;
}

bool packet_code_seen(uint16_t sid, uint16_t code)
{
	return codes[sid] >> code & 1;
}

int packet_initiate_seen(void)
{
	return initiate;
}

/* Only the state of the association is of interest; received messages were seen in their packets.
 */
static void drain(void)
{
	static uint8_t buf[1 << 17];
	const struct sctp_assoc_change *c = (void *)buf;

	for (;;) {
		struct sctp_rcvinfo info;
		socklen_t len = sizeof(info);
		unsigned type;
		int flags = 0;
		ssize_t n = usrsctp_recvv(assoc, buf, sizeof(buf), NULL, NULL, &info, &len, &type,
					  &flags);

		if (n <= 0)
			break;
		if (!(flags & MSG_NOTIFICATION) || c->sac_type != SCTP_ASSOC_CHANGE)
			continue;
		up = c->sac_state == SCTP_COMM_UP;
		was_up = was_up || up;
	}
}

static void input(const uint8_t *p, size_t n)
{
	usrsctp_conninput(&udp, p, n, 0);
}

void packet_turn(int fd)
{
	struct pollfd p[2] = {{.fd = udp, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
	static uint64_t last;
	uint64_t now = stage_now_ms();
	uint8_t buf[2048];
	ssize_t n;

	last = last ? last : now;
	(void)poll(p, 2, TICK_MS);
	while ((n = recv(udp, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		if (of_this_case(buf, (size_t)n))
			look(buf, (size_t)n);
		if (!holding)
			input(buf, (size_t)n);
		else if (nkept < KEPT) {
			kept[nkept].n = (size_t)n;
			memcpy(kept[nkept++].b, buf, (size_t)n);
		}
	}
	now = stage_now_ms();
	if (now > last && !holding)
		usrsctp_handle_timers((uint32_t)(now - last));
	last = now;
	if (!assoc && listener)
		assoc = usrsctp_accept(listener, NULL, NULL);
	if (assoc)
		drain();
}

void packet_hold(bool hold)
{
	holding = hold;
	for (unsigned i = 0; i < nkept; i++)
		input(kept[i].b, kept[i].n);
	nkept = 0;
}

void packet_send(uint16_t sid, struct raw_msg m, uint32_t n, bool ordered)
{
	static uint8_t buf[1 << 16];
	struct sctp_sndinfo info = {
		.snd_sid = sid,
		.snd_flags = ordered ? 0 : SCTP_UNORDERED,
		.snd_ppid = htonl(m.ppid),
	};

	memset(buf, 0, sizeof(buf));
	be_put16(m.b, tx[sid]++);
	memcpy(buf, m.b, m.len);
	EXPECT(usrsctp_sendv(assoc, buf, m.len + n, NULL, 0, &info, sizeof(info),
			     SCTP_SENDV_SNDINFO, 0) == (ssize_t)(m.len + n),
	       "send %u bytes: %s", m.len + n, strerror(errno));
}
