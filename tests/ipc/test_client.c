/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening, requests and their failures, attribute structs: the library against a fake daemon. */
#include <criterion/criterion.h>
#include <ddp/ddp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc/local_protocol.h"
#include "tests/ipc/fake.h"

static struct fake fake;
static struct ddp_ctx *ctx;
static struct ddp_pd *pd;
static struct ddp_mr
	*mr; /* reachable after a test, so that only leaks of the library are reported */
static struct ddp_pd *other;
static struct ddp_cq *cq;

static void start(void)
{
	fake_start(&fake);
}

static void start_open(void)
{
	fake_start(&fake);
	cr_assert_eq(ddp_open(NULL, &ctx), 0, "%s", ddp_last_reason());
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), 0);
}

static void stop(void)
{
	fake_stop(&fake);
}

static bool reason_has(const char *part)
{
	if (strstr(ddp_last_reason(), part))
		return true;
	fprintf(stderr, "reason is: %s\n", ddp_last_reason());
	return false;
}

static unsigned open_fds(void)
{
	unsigned n = 0;
	DIR *d = opendir("/proc/self/fd");

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* ---- opening ---- */

TestSuite(open, .init = start, .fini = stop, .timeout = 20);

Test(open, hello_has_the_version_and_the_name_of_the_program)
{
	cr_assert_eq(ddp_open(NULL, &ctx), 0);
	cr_assert_eq(fake.hello.major, IPC_VERSION_MAJOR);
	cr_assert_eq(fake.hello.minor, IPC_VERSION_MINOR);
	cr_assert_gt(strlen(fake.hello.comm), 0);
	cr_assert_eq(ddp_close(ctx), 0);
}

Test(open, closing_leaves_no_descriptor)
{
	unsigned before = open_fds();

	cr_assert_eq(ddp_open(NULL, &ctx), 0);
	cr_assert_eq(ddp_close(ctx), 0);
	fake_die(&fake);
	cr_assert_eq(open_fds(), before - 1, "but the fake daemon's listening socket");
}

Test(open, the_socket_of_the_attributes_comes_before_that_of_the_environment)
{
	struct ddp_open_attr attr = DDP_INIT(ddp_open_attr);

	setenv("DDP_SOCKET", "/nowhere", 1);
	attr.socket = fake.path;
	cr_assert_eq(ddp_open(&attr, &ctx), 0);
}

Test(open, without_a_daemon_the_reason_names_the_path)
{
	setenv("DDP_SOCKET", "/nowhere/at/all", 1);
	cr_assert_eq(ddp_open(NULL, &ctx), -ENOENT);
	cr_assert(reason_has("/nowhere/at/all"));
	setenv("DDP_SOCKET", fake.path, 1);
	fake_die(&fake);
	cr_assert_eq(ddp_open(NULL, &ctx), -ECONNREFUSED);
	cr_assert(reason_has(fake.path));
}

/* The kernel connects; nobody accepts. */
Test(open, a_daemon_that_does_not_answer_is_given_up)
{
	struct ddp_open_attr attr = {.struct_size = sizeof(attr), .timeout_ms = 20};
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	snprintf(sun.sun_path, sizeof(sun.sun_path), "/tmp/unanswered.%d", (int)getpid());
	attr.socket = sun.sun_path;
	cr_assert_eq(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	cr_assert_eq(listen(fd, 4), 0);
	cr_assert_eq(ddp_open(&attr, &ctx), -ETIMEDOUT, "%s", ddp_last_reason());
	cr_assert(reason_has("does not answer within 20 ms"));
	unlink(sun.sun_path);
	close(fd);
}

Test(open, a_path_that_is_too_long_is_an_error)
{
	char path[200];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	setenv("DDP_SOCKET", path, 1);
	cr_assert_eq(ddp_open(NULL, &ctx), -ENAMETOOLONG);
}

Test(open, without_permission_it_names_the_group)
{
	cr_assert_eq(chmod(fake.path, 0), 0);
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65534), 0);
	cr_assert_eq(ddp_open(NULL, &ctx), -EACCES);
	cr_assert(reason_has("is not in group"));
	if (geteuid() != getuid())
		cr_assert_eq(seteuid(getuid()), 0);
}

static void other_version(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->hello.major = IPC_VERSION_MAJOR + 1;
	r->hello.minor = 3;
}

Test(open, another_major_version_is_a_protocol_error_that_names_both)
{
	unsigned before = open_fds();
	char daemon[32], library[32];

	snprintf(daemon, sizeof(daemon), "version %d.3", IPC_VERSION_MAJOR + 1);
	snprintf(library, sizeof(library), "library %d.%d", IPC_VERSION_MAJOR, IPC_VERSION_MINOR);
	fake.script = other_version;
	cr_assert_eq(ddp_open(NULL, &ctx), -EPROTO);
	cr_assert(reason_has(daemon));
	cr_assert(reason_has(library));
	fake_die(&fake);
	cr_assert_eq(open_fds(), before - 1);
}

static void refuse_version(struct fake *f, struct fake_reply *r)
{
	(void)f;
	fake_refuse(r, EPROTO, "unsupported version 1");
}

Test(open, a_daemon_that_refuses_the_version_is_quoted)
{
	fake.script = refuse_version;
	cr_assert_eq(ddp_open(NULL, &ctx), -EPROTO);
	cr_assert(reason_has("unsupported version 1"));
}

static void too_few_fds(struct fake *f, struct fake_reply *r)
{
	(void)f;
	close(r->fds[--r->nfds]);
}

static void short_page(struct fake *f, struct fake_reply *r)
{
	void *map;

	(void)f;
	close(r->fds[1]);
	cr_assert_eq(memfd_create_mapped("short", 100, &r->fds[1], &map), 0);
}

Test(open, an_incomplete_hello_is_a_protocol_error)
{
	unsigned before = open_fds();

	fake.script = too_few_fds;
	cr_assert_eq(ddp_open(NULL, &ctx), -EPROTO);
	fake_stop(&fake);
	fake_start(&fake);
	fake.script = short_page;
	cr_assert_eq(ddp_open(NULL, &ctx), -EPROTO);
	cr_assert(reason_has("it ends before the range"));
	fake_die(&fake);
	cr_assert_eq(open_fds(), before - 1);
}

/* ---- requests ---- */

TestSuite(request, .init = start_open, .fini = stop, .timeout = 20);

static void refuse(struct fake *f, struct fake_reply *r)
{
	(void)f;
	fake_refuse(r, EDQUOT, "protection domain: user 1000 has 16 of at most 16");
}

Test(request, a_refusal_gives_errno_and_reason)
{
	other = (void *)&fake;
	fake.script = refuse;
	cr_assert_eq(ddp_alloc_pd(ctx, &other), -EDQUOT);
	cr_assert_str_eq(ddp_last_reason(),
			 "ddp_alloc_pd: protection domain: user 1000 has 16 of at most 16");
	cr_assert_eq(other, (void *)&fake, "untouched on failure");
	fake.script = NULL;
	cr_assert_eq(ddp_alloc_pd(ctx, &other), 0, "the connection continues");
}

static void unterminated(struct fake *f, struct fake_reply *r)
{
	(void)f;
	fake_refuse(r, EINVAL, "");
	memset(r->error.reason, 'x', MSG_REASON_MAX);
}

Test(request, an_unterminated_reason_is_terminated)
{
	fake.script = unterminated;
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), -EINVAL);
	cr_assert_lt(strlen(ddp_last_reason()), MSG_REASON_MAX + 16);
}

static void *fail_elsewhere(void *arg)
{
	(void)arg;
	cr_assert_str_eq(ddp_last_reason(), "");
	ddp_dealloc_pd(NULL);
	ddp_open(&(struct ddp_open_attr){0}, &ctx);
	cr_assert(reason_has("struct_size"));
	return NULL;
}

Test(request, each_thread_has_its_own_reason)
{
	pthread_t t;

	fake.script = refuse;
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), -EDQUOT);
	pthread_create(&t, NULL, fail_elsewhere, NULL);
	pthread_join(t, NULL);
	cr_assert(reason_has("16 of at most 16"));
}

static void wrong_seq(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->hdr.seq++;
}

static void wrong_op(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->hdr.op = MSG_QUERY;
}

static void wrong_size(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->len -= 4;
}

static void tiny(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->len = 3;
}

static void unasked_fd(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->fds[r->nfds++] = dup(0);
}

static void no_errno(struct fake *f, struct fake_reply *r)
{
	(void)f;
	fake_refuse(r, 0, "refused without an error");
}

static void negative_errno(struct fake *f, struct fake_reply *r)
{
	(void)f;
	fake_refuse(r, -EINVAL, "twice negative");
}

static void short_error(struct fake *f, struct fake_reply *r)
{
	(void)f;
	fake_refuse(r, EINVAL, "");
	r->len -= 8;
}

Test(request, an_invalid_reply_is_a_protocol_error_and_ends_the_connection)
{
	void (*const scripts[])(struct fake *, struct fake_reply *) = {
		wrong_seq,  wrong_op, wrong_size,     tiny,
		unasked_fd, no_errno, negative_errno, short_error,
	};

	for (unsigned i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		struct ddp_cm_event *ev;
		struct ddp_pd *none;

		fake.script = scripts[i];
		cr_assert_eq(ddp_alloc_pd(ctx, &none), -EPROTO, "script %u", i);
		cr_assert_eq(ddp_alloc_pd(ctx, &none), -EPIPE, "script %u", i);
		cr_assert_eq(ddp_get_cm_event(ctx, &ev, -1), -EPIPE, "script %u", i);
		cr_assert_eq(ddp_dealloc_pd(pd), 0);
		cr_assert_eq(ddp_close(ctx), 0);
		fake_stop(&fake);
		fake.script = NULL;
		start_open();
	}
}

Test(request, unexpected_descriptors_are_closed)
{
	unsigned before = open_fds();
	struct ddp_pd *none;

	fake.script = unasked_fd;
	cr_assert_eq(ddp_alloc_pd(ctx, &none), -EPROTO);
	fake_die(&fake);
	cr_assert_leq(open_fds(), before);
}

static void die(struct fake *f, struct fake_reply *r)
{
	(void)f;
	r->silent = true;
}

Test(request, a_daemon_that_dies_before_it_answers_is_a_broken_pipe)
{
	fake.script = die;
	cr_assert_eq(ddp_alloc_pd(ctx, &pd), -EPIPE);
	cr_assert(reason_has("ddp_alloc_pd: the daemon has ended"));
}

Test(request, after_the_daemon_died_everything_can_be_freed)
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 8};
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_id *id, *listener;
	struct ddp_qp *qp;

	cr_assert_eq(ddp_alloc_mr(pd, 100, 1, &mr), 0);
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), 0);
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	cr_assert_eq(ddp_create_id(ctx, NULL, &listener), 0);
	cr_assert_eq(ddp_listen(listener, NULL, 5043, 0), 0);
	init.send_cq = init.recv_cq = cq;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &qp), 0);
	fake_die(&fake);
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	cr_assert_eq(ddp_destroy_id(id), 0);
	cr_assert_eq(ddp_destroy_id(listener), 0);
	cr_assert_eq(ddp_destroy_cq(cq), 0);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), 0);
	cr_assert_eq(ddp_close(ctx), 0);
}

Test(request, objects_in_use_are_busy)
{
	struct ddp_cq_attr attr = {.struct_size = sizeof(attr), .entries = 8};
	struct ddp_qp_init init = DDP_INIT(ddp_qp_init);
	struct ddp_id *id;
	struct ddp_qp *qp;

	cr_assert_eq(ddp_close(ctx), -EBUSY);
	cr_assert_eq(ddp_alloc_mr(pd, 100, 1, &mr), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), -EBUSY);
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), 0);
	cr_assert_eq(ddp_create_id(ctx, NULL, &id), 0);
	init.send_cq = init.recv_cq = cq;
	cr_assert_eq(ddp_create_qp(id, pd, &init, &qp), 0);
	cr_assert_eq(ddp_dereg_mr(mr), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), -EBUSY);
	cr_assert_eq(ddp_destroy_cq(cq), -EBUSY);
	cr_assert_eq(ddp_destroy_id(id), -EBUSY);
	cr_assert_eq(ddp_destroy_qp(qp), 0);
	cr_assert_eq(ddp_destroy_cq(cq), 0);
	cr_assert_eq(ddp_dealloc_pd(pd), 0);
	cr_assert_eq(ddp_close(ctx), -EBUSY, "the id is left");
	cr_assert_eq(ddp_destroy_id(id), 0);
	cr_assert_eq(ddp_close(ctx), 0);
}

Test(request, nothing_is_freed_when_the_daemon_refuses)
{
	fake.script = refuse;
	cr_assert_eq(ddp_dealloc_pd(pd), -EDQUOT);
	fake.script = NULL;
	cr_assert_eq(ddp_dealloc_pd(pd), 0);
}

Test(request, destroying_nothing_is_fine)
{
	cr_assert_eq(ddp_dealloc_pd(NULL), 0);
	cr_assert_eq(ddp_dereg_mr(NULL), 0);
	cr_assert_eq(ddp_destroy_cq(NULL), 0);
	cr_assert_eq(ddp_destroy_qp(NULL), 0);
	cr_assert_eq(ddp_destroy_id(NULL), 0);
	cr_assert_eq(ddp_close(NULL), 0);
	ddp_ack_cm_event(NULL);
}

/* ---- attribute structs ---- */

TestSuite(attr, .init = start_open, .fini = stop, .timeout = 20);
TestSuite(attr_older, .init = start, .fini = stop, .timeout = 20);

Test(attr, a_size_that_was_not_set_is_refused)
{
	struct ddp_cq_attr attr = {.entries = 8};
	struct ddp_caps caps = {.struct_size = 0};

	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), -EINVAL);
	cr_assert(reason_has("struct_size is 0"));
	attr.struct_size = 3;
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), -EINVAL);
	attr.struct_size = (size_t)-1;
	cr_assert_eq(ddp_create_cq(ctx, &attr, &cq), -EINVAL);
	cr_assert_eq(ddp_query(ctx, &caps), -EINVAL);
}

Test(attr, members_that_an_older_program_does_not_have_are_0)
{
	struct {
		size_t struct_size;
		uint32_t entries;
		int32_t not_ours;
	} old = {offsetof(struct ddp_cq_attr, spin_us), 8, 123456789};

	cr_assert_eq(ddp_create_cq(ctx, (struct ddp_cq_attr *)&old, &cq), 0);
	cr_assert_eq(fake_last(&fake, MSG_CREATE_CQ)->create_cq.entries, 8);
}

Test(attr, unknown_members_of_a_newer_program_may_be_0)
{
	struct {
		struct ddp_cq_attr known;
		uint64_t later;
	} new = {{.struct_size = sizeof(new), .entries = 8}, 0};

	cr_assert_eq(ddp_create_cq(ctx, &new.known, &cq), 0);
	new.later = 1;
	cr_assert_eq(ddp_create_cq(ctx, &new.known, &cq), -E2BIG);
}

Test(attr, results_are_cut_for_an_older_program)
{
	struct ddp_caps caps;

	memset(&caps, 0xaa, sizeof(caps));
	caps.struct_size = offsetof(struct ddp_caps, max_cq);
	cr_assert_eq(ddp_query(ctx, &caps), 0);
	cr_assert_eq(caps.struct_size, offsetof(struct ddp_caps, max_cq));
	cr_assert_eq(caps.max_qp, 11);
	cr_assert_eq(caps.max_cq, 0xaaaaaaaa, "after its end");
}

/* A daemon of minor version 10. */
static void without_cpu(struct fake *f, struct fake_reply *r)
{
	(void)f;
	if (r->hdr.op == MSG_HELLO)
		r->hello.minor = IPC_MINOR_CPU - 1;
	else if (r->hdr.op == MSG_QUERY)
		r->len = offsetof(struct msg_caps, cpu_user_us);
}

Test(attr_older, an_older_daemon_does_not_say_its_cpu_time)
{
	struct ddp_caps caps = DDP_INIT(ddp_caps);

	fake.script = without_cpu;
	cr_assert_eq(ddp_open(NULL, &ctx), 0);
	memset(&caps.cpu_user_us, 0xaa, sizeof(caps.cpu_user_us));
	cr_assert_eq(ddp_query(ctx, &caps), 0);
	cr_assert_eq(caps.max_raw_queues, 15);
	cr_assert_eq(caps.cpu_user_us, 0);
}

Test(attr, unknown_results_are_0_for_a_newer_program)
{
	struct {
		struct ddp_caps known;
		uint64_t later;
	} new;

	memset(&new, 0xaa, sizeof(new));
	new.known.struct_size = sizeof(new);
	cr_assert_eq(ddp_query(ctx, &new.known), 0);
	cr_assert_eq(new.known.retransmits, 12);
	cr_assert_eq(new.later, 0);
	cr_assert_eq(strlen(new.known.transport), sizeof(new.known.transport) - 1, "ended");
}
