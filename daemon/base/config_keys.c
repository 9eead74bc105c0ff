/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/config_keys.h"

#include <stdio.h>
#include <string.h>

#include "daemon/base/config.h"
#include "ipc/ring.h"
#include "util/did_you_mean.h"

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* Length of the text that fits into an array; the last byte is for the NUL. */
#define ROOM(member) (sizeof(((struct config *)0)->member) - 1)
#define AT(member) .offset = offsetof(struct config, member)

#define NUMBER(lo, hi, text) .type = CONFIG_TYPE_NUMBER, .min = (lo), .max = (hi), .def = (text)
#define SIZE(lo, hi, text) .type = CONFIG_TYPE_SIZE, .min = (lo), .max = (hi), .def = (text)
#define AT_ONCE .effect = CONFIG_AT_ONCE
#define NEW_ASSOCS .effect = CONFIG_NEW_ASSOCS
#define NEW_PROGRAMS .effect = CONFIG_NEW_PROGRAMS
#define CHOICE(text, ...) .type = CONFIG_TYPE_CHOICE, .choices = {__VA_ARGS__}, .def = (text)

/* clang-format off */
/* A row without an effect takes effect at a restart. */
static const struct config_key keys[] = {
	{"", "transport", CHOICE("user", "user", "kernel", "auto"), AT(transport),
	 .help = "transport of the associations"},
	{"", "listen", CONFIG_TYPE_LISTEN, .min = 1, .max = CONFIG_MAX_LISTEN,
	 .def = "127.0.0.1, ::1", AT(listen),
	 .help = "local addresses of all associations"},
	{"", "loopback", CHOICE("on", "on", "off"), AT(loopback),
	 .help = "127.0.0.1 and ::1 as well, unless listen names a loopback address"},
	{"", "admin", CONFIG_TYPE_USERS, .max = CONFIG_MAX_ADMINS, .def = "0", AT(admin), AT_ONCE,
	 .help = "users and groups (@name) who administer the daemon"},
	{"", "ports", CONFIG_TYPE_PORTS, .max = CONFIG_MAX_PORTS, .def = "", AT(ports), AT_ONCE,
	 .help = "who may listen at which ports; the first rule with the port counts"},

	{"socket", "path", CONFIG_TYPE_PATH, .max = ROOM(socket.path),
	 .def = "/run/ddpsctpd/ddp.sock", AT(socket.path),
	 .help = "UNIX socket that clients connect to"},
	{"socket", "mode", CONFIG_TYPE_OCTAL, .max = 0777, .def = "0660", AT(socket.mode), AT_ONCE,
	 .help = "permission bits of the socket"},
	{"socket", "group", CONFIG_TYPE_GROUP, .max = ROOM(socket.group), .def = "",
	 AT(socket.group), AT_ONCE,
	 .help = "group of the socket"},

	{"user", "udp_port", NUMBER(1, 65535, "9899"), AT(user.udp_port),
	 .help = "UDP port that carries SCTP"},
	{"user", "gso", CHOICE("auto", "auto", "on", "off"), AT(user.gso),
	 .help = "segmentation offload (UDP_SEGMENT) for batches of packets"},
	{"user", "mtu", NUMBER(576, 65536, "0"), .or_zero = true, AT(user.mtu),
	 .help = "largest IP packet in bytes; 0: the MTU of the route"},
	{"user", "buffer", SIZE(512 * KIB, 256 * MIB, "64MiB"), AT(user.buffer),
	 .help = "largest send queue and receive window of an association"},
	{"user", "congestion_control", CHOICE("cubic", "rfc9260", "cubic", "bbr"),
	 AT(user.congestion_control), NEW_ASSOCS,
	 .help = "congestion control: that of RFC 9260, CUBIC (RFC 9438), or BBR"},
	{"user", "congestion_control_for", CONFIG_TYPE_RULES, .max = LLP_MAX_CC_RULES, .def = "",
	 AT(user.congestion_control_for), NEW_ASSOCS,
	 .help = "other congestion control for paths to a prefix; the longest one counts"},

	{"kernel", "udp_port", NUMBER(0, 65535, "0"), AT(kernel.udp_port),
	 .help = "UDP port of SCTP here and at the peers; 0: SCTP without UDP"},
	{"kernel", "buffer", SIZE(512 * KIB, 256 * MIB, "2MiB"), AT(kernel.buffer),
	 .help = "size of the send buffer and of the receive buffer of an association"},

	{"sctp", "streams", NUMBER(2, 65535, "2048"), AT(sctp.streams),
	 .help = "streams of an association; each session uses one"},
	{"sctp", "sack_packets", NUMBER(1, 16, "2"), AT(sctp.sack_packets),
	 .help = "packets per acknowledgment"},
	{"sctp", "sack_ms", NUMBER(10, 500, "20"), AT(sctp.sack_ms),
	 .help = "maximum delay of an acknowledgment"},
	{"sctp", "rto_min_ms", NUMBER(20, 60000, "100"), AT(sctp.rto_min_ms),
	 .help = "minimum retransmission timeout"},
	{"sctp", "rto_max_ms", NUMBER(20, 60000, "5000"), AT(sctp.rto_max_ms),
	 .help = "maximum retransmission timeout"},
	{"sctp", "heartbeat_ms", NUMBER(100, 600000, "1000"), .or_zero = true,
	 AT(sctp.heartbeat_ms),
	 .help = "heartbeat interval on idle paths; 0: no heartbeats"},
	{"sctp", "path_max_retrans", NUMBER(1, 20, "5"), AT(sctp.path_max_retrans),
	 .help = "retransmissions before a path is declared inactive"},
	{"sctp", "assoc_max_retrans", NUMBER(0, 200, "0"), AT(sctp.assoc_max_retrans),
	 .help = "retransmissions before an association fails; 0: path_max_retrans per path"},
	{"sctp", "init_ms", NUMBER(100, 600000, "5000"), AT(sctp.init_ms),
	 .help = "timeout of opening an association"},
	{"sctp", "adaptation", NUMBER(0, UINT32_MAX, "1"), AT(sctp.adaptation),
	 .help = "adaptation indication to send and to require of peers"},

	{"session", "pending_max", NUMBER(1, 1024, "1024"), AT(session.pending_max), NEW_ASSOCS,
	 .help = "unanswered session requests per association"},
	{"session", "answer_ms", NUMBER(100, 600000, "30000"), AT(session.answer_ms), NEW_ASSOCS,
	 .help = "time for a program to answer a session request"},
	{"session", "relisten_ms", NUMBER(0, 60000, "1000"), AT(session.relisten_ms), AT_ONCE,
	 .help = "time for a program to listen again on a port that it has closed"},
	{"session", "close_ms", NUMBER(100, 600000, "5000"), AT(session.close_ms), NEW_ASSOCS,
	 .help = "time for the peer to end its half of a session"},
	{"session", "stop_ms", NUMBER(0, 600000, "2000"), AT(session.stop_ms), AT_ONCE,
	 .help = "time for operations to finish when the daemon is stopped"},
	{"session", "idle_ms", NUMBER(0, 600000, "2000"), AT(session.idle_ms), AT_ONCE,
	 .help = "time before an association without sessions is shut down"},
	{"session", "datagram_port", NUMBER(0, 65535, "5042"), AT(session.datagram_port),
	 .help = "SCTP port of all daemons for datagrams to others; 0: none"},
	{"session", "connect_ms", NUMBER(100, 600000, "10000"), AT(session.connect_ms), AT_ONCE,
	 .help = "timeout of connecting a queue pair"},
	{"session", "agent_ms", NUMBER(100, 600000, "10000"), AT(session.agent_ms), AT_ONCE,
	 .help = "time for a program to copy memory that the daemon cannot map"},
	{"session", "records", NUMBER(64, 65535, "65535"), AT(session.records), NEW_ASSOCS,
	 .help = "segments of an association that may be out of order"},
	{"session", "early_bytes", SIZE(64 * KIB, GIB, "1MiB"), AT(session.early_bytes), NEW_ASSOCS,
	 .help = "memory for segments that arrive before their session's Accept"},
	{"session", "enhanced", CHOICE("on", "on", "off"), AT(session.enhanced),
	 .help = "negotiation of Read depths and of the first message (RFC 6581)"},
	{"session", "extensions", CHOICE("on", "on", "off"), AT(session.extensions),
	 .help = "Immediate Data and atomics (RFC 7306)"},

	{"polling", "budget_us", NUMBER(0, 10000, "200"), AT(polling.budget_us), AT_ONCE,
	 .help = "busy-poll at most this long before blocking"},

	{"limits", "clients", NUMBER(1, 65535, "1024"), AT(limits.clients), AT_ONCE,
	 .help = "connections per uid"},
	{"limits", "pds", NUMBER(1, 65535, "1024"), AT(limits.pds), AT_ONCE,
	 .help = "protection domains per uid"},
	{"limits", "mrs", NUMBER(1, 65535, "16384"), AT(limits.mrs), AT_ONCE,
	 .help = "memory regions per uid"},
	{"limits", "mr_bytes", SIZE(4 * KIB, 65536 * GIB, "64GiB"), AT(limits.mr_bytes), AT_ONCE,
	 .help = "registered memory per uid"},
	{"limits", "mws", NUMBER(1, 65535, "16384"), AT(limits.mws), AT_ONCE,
	 .help = "memory windows per uid"},
	{"limits", "cqs", NUMBER(1, 65535, "16384"), AT(limits.cqs), AT_ONCE,
	 .help = "completion queues per uid"},
	{"limits", "qps", NUMBER(1, 65535, "16384"), AT(limits.qps), AT_ONCE,
	 .help = "queue pairs per uid"},
	{"limits", "srqs", NUMBER(1, 65535, "1024"), AT(limits.srqs), AT_ONCE,
	 .help = "shared receive queues per uid"},
	{"limits", "listeners", NUMBER(0, 65535, "1024"), AT(limits.listeners), AT_ONCE,
	 .help = "listeners per uid; 0: no program may listen"},
	{"limits", "associations", NUMBER(1, 16384, "16384"), AT(limits.associations), AT_ONCE,
	 .help = "associations per uid that its programs opened"},
	{"limits", "memory", SIZE(MIB, 65536 * GIB, "1GiB"), AT(limits.memory), AT_ONCE,
	 .help = "memory of rings, endpoints and unread records per uid"},
	{"limits", "held", SIZE(0, 65536 * GIB, "256MiB"), AT(limits.held), AT_ONCE,
	 .help = "messages per uid that wait for receives, beyond 64KiB of each queue pair"},
	{"limits", "sparse_bytes", SIZE(0, 65536 * GIB, "256MiB"), AT(limits.sparse_bytes), AT_ONCE,
	 .help = "memory per uid that was registered untouched and that the daemon fills"},
	{"limits", "qp_wr", NUMBER(1, CONFIG_MAX_QP_WR, "16384"), AT(limits.qp_wr), AT_ONCE,
	 .help = "entries of a send queue, receive queue or shared receive queue"},
	{"limits", "cqe", NUMBER(1, RING_MAX_COMPLETIONS, "4194304"), AT(limits.cqe), AT_ONCE,
	 .help = "entries of a completion queue"},
	{"limits", "events", NUMBER(16, 65536, "1024"), AT(limits.events), NEW_PROGRAMS,
	 .help = "unread events with which a program still gets session requests"},

	{"peers", "associations", NUMBER(0, 16384, "16384"), AT(peers.associations), AT_ONCE,
	 .help = "associations that a network of peers may open; 0: none"},
	{"peers", "sessions", NUMBER(0, 16777216, "65536"), AT(peers.sessions), AT_ONCE,
	 .help = "sessions that a network of peers may begin"},
	{"peers", "requests", NUMBER(0, 65536, "4096"), AT(peers.requests), AT_ONCE,
	 .help = "unanswered session requests of a network of peers"},
	{"peers", "requests_per_s", NUMBER(0, 1000000, "10000"), AT(peers.requests_per_s), AT_ONCE,
	 .help = "session requests of a network of peers in a second"},
	{"peers", "early_bytes", SIZE(0, 64 * GIB, "64MiB"), AT(peers.early_bytes), AT_ONCE,
	 .help = "memory of a network of peers for segments before their session's Accept"},
	{"peers", "memory", SIZE(MIB, 64 * GIB, "1GiB"), AT(peers.memory), AT_ONCE,
	 .help = "memory of a network of peers for data that the transport user queues"},
	{"peers", "rules", CONFIG_TYPE_PEERS, .max = PEER_RULES, .def = "", AT(peers.rules.rule), AT_ONCE,
	 .help = "other limits for prefixes, and who may connect; the longest one counts"},

	{"security", "udp_port", NUMBER(1, 65535, "0"), .or_zero = true, AT(security.udp_port),
	 .help = "UDP port that carries SCTP in DTLS; 0: none"},
	{"security", "certificate", CONFIG_TYPE_PATH, .max = ROOM(security.certificate),
	 .or_zero = true, .def = "", AT(security.certificate), NEW_ASSOCS,
	 .help = "file with the certificate of this daemon, in PEM"},
	{"security", "key", CONFIG_TYPE_PATH, .max = ROOM(security.key), .or_zero = true, .def = "",
	 AT(security.key), NEW_ASSOCS,
	 .help = "file with its private key, in PEM, that others cannot read"},

	{"log", "level", CHOICE("info", "error", "warning", "info", "debug"), AT(log.level), AT_ONCE,
	 .help = "minimum severity logged"},
};
/* clang-format on */

enum { NKEYS = sizeof(keys) / sizeof(keys[0]) };

_Static_assert((int)NKEYS <= (int)CONFIG_MAX_KEYS, "readers have room for every key");
_Static_assert(LLP_GSO_AUTO == 0 && LLP_GSO_ON == 1 && LLP_GSO_OFF == 2, "order of user.gso");
_Static_assert(LLP_CC_RFC9260 == 0 && LLP_CC_CUBIC == 1 && LLP_CC_BBR == 2,
	       "order of user.congestion_control");
_Static_assert(CONFIG_ON == 0 && CONFIG_OFF == 1,
	       "order of loopback, session.enhanced, .extensions");
_Static_assert(CONFIG_TRANSPORT_USER == 0 && CONFIG_TRANSPORT_KERNEL == 1 &&
		       CONFIG_TRANSPORT_AUTO == 2,
	       "order of transport");
_Static_assert(LOG_LEVEL_ERR == 0 && LOG_LEVEL_WARN == 1 && LOG_LEVEL_INFO == 2 &&
		       LOG_LEVEL_DEBUG == 3,
	       "order of log.level");

const struct config_key *config_key_at(size_t i)
{
	return i < NKEYS ? &keys[i] : NULL;
}

size_t config_key_index(const struct config_key *k)
{
	return (size_t)(k - keys);
}

const char *config_key_effect(const struct config_key *k)
{
	static const char *const text[] = {
		[CONFIG_AT_RESTART] = "",
		[CONFIG_AT_ONCE] = "; at once",
		[CONFIG_NEW_ASSOCS] = "; for new associations",
		[CONFIG_NEW_PROGRAMS] = "; for new programs",
	};

	return text[k->effect];
}

const struct config_key *config_key_find(const char *section, const char *name)
{
	for (size_t i = 0; i < NKEYS; i++) {
		if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0)
			return &keys[i];
	}
	return NULL;
}

bool config_key_section(const char *section)
{
	if (*section == '\0')
		return false;
	for (size_t i = 0; i < NKEYS; i++) {
		if (strcmp(keys[i].section, section) == 0)
			return true;
	}
	return false;
}

const struct config_key *config_key_named(const char *name)
{
	const char *dot = strchr(name, '.');
	char section[16] = "";

	if (dot && (size_t)(dot - name) < sizeof(section))
		memcpy(section, name, (size_t)(dot - name));
	return config_key_find(section, dot ? dot + 1 : name);
}

/* ---- suggestions ---- */

/* A name that a section may contain: its keys; at the top level also the names of sections. NULL:
 * the row adds no new name. */
static const char *known_by(const struct config_key *k, const char *section)
{
	if (strcmp(k->section, section) == 0)
		return k->name;
	if (*section != '\0' || *k->section == '\0')
		return NULL;
	return k == keys || strcmp(k[-1].section, k->section) != 0 ? k->section : NULL;
}

static const char *nearest(const char *section, const char *name)
{
	struct did_you_mean n = {.word = name};

	for (size_t i = 0; i < NKEYS; i++) {
		const char *known = known_by(&keys[i], section);

		if (known)
			did_you_mean_consider(&n, known);
	}
	return n.nearest;
}

static const struct config_key *elsewhere(const char *name)
{
	for (size_t i = 0; i < NKEYS; i++) {
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];
	}
	return NULL;
}

static void list_known(const char *section, char *ret, size_t len)
{
	int n = snprintf(ret, len, "known here:");

	for (size_t i = 0; i < NKEYS && (size_t)n < len; i++) {
		const char *known = known_by(&keys[i], section);

		if (known)
			n += snprintf(ret + n, len - (size_t)n, " %s", known);
	}
}

/* Names that older files have. */
static const char *renamed(const char *section, const char *name)
{
	bool is_rules = strcmp(section, "peers") == 0 && strcmp(name, "limits_for") == 0;

	return is_rules ? "peers.rules, which takes the same rules" : NULL;
}

void config_key_suggest(const char *section, const char *name, char *ret, size_t len)
{
	const char *now = renamed(section, name);
	const struct config_key *k = elsewhere(name);
	const char *near = nearest(section, name);

	if (now)
		snprintf(ret, len, "it is now %s", now);
	else if (near)
		snprintf(ret, len, "did you mean %s?", near);
	else if (k && *k->section)
		snprintf(ret, len, "did you mean %s.%s?", k->section, name);
	else if (k)
		snprintf(ret, len, "%s belongs to the top level", name);
	else
		list_known(section, ret, len);
}
