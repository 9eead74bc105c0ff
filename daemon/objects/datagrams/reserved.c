/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/objects/datagrams/reserved.h"

#include <errno.h>
#include <string.h>

#include "daemon/base/state.h"

const uint8_t reserved_hello[RESERVED_HELLO] = "ddpdgm\0\1";

bool reserved_port(const struct daemon *d, uint16_t port)
{
	return port && port == d->cfg.session.datagram_port;
}

static int refuse_reserved(const char *what, uint16_t port, struct reply *rep)
{
	return reply_refuse(rep, EACCES,
			    "%s: port %u is for datagrams between daemons "
			    "(session.datagram_port), not for programs",
			    what, port);
}

int reserved_check_connect(const struct daemon *d, const struct msg_connect *req, struct reply *rep)
{
	for (unsigned i = 0; i < req->npeers && i < MSG_MAX_ADDRS; i++)
		if (reserved_port(d, req->peers[i].port))
			return refuse_reserved("connect", req->peers[i].port, rep);
	if (req->private_len >= RESERVED_MARK &&
	    memcmp(req->private_data, reserved_hello, RESERVED_MARK) == 0)
		return reply_refuse(rep, EACCES,
				    "connect: private data that begin with \"ddpdgm\" and 0 are "
				    "those of daemons that carry datagrams, not of programs");
	return 0;
}

int reserved_check_listen(const struct daemon *d, const struct msg_listen *req, struct reply *rep)
{
	return reserved_port(d, req->port) ? refuse_reserved("listen", req->port, rep) : 0;
}
