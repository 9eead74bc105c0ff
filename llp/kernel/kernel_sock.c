/* SPDX-License-Identifier: BSD-2-Clause */
/* SCTP sockets of the kernel and their options. */
#include "llp/kernel/kernel.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/addr.h"
#include "util/minmax.h"

enum {
	INIT_TRIES = 1000, /* our own timer ends the attempt, after 10 minutes at most */
	INIT_RTO_MS = 1000,
	PACKET_HEADERS = 80, /* IPv6, UDP, SCTP's own, the chunk's, and rounding up */
	EXPOSE_FAILING = 2,  /* of SCTP_EXPOSE_POTENTIALLY_FAILED_STATE */
};

static int set_option(int fd, int name, const void *value, size_t len)
{
	return setsockopt(fd, IPPROTO_SCTP, name, value, (socklen_t)len);
}

static int set_int(int fd, int name, int value)
{
	return set_option(fd, name, &value, sizeof(value));
}

static int set_assoc(int fd, int name, uint32_t value)
{
	struct sctp_assoc_value v = {.assoc_value = value};

	return set_option(fd, name, &v, sizeof(v));
}

static int set_events(int fd)
{
	static const uint16_t types[] = {
		SCTP_ASSOC_CHANGE,           SCTP_ADAPTATION_INDICATION, SCTP_SENDER_DRY_EVENT,
		SCTP_PARTIAL_DELIVERY_EVENT, SCTP_PEER_ADDR_CHANGE,
	};

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct sctp_event e = {
			.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = types[i], .se_on = 1};

		if (set_option(fd, SCTP_EVENT, &e, sizeof(e)))
			return -1;
	}
	return 0;
}

static int set_start(int fd, const struct llp_config *cfg)
{
	struct sctp_setadaptation a = {.ssb_adaptation_ind = cfg->adaptation};
	struct sctp_initmsg init = {.sinit_num_ostreams = cfg->streams,
				    .sinit_max_instreams = cfg->streams,
				    .sinit_max_attempts = INIT_TRIES,
				    .sinit_max_init_timeo = INIT_RTO_MS};

	return set_option(fd, SCTP_ADAPTATION_LAYER, &a, sizeof(a)) ||
	       set_option(fd, SCTP_INITMSG, &init, sizeof(init));
}

/* RFC 5041 section 3 requires a reliable transport. */
static int set_reliable(int fd)
{
	return set_assoc(fd, SCTP_PR_SUPPORTED, 0);
}

static int set_timers(int fd, const struct llp_config *cfg)
{
	uint32_t first = cfg->rto_max_ms < INIT_RTO_MS ? cfg->rto_max_ms : INIT_RTO_MS;
	struct sctp_rtoinfo rto = {
		.srto_initial = max_u32(first, cfg->rto_min_ms),
		.srto_min = cfg->rto_min_ms,
		.srto_max = cfg->rto_max_ms,
	};
	struct sctp_sack_info sack = {.sack_delay = cfg->sack_ms, .sack_freq = cfg->sack_packets};

	return set_option(fd, SCTP_RTOINFO, &rto, sizeof(rto)) ||
	       set_option(fd, SCTP_DELAYED_SACK, &sack, sizeof(sack));
}

static int set_paths(int fd, const struct llp_config *cfg)
{
	struct sctp_paddrparams p = {.spp_pathmaxrxt = (uint16_t)cfg->path_max_retrans,
				     .spp_hbinterval = cfg->heartbeat_ms};

	p.spp_flags = cfg->heartbeat_ms ? SPP_HB_ENABLE : SPP_HB_DISABLE;
	return set_option(fd, SCTP_PEER_ADDR_PARAMS, &p, sizeof(p)) ||
	       set_assoc(fd, SCTP_EXPOSE_POTENTIALLY_FAILED_STATE, EXPOSE_FAILING);
}

/* The port at which the kernel receives is a setting of the network namespace. */
static int set_tunnel(int fd, const struct llp_config *cfg)
{
	struct sctp_udpencaps e = {.sue_port = htons(cfg->udp_port)};

	e.sue_address.ss_family = AF_UNSPEC;
	if (cfg->udp_port == 0)
		return 0; /* the default; kernels before 5.11 have no such option */
	return set_option(fd, SCTP_REMOTE_UDP_ENCAPS_PORT, &e, sizeof(e));
}

/* With CAP_NET_ADMIN as much as requested, else as much as the system allows. */
static int set_buffers(int fd, uint32_t bytes)
{
	int n = (int)bytes;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &n, sizeof(n)) &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, sizeof(n)))
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &n, sizeof(n)) &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof(n)))
		return -1;
	return 0;
}

static int set_flow(int fd, const struct llp_config *cfg)
{
	uint32_t point = LLP_SCTP_MAX_MESSAGE;

	return set_buffers(fd, cfg->buffer) || set_int(fd, SCTP_NODELAY, 1) ||
	       set_int(fd, SCTP_DISABLE_FRAGMENTS, 1) || set_int(fd, SCTP_RECVRCVINFO, 1) ||
	       set_int(fd, SCTP_FRAGMENT_INTERLEAVE, 0) ||
	       set_option(fd, SCTP_PARTIAL_DELIVERY_POINT, &point, sizeof(point)) ||
	       set_assoc(fd, SCTP_MAX_BURST, 0);
}

static int set_all(int fd, const struct kernel *t, const char **ret_what)
{
	const struct llp_config *cfg = &t->sctp.cfg;

	if (set_events(fd))
		*ret_what = "events";
	else if (set_start(fd, cfg))
		*ret_what = "adaptation indication and streams";
	else if (set_reliable(fd))
		*ret_what = "full reliability";
	else if (set_timers(fd, cfg))
		*ret_what = "timers";
	else if (set_paths(fd, cfg))
		*ret_what = "heartbeats and retransmissions";
	else if (set_flow(fd, cfg))
		*ret_what = "buffers";
	else if (set_tunnel(fd, cfg))
		*ret_what = "UDP encapsulation";
	else
		return 0;
	return -1;
}

/* IPv6 sockets also take IPv4 addresses. */
static int family_of(const struct llp_addrs *at)
{
	for (unsigned i = 0; i < at->n; i++)
		if (at->a[i].ss_family == AF_INET6)
			return AF_INET6;
	return AF_INET;
}

/* bind() takes the first address and chooses the port, sctp_bindx() adds the others. */
static int bind_all(int fd, const struct llp_addrs *at, uint16_t port)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	if (at->n == 0)
		return 0;
	a = at->a[0];
	addr_set_port(&a, port);
	if (bind(fd, (struct sockaddr *)&a, addr_len(&a)) ||
	    getsockname(fd, (struct sockaddr *)&a, &len))
		return -1;
	port = addr_port(&a);
	for (unsigned i = 1; i < at->n; i++) {
		a = at->a[i];
		addr_set_port(&a, port);
		if (sctp_bindx(fd, (struct sockaddr *)&a, 1, SCTP_BINDX_ADD_ADDR))
			return -1;
	}
	return 0;
}

static int prepare_socket(int fd, const struct kernel *t, int family, const char **ret_what)
{
	int one = 1;

	*ret_what = "options";
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		return -1;
	if (family == AF_INET6 && set_int(fd, SCTP_I_WANT_MAPPED_V4_ADDR, 0))
		return -1;
	return set_all(fd, t, ret_what);
}

int kernel_sock_new(const struct kernel *t, const struct llp_addrs *at, uint16_t port,
		    const char **ret_what)
{
	int family = family_of(at);
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_SCTP);
	int err;

	*ret_what = "socket";
	if (fd < 0)
		return -errno;
	if (prepare_socket(fd, t, family, ret_what) == 0) {
		*ret_what = "address";
		if (bind_all(fd, at, port) == 0)
			return fd;
	}
	err = errno;
	close(fd);
	return -err;
}

void kernel_sock_adopt(const struct kernel *t, int fd)
{
	/* Fails only if the association has ended, which an event reports. */
	(void)set_flow(fd, &t->sctp.cfg);
	(void)set_timers(fd, &t->sctp.cfg);
	(void)set_paths(fd, &t->sctp.cfg);
}

uint32_t kernel_sock_buffer(int fd)
{
	int in = 0, out = 0;
	socklen_t len = sizeof(in);

	/* The kernel doubles the requested size, to cover its own overhead. */
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &in, &len) ||
	    getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &out, &len))
		return 0;
	return (uint32_t)(in < out ? in : out) / 2;
}

void kernel_sock_max_retrans(const struct kernel *t, int fd, unsigned npaths)
{
	/* A peer cannot extend the timeout by announcing more addresses. */
	unsigned sum =
		(npaths < LLP_MAX_PATHS ? npaths : LLP_MAX_PATHS) * t->sctp.cfg.path_max_retrans;
	unsigned tries = t->sctp.cfg.assoc_max_retrans;
	struct sctp_assocparams a;

	/* Linux accepts no more than the sum over all paths. */
	if (tries == 0 || (npaths > 1 && tries > sum))
		tries = sum;
	a = (struct sctp_assocparams){.sasoc_asocmaxrxt = (uint16_t)tries};
	(void)set_option(fd, SCTP_ASSOCINFO, &a, sizeof(a));
}

void kernel_sock_abort(int fd)
{
	struct linger l = {.l_onoff = 1, .l_linger = 0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

bool kernel_sock_status(int fd, struct sctp_status *ret)
{
	socklen_t len = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	return getsockopt(fd, IPPROTO_SCTP, SCTP_STATUS, ret, &len) == 0;
}

bool kernel_sock_count(int fd, struct kernel_count *ret)
{
	struct sctp_assoc_stats st = {0};
	socklen_t len = sizeof(st);

	if (getsockopt(fd, IPPROTO_SCTP, SCTP_GET_ASSOC_STATS, &st, &len))
		return false;
	*ret = (struct kernel_count){
		.tx_packets = st.sas_opackets,
		.rx_packets = st.sas_ipackets,
		.retransmits = st.sas_rtxchunks,
	};
	return true;
}

bool kernel_sock_acked(int fd)
{
	uint32_t mem[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(mem);

	/* The kernel holds a chunk until it is acknowledged. Its count of unacknowledged chunks
	 * does not include those that were never sent. */
	return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len) == 0 &&
	       mem[SK_MEMINFO_WMEM_QUEUED] == 0;
}

void kernel_sock_force_mtu(int fd, uint32_t len)
{
	struct sctp_paddrparams p = {.spp_flags = len ? SPP_PMTUD_DISABLE : SPP_PMTUD_ENABLE,
				     .spp_pathmtu = len ? len + PACKET_HEADERS : 0};

	(void)set_option(fd, SCTP_PEER_ADDR_PARAMS, &p, sizeof(p));
}

int kernel_sock_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}
