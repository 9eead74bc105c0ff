/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs learn who their peers are, and a listener that demands encryption.
 *
 *   who SOCKET SOCKET2 ADDRESS2 SECURITY NAME NAME2 FINGERPRINT FINGERPRINT2     a client of the
 * first daemon connects to one of the second. SECURITY: none, local, dtls; or unproven, if the
 * second one demands DTLS and no identity. Then how the first end sees the second one,
 * and the other way round; "-": none
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/system/rig.h"

static struct end a, b;
static bool is_proven; /* the first end, to the second */

static void expect(const char *what, struct ddp_id *id, enum ddp_security security,
		   const char *name, const char *fingerprint)
{
	struct ddp_id_attr attr = DDP_INIT(ddp_id_attr);
	char text[65] = "-";

	MUST(ddp_query_id(id, &attr));
	for (unsigned i = 0; attr.has_fingerprint && i < sizeof(attr.fingerprint); i++)
		sprintf(text + 2 * i, "%02X", attr.fingerprint[i]);
	is(what, attr.security, security);
	if (strcmp(*attr.peer_name ? attr.peer_name : "-", name) != 0)
		fail("%s: its peer is '%s', not '%s'", what, attr.peer_name, name);
	if (strcmp(text, fingerprint) != 0)
		fail("%s: the certificate is %s, not %s", what, text, fingerprint);
	ok("%s: name and certificate of its peer", what);
}

static void listen_with(unsigned flags)
{
	struct ddp_listen_attr attr = DDP_INIT(ddp_listen_attr);
	struct ddp_id_attr at = DDP_INIT(ddp_id_attr);

	attr.flags = flags;
	MUST(ddp_create_id(b.ctx, NULL, &b.listener));
	MUST(ddp_listen_service(b.listener, &attr));
	MUST(ddp_query_id(b.listener, &at));
	b.port = at.port;
}

/* A listener with these flags accepts the first end, or does not. */
static void demand(unsigned flags, const char *address, bool accepts)
{
	struct session s = {.end = {&a, &b}};

	listen_with(flags);
	if (accepts) {
		session_open(&s, &a, &b, address, NULL);
		ok("a listener with flags %u accepts this", flags);
		session_close(&s, 0);
	} else {
		session_connect(&s, &a, &b, address, NULL);
		end_expect(&a, DDP_CM_CONNECT_ERROR);
		ok("a listener with flags %u refuses this", flags);
		session_free(&s);
	}
	MUST(ddp_destroy_id(b.listener));
}

int main(int argc, char **argv)
{
	enum ddp_security security;
	struct session s;

	if (argc != 9)
		fail("wrong arguments");
	is_proven = strcmp(argv[4], "dtls") == 0;
	security = is_proven || strcmp(argv[4], "unproven") == 0 ? DDP_SECURITY_DTLS
		   : strcmp(argv[4], "local") == 0               ? DDP_SECURITY_LOCAL
								 : DDP_SECURITY_NONE;
	end_open(&a, "a", argv[1]);
	end_open(&b, "b", argv[2]);
	end_listen(&b);
	session_connect(&s, &a, &b, argv[3], NULL);
	ddp_ack_cm_event(session_request(&s));
	expect("a session request", s.id[1], security, argv[6], argv[8]);
	session_make_qp(&s, 1, NULL);
	MUST(ddp_accept(s.id[1], NULL));
	end_expect(&b, DDP_CM_ESTABLISHED);
	end_expect(&a, DDP_CM_ESTABLISHED);
	expect("a session that was accepted", s.id[1], security, argv[6], argv[8]);
	expect("a session that was begun", s.id[0], security, argv[5], argv[7]);
	session_close(&s, 0);
	MUST(ddp_destroy_id(b.listener));

	demand(DDP_LISTEN_ENCRYPTED, argv[3], security != DDP_SECURITY_NONE);
	demand(DDP_LISTEN_PROVEN, argv[3], security == DDP_SECURITY_LOCAL || is_proven);
	return EXIT_SUCCESS;
}
