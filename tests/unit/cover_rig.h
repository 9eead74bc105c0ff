/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the tests of the transport `user` in DTLS: two of them on loopback, with certificates
 * of their own, and a network that may lose datagrams. Programs with it wrap udp_send() and
 * dtls_open(). */
#ifndef TESTS_UNIT_COVER_RIG_H
#define TESTS_UNIT_COVER_RIG_H

#include "llp/dtls/dtls.h"
#include "tests/unit/user_rig.h"

struct cover_host {
	struct llp *t;
	struct llp_cover_files files;
	struct llp_cover cover;
	struct dtls *dtls;
	struct sockaddr_storage addr;
	struct rig_conn in;
	char cert[64], key[64];
	uint8_t fingerprint[32];
	const char *refuses; /* the sentence with which it refuses all peers */
	bool clear;          /* it begins in clear text */
	unsigned refused;    /* events that its peer refuses it */
	unsigned asked;
	uint8_t asked_for[32];
};

/* What the owner says of a host without a certificate. */
#define COVER_LACK "security.certificate is empty"

extern struct cover_host cover_host[2]; /* 127.0.0.1 and .2 */
extern uint16_t cover_clear_port, cover_port;

/* Who pays for handshakes and links of both hosts. */
extern struct cover_bank {
	unsigned held, begun, ended, most;
	unsigned links, most_links;
	bool empty, no_links;
} cover_bank;

/* For a test suite. */
void cover_begin(void);
void cover_end(void);

void cover_open(unsigned i, bool covers, unsigned init_ms);

/* It ends without a word to anybody, and begins again. */
void cover_crash(unsigned i);

/* From now on so many of 100 batches that any transport sends are lost. */
void cover_lose(unsigned percent);

/* The beginning of the last datagram that any transport sent. */
struct cover_datagram {
	size_t len;
	uint8_t p[256];
};
extern struct cover_datagram cover_sent;

/* If it is set, it changes what the next cover_open() asks of DTLS. */
extern void (*cover_change)(struct dtls_config *cfg);

#endif
