/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file, read at start and on reload. The structure is plain data: it may be
 * copied and needs no freeing. Members are nested and named as in the file, see ddpsctpd.yaml(5).
 * The table of all keys is in config_keys.c.
 */
#ifndef DAEMON_BASE_CONFIG_H
#define DAEMON_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "daemon/base/config_keys.h"
#include "daemon/base/listen_word.h"
#include "daemon/base/log.h"
#include "daemon/base/port_rule.h"
#include "daemon/base/principal.h"
#include "daemon/rules/peer_rules.h"
#include "llp/common/llp.h"

#ifndef SYSCONFDIR
#define SYSCONFDIR "/etc"
#endif
#define CONFIG_PATH SYSCONFDIR "/ddpsctpd.yaml"

enum {
	CONFIG_MAX_LISTEN = 8,
	CONFIG_MAX_ADMINS = 16,
	CONFIG_MAX_PORTS = 16,    /* rules */
	CONFIG_MAX_QP_WR = 32768, /* entries of a ring: the protocol counts them in 16 bits */
	CONFIG_ERR_MAX = 512,     /* room for a sentence; longer ones are cut */
};

enum config_transport {
	CONFIG_TRANSPORT_USER,
	CONFIG_TRANSPORT_KERNEL,
	CONFIG_TRANSPORT_AUTO, /* the same as user; its name until 0.1 */
};

enum config_switch { CONFIG_ON, CONFIG_OFF };

struct config_socket {
	char path[108]; /* of sun_path: absolute, ends in a NUL */
	uint32_t mode;  /* permission bits */
	char group[64]; /* as written, "" for none */
	gid_t gid;      /* of the group; (gid_t)-1: leave the group alone */
};

struct config_user {
	uint32_t udp_port;
	uint32_t gso;                /* enum llp_gso */
	uint32_t mtu;                /* 0: that of the route */
	uint32_t congestion_control; /* enum llp_cc */
	uint32_t ncc_rules;          /* 0 .. LLP_MAX_CC_RULES */
	struct llp_cc_rule congestion_control_for[LLP_MAX_CC_RULES];
	uint64_t buffer; /* bytes */
};

struct config_kernel {
	uint32_t udp_port; /* 0: SCTP without UDP */
	uint64_t buffer;   /* bytes */
};

struct config_sctp {
	uint32_t streams;
	uint32_t sack_packets, sack_ms;
	uint32_t rto_min_ms, rto_max_ms; /* min <= max */
	uint32_t heartbeat_ms;           /* 0: none */
	uint32_t path_max_retrans;
	uint32_t assoc_max_retrans; /* 0: path_max_retrans for each path */
	uint32_t init_ms;
	uint32_t adaptation; /* indication to send and to require */
};

struct config_session {
	uint32_t pending_max;
	uint32_t answer_ms, close_ms;
	uint32_t stop_ms;       /* how long operations may go on when the daemon is stopped */
	uint32_t relisten_ms;   /* how long a request waits for the next listener of its port */
	uint32_t idle_ms;       /* how long an association without sessions is kept */
	uint32_t datagram_port; /* for datagrams of other daemons; 0: none */
	uint32_t connect_ms;    /* from MSG_CONNECT to the answer of the peer */
	uint32_t agent_ms;      /* for a client to copy memory that the daemon cannot map */
	uint32_t records;
	uint64_t early_bytes; /* bytes */
	uint32_t enhanced;    /* enum config_switch: RFC 6581 */
	uint32_t extensions;  /* enum config_switch: RFC 7306 */
};

struct config_polling {
	uint32_t budget_us; /* as written; event_loop_new() uses 0 where there is one CPU */
};

struct config_limits {
	/* Of a uid: limits.c has their rows, and acct counts. */
	uint32_t clients;
	uint32_t pds;
	uint32_t mrs;
	uint64_t mr_bytes;
	uint32_t mws;
	uint32_t cqs;
	uint32_t qps;
	uint32_t srqs;
	uint32_t listeners; /* 0: none may listen */
	uint32_t associations;
	uint64_t memory; /* bytes */
	uint64_t held;   /* bytes */
	uint64_t sparse_bytes;
	/* Of one object or client: */
	uint32_t qp_wr;  /* entries of one work queue, shared or not */
	uint32_t cqe;    /* entries of one completion queue */
	uint32_t events; /* unread ones with which a client still gets session requests */
};

/* Of each network of peers: peer_limits.c has their rows, and util/network counts. */
struct config_peers {
	uint32_t associations; /* that peers open */
	uint32_t sessions;     /* that peers begin */
	uint32_t requests;     /* that wait for an answer */
	uint32_t requests_per_s;
	uint64_t early_bytes, memory; /* bytes */
	struct peer_rules rules;      /* of prefixes: other limits, and who may connect */
};

/* DTLS of the transport user. */
struct config_security {
	uint32_t udp_port;               /* 0: none */
	char certificate[256], key[256]; /* "": none */
};

struct config_log {
	uint32_t level; /* enum log_level */
};

struct config {
	struct config_socket socket;
	uint32_t transport; /* enum config_transport */
	uint32_t nlisten;   /* 1 .. CONFIG_MAX_LISTEN */
	char listen[CONFIG_MAX_LISTEN][LISTEN_WORD_MAX];
	uint32_t loopback; /* enum config_switch */
	uint32_t nadmin, nports;
	struct principal admin[CONFIG_MAX_ADMINS];
	struct port_rule ports[CONFIG_MAX_PORTS]; /* the first that has a port counts */
	struct config_user user;
	struct config_kernel kernel;
	struct config_sctp sctp;
	struct config_session session;
	struct config_polling polling;
	struct config_limits limits;
	struct config_peers peers;
	struct config_security security;
	struct config_log log;
	/* Not of the file: option --private. The first free address from 127.0.0.1 on;
	 * user.udp_port 0: any free port. What was found replaces them. */
	bool private;
};

/* Sources of values: the line of the file, or one of these. */
enum {
	CONFIG_FROM_DEFAULT = 0,
	CONFIG_FROM_OPTION = -1, /* of the command line of the daemon */
	CONFIG_FROM_ADMIN = -2,  /* ddpctl changed it while the daemon runs */
};

struct config_origin {
	char file[256]; /* cut if it is longer */
	int line[CONFIG_MAX_KEYS];
	int rule_line[PEER_RULES]; /* of the rules of peers.rules that a file has */
};

/* The configuration without a file. Every byte is set, so that two configurations can be compared.
 */
void config_default(struct config *ret);

/*
 * Reads a file over the defaults. path NULL: CONFIG_PATH, which may be absent. Returns 0; -errno if
 * the file cannot be read; or -EINVAL if something in it is wrong. On failure err has a sentence
 * (FILE:LINE:COLUMN: KEY: fault: expected values) and *ret is untouched.
 */
int config_load(const char *path, struct config *ret, char *err, size_t errlen);

/* The same, and the source of each value. */
int config_load_origin(const char *path, struct config *ret, struct config_origin *ret_origin,
		       char *err, size_t errlen);

/* The first rule of peers that demands encryption without security.udp_port, or a certificate
 * without security.certificate, and the fault of its text; NULL: there is none. */
const char *config_unmet_demand(const struct config *c, unsigned *ret_rule);

/* Prints notes about a valid configuration: rules of peers whose prefixes are in each other. */
void config_note(const struct config *c, const struct config_origin *o, FILE *f);

/* Prints a file with every key. config_load() reads it back to an equal configuration. */
void config_print(const struct config *c, FILE *f);

#endif
