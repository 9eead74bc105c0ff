/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A foreign peer in DTLS (RFC 8261): libusrsctp over OpenSSL's own DTLS. It speaks to a daemon that
 * `ddping -s` uses: a session begins and ends, by the bytes of RFC 5043.
 *
 *   dtls_usrsctp LOCAL REMOTE UDP-PORT SCTP-PORT CERTIFICATE KEY crc|zero
 *
 * crc: it knows nothing of RFC 9653, and each packet of the daemon has its checksum. zero: its INIT
 * accepts packets without one, and both ends send such. Exit status: 0 if all was so.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <usrsctp.h>

#include "util/be.h"
#include "util/crc32c.h"

enum {
	HEAD = 12, /* of a packet: ports, tag, checksum */
	CHECKSUM = 8,
	PACKET = 16384,
	INIT = 1,
	COOKIE_ECHO = 10,
	ACCEPTABLE = 0x8001, /* Zero Checksum Acceptable, with the method of DTLS */
	CONTROL = 17,        /* payload protocol of session control */
	INITIATE = 1,
	ACCEPT = 2,
	TERMINATE = 4,
	HELLO = 12, /* bytes of private data of ddping */
	TICK_MS = 10,
	LIFE_S = 60,
};

static SSL *ssl;
static bool zero, is_up, accepted, over;
static unsigned packets, without, wrong; /* of the daemon: all, and those by their checksum */

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	ERR_print_errors_fp(stderr);
	_exit(1);
}

/* ---- DTLS ---- */

static struct sockaddr_in address(const char *text, const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

	if (inet_pton(AF_INET, text, &a.sin_addr) != 1)
		die("%s: not an IPv4 address", text);
	return a;
}

static int open_udp(const struct sockaddr_in *from, const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)from, sizeof(*from)) ||
	    connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		die("UDP: %s", strerror(errno));
	return fd;
}

/* The daemon shows a certificate that it has signed itself, and its rules are what is tested. */
static int accept_any(int ok, X509_STORE_CTX *store)
{
	(void)ok;
	(void)store;
	return 1;
}

/* The end of the connected socket. */
static BIO *make_bio(int fd, const struct sockaddr_in *to)
{
	BIO *b = BIO_new_dgram(fd, BIO_NOCLOSE);
	BIO_ADDR *a = BIO_ADDR_new();

	if (!b || !a ||
	    !BIO_ADDR_rawmake(a, AF_INET, &to->sin_addr, sizeof(to->sin_addr), to->sin_port))
		die("no memory");
	BIO_ctrl_set_connected(b, a);
	BIO_ADDR_free(a);
	return b;
}

static SSL *make_ssl(int fd, const struct sockaddr_in *to, const char *cert, const char *key)
{
	BIO *b = make_bio(fd, to);
	SSL_CTX *ctx = SSL_CTX_new(DTLS_client_method());
	SSL *s;

	if (!ctx || !SSL_CTX_set_min_proto_version(ctx, DTLS1_2_VERSION) ||
	    SSL_CTX_use_certificate_file(ctx, cert, SSL_FILETYPE_PEM) != 1 ||
	    SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		die("no certificate");
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, accept_any);
	s = SSL_new(ctx);
	if (!s)
		die("no memory");
	SSL_set_bio(s, b, b);
	SSL_set_options(s, SSL_OP_NO_QUERY_MTU);
	SSL_set_mtu(s, 1400);
	SSL_CTX_free(ctx);
	return s;
}

static void shake_hands(int fd)
{
	int r;

	while ((r = SSL_connect(ssl)) != 1) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (SSL_get_error(ssl, r) != SSL_ERROR_WANT_READ)
			die("no handshake");
		if (poll(&p, 1, 100) == 0)
			DTLSv1_handle_timeout(ssl);
	}
}

/* ---- packets ---- */

/* Says in an INIT that packets without checksum are fine. Its last parameter may be padded, which
 * its length does not count as long as none follows. */
static size_t add_acceptable(uint8_t *p, size_t len)
{
	be_put16(p + len, ACCEPTABLE);
	be_put16(p + len + 2, 8);
	be_put32(p + len + 4, 1);
	len += 8;
	be_put16(p + HEAD + 2, (uint16_t)(len - HEAD));
	return len;
}

/* The library leaves the checksum to us if there may be none. */
static int output(void *addr, void *packet, size_t len, uint8_t tos, uint8_t df)
{
	uint8_t p[PACKET + 8];
	uint8_t type = ((uint8_t *)packet)[HEAD];

	(void)addr;
	(void)tos;
	(void)df;
	if (len > PACKET)
		die("a packet of %zu bytes", len);
	memcpy(p, packet, len);
	if (zero && type == INIT)
		len = add_acceptable(p, len);
	if (zero && (type == INIT || type == COOKIE_ECHO))
		crc32c_seal(p, len);
	(void)SSL_write(ssl, p, (int)len);
	return 0;
}

static void count(const uint8_t *p, size_t len)
{
	uint8_t copy[PACKET];

	packets++;
	if (be_get32(p + CHECKSUM) == 0) {
		without++;
		return;
	}
	memcpy(copy, p, len);
	memset(copy + CHECKSUM, 0, 4);
	crc32c_seal(copy, len);
	wrong += memcmp(copy, p, len) != 0;
}

static void input(void)
{
	uint8_t p[PACKET];
	int n;

	while ((n = SSL_read(ssl, p, sizeof(p))) > 0) {
		if (n < HEAD)
			die("a packet of %d bytes", n);
		count(p, (size_t)n);
		usrsctp_conninput(&ssl, p, (size_t)n, 0);
	}
	if (SSL_get_error(ssl, n) != SSL_ERROR_WANT_READ)
		die("the daemon has ended DTLS");
}

/* ---- the association ---- */

static struct socket *begin_assoc(uint16_t port)
{
	struct socket *so = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);
	struct sockaddr_conn a = {
		.sconn_family = AF_CONN, .sconn_port = htons(port), .sconn_addr = &ssl};
	struct sctp_setadaptation ad = {.ssb_adaptation_ind = 1};
	struct sctp_event e = {.se_type = SCTP_ASSOC_CHANGE, .se_on = 1};
	const int on = 1;

	if (!so)
		die("no socket");
	usrsctp_set_non_blocking(so, 1);
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_EVENT, &e, sizeof(e));
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_RECVRCVINFO, &on, sizeof(on));
	usrsctp_setsockopt(so, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER, &ad, sizeof(ad));
	if (usrsctp_bind(so, (struct sockaddr *)&a, sizeof(a)) ||
	    (usrsctp_connect(so, (struct sockaddr *)&a, sizeof(a)) && errno != EINPROGRESS))
		die("usrsctp: %s", strerror(errno));
	return so;
}

/* A message of session control (RFC 5043 5.2.3) on stream 0: DDP-SSN, code, private data. */
static void send_control(struct socket *so, uint16_t ssn, uint16_t code, const void *data, size_t n)
{
	struct sctp_sndinfo info = {.snd_flags = SCTP_UNORDERED, .snd_ppid = htonl(CONTROL)};
	uint8_t p[4 + HELLO];

	be_put16(p, ssn);
	be_put16(p + 2, code);
	if (n)
		memcpy(p + 4, data, n);
	if (usrsctp_sendv(so, p, 4 + n, NULL, 0, &info, sizeof(info), SCTP_SENDV_SNDINFO, 0) < 0)
		die("no message: %s", strerror(errno));
}

static void initiate(struct socket *so)
{
	static const uint8_t hello[HELLO] = {'D', 'D', 'P', 'I', 0, 1, [10] = 1};

	send_control(so, 0, INITIATE, hello, sizeof(hello));
}

static void got_change(struct socket *so, const struct sctp_assoc_change *c)
{
	if (c->sac_type != SCTP_ASSOC_CHANGE)
		return;
	if (c->sac_state == SCTP_COMM_UP) {
		is_up = true;
		initiate(so);
	} else if (c->sac_state == SCTP_SHUTDOWN_COMP) {
		over = true;
	} else {
		die("the association has ended: state %u, %s", c->sac_state,
		    is_up ? "it was up" : "it was never up");
	}
}

/* The daemon accepts; then we end the session, and the association. */
static void got_message(struct socket *so, const uint8_t *p, size_t n, uint32_t ppid)
{
	if (accepted)
		return; /* its Terminate, perhaps */
	if (ppid != CONTROL || n < 4 || be_get16(p) != 0 || be_get16(p + 2) != ACCEPT)
		die("no Accept: payload protocol %u, %zu bytes, code %u", ppid, n,
		    n < 4 ? 0 : be_get16(p + 2));
	accepted = true;
	send_control(so, 1, TERMINATE, NULL, 0);
	usrsctp_shutdown(so, SHUT_WR);
}

static void take_messages(struct socket *so)
{
	static uint8_t p[1 << 17];
	struct sctp_rcvinfo info = {0};
	socklen_t len = sizeof(info);
	unsigned type;
	int flags = 0;
	ssize_t n;

	while ((n = usrsctp_recvv(so, p, sizeof(p), NULL, NULL, &info, &len, &type, &flags)) > 0) {
		if (flags & MSG_NOTIFICATION)
			got_change(so, (const void *)p);
		else
			got_message(so, p, (size_t)n, ntohl(info.rcv_ppid));
		len = sizeof(info);
		flags = 0;
	}
}

static void judge(void)
{
	if (!accepted)
		die("the association was closed without an Accept");
	if (wrong)
		die("%u of %u packets have a wrong checksum", wrong, packets);
	if (zero != (without > 0))
		die("%u of %u packets have no checksum", without, packets);
	printf("%s: %u packets of the daemon, %u without checksum\n", zero ? "zero" : "crc",
	       packets, without);
}

int main(int argc, char **argv)
{
	struct sockaddr_in from, to;
	struct socket *so;
	int fd;

	if (argc != 8) {
		fprintf(stderr, "usage: dtls_usrsctp LOCAL REMOTE UDP-PORT SCTP-PORT CERTIFICATE "
				"KEY crc|zero\n");
		return 2;
	}
	alarm(LIFE_S);
	zero = strcmp(argv[7], "zero") == 0;
	from = address(argv[1], argv[3]);
	to = address(argv[2], argv[3]);
	fd = open_udp(&from, &to);
	ssl = make_ssl(fd, &to, argv[5], argv[6]);
	shake_hands(fd);
	usrsctp_init_nothreads(0, output, NULL);
	if (zero)
		usrsctp_enable_crc32c_offload();
	usrsctp_register_address(&ssl);
	so = begin_assoc((uint16_t)atoi(argv[4]));
	while (!over) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, TICK_MS) == 0)
			usrsctp_handle_timers(TICK_MS);
		input();
		take_messages(so);
	}
	judge();
	SSL_shutdown(ssl);
	return 0;
}
