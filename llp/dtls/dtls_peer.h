/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts about a peer that a handshake has shown. Whether they are enough, the owner says. */
#ifndef LLP_DTLS_PEER_H
#define LLP_DTLS_PEER_H

#include "llp/dtls/dtls_identity.h"

enum { DTLS_NAMES = 512 };

struct dtls_peer {
	bool has_cert;
	const char
		*untimely; /* "is expired", "is not valid yet" of its certificate; NULL: neither */
	uint8_t fingerprint[DTLS_FINGERPRINT];
	/* The subjectAltNames, as in "DNS:a.example IP:192.0.2.1"; those without room are left
	 * out, and so are other kinds. */
	char names[DTLS_NAMES];
	/* Why each CA of `by` does not vouch for it, a static text; NULL: it does. */
	const char *fault[DTLS_FILES];
	const struct dtls_psk *psk;     /* the key that it has; NULL: it has shown a certificate */
	const struct dtls_identity *by; /* with which we judged it; valid as long as the link */
};

/* After the handshake of ssl. */
void dtls_peer_read(const struct dtls_identity *id, const struct dtls_auth *auth,
		    struct ssl_st *ssl, struct dtls_peer *ret);

#endif
