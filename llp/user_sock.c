/* SPDX-License-Identifier: BSD-2-Clause */
/* usrsctp sockets and their options. */
#include "llp/user.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER = 12,      /* AF_CONN adds the common header to what is set as path MTU */
	INIT_TRIES = 100, /* our own timer ends the attempt */
	INIT_RTO_MS = 1000,
	PARTIAL_POINT = LLP_SCTP_MAX_MESSAGE,
};

static int set(struct socket *so, int name, const void *value, size_t len)
{
	return usrsctp_setsockopt(so, IPPROTO_SCTP, name, value, (socklen_t)len);
}

static int set_int(struct socket *so, int name, int value)
{
	return set(so, name, &value, sizeof(value));
}

static int set_events(struct socket *so)
{
	static const uint16_t types[] = {
		SCTP_ASSOC_CHANGE,      SCTP_ADAPTATION_INDICATION,  SCTP_SENDER_DRY_EVENT,
		SCTP_SEND_FAILED_EVENT, SCTP_SHUTDOWN_EVENT,         SCTP_PEER_ADDR_CHANGE,
		SCTP_REMOTE_ERROR,      SCTP_PARTIAL_DELIVERY_EVENT,
	};

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct sctp_event e = {
			.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = types[i], .se_on = 1};

		if (set(so, SCTP_EVENT, &e, sizeof(e)))
			return -1;
	}
	return 0;
}

static int set_start(struct socket *so, const struct llp_config *cfg)
{
	struct sctp_setadaptation a = {.ssb_adaptation_ind = cfg->adaptation};
	struct sctp_initmsg init = {.sinit_num_ostreams = cfg->streams,
				    .sinit_max_instreams = cfg->streams,
				    .sinit_max_attempts = INIT_TRIES,
				    .sinit_max_init_timeo = INIT_RTO_MS};

	return set(so, SCTP_ADAPTATION_LAYER, &a, sizeof(a)) ||
	       set(so, SCTP_INITMSG, &init, sizeof(init));
}

static int set_timers(struct socket *so, const struct llp_config *cfg)
{
	uint32_t first = cfg->rto_max_ms < INIT_RTO_MS ? cfg->rto_max_ms : INIT_RTO_MS;
	struct sctp_rtoinfo rto = {
		.srto_initial = first > cfg->rto_min_ms ? first : cfg->rto_min_ms,
		.srto_min = cfg->rto_min_ms,
		.srto_max = cfg->rto_max_ms,
	};
	struct sctp_sack_info sack = {.sack_delay = cfg->sack_ms, .sack_freq = cfg->sack_packets};
	/* There is one path: it and the association have the same limit. */
	struct sctp_assocparams assoc = {.sasoc_asocmaxrxt = (uint16_t)cfg->path_max_retrans};

	return set(so, SCTP_RTOINFO, &rto, sizeof(rto)) ||
	       set(so, SCTP_DELAYED_SACK, &sack, sizeof(sack)) ||
	       set(so, SCTP_ASSOCINFO, &assoc, sizeof(assoc));
}

static int set_path(struct socket *so, const struct llp_config *cfg, uint32_t packet)
{
	struct sctp_paddrparams p = {.spp_pathmtu = packet - HEADER,
				     .spp_pathmaxrxt = (uint16_t)cfg->path_max_retrans,
				     .spp_hbinterval = cfg->heartbeat_ms};

	p.spp_address.ss_family = AF_CONN;
	p.spp_flags = SPP_PMTUD_DISABLE | (cfg->heartbeat_ms ? SPP_HB_ENABLE : SPP_HB_DISABLE);
	return set(so, SCTP_PEER_ADDR_PARAMS, &p, sizeof(p));
}

static int set_flow(struct socket *so, const struct user *t)
{
	struct sctp_assoc_value burst = {.assoc_value = 0};
	uint32_t point = PARTIAL_POINT;
	int buffer = (int)t->sctp.cfg.buffer;

	return set_int(so, SCTP_NODELAY, 1) || set_int(so, SCTP_DISABLE_FRAGMENTS, 1) ||
	       set_int(so, SCTP_RECVRCVINFO, 1) || set_int(so, SCTP_FRAGMENT_INTERLEAVE, 0) ||
	       set(so, SCTP_PARTIAL_DELIVERY_POINT, &point, sizeof(point)) ||
	       set(so, SCTP_MAX_BURST, &burst, sizeof(burst)) ||
	       usrsctp_setsockopt(so, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)) ||
	       usrsctp_setsockopt(so, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
}

struct socket *llp_user_sock_new(struct user *t, uint32_t packet)
{
	struct socket *so = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);

	if (!so)
		return NULL;
	if (usrsctp_set_non_blocking(so, 1) || set_events(so) || set_start(so, &t->sctp.cfg) ||
	    set_timers(so, &t->sctp.cfg) || set_flow(so, t) || set_path(so, &t->sctp.cfg, packet)) {
		int err = errno;

		usrsctp_close(so);
		errno = err;
		return NULL;
	}
	return so;
}

void llp_user_sock_limit(struct socket *so, uint32_t packet)
{
	struct sctp_paddrparams p = {.spp_pathmtu = packet - HEADER,
				     .spp_flags = SPP_PMTUD_DISABLE};

	p.spp_address.ss_family = AF_CONN;
	/* Fails only if the association has ended, which an event reports. */
	(void)set(so, SCTP_PEER_ADDR_PARAMS, &p, sizeof(p));
}

void llp_user_sock_abort(struct socket *so)
{
	struct linger l = {.l_onoff = 1, .l_linger = 0};

	usrsctp_set_upcall(so, NULL, NULL);
	(void)usrsctp_setsockopt(so, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	usrsctp_close(so);
}

bool llp_user_sock_status(struct socket *so, struct sctp_status *ret)
{
	socklen_t len = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	return usrsctp_getsockopt(so, IPPROTO_SCTP, SCTP_STATUS, ret, &len) == 0;
}
