/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of field.h: which fields each object has, in the order of printing. */
#include <string.h>

#include "ctl/field/field.h"
#include "ipc/ctl_event.h"

#define SIZE(obj, member) sizeof(((struct ctl_##obj *)NULL)->member)
#define FIELD_OF(obj, key, member, type, unit, level, values)                                      \
	{                                                                                          \
		key, FIELD_##type, offsetof(struct ctl_##obj, member), SIZE(obj, member), unit,    \
			FIELD_##level, values                                                      \
	}
#define FIELD(obj, key, member, type, unit, level)                                                 \
	FIELD_OF(obj, key, member, type, unit, level, NULL)
/* The key is the member's name, and says the unit if there is one. */
#define F(obj, member, type, level) FIELD(obj, #member, member, type, NULL, level)
/* The same with the values that exist, basic. */
#define V(obj, member, type, values) FIELD_OF(obj, #member, member, type, NULL, BASIC, values)

/* The fields of struct ctl_flow. Two of them are details in any case. */
#define FLOW(obj, level)                                                                           \
	FIELD(obj, "rate", flow.rate, RATE, NULL, level),                                          \
		FIELD(obj, "pacing_rate", flow.pacing_rate, RATE, NULL, DETAIL),                   \
		FIELD(obj, "flight", flow.flight, BYTES, NULL, DETAIL),                            \
		FIELD_OF(obj, "limited_by", flow.limited_by, STRING, NULL, level,                  \
			 "application peer_window buffer congestion pacing")

static const struct field status_fields[] = {
	F(status, version, STRING, BASIC),
	F(status, pid, NUM, BASIC),
	F(status, uptime_ms, MSEC, BASIC),
	F(status, transport, STRING, BASIC),
	F(status, transport_reason, STRING, BASIC),
	F(status, udp_port, NUM, BASIC),
	F(status, gso, BOOL, DETAIL),
	F(status, naddrs, NUM, DETAIL),
	FIELD(status, "addr1", addr[0], ADDR, NULL, BASIC),
	FIELD(status, "addr2", addr[1], ADDR, NULL, BASIC),
	F(status, waits_for, STRING, BASIC),
	F(status, clients, NUM, BASIC),
	F(status, assocs, NUM, BASIC),
	F(status, sessions, NUM, BASIC),
	F(status, listeners, NUM, BASIC),
	F(status, pds, NUM, BASIC),
	F(status, mrs, NUM, BASIC),
	F(status, mr_bytes, BYTES, BASIC),
	F(status, cqs, NUM, BASIC),
	F(status, qps, NUM, BASIC),
	F(status, tx_packets, NUM, BASIC),
	F(status, rx_packets, NUM, BASIC),
	F(status, tx_bytes, BYTES, BASIC),
	F(status, rx_bytes, BYTES, BASIC),
	F(status, retransmits, NUM, BASIC),
	F(status, spurious, NUM, STATS),
	F(status, bad_crc, NUM, BASIC),
	F(status, bad_packets, NUM, BASIC),
	F(status, unknown_packets, NUM, STATS),
	F(status, over_budget, NUM, STATS),
	F(status, over_share, NUM, STATS),
	F(status, refused_assocs, NUM, STATS),
	F(status, unanswered, NUM, STATS),
	F(status, guesses, NUM, STATS),
	F(status, slowed, NUM, STATS),
	F(status, transport_bytes, BYTES, STATS),
	F(status, draining, BOOL, BASIC),
	F(status, last_error, STRING, BASIC),
	F(status, last_error_ms, MSEC, BASIC),
};

static const struct field assoc_fields[] = {
	F(assoc, id, NUM, BASIC),
	V(assoc, state, STRING, "connecting up ending down"),
	F(assoc, backend, STRING, BASIC),
	F(assoc, local, ADDR, BASIC),
	F(assoc, remote, ADDR, BASIC),
	F(assoc, sessions, NUM, BASIC),
	F(assoc, streams, NUM, BASIC),
	F(assoc, mtu, BYTES, BASIC),
	F(assoc, srtt_us, MEASURED, BASIC),
	V(assoc, security, STRING, "dtls clear"),
	F(assoc, rule, STRING, DETAIL),
	F(assoc, fingerprint, STRING, DETAIL),
	F(assoc, opener, BOOL, DETAIL),
	F(assoc, udp_port, NUM, DETAIL),
	F(assoc, gso, BOOL, DETAIL),
	F(assoc, max_message, BYTES, DETAIL),
	F(assoc, rto_ms, NUM, DETAIL),
	F(assoc, cwnd, BYTES, DETAIL),
	F(assoc, peer_rwnd, BYTES, DETAIL),
	FIELD(assoc, "unacked", unacked, NUM, "chunks", DETAIL),
	F(assoc, tx_segments, NUM, STATS),
	F(assoc, rx_segments, NUM, STATS),
	F(assoc, tx_control, NUM, STATS),
	F(assoc, rx_control, NUM, STATS),
	F(assoc, tx_terminates, NUM, STATS),
	F(assoc, rx_ahead, NUM, STATS),
	F(assoc, rx_early, NUM, STATS),
	F(assoc, rx_dropped, NUM, STATS),
	F(assoc, rx_violations, NUM, STATS),
	FIELD(assoc, "retransmits", retransmits, NUM, "chunks", STATS),
	FIELD(assoc, "spurious", flow.spurious, NUM, "chunks", STATS),
	F(assoc, wrong_tags, NUM, STATS),
	F(assoc, rx_refused, NUM, STATS),
	FLOW(assoc, DETAIL),
	F(assoc, last_error, STRING, DETAIL),
	F(assoc, last_error_ms, MSEC, DETAIL),
};

static const struct field path_fields[] = {
	F(path, assoc, NUM, BASIC),
	FIELD(path, "address", remote, ADDR, NULL, BASIC),
	V(path, state, STRING, "unconfirmed active failing inactive"),
	F(path, primary, BOOL, BASIC),
	F(path, srtt_us, MEASURED, BASIC),
	F(path, rto_ms, NUM, BASIC),
	F(path, cwnd, BYTES, BASIC),
	F(path, mtu, BYTES, BASIC),
	FLOW(path, BASIC),
};

static const struct field session_fields[] = {
	F(session, assoc, NUM, BASIC),
	F(session, stream, NUM, BASIC),
	F(session, state, STRING, BASIC),
	F(session, qp_num, NUM, BASIC),
	F(session, client, NUM, BASIC),
	F(session, tx_ssn, NUM, BASIC),
	F(session, rx_ssn, NUM, BASIC),
	FIELD(session, "unacked", unacked, NUM, "messages", BASIC),
	FIELD(session, "ahead", ahead, NUM, "messages", BASIC),
};

static const struct field qp_fields[] = {
	F(qp, qp_num, NUM, BASIC),
	F(qp, dgram_num, NUM, BASIC),
	V(qp, type, STRING, "rdmap raw dgram"),
	V(qp, state, STRING, "idle connecting rts closing error"),
	F(qp, client, NUM, BASIC),
	F(qp, pid, NUM, BASIC),
	F(qp, comm, STRING, BASIC),
	F(qp, assoc, NUM, BASIC),
	F(qp, stream, NUM, BASIC),
	F(qp, remote, ADDR, BASIC),
	F(qp, uid, UID, DETAIL),
	F(qp, pd, NUM, DETAIL),
	F(qp, send_cq, NUM, DETAIL),
	F(qp, recv_cq, NUM, DETAIL),
	F(qp, sq_entries, NUM, DETAIL),
	F(qp, sq_waiting, NUM, DETAIL),
	F(qp, rq_entries, NUM, DETAIL),
	F(qp, rq_posted, NUM, DETAIL),
	F(qp, srq, NUM, DETAIL),
	F(qp, srq_held, NUM, DETAIL),
	F(qp, in_flight, NUM, DETAIL),
	F(qp, ord, NUM, DETAIL),
	F(qp, ird, NUM, DETAIL),
	F(qp, reads_out, NUM, DETAIL),
	F(qp, reads_in, NUM, DETAIL),
	F(qp, tx_msgs, NUM, STATS),
	F(qp, rx_msgs, NUM, STATS),
	F(qp, tx_bytes, BYTES, STATS),
	F(qp, rx_bytes, BYTES, STATS),
	F(qp, srq_taken, NUM, STATS),
	F(qp, hold_bytes, BYTES, DETAIL),
	F(qp, hold_ms, NUM, DETAIL),
	F(qp, held_bytes, BYTES, DETAIL),
	F(qp, options, NUM, DETAIL),
	F(qp, held_msgs, NUM, STATS),
	F(qp, not_ready, NUM, STATS),
	F(qp, tx_dropped, NUM, STATS),
	F(qp, rx_dropped, NUM, STATS),
};

static const struct field mr_fields[] = {
	F(mr, stag, STAG, BASIC),   F(mr, handle, NUM, BASIC),    F(mr, client, NUM, BASIC),
	F(mr, pid, NUM, BASIC),     F(mr, uid, UID, DETAIL),      F(mr, pd, NUM, BASIC),
	F(mr, qp_num, NUM, DETAIL), F(mr, len, BYTES, BASIC),     F(mr, iova, NUM, DETAIL),
	F(mr, mode, STRING, BASIC), F(mr, valid, BOOL, BASIC),    F(mr, windows, NUM, DETAIL),
	F(mr, rung, STRING, BASIC), F(mr, access, ACCESS, BASIC), F(mr, reason, STRING, DETAIL),
};

static const struct field mw_fields[] = {
	F(mw, stag, STAG, BASIC),     F(mw, handle, NUM, BASIC), F(mw, client, NUM, BASIC),
	F(mw, pid, NUM, BASIC),       F(mw, uid, UID, DETAIL),   F(mw, pd, NUM, BASIC),
	V(mw, type, NUM, "1 2"),      F(mw, valid, BOOL, BASIC), F(mw, mr_stag, STAG, BASIC),
	F(mw, qp_num, NUM, BASIC),    F(mw, addr, NUM, DETAIL),  F(mw, len, BYTES, BASIC),
	F(mw, access, ACCESS, BASIC),
};

static const struct field pd_fields[] = {
	F(pd, handle, NUM, BASIC), F(pd, client, NUM, BASIC), F(pd, pid, NUM, BASIC),
	F(pd, uid, UID, DETAIL),   F(pd, mrs, NUM, BASIC),    F(pd, mws, NUM, BASIC),
	F(pd, qps, NUM, BASIC),    F(pd, srqs, NUM, BASIC),
};

static const struct field cq_fields[] = {
	F(cq, handle, NUM, BASIC), F(cq, client, NUM, BASIC),      F(cq, pid, NUM, BASIC),
	F(cq, uid, UID, DETAIL),   F(cq, entries, NUM, BASIC),     F(cq, waiting, NUM, BASIC),
	F(cq, qps, NUM, BASIC),    F(cq, completions, NUM, STATS), F(cq, bells, NUM, STATS),
};

static const struct field srq_fields[] = {
	F(srq, handle, NUM, BASIC),    F(srq, client, NUM, BASIC),
	F(srq, pid, NUM, BASIC),       F(srq, uid, UID, DETAIL),
	F(srq, pd, NUM, BASIC),        F(srq, entries, NUM, BASIC),
	F(srq, posted, NUM, BASIC),    F(srq, held, NUM, BASIC),
	F(srq, qps, NUM, BASIC),       F(srq, max_sge, NUM, DETAIL),
	F(srq, limit, NUM, DETAIL),    F(srq, per_qp, NUM, DETAIL),
	F(srq, taken, NUM, STATS),     F(srq, hold_bytes, BYTES, DETAIL),
	F(srq, hold_ms, NUM, DETAIL),  F(srq, held_bytes, BYTES, DETAIL),
	F(srq, held_msgs, NUM, STATS),
};

static const struct field client_fields[] = {
	F(client, id, NUM, BASIC),
	F(client, pid, NUM, BASIC),
	F(client, uid, UID, BASIC),
	F(client, gid, NUM, DETAIL),
	F(client, comm, STRING, BASIC),
	F(client, pds, NUM, BASIC),
	F(client, mrs, NUM, BASIC),
	F(client, mr_bytes, BYTES, BASIC),
	F(client, mws, NUM, BASIC),
	F(client, cqs, NUM, BASIC),
	F(client, qps, NUM, BASIC),
	F(client, srqs, NUM, BASIC),
	F(client, listeners, NUM, BASIC),
	F(client, requests, NUM, DETAIL),
	F(client, connected_ms, MSEC, DETAIL),
};

static const struct field listener_fields[] = {
	F(listener, handle, NUM, BASIC),    F(listener, client, NUM, BASIC),
	F(listener, pid, NUM, BASIC),       F(listener, uid, UID, DETAIL),
	F(listener, addr, ANY_ADDR, BASIC), F(listener, addr2, ADDR, DETAIL),
	F(listener, naddrs, NUM, DETAIL),   F(listener, port, NUM, BASIC),
	F(listener, backlog, NUM, BASIC),   F(listener, waiting, NUM, BASIC),
	F(listener, requests, NUM, STATS),  F(listener, key, NUM, BASIC),
};

#define NAME(name, word, id, about, burst) word " "

static const struct field event_fields[] = {
	F(event, number, NUM, DETAIL),
	FIELD(event, "time", time_us, TIME, NULL, BASIC),
	V(event, event, STRING, CTL_EVENTS(NAME)),
	F(event, assoc, NUM, BASIC),
	F(event, stream, NUM, BASIC),
	F(event, qp_num, NUM, BASIC),
	F(event, client, NUM, DETAIL),
	F(event, pid, NUM, BASIC),
	F(event, uid, UID, DETAIL),
	F(event, comm, STRING, BASIC),
	F(event, remote, ADDR, BASIC),
	FIELD(event, "errno", err, NUM, NULL, DETAIL),
	F(event, duration_ms, MSEC, STATS),
	F(event, tx_bytes, BYTES, STATS),
	F(event, rx_bytes, BYTES, STATS),
	F(event, lost, NUM, DETAIL),
	F(event, reason, STRING, BASIC),
};

static const struct field config_fields[] = {
	F(config, key, STRING, BASIC),    F(config, value, STRING, BASIC),
	F(config, source, STRING, BASIC), FIELD(config, "default", def, STRING, NULL, DETAIL),
	F(config, range, STRING, DETAIL), F(config, effect, STRING, DETAIL),
	F(config, help, STRING, DETAIL),
};

static const struct field user_fields[] = {
	F(user, uid, UID, BASIC),        F(user, clients, NUM, BASIC),
	F(user, qps, NUM, BASIC),        F(user, mrs, NUM, BASIC),
	F(user, mr_bytes, BYTES, BASIC), F(user, tx_msgs, NUM, BASIC),
	F(user, rx_msgs, NUM, BASIC),    F(user, tx_bytes, BYTES, BASIC),
	F(user, rx_bytes, BYTES, BASIC), F(user, guesses, NUM, STATS),
};

static const struct field turn_fields[] = {
	F(turn, up_to_us, MEASURED, BASIC),
	F(turn, turns, NUM, BASIC),
	F(turn, time_us, NUM, BASIC),
};

static const struct field peer_fields[] = {
	F(peer, network, STRING, BASIC),
	F(peer, associations, NUM, BASIC),
	F(peer, sessions, NUM, BASIC),
	F(peer, requests, NUM, BASIC),
	F(peer, early_bytes, BYTES, BASIC),
	F(peer, memory, BYTES, BASIC),
	F(peer, max_associations, NUM, DETAIL),
	F(peer, max_sessions, NUM, DETAIL),
	F(peer, max_requests, NUM, DETAIL),
	F(peer, requests_per_s, NUM, DETAIL),
	F(peer, max_early_bytes, BYTES, DETAIL),
	F(peer, max_memory, BYTES, DETAIL),
	F(peer, refused_associations, NUM, STATS),
	F(peer, refused_sessions, NUM, STATS),
	F(peer, refused_requests, NUM, STATS),
	F(peer, refused_rate, NUM, STATS),
	F(peer, refused_early, NUM, STATS),
	F(peer, refused_memory, NUM, STATS),
	F(peer, kernel_dropped, NUM, STATS),
	F(peer, lost_datagrams, NUM, STATS),
};

static const struct field limit_fields[] = {
	F(limit, uid, UID, BASIC), F(limit, name, STRING, BASIC), F(limit, used, NUM, BASIC),
	F(limit, max, NUM, BASIC), F(limit, refused, NUM, BASIC),
};

#define OBJECT(name, number, id, help)                                                             \
	{                                                                                          \
#name, number, name##_fields, sizeof(name##_fields) / sizeof(name##_fields[0]),    \
			id, help                                                                   \
	}

static const struct field_object objects[] = {
	OBJECT(status, CTL_STATUS, NULL, "the daemon"),
	OBJECT(assoc, CTL_ASSOC, "id", "associations with peers"),
	OBJECT(path, CTL_PATH, NULL, "paths of associations"),
	OBJECT(session, CTL_SESSION, NULL, "sessions, which share associations"),
	OBJECT(qp, CTL_QP, "qp_num", "queue pairs"),
	OBJECT(srq, CTL_SRQ, "handle", "shared receive queues"),
	OBJECT(cq, CTL_CQ, "handle", "completion queues"),
	OBJECT(mr, CTL_MR, "stag", "registered memory"),
	OBJECT(mw, CTL_MW, "stag", "memory windows"),
	OBJECT(pd, CTL_PD, "handle", "protection domains"),
	OBJECT(client, CTL_CLIENT, "id", "programs that use the daemon"),
	OBJECT(listener, CTL_LISTENER, "handle", "ports where programs listen"),
	OBJECT(event, CTL_EVENT, NULL, "the latest events"),
	OBJECT(config, CTL_CONFIG, "key", "the configuration in effect"),
	OBJECT(limit, CTL_LIMIT, "name", "limits of users, and their usage"),
	OBJECT(user, CTL_USER, "uid", "users, with their objects and traffic"),
	OBJECT(peer, CTL_PEER, "network", "networks of peers, with their use and limits"),
	OBJECT(turn, CTL_TURN, NULL, "durations of the turns of the event loop"),
};

_Static_assert(sizeof(objects) / sizeof(objects[0]) == CTL_OBJECT_COUNT - 1, "all have a table");

const struct field_object *field_objects(unsigned *ret_n)
{
	*ret_n = sizeof(objects) / sizeof(objects[0]);
	return objects;
}

const struct field *field_find(const struct field_object *obj, const char *key)
{
	for (unsigned i = 0; i < obj->nfields; i++)
		if (!strcmp(obj->fields[i].key, key))
			return &obj->fields[i];
	return NULL;
}
