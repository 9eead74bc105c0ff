/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the admin side: ddpctl requests the objects of one kind on the client socket. The
 * daemon answers with a MSG_CTL_RECORD for each object, then MSG_CTL_END. ddpctl formats them.
 *
 * The records have a version of their own, so that a new counter makes no difference to programs. A
 * new member goes to the end of its struct and the version stays: a record says how long it is,
 * and ddpctl takes the members that it knows. Members that a shorter record lacks are absent.
 * CTL_VERSION changes when a member moves, changes its meaning or goes away.
 */
#ifndef IPC_CTL_H
#define IPC_CTL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ipc/msg.h"

enum { CTL_VERSION = 1, CTL_ERROR_MAX = 312, CTL_WAITS = 80 };

enum ctl_object {
	CTL_STATUS = 1,
	CTL_ASSOC,
	CTL_SESSION,
	CTL_QP,
	CTL_MR,
	CTL_CQ,
	CTL_CLIENT,
	CTL_LISTENER,
	CTL_SRQ,
	CTL_MW,
	CTL_PD,
	CTL_PATH,
	CTL_EVENT,
	CTL_CONFIG,
	CTL_LIMIT,
	CTL_USER,
	CTL_TURN,
	CTL_PEER,
	CTL_OBJECT_COUNT,
};

struct ctl_show {
	struct msg_hdr hdr;
	uint32_t object;  /* enum ctl_object */
	uint32_t version; /* CTL_VERSION; the daemon refuses another one with EPROTONOSUPPORT */
};

/* Commands of ddpctl to the daemon. All but WATCH are for administrators (key admin). */
enum ctl_verb {
	CTL_WATCH =
		1, /* from now on, a MSG_CTL_RECORD of CTL_EVENT for each event, with this seq */
	CTL_LOG_LEVEL, /* arg: enum log_level of the daemon */
	CTL_ABORT,     /* the association id */
	CTL_TERMINATE, /* the session on stream arg of the association id */
	CTL_KICK,      /* the client id */
	CTL_DRAIN,     /* arg: enum ctl_drain */
	CTL_RELOAD,    /* reads the configuration again */
	CTL_VERB_COUNT,
};

enum ctl_drain {
	CTL_DRAIN_OFF,
	CTL_DRAIN_ON,  /* no new session begins */
	CTL_DRAIN_END, /* and those that exist end, after the operations in progress */
};

struct ctl_do {
	struct msg_hdr hdr;
	uint32_t version; /* as in ctl_show */
	uint32_t verb;    /* enum ctl_verb */
	uint32_t id, arg;
};

enum { CTL_KEY_MAX = 40, CTL_VALUE_MAX = 256 };

/* Changes a key of the configuration until the daemon restarts. For administrators.
 */
struct ctl_set {
	struct msg_hdr hdr;
	uint32_t version; /* as in ctl_show */
	uint32_t pad;
	char key[CTL_KEY_MAX];     /* "limits.mrs"; a limit may be without "limits." */
	char value[CTL_VALUE_MAX]; /* as in the file */
};

/* Which packets ddpctl gets. */
enum ctl_capture_what {
	CTL_CAPTURE_ALL,
	CTL_CAPTURE_ASSOC, /* of the association id */
	CTL_CAPTURE_QP,    /* that carry data of the queue pair number id */
	CTL_CAPTURE_COUNT,
};

/* Copies packets until the connection ends. For administrators. */
struct ctl_capture {
	struct msg_hdr hdr;
	uint32_t version; /* as in ctl_show */
	uint32_t what;    /* enum ctl_capture_what */
	uint32_t id;
	uint32_t snap; /* bytes of each SCTP packet that are kept, 0: all */
};

struct ctl_end {
	struct msg_hdr hdr;
	uint32_t records; /* sent */
	uint32_t hidden;  /* left out because they are another user's */
};

struct ctl_status {
	char version[16];
	char transport[16];
	char transport_reason[128]; /* why this one */
	uint64_t uptime_ms;
	uint64_t pid;
	uint32_t clients, qps, cqs, mrs, pds, assocs, sessions, listeners;
	uint64_t mr_bytes;
	uint64_t tx_packets, rx_packets, tx_bytes, rx_bytes, retransmits, bad_crc, bad_packets;
	uint32_t naddrs;
	uint16_t udp_port; /* 0 without encapsulation */
	uint16_t gso;
	struct sockaddr_storage addr[2]; /* the first two local addresses */
	uint64_t unknown_packets, over_budget, over_share, refused_assocs, unanswered;
	uint64_t transport_bytes;       /* memory of the transport's associations */
	char last_error[CTL_ERROR_MAX]; /* the line of the last event with an error */
	uint64_t last_error_ms;         /* since then */
	uint32_t draining;              /* no new session begins */
	uint32_t spurious;              /* chunks sent again that the peer had already */
	char waits_for[CTL_WAITS];      /* items of `listen` without an address, and why */
	uint64_t guesses, slowed; /* errors of peers about STags; sessions that waited for them */
};

/* How data flows on a path. */
struct ctl_flow {
	uint64_t rate;        /* bytes per second that were acknowledged lately */
	uint64_t pacing_rate; /* bytes per second; 0: it is not paced */
	uint32_t flight;      /* bytes */
	uint32_t spurious;    /* of an association: chunks sent again that the peer had already */
	char limited_by[16];  /* why it does not send more now */
};

struct ctl_assoc {
	uint32_t id;
	uint32_t sessions;
	char backend[16];
	char state[16];
	struct sockaddr_storage local, remote;
	uint16_t udp_port, streams;
	uint16_t opener, gso;
	uint32_t max_message, mtu, srtt_us, rto_ms, cwnd, peer_rwnd, unacked;
	uint64_t tx_segments, rx_segments, tx_control, rx_control;
	uint64_t tx_terminates, rx_ahead, rx_early, rx_dropped, rx_violations;
	char last_error[CTL_ERROR_MAX]; /* the same, of its own events */
	uint64_t last_error_ms;
	uint64_t retransmits; /* DATA chunks sent again */
	struct ctl_flow flow; /* of the primary path; left out if the transport does not know it */
	uint64_t wrong_tags;  /* packets in its name with another tag; left out with the flow */
	uint64_t rx_refused; /* Initiates without memory for their stream; left out with the flow */
	/* Left out with the flow, as the transport has no DTLS then. */
	char security[8];     /* "dtls", "clear" */
	char rule[64];        /* that says security of the peer */
	char fingerprint[96]; /* that the peer has proven */
};

struct ctl_session {
	uint32_t assoc;
	uint16_t stream, pad;
	char state[16];
	uint32_t qp_num, client;
	uint16_t tx_ssn, rx_ssn;
	uint32_t unacked, ahead;
};

struct ctl_qp {
	uint32_t qp_num, client, pid, uid;
	char comm[32];
	char state[16];
	char type[8]; /* "rdmap", "raw", "dgram" */
	uint32_t assoc;
	uint16_t stream, ord, ird, reads_out, reads_in, pad;
	uint32_t sq_entries, rq_entries, sq_waiting, rq_posted, in_flight;
	uint32_t pd, send_cq, recv_cq;
	uint64_t tx_msgs, rx_msgs, tx_bytes, rx_bytes;
	uint32_t srq; /* handle, 0 if it has receives of its own */
	uint32_t srq_held;
	uint64_t srq_taken;
	struct sockaddr_storage remote;
	uint32_t hold_bytes, hold_ms, held_bytes;
	uint32_t options; /* set of MSG_QP_ */
	uint64_t held_msgs;
	uint64_t not_ready;              /* times that the peer had no receive, as it reported */
	uint64_t tx_dropped, rx_dropped; /* datagrams that it sent, and those for it */
	uint32_t dgram_num;              /* that datagrams to it name, 0: none reach it */
	uint32_t pad2;
};

struct ctl_mr {
	uint32_t handle, client, pid, uid;
	uint32_t stag, pd, access;
	char mode[8]; /* "shared" */
	uint64_t iova, len;
	uint32_t qp_num;  /* that it is tied to, 0 if to none */
	uint32_t windows; /* bound to it */
	uint32_t valid, pad;
	char rung[8];    /* how its memory became shared: rung.h */
	char reason[56]; /* why */
};

struct ctl_cq {
	uint32_t handle, client, pid, uid;
	uint32_t entries, waiting, qps;
	uint64_t completions, bells;
};

struct ctl_srq {
	uint32_t handle, client, pid, uid;
	uint32_t pd, entries, max_sge, limit, per_qp, posted, held, qps;
	uint64_t taken;
	uint32_t hold_bytes, hold_ms, held_bytes, pad;
	uint64_t held_msgs;
};

struct ctl_mw {
	uint32_t handle, client, pid, uid;
	uint32_t pd, type, stag, valid, access, mr_stag, qp_num, pad;
	uint64_t addr, len;
};

struct ctl_pd {
	uint32_t handle, client, pid, uid;
	uint32_t mrs, mws, qps, srqs;
};

struct ctl_client {
	uint32_t id, pid, uid, gid;
	char comm[32];
	uint32_t pds, mrs, mws, cqs, qps, srqs, listeners, requests;
	uint64_t mr_bytes, connected_ms;
};

struct ctl_listener {
	uint32_t handle, client, pid, uid;
	struct sockaddr_storage addr; /* AF_UNSPEC: all addresses */
	uint32_t port, backlog, waiting;
	uint64_t requests;
	uint32_t naddrs, pad; /* 0: all addresses; several: all of them together */
	struct sockaddr_storage addr2;
	uint64_t key; /* service key, 0: none */
};

struct ctl_path {
	uint32_t assoc;
	uint32_t primary;
	struct sockaddr_storage remote;
	char state[16];
	uint32_t srtt_us, rto_ms, cwnd, mtu;
	struct ctl_flow flow; /* left out if the transport does not know it */
};

/* Something that happened: ctl_event.h. */
struct ctl_event {
	uint64_t number;  /* counts from 1 */
	uint64_t time_us; /* since 1970 */
	char event[24];   /* name of a CTL_EVENT_ */
	/* The object of the event; 0: none. */
	uint32_t assoc, qp_num, client;
	/* The program whose it is; pid 0: none. */
	uint32_t pid, uid;
	uint16_t stream, pad;
	char comm[32];
	struct sockaddr_storage remote;
	uint32_t err;  /* errno value, 0: in order */
	uint32_t lost; /* to one who watches: events left out before this one */
	uint64_t duration_ms, tx_bytes, rx_bytes; /* of a session that ended */
	char reason[MSG_REASON_MAX];
};

/* A key of the configuration. */
struct ctl_config {
	char key[CTL_KEY_MAX];
	char value[CTL_VALUE_MAX]; /* in effect, as in a file; cut if it is longer */
	char source[288];          /* "default", FILE:LINE, "option", "ddpctl" */
	char def[64];              /* value without a file */
	char range[96];            /* values that it accepts, in words */
	char effect[32];           /* when a change takes effect, in words */
	char help[120];
};

/* The use of one limited resource by a uid. */
struct ctl_limit {
	uint32_t uid, pad;
	char name[24];
	uint64_t used, max;
	uint64_t refused; /* requests for more */
};

/* The objects of a uid, and the payload that its queue pairs carried, those that are gone included.
 */
struct ctl_user {
	uint32_t uid, clients, qps, mrs;
	uint64_t mr_bytes;
	uint64_t tx_msgs, rx_msgs, tx_bytes, rx_bytes;
	uint64_t guesses; /* errors about STags that it caused at peers */
};

/* Turns of the event loop that took that long: more than the record before it says. */
struct ctl_turn {
	uint64_t up_to_us; /* 0: the last record, without a bound */
	uint64_t turns, time_us;
};

/* Use, limits and refusals of a network of peers; the first record: of all. */
struct ctl_peer {
	char network[56]; /* "192.0.2.0/24", "all" */
	uint64_t associations, sessions, requests, early_bytes, memory;
	/* At most at present. Of all networks: in total, UINT64_MAX without a bound. */
	uint64_t max_associations, max_sessions, max_requests, max_early_bytes, max_memory;
	uint64_t requests_per_s; /* at most; of all networks: 0 */
	uint64_t refused_associations, refused_sessions, refused_requests, refused_rate;
	uint64_t refused_early, refused_memory;
	/* Of all networks: packets, by the filter against floods or for a full buffer. Else 0. */
	uint64_t kernel_dropped;
	uint64_t lost_datagrams; /* to numbers that do not exist here, or in another form */
};

struct ctl_record {
	struct msg_hdr hdr; /* MSG_CTL_RECORD */
	uint32_t object;    /* enum ctl_object */
	uint32_t len;       /* bytes of the object's struct, the last ones that are sent */
	union {
		struct ctl_status status;
		struct ctl_assoc assoc;
		struct ctl_session session;
		struct ctl_qp qp;
		struct ctl_mr mr;
		struct ctl_cq cq;
		struct ctl_client client;
		struct ctl_listener listener;
		struct ctl_srq srq;
		struct ctl_mw mw;
		struct ctl_pd pd;
		struct ctl_path path;
		struct ctl_event event;
		struct ctl_config config;
		struct ctl_limit limit;
		struct ctl_user user;
		struct ctl_turn turn;
		struct ctl_peer peer;
	};
};

enum { CTL_HEAD = offsetof(struct ctl_record, status) }; /* bytes before the object's struct */

_Static_assert(sizeof(struct ctl_record) <= MSG_MAX, "records fit");

#endif
