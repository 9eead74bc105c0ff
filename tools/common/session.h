/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One session of a tool with its objects. Failures are printed where they happen: the attempted
 * operation, the text of the errno value, and the reason from the library or the daemon. Callers
 * only pass the negative errno value on.
 */
#ifndef TOOLS_SESSION_H
#define TOOLS_SESSION_H

#include <ddp/ddp.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	SESSION_PRIVATE = 512, /* bytes of private data */
	SESSION_MRS = 8,
	SESSION_PEER = 64,
};

struct session {
	struct ddp_ctx *ctx;
	struct ddp_pd *pd;
	struct ddp_cq *cq; /* of both queues */
	struct ddp_id *id;
	struct ddp_qp *qp;
	struct ddp_mr *mr[SESSION_MRS];
	unsigned nmrs;
	bool own_ctx;                 /* a client; the server's sessions share one context */
	bool own_memory;              /* session_alloc() registers memory of malloc() */
	atomic_bool up;               /* established and not disconnected */
	struct ddp_cm_event *pending; /* of a client: taken while polling for path events */
	void (*on_path)(const char *sentence);
	uint64_t polled; /* when path events were last polled, ns */
	char peer[SESSION_PEER];
	uint8_t reply[SESSION_PRIVATE]; /* the acceptor's private data */
	size_t reply_len;
	void *user;
	void *state;     /* of a server's session, for the program */
	unsigned others; /* sessions that the server had when this one was requested */
};

struct session_need {
	uint32_t send_wr, recv_wr;
	uint32_t max_inline;
	uint16_t reads; /* in flight, out and in; 0 = the daemon's default */
};

/* Where a client connects to. */
struct session_target {
	const char *socket; /* of the daemon, NULL for the usual one */
	const char *host;   /* or several addresses of it, with commas */
	uint16_t port;
	const char *server; /* the command that serves there, for a message */
	const char *bind;   /* local addresses of the daemon; NULL: that of the route */
	const void *hello;  /* private data */
	size_t hello_len;
	/* A path of the session has changed, and the session continues. NULL: ignored. */
	void (*on_path)(const char *sentence);
};

/* A context and its protection domain. */
int session_open(struct session *s, const char *socket);

/* Completion queue and queue pair, and the id if the session has none yet. */
int session_make_qp(struct session *s, const struct session_need *need);

/* Memory that lives until session_close(). At most SESSION_MRS. */
int session_alloc(struct session *s, size_t len, unsigned access, struct ddp_mr **ret);

/* The same without pages, which take time: the caller touches those that it uses, before the daemon
 * does.
 */
int session_alloc_empty(struct session *s, size_t len, unsigned access, struct ddp_mr **ret);

/* Frees memory of session_alloc() before session_close(). NULL is fine. */
void session_free(struct session *s, struct ddp_mr *mr);

/* Connects and waits for the outcome. */
int session_connect(struct session *s, const struct session_target *t);

/* Ends the session in order if it is up, and frees everything. No effect on a session that was not
 * opened, or is already closed. */
void session_close(struct session *s);

/* Work on len bytes at mr's byte off. Sends and Writes: flags as in struct ddp_send_wr. */
int session_post_recv(struct session *s, const struct ddp_mr *mr, uint64_t off, uint32_t len,
		      uint64_t wr_id);
int session_post_send(struct session *s, const struct ddp_mr *mr, uint64_t off, uint32_t len,
		      uint64_t wr_id, unsigned flags);

/*
 * Waits for completions. Returns their number, 0 after timeout_ms (< 0: never), -EINTR when the
 * program was asked to stop, or another negative errno value, which was printed.
 */
int session_wait(struct session *s, int n, struct ddp_wc *wc, int timeout_ms);

/* For on_path: the sentence on stderr. */
void session_note_path(const char *sentence);

/* Prints a failure: "what: reason (errno text)". Returns err. */
int session_fail(const char *what, int err);

/* Prints why a request did not succeed; for one that was flushed, why the session ended. Returns
 * a negative errno value. */
int session_wc_fail(struct session *s, const char *what, const struct ddp_wc *wc);

/* Address and port as text: "127.0.0.2 port 5043". */
void session_addr_str(const struct sockaddr_storage *sa, char *buf, size_t len);

#endif
