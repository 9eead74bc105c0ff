/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a record of DTLS 1.2, and the loss of records that others overtake: by OpenSSL's
 * SSL_write() and SSL_read(), and by llp/dtls. Prints CPU time per record, and how many of 100
 * records are lost when the last one arrives first; then CPU time per handshake, of both ends, and
 * the bytes of a link that is up.
 *
 * usage: dtls_records [-n RECORDS]
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "llp/dtls/dtls_keys.h"
#include "llp/dtls/dtls_record.h"
#include "tests/unit/dtls_net.h"
#include "tests/unit/dtls_rig.h"

enum { BATCH = 40, TRAIN = 100, LINKS = 500 };

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static uint8_t plain[DTLS_MAX_PLAIN], wire[BATCH * DTLS_MAX_RECORD], got[DTLS_MAX_RECORD];

struct both {
	struct rig *rig;
	struct dtls_tx tx;
	struct dtls_rx rx;
};

static void must_be(int cond, const char *failure)
{
	if (!cond) {
		fprintf(stderr, "dtls_records: %s\n", failure);
		exit(1);
	}
}

static struct both begin(const char *suite)
{
	struct both b = {.rig = rig_new(suite)};
	struct dtls_keys k;

	must_be(dtls_keys_derive(b.rig->client.ssl, &k) == 0, "no keys");
	must_be(dtls_tx_init(&b.tx, &k.client) == 0 && dtls_rx_init(&b.rx, &k.client) == 0,
		"no memory");
	b.tx.seq = 1;
	SSL_set_mtu(b.rig->client.ssl, 1500);
	return b;
}

static void end(struct both *b)
{
	dtls_tx_deinit(&b->tx);
	dtls_rx_deinit(&b->rx);
	rig_free(b->rig);
}

static void openssl(const char *suite, size_t len, unsigned n)
{
	struct both b = begin(suite);
	double sealing = 0, opening = 0, at;

	for (unsigned i = 0; i < n; i += BATCH) {
		at = cpu_us();
		for (unsigned k = 0; k < BATCH; k++)
			must_be(SSL_write(b.rig->client.ssl, plain, (int)len) == (int)len, "write");
		sealing += cpu_us() - at;
		at = cpu_us();
		for (unsigned k = 0; k < BATCH; k++)
			must_be(SSL_read(b.rig->server.ssl, got, sizeof(got)) == (int)len, "read");
		opening += cpu_us() - at;
	}
	printf("%-30s %6zu bytes  OpenSSL  seal %5.2f us  open %5.2f us\n", suite, len, sealing / n,
	       opening / n);
	end(&b);
}

static void ours(const char *suite, size_t len, unsigned n)
{
	struct both b = begin(suite);
	struct span part[BATCH];
	double sealing = 0, opening = 0, at;

	for (unsigned k = 0; k < BATCH; k++)
		part[k] = (struct span){plain, len};
	for (unsigned i = 0; i < n; i += BATCH) {
		at = cpu_us();
		dtls_tx_seal_batch(&b.tx, part, BATCH, (uint32_t)len, wire);
		sealing += cpu_us() - at;
		at = cpu_us();
		for (unsigned k = 0; k < BATCH; k++) {
			uint8_t *p = wire + k * (len + DTLS_OVERHEAD), *payload;
			struct dtls_head h;
			size_t plain_len;

			must_be(dtls_head_get(p, len + DTLS_OVERHEAD, &h) &&
					dtls_rx_open(&b.rx, &h, p, &payload, &plain_len) ==
						DTLS_OPENED,
				"open");
		}
		opening += cpu_us() - at;
	}
	printf("%-30s %6zu bytes  llp/dtls seal %5.2f us  open %5.2f us\n", suite, len, sealing / n,
	       opening / n);
	end(&b);
}

/* Of TRAIN records the last arrives first: how many are lost. */
static void overtaken(void)
{
	struct both b = begin("ECDHE-ECDSA-AES128-GCM-SHA256");
	unsigned lost[2] = {0, 0};
	size_t size = 100 + DTLS_OVERHEAD;

	for (unsigned i = 0; i < TRAIN; i++) {
		struct span part = {plain, 100};

		dtls_tx_seal(&b.tx, DTLS_DATA, &part, 1, wire + i * size);
	}
	for (unsigned i = 0; i < TRAIN; i++) {
		uint8_t *p = wire + (i == 0 ? TRAIN - 1 : i - 1) * size, *payload;
		struct dtls_head h;
		size_t len;

		rig_put(&b.rig->server, p, size);
		lost[0] += SSL_read(b.rig->server.ssl, got, sizeof(got)) != 100;
		must_be(dtls_head_get(p, size, &h), "head");
		lost[1] += dtls_rx_open(&b.rx, &h, p, &payload, &len) != DTLS_OPENED;
	}
	printf("of %d records with the last one first are lost: OpenSSL %u, llp/dtls %u\n", TRAIN,
	       lost[0], lost[1]);
	end(&b);
}

/* ---- handshakes ---- */

static struct dtls *open_room(void)
{
	const uint64_t hour = (uint64_t)3600 * 1000000;
	const struct dtls_config cfg = {
		.random = net_random,
		.accept = net_accept_all,
		.max_links = LINKS,
		.max_handshakes = LINKS,
		.resend_us = 1000000,
		.handshake_us = 10000000,
		.takeover_us = hour,
		.linger_us = 1000000,
		.idle_us = hour,
	};
	struct dtls_identity *id = net_identity(-60, 3600);
	struct dtls *d;

	must_be(dtls_open(&cfg, id, 0, &d) == 0, "no memory");
	dtls_identity_drop(id);
	return d;
}

/* All datagrams of one end to the other. How many. */
static unsigned pass(struct dtls *from, struct dtls *to)
{
	uint8_t p[DTLS_MAX_DATAGRAM];
	struct dtls_flow flow;
	unsigned n = 0;
	size_t len;

	for (; dtls_output(from, &flow, p, sizeof(p), &len); n++) {
		struct span at = {p, len}, packet;

		while (dtls_input(to, &flow, &at, 0, &packet))
			;
	}
	return n;
}

/* A packet: the server keeps its last flight until it has arrived. */
static void use_link(struct dtls *from, struct dtls *to, const struct dtls_flow *flow)
{
	struct span part = {plain, 100}, at, packet;

	at = (struct span){wire, dtls_seal(from, flow, &part, 1, 100, wire)};
	must_be(at.len > 0 && dtls_input(to, flow, &at, 0, &packet), "no link");
}

static void handshakes(void)
{
	struct dtls *d[2] = {open_room(), open_room()};
	size_t bytes = mallinfo2().uordblks;
	double at = cpu_us();

	for (unsigned i = 0; i < LINKS; i++) {
		struct dtls_flow flow = {.port = (uint16_t)(i + 1)};

		must_be(dtls_connect(d[0], &flow, 0) == 0, "no handshake");
		while (pass(d[0], d[1]) + pass(d[1], d[0]) > 0)
			;
		use_link(d[0], d[1], &flow);
	}
	at = cpu_us() - at;
	bytes = mallinfo2().uordblks - bytes;
	printf("a handshake needs %.0f us of both ends; a link that is up has %zu bytes at each\n",
	       at / LINKS, bytes / LINKS / 2);
	dtls_close(d[0]);
	dtls_close(d[1]);
}

int main(int argc, char **argv)
{
	static const char *const suites[] = {"ECDHE-ECDSA-AES128-GCM-SHA256",
					     "ECDHE-ECDSA-AES256-GCM-SHA384"};
	unsigned n = argc == 3 && !strcmp(argv[1], "-n") ? (unsigned)atoi(argv[2]) : 200000;

	for (unsigned s = 0; s < 2; s++) {
		openssl(suites[s], 1400, n);
		ours(suites[s], 1400, n);
		openssl(suites[s], DTLS_MAX_PLAIN, n / 8);
		ours(suites[s], DTLS_MAX_PLAIN, n / 8);
	}
	overtaken();
	handshakes();
	return 0;
}
