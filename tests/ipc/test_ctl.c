/* SPDX-License-Identifier: BSD-2-Clause */
/* How ddpctl handles valid and invalid replies of a daemon: each failure has its exit status. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/field/query.h"
#include "ipc/conn.h"
#include "ipc/local_protocol.h"

enum {
	PATIENT_MS = 20000, /* longer than any test waits */
	HASTY_MS = 50,
};

/* A daemon for one client: its actions after hello and after show. */
struct fake {
	char dir[32], path[64];
	int fd;
	pthread_t thread;
	void (*script)(int fd, const struct msg_hdr *show);
	int reply_err;  /* hello: MSG_ERROR with it */
	uint16_t major; /* hello: version of the reply */
	bool silent;    /* hello: no answer at all */
	uint16_t minor; /* hello */
};

static size_t take(int fd, void *buf)
{
	int fds[MSG_MAX_FDS];
	unsigned nfds;
	size_t len = 0;

	return conn_recv(fd, buf, MSG_MAX, &len, fds, &nfds) == 0 ? len : 0;
}

static void refuse(int fd, const struct msg_hdr *to, int err, const char *reason)
{
	struct msg_error e = {.hdr = {MSG_ERROR, to->seq}, .err = err};

	strcpy(e.reason, reason);
	conn_send(fd, &e, sizeof(e), NULL, 0);
}

/* Answers hello with three descriptors, as the daemon does. */
static bool answer_hello(struct fake *f, int fd)
{
	_Alignas(8) uint8_t buf[MSG_MAX];
	const struct msg_hello *hello = (const struct msg_hello *)buf;
	struct msg_hello_reply reply = {.hdr.op = MSG_HELLO, .major = f->major, .minor = f->minor};
	int fds[3] = {0, 1, 2};

	if (take(fd, buf) != sizeof(*hello) || hello->hdr.op != MSG_HELLO ||
	    hello->major != IPC_VERSION_MAJOR || strcmp(hello->comm, "ddpctl"))
		return false;
	if (f->reply_err)
		refuse(fd, &hello->hdr, f->reply_err, "hello: no");
	if (f->reply_err || f->silent)
		return true;
	reply.hdr.seq = hello->hdr.seq;
	return conn_send(fd, &reply, sizeof(reply), fds, 3) == 0;
}

static void *serve(void *arg)
{
	_Alignas(8) uint8_t buf[MSG_MAX];
	struct fake *f = arg;
	int fd = accept(f->fd, NULL, NULL);

	if (fd >= 0 && answer_hello(f, fd) && take(fd, buf) == sizeof(struct ctl_show))
		f->script(fd, (const struct msg_hdr *)buf);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void start(struct fake *f)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};

	strcpy(f->dir, "/tmp/test_ctl.XXXXXX");
	cr_assert_not_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/sock", f->dir);
	strcpy(sun.sun_path, f->path);
	if (!f->major)
		f->major = IPC_VERSION_MAJOR;
	f->fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	cr_assert_eq(bind(f->fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	cr_assert_eq(listen(f->fd, 1), 0);
	cr_assert_eq(pthread_create(&f->thread, NULL, serve, f), 0);
}

static void stop(struct fake *f)
{
	pthread_join(f->thread, NULL);
	close(f->fd);
	unlink(f->path);
	rmdir(f->dir);
}

/* ---- scripts ---- */

static void send_qp(int fd, const struct msg_hdr *show, uint32_t object, uint32_t num)
{
	struct ctl_record rec = {
		.hdr = {MSG_CTL_RECORD, show->seq}, .object = object, .len = sizeof(rec.qp)};

	rec.qp.qp_num = num;
	conn_send(fd, &rec, CTL_HEAD + rec.len, NULL, 0);
}

static void send_end(int fd, const struct msg_hdr *show, uint32_t records, uint32_t hidden)
{
	struct ctl_end end = {{MSG_CTL_END, show->seq}, records, hidden};

	conn_send(fd, &end, sizeof(end), NULL, 0);
}

static void many(int fd, const struct msg_hdr *show)
{
	for (uint32_t i = 0; i < 200; i++)
		send_qp(fd, show, CTL_QP, i);
	send_end(fd, show, 200, 3);
}

/* One record of the requested kind. */
static void one_of_it(int fd, const struct msg_hdr *show)
{
	send_qp(fd, show, ((const struct ctl_show *)show)->object, 1);
	send_end(fd, show, 1, 0);
}

static void none(int fd, const struct msg_hdr *show)
{
	send_end(fd, show, 0, 0);
}

static void wrong_count(int fd, const struct msg_hdr *show)
{
	send_qp(fd, show, CTL_QP, 1);
	send_end(fd, show, 2, 0);
}

static void wrong_object(int fd, const struct msg_hdr *show)
{
	send_qp(fd, show, CTL_MR, 1);
	send_end(fd, show, 1, 0);
}

static void wrong_seq(int fd, const struct msg_hdr *show)
{
	struct msg_hdr other = {show->op, show->seq + 1};

	send_end(fd, &other, 0, 0);
}

static void too_short(int fd, const struct msg_hdr *show)
{
	struct msg_hdr hdr = {MSG_CTL_RECORD, show->seq};

	conn_send(fd, &hdr, sizeof(hdr), NULL, 0);
}

/* A record whose struct has len bytes, each of them 7. */
static void send_long(int fd, const struct msg_hdr *show, uint32_t len, size_t sent)
{
	union {
		struct ctl_record rec;
		uint8_t bytes[MSG_MAX];
	} u;

	memset(&u, 7, sizeof(u));
	u.rec.hdr = (struct msg_hdr){MSG_CTL_RECORD, show->seq};
	u.rec.object = CTL_QP;
	u.rec.len = len;
	conn_send(fd, &u, sent, NULL, 0);
	send_end(fd, show, 1, 0);
}

/* An older daemon: its struct ends before tx_msgs. */
static void shorter(int fd, const struct msg_hdr *show)
{
	uint32_t len = offsetof(struct ctl_qp, tx_msgs);

	send_long(fd, show, len, CTL_HEAD + len);
}

/* A newer daemon, with members that this program does not know. */
static void longer(int fd, const struct msg_hdr *show)
{
	send_long(fd, show, MSG_MAX - CTL_HEAD, MSG_MAX);
}

static void len_too_large(int fd, const struct msg_hdr *show)
{
	send_long(fd, show, sizeof(struct ctl_qp) + 8, CTL_HEAD + sizeof(struct ctl_qp));
}

static void len_too_small(int fd, const struct msg_hdr *show)
{
	send_long(fd, show, sizeof(struct ctl_qp) - 8, CTL_HEAD + sizeof(struct ctl_qp));
}

/* The reply of a daemon with another version of the records. */
static void other_version(int fd, const struct msg_hdr *show)
{
	if (((const struct ctl_show *)show)->version == CTL_VERSION)
		refuse(fd, show, EPROTONOSUPPORT, "show: another version");
}

static void denied(int fd, const struct msg_hdr *show)
{
	refuse(fd, show, EACCES, "show: not for you");
}

static void failed(int fd, const struct msg_hdr *show)
{
	refuse(fd, show, ENOMEM, "");
}

static void hang_up(int fd, const struct msg_hdr *show)
{
	send_qp(fd, show, CTL_QP, 1);
}

/* Waits until the client closes the connection. */
static void stay_silent(int fd, const struct msg_hdr *show)
{
	_Alignas(8) uint8_t buf[MSG_MAX];

	send_qp(fd, show, CTL_QP, 1);
	take(fd, buf);
}

static enum ctl_exit call(struct fake *f, int timeout_ms, struct query_reply *a)
{
	enum ctl_exit e;

	start(f);
	*a = (struct query_reply){.n = 4711};
	e = query_show(f->path, timeout_ms, CTL_QP, a);
	stop(f);
	return e;
}

static void ends_with(struct fake f, int timeout_ms, enum ctl_exit want)
{
	struct query_reply a;

	cr_expect_eq(call(&f, timeout_ms, &a), want);
	cr_expect_eq(a.n, 4711, "the output was touched");
}

/* ---- promises ---- */

Test(ctl, all_records_arrive_in_order_and_hidden_ones_are_counted)
{
	struct fake f = {.script = many};
	struct query_reply a;

	cr_assert_eq(call(&f, PATIENT_MS, &a), CTL_EXIT_OK);
	cr_assert_eq(a.n, 200);
	cr_expect_eq(a.hidden, 3);
	for (uint32_t i = 0; i < 200; i++)
		cr_assert_eq(a.recs[i].qp.qp_num, i);
	free(a.recs);
}

Test(ctl, each_kind_of_object_is_requested)
{
	for (int object = CTL_STATUS; object < CTL_OBJECT_COUNT; object++) {
		struct fake f = {.script = one_of_it, .minor = IPC_VERSION_MINOR};
		struct query_reply a = {0};

		start(&f);
		cr_assert_eq(query_show(f.path, PATIENT_MS, (enum ctl_object)object, &a),
			     CTL_EXIT_OK);
		stop(&f);
		cr_expect_eq(a.n, 1);
		cr_expect_eq(a.recs[0].object, (uint32_t)object);
		free(a.recs);
	}
}

Test(ctl, an_older_daemon_is_not_asked_for_objects_that_it_does_not_know)
{
	static const enum ctl_object new[] = {CTL_USER, CTL_TURN};

	for (unsigned i = 0; i < 2; i++) {
		struct fake f = {.script = one_of_it, .minor = IPC_MINOR_CTL_USER - 1};
		struct query_reply a = {0};

		start(&f);
		cr_assert_eq(query_show(f.path, PATIENT_MS, new[i], &a), CTL_EXIT_OK);
		stop(&f);
		cr_expect(a.older);
		cr_expect_eq(a.n, 0);
	}
}

Test(ctl, a_record_of_an_older_daemon_lacks_the_members_that_it_does_not_have)
{
	struct fake f = {.script = shorter};
	struct query_reply a;

	cr_assert_eq(call(&f, PATIENT_MS, &a), CTL_EXIT_OK);
	cr_assert_eq(a.n, 1);
	cr_expect_eq(a.recs[0].len, offsetof(struct ctl_qp, tx_msgs));
	cr_expect_eq(a.recs[0].qp.recv_cq, 0x07070707);
	cr_expect_eq(a.recs[0].qp.tx_msgs, 0);
	cr_expect_eq(a.recs[0].qp.remote.ss_family, 0);
	free(a.recs);
}

Test(ctl, known_members_of_a_newer_daemons_record_are_used)
{
	struct fake f = {.script = longer};
	struct query_reply a;

	cr_assert_eq(call(&f, PATIENT_MS, &a), CTL_EXIT_OK);
	cr_assert_eq(a.n, 1);
	cr_expect_eq(a.recs[0].qp.qp_num, 0x07070707);
	cr_expect_eq(a.recs[0].qp.srq_taken, 0x0707070707070707);
	cr_expect_eq(a.recs[0].qp.remote.ss_family, 0x0707);
	free(a.recs);
}

Test(ctl, no_objects_is_no_failure)
{
	struct fake f = {.script = none};
	struct query_reply a;

	cr_assert_eq(call(&f, PATIENT_MS, &a), CTL_EXIT_OK);
	cr_expect_eq(a.n, 0);
	cr_expect_eq(a.hidden, 0);
	free(a.recs);
}

Test(ctl, no_daemon_is_3)
{
	struct query_reply a;

	cr_expect_eq(query_show("/nonexistent/sock", PATIENT_MS, CTL_QP, &a), CTL_EXIT_NO_DAEMON);
}

Test(ctl, a_socket_without_a_daemon_is_3)
{
	struct fake f = {.script = none};
	struct query_reply a;

	start(&f);
	cr_expect_eq(query_show(f.path, PATIENT_MS, CTL_QP, &a), CTL_EXIT_OK);
	pthread_join(f.thread, NULL);
	close(f.fd);
	cr_expect_eq(query_show(f.path, PATIENT_MS, CTL_QP, &a), CTL_EXIT_NO_DAEMON);
	unlink(f.path);
	rmdir(f.dir);
}

Test(ctl, permission_denied_is_4)
{
	ends_with((struct fake){.script = denied}, PATIENT_MS, CTL_EXIT_PERMISSION);
}

Test(ctl, another_refusal_is_1)
{
	ends_with((struct fake){.script = failed}, PATIENT_MS, CTL_EXIT_FAILED);
}

Test(ctl, another_version_is_6)
{
	ends_with((struct fake){.reply_err = EPROTO}, PATIENT_MS, CTL_EXIT_VERSION);
	ends_with((struct fake){.major = IPC_VERSION_MAJOR + 1}, PATIENT_MS, CTL_EXIT_VERSION);
	ends_with((struct fake){.script = other_version}, PATIENT_MS, CTL_EXIT_VERSION);
}

Test(ctl, an_invalid_reply_is_6)
{
	ends_with((struct fake){.script = wrong_count}, PATIENT_MS, CTL_EXIT_VERSION);
	ends_with((struct fake){.script = wrong_object}, PATIENT_MS, CTL_EXIT_VERSION);
	ends_with((struct fake){.script = wrong_seq}, PATIENT_MS, CTL_EXIT_VERSION);
	ends_with((struct fake){.script = too_short}, PATIENT_MS, CTL_EXIT_VERSION);
	ends_with((struct fake){.script = len_too_large}, PATIENT_MS, CTL_EXIT_VERSION);
	ends_with((struct fake){.script = len_too_small}, PATIENT_MS, CTL_EXIT_VERSION);
}

Test(ctl, a_daemon_that_goes_away_is_3)
{
	ends_with((struct fake){.script = hang_up}, PATIENT_MS, CTL_EXIT_NO_DAEMON);
}

Test(ctl, a_daemon_that_does_not_reply_is_124)
{
	ends_with((struct fake){.silent = true}, HASTY_MS, CTL_EXIT_TIMEOUT);
	ends_with((struct fake){.script = stay_silent}, HASTY_MS, CTL_EXIT_TIMEOUT);
}

Test(ctl, a_path_that_is_too_long_is_2)
{
	struct query_reply a;
	char path[200];

	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	cr_expect_eq(query_show(path, PATIENT_MS, CTL_QP, &a), CTL_EXIT_USAGE);
}

static bool never(void *arg, const struct ctl_record *rec)
{
	(void)arg;
	(void)rec;
	return false;
}

/* Its hello says minor version 0. */
Test(ctl, an_older_daemon_is_not_asked_for_what_it_does_not_know)
{
	struct fake f = {.script = hang_up};

	start(&f);
	cr_expect_eq(query_watch(f.path, PATIENT_MS, never, NULL), CTL_EXIT_VERSION);
	stop(&f);
	start(&f);
	cr_expect_eq(query_do(f.path, PATIENT_MS, &(struct ctl_do){.verb = CTL_RELOAD}, "reload"),
		     CTL_EXIT_VERSION);
	stop(&f);
}
