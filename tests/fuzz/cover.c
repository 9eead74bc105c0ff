/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user transport between hostile packets and links of DTLS that come and go at any moment
 * (dtls_fake.c). Who begins a handshake pays for it until it has ended, and nobody after that.
 */
#include <stdio.h>

#include "tests/fuzz/dtls_fake.h"
#include "tests/fuzz/other_host.h"
#include "tests/fuzz/transport.h"

enum {
	STEPS = 120, /* of one input */
	COVER_PORT = 9900,
	MOST = 3,      /* handshakes that the owner may pay for */
	TOGETHER = 20, /* from there on a step is followed by another one before a turn */
};

static struct {
	bool wanted, accepts;
	unsigned held, links;
} rules;

static bool is_wanted(void *arg, const struct sockaddr_storage *peer)
{
	(void)arg;
	must(peer->ss_family == AF_INET);
	return rules.wanted;
}

static bool accept_peer(void *arg, const struct sockaddr_storage *peer,
			const struct llp_identity *id, bool we_began, char *ret_reason, size_t len)
{
	(void)arg;
	(void)we_began;
	must(peer->ss_family == AF_INET && id);
	if (!rules.accepts && ret_reason)
		snprintf(ret_reason, len, "it is somebody else");
	return rules.accepts;
}

static void on_refused(void *arg, const struct sockaddr_storage *peer, const char *reason)
{
	(void)arg;
	must(peer->ss_family == AF_INET && *reason);
}

static void *pay(void *arg, void *user, unsigned most)
{
	must(!arg && user);
	if (rules.held >= MOST || rules.held >= most)
		return NULL;
	rules.held++;
	return &rules;
}

static void *pay_link(void *arg, void *user, unsigned most)
{
	must(!arg && user);
	if (rules.links >= most)
		return NULL;
	rules.links++;
	return &rules.links;
}

static void end_payment(void *arg, void *payment)
{
	unsigned *of = payment == &rules ? &rules.held : &rules.links;

	must(!arg && (payment == &rules || payment == &rules.links) && *of > 0);
	--*of;
}

static void say_what_lacks(void *arg, const struct sockaddr_storage *peer, char *ret_reason,
			   size_t len)
{
	must(!arg && peer->ss_family == AF_INET);
	snprintf(ret_reason, len, "there is no certificate");
}

static void open_once(void)
{
	static const struct llp_cover_files files = {.cert = "cert", .key = "key"};
	static const struct llp_cover cover = {
		.udp_port = COVER_PORT,
		.files = &files,
		.wanted = is_wanted,
		.accept = accept_peer,
		.refused = on_refused,
		.pays = pay,
		.pays_link = pay_link,
		.lacks = say_what_lacks,
		.paid = end_payment,
	};
	static bool opened;

	if (!opened)
		transport_open(&cover);
	opened = true;
}

/* A peer's link to our i-th address; its port may be that of a translator. */
static void begin_there(uint8_t n)
{
	struct dtls_flow flow = {.ip = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2},
				 .port = n & 1 ? COVER_PORT : 7777};

	flow.ip[15] = (uint8_t)(2 + n / 2 % 4);
	dtls_fake_incoming(&flow);
}

static void step_of_link(void)
{
	static const unsigned alerts[] = {0, 40, 70, 115, 10};
	uint8_t what = in_8(&transport_input), n = what / 9;
	struct dtls_fake_link *l = &dtls_fake.link[n % DTLS_FAKE_LINKS];

	switch (what % 9) {
	case 0:
		begin_there(n);
		break;
	case 1:
	case 2:
		dtls_fake_succeed(l);
		break;
	case 3:
		dtls_fake_fail(l, (enum dtls_fake_end)(n / DTLS_FAKE_LINKS % 3));
		break;
	case 4:
		l->alert = alerts[n / DTLS_FAKE_LINKS % (sizeof(alerts) / sizeof(alerts[0]))];
		break;
	case 5:
		rules.wanted = n & 1;
		rules.accepts = n & 2;
		dtls_fake.gone = n & 4;
		break;
	case 6:
		l->heard_us = 0;
		break;
	case 7:
		other_host_answer();
		break;
	default:
		dtls_fake_succeed(l);
		other_host_begin_there();
	}
	if (n < TOGETHER)
		transport_turn(1);
}

static void end_links(void)
{
	for (unsigned i = 0; i < 2 * DTLS_FAKE_LINKS; i++) {
		dtls_fake_fail(&dtls_fake.link[i / 2], DTLS_FAKE_CLOSED);
		transport_turn(1);
	}
	for (unsigned i = 0; i < DTLS_FAKE_LINKS; i++)
		must(!dtls_fake.link[i].used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	open_once();
	rules.wanted = rules.accepts = true;
	dtls_fake.gone = false;
	transport_begin(data, size);
	for (unsigned i = 0; i < STEPS && transport_input.left > 0; i++) {
		if (in_8(&transport_input) % 3 == 0)
			step_of_link();
		else
			transport_step();
	}
	transport_end();
	end_links();
	must(rules.held == 0 && rules.links == 0);
	return 0;
}
