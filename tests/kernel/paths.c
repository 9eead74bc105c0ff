/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths of the transport `kernel`: one by default, several by list, which fail and recover; and
 * SCTP over UDP. The remote side is in a network namespace of its own, behind two links.
 */
#include "tests/kernel/rig.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/addr.h"

static struct llp *a, *b;
static struct rig_side one, two;
static int near, far;

/* ---- two hosts ---- */

static void make_hosts(void)
{
	rig_shell(
		"ip link set lo up; ip netns add far && ip -n far link set lo up; for i in 1 2; do "
		"ip link add near$i type veth peer name far$i && ip link set far$i netns far && "
		"ip addr add 10.0.$i.1/24 dev near$i && ip -n far addr add 10.0.$i.2/24 dev far$i "
		"&& "
		"ip link set near$i up && ip -n far link set far$i up || exit 1; done");
	near = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	far = open("/run/netns/far", O_RDONLY | O_CLOEXEC);
	CHECK(near >= 0 && far >= 0);
}

static void enter(int ns)
{
	CHECK(setns(ns, CLONE_NEWNET) == 0);
}

static void begin(const char *near_addrs, const char *far_addrs, void (*fn)(struct llp_config *cfg))
{
	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	two.shuffled = true;
	a = rig_open(near_addrs, fn);
	enter(far);
	b = rig_open(far_addrs, fn);
	enter(near);
}

static struct llp_addrs list(const char *text, struct sockaddr_storage ret[LLP_MAX_ADDRS])
{
	char words[256], *save = NULL;
	unsigned n = 0;

	snprintf(words, sizeof(words), "%s", text);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		rig_address(w, 0, &ret[n++]);
	return (struct llp_addrs){ret, n};
}

static void listen_remote(const char *at)
{
	struct sockaddr_storage addrs[LLP_MAX_ADDRS];
	struct llp_addrs l = list(at, addrs);
	struct llp_listener *ret;

	enter(far);
	CHECK(llp_listen_at(b, &l, RIG_PORT, &two, &ret) == 0);
	enter(near);
}

static void connect_to(const char *peer, const char *from)
{
	struct sockaddr_storage to[LLP_MAX_ADDRS], ours[LLP_MAX_ADDRS];
	struct llp_addrs p = list(peer, to), f = list(from, ours);

	CHECK(llp_connect_at(a, &p, RIG_PORT, &f, 0, &one, &one.c) == 0);
	rig_until(&one.up, 1);
	rig_until(&two.incoming, 1);
}

/* Two paths: lists of addresses at both ends. */
static void begin_two(void)
{
	begin("10.0.1.1 10.0.2.1", "10.0.1.2 10.0.2.2", NULL);
	listen_remote("10.0.1.2 10.0.2.2");
	connect_to("10.0.1.2 10.0.2.2", "10.0.1.1 10.0.2.1");
}

static void end(const char *promise)
{
	printf("kept: %s\n", promise);
	rig_close_all();
}

/* ---- paths as the transport shows them ---- */

static unsigned paths_of(const struct rig_side *s, struct llp_path ret[LLP_MAX_PATHS])
{
	return llp_paths(s->c, ret);
}

static bool is_at(const struct llp_path *p, const char *text)
{
	struct sockaddr_storage want;

	rig_address(text, 0, &want);
	return addr_same_host(&p->remote, &want);
}

static const struct llp_path *path_to(const struct rig_side *s, const char *text)
{
	static struct llp_path p[LLP_MAX_PATHS];
	unsigned n = paths_of(s, p);

	for (unsigned i = 0; i < n; i++)
		if (is_at(&p[i], text))
			return &p[i];
	CHECK(!"a path to this address");
	return NULL;
}

/* Sends small messages until a path is in a state. */
static void until_state(const char *text, enum llp_path_state state)
{
	static unsigned tries;

	for (tries = 0; path_to(&one, text)->state != state; tries++) {
		CHECK(tries < 2000 && !one.down && !two.down);
		rig_send_all(&one, 0, 1000, two.msgs);
		rig_until(&two.msgs, two.msgs + 1);
		rig_settle();
	}
}

static void until_reported(const struct rig_side *s, const char *line)
{
	while (!strstr(s->path_log, line))
		rig_until(&s->paths, s->paths + 1);
}

static int set_primary(const char *text)
{
	struct sockaddr_storage to;

	rig_address(text, 0, &to);
	return llp_set_primary(one.c, (struct sockaddr *)&to);
}

/* ---- promises ---- */

static void one_address_by_default(void)
{
	struct llp_path p[LLP_MAX_PATHS];
	struct sockaddr_storage to;
	struct sockaddr *got;
	struct llp_info info;
	int fd;

	begin("10.0.1.1 10.0.2.1", "10.0.1.2 10.0.2.2", NULL);
	listen_remote("");
	connect_to("10.0.2.2", "");
	CHECK(paths_of(&one, p) == 1 && is_at(p, "10.0.2.2") && p->primary);
	CHECK(p->state == LLP_PATH_ACTIVE && p->mtu == 1500 && p->rto_ms > 0 && p->cwnd > 0);
	CHECK(paths_of(&two, p) == 1 && is_at(p, "10.0.2.1"));
	llp_info(one.c, &info);
	rig_address("10.0.2.1", 0, &to);
	CHECK(addr_same_host(&info.local, &to));
	/* The addresses in the INIT ACK, as a third host sees them. */
	fd = rig_raw_connect("10.0.1.1", 0, "10.0.1.2", 1);
	CHECK(sctp_getpaddrs(fd, 0, &got) == 1);
	rig_address("10.0.1.2", RIG_PORT, &to);
	CHECK(memcmp(got, &to, addr_len(&to)) == 0);
	sctp_freepaddrs(got);
	close(fd);
	CHECK(one.paths == 0);
	end("without lists an association has one address at each end");
}

static void several_by_list(void)
{
	struct llp_path p[LLP_MAX_PATHS];

	begin_two();
	CHECK(paths_of(&one, p) == 2 && paths_of(&two, p) == 2);
	until_state("10.0.2.2", LLP_PATH_ACTIVE);
	CHECK(paths_of(&one, p) == 2 && p[0].primary && !p[1].primary);
	CHECK(is_at(&p[0], "10.0.1.2") && is_at(&p[1], "10.0.2.2"));
	CHECK(addr_port(&p[0].remote) == RIG_PORT && addr_port(&p[1].remote) == RIG_PORT);
	/* The connecting side knows the addresses, the other side has to confirm them. */
	until_reported(&two, "10.0.2.1 was confirmed\n");
	end("lists at both ends make two paths, of which the first is the primary one");
}

static void primary_by_choice(void)
{
	struct llp_path p[LLP_MAX_PATHS];

	begin_two();
	CHECK(set_primary("10.0.9.9") == -ENOENT);
	until_state("10.0.2.2", LLP_PATH_ACTIVE);
	CHECK(set_primary("10.0.2.2") == 0);
	until_reported(&one, "10.0.2.2 is the primary path now, primary\n");
	CHECK(paths_of(&one, p) == 2 && is_at(&p[0], "10.0.2.2") && p[0].primary);
	rig_shell("ip link set near1 down");
	until_state("10.0.1.2", LLP_PATH_INACTIVE);
	CHECK(set_primary("10.0.1.2") == -EHOSTDOWN);
	rig_shell("ip link set near1 up");
	llp_abort(one.c, "done");
	CHECK(set_primary("10.0.1.2") == -ENOTCONN);
	end("an active path can be made the primary one");
}

/* The primary path fails during a transfer, and recovers. */
static void failure(void)
{
	begin_two();
	until_state("10.0.2.2", LLP_PATH_ACTIVE);
	for (unsigned i = 0, n = two.msgs; i < 3000; i++) {
		rig_send_all(&one, 0, 1400, n + i);
		if (i == 1000)
			rig_shell("ip link set near1 down");
	}
	rig_until(&two.msgs, 3000);
	rig_until(&one.acked, 1);
	until_state("10.0.1.2", LLP_PATH_INACTIVE);
	until_reported(&one, "10.0.1.2 does not answer any more, primary\n");
	CHECK(one.down == 0 && two.down == 0);
	rig_shell("ip link set near1 up");
	until_state("10.0.1.2", LLP_PATH_ACTIVE);
	until_reported(&one, "10.0.1.2 answers again, primary\n");
	end("a failing path loses no message and no association, and recovers");
}

static void all_paths_fail(void)
{
	begin_two();
	until_state("10.0.2.2", LLP_PATH_ACTIVE);
	rig_shell("ip link set near1 down; ip link set near2 down");
	rig_send_all(&one, 0, 1000, two.msgs);
	rig_until(&one.down, 1);
	CHECK(one.err == ETIMEDOUT);
	rig_until(&two.down, 1);
	CHECK(two.err == ETIMEDOUT);
	rig_shell("ip link set near1 up; ip link set near2 up");
	end("when all paths fail, it is reported to both sides");
}

/* Linux does not announce a private IPv4 address to a peer at a global one, and treats fd00:: as
 * global. */
static void families(void)
{
	struct llp_path p[LLP_MAX_PATHS];

	/* A link that went down has lost its IPv6 addresses. */
	rig_shell("ip addr add fd00:1::1/64 dev near1 nodad && "
		  "ip -n far addr add fd00:1::2/64 dev far1 nodad && "
		  "ip addr add 192.0.2.1/24 dev near2 && ip -n far addr add 192.0.2.2/24 dev far2");
	begin("fd00:1::1 192.0.2.1", "fd00:1::2 192.0.2.2", NULL);
	listen_remote("fd00:1::2 192.0.2.2");
	connect_to("fd00:1::2 192.0.2.2", "fd00:1::1 192.0.2.1");
	CHECK(paths_of(&one, p) == 2 && is_at(&p[0], "fd00:1::2") && is_at(&p[1], "192.0.2.2"));
	CHECK(paths_of(&two, p) == 2);
	until_state("192.0.2.2", LLP_PATH_ACTIVE);
	CHECK(set_primary("192.0.2.2") == 0);
	rig_send_all(&one, 0, 1000, two.msgs);
	rig_until(&two.msgs, two.msgs + 1);
	end("an association may have IPv6 and IPv4 addresses");
}

/* ---- SCTP over UDP ---- */

static void tunnel(struct llp_config *cfg)
{
	cfg->udp_port = 9899;
}

static void over_udp(void)
{
	struct llp_config cfg = {.streams = 1, .adaptation = 1, .buffer = 1 << 20};
	struct sockaddr_storage addr;
	struct llp_info plain, info;
	char reason[256];
	struct llp *t;

	rig_address("10.0.1.1", 0, &addr);
	cfg.addrs = &addr;
	cfg.naddrs = 1;
	cfg.udp_port = 9899;
	CHECK(llp_kernel_open(&cfg, NULL, &t, reason, sizeof(reason)) == -EOPNOTSUPP);
	CHECK(strcmp(reason, "UDP port 9899: the kernel receives at port 0; set the sysctl "
			     "net.sctp.udp_port to 9899") == 0);
	begin("10.0.1.1", "10.0.1.2", NULL);
	listen_remote("");
	connect_to("10.0.1.2", "");
	llp_info(one.c, &plain);
	rig_close_all();

	rig_shell("sysctl -qw net.sctp.udp_port=9899; "
		  "ip netns exec far sysctl -qw net.sctp.udp_port=9899");
	begin("10.0.1.1", "10.0.1.2", tunnel);
	listen_remote("");
	connect_to("10.0.1.2", "");
	llp_info(one.c, &info);
	CHECK(plain.remote_udp_port == 0 && info.remote_udp_port == 9899);
	CHECK(info.max_message == plain.max_message - 8);
	for (unsigned i = 0; i < 100; i++)
		rig_send_all(&one, 0, info.max_message, i);
	rig_until(&two.msgs, 100);
	rig_shell(
		"sysctl -qw net.sctp.udp_port=0; ip netns exec far sysctl -qw net.sctp.udp_port=0");
	end("SCTP over UDP works if the namespace receives it");
}

/* ---- without privileges ---- */

static int open_unprivileged(void)
{
	struct sockaddr_storage addr;
	struct llp_config cfg = {.addrs = &addr,
				 .naddrs = 1,
				 .streams = 1,
				 .adaptation = 1,
				 .buffer = 64 << 20,
				 .path_max_retrans = 1};
	struct llp *t;
	char reason[256] = "";

	rig_address("10.0.1.1", 0, &addr);
	if (setresuid(65534, 65534, 65534) ||
	    llp_kernel_open(&cfg, NULL, &t, reason, sizeof(reason)))
		return 1;
	llp_close(t);
	return strstr(reason, "net.core.rmem_max") && strstr(reason, "67108864") ? 0 : 2;
}

static void smaller_buffers_are_logged(void)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(open_unprivileged());
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	end("buffers that are smaller than requested cause a warning");
}

int main(void)
{
	make_hosts();
	one_address_by_default();
	several_by_list();
	primary_by_choice();
	failure();
	all_paths_fail();
	families();
	over_udp();
	smaller_buffers_are_logged();
	printf("paths: all promises were kept\n");
	return 0;
}
