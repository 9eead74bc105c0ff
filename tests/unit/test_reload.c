/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reloads of the configuration in a running daemon. This daemon has accounts, a loop and a socket;
 * its transport takes the settings that a reload changes, and does nothing else.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/base/config_value.h"
#include "daemon/base/event_loop.h"
#include "daemon/daemon.h"
#include "daemon/objects/client/client.h"
#include "daemon/reload.h"
#include "daemon/service/server.h"

static struct daemon d;
static struct config next;
static char dir[] = "/tmp/test_reload.XXXXXX";
static char text[65536];
static int out = -1, stderr_copy = -1, manager = -1;

/* What the transport got last. */
static enum llp_cc net_cc;
static unsigned net_rules;

static void set_cc(struct llp *t, enum llp_cc cc, const struct llp_cc_rule *rules, unsigned n)
{
	(void)t;
	net_cc = cc;
	net_rules = n;
	cr_assert(n == 0 || rules[0].cc == LLP_CC_BBR);
}

static int take_files(struct llp *t, const struct llp_cover_files *files, char *ret_reason,
		      size_t len)
{
	(void)t, (void)files, (void)len;
	*ret_reason = '\0';
	return 0;
}

static const struct llp_ops net_ops = {.set_cc = set_cc, .set_cover_files = take_files};
static struct llp net = {.ops = &net_ops};

static bool turn(void *user, uint64_t now_ms)
{
	(void)user;
	(void)now_ms;
	return false;
}

static uint64_t expiry_us(void *user)
{
	(void)user;
	return UINT64_MAX;
}

static bool go_to_sleep(void *user)
{
	(void)user;
	return true;
}

static void awake(void *user)
{
	(void)user;
}

static const struct event_loop_hooks hooks = {
	.turn = turn, .expiry_us = expiry_us, .sleep = go_to_sleep, .awake = awake};

/* The service manager's end of sd_notify(3). */
static void open_manager(void)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(sun);
	char name[sizeof(sun.sun_path) + 1] = "@";

	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(manager, (struct sockaddr *)&sun, sizeof(sa_family_t)), 0);
	cr_assert_eq(getsockname(manager, (struct sockaddr *)&sun, &len), 0);
	memcpy(name + 1, sun.sun_path + 1, len - offsetof(struct sockaddr_un, sun_path) - 1);
	setenv("NOTIFY_SOCKET", name, 1);
}

static void setup(void)
{
	cr_assert(mkdtemp(dir));
	config_default(&next);
	snprintf(next.socket.path, sizeof(next.socket.path), "%s/sock", dir);
	d.cfg = d.said = next;
	snprintf(d.transport, sizeof(d.transport), "user");
	worker_init(&d.worker, &d, 4);
	d.worker.net = &net;
	idtab_init(&d.clients, 10);
	cr_assert_eq(acct_new(&d.cfg.limits, &d.acct), 0);
	cr_assert_eq(event_loop_new(&hooks, &d.worker, d.cfg.polling.budget_us, &d.worker.loop), 0);
	cr_assert_eq(server_open(&d, &d.server), 0);
	unsetenv("NOTIFY_SOCKET");
	out = memfd_create("log", 0);
	stderr_copy = dup(STDERR_FILENO);
	cr_assert_geq(dup2(out, STDERR_FILENO), 0);
}

static void teardown(void)
{
	dup2(stderr_copy, STDERR_FILENO);
	server_close(d.server);
	event_loop_free(d.worker.loop);
	acct_free(d.acct);
	idtab_deinit(&d.clients);
	rmdir(dir);
	if (manager >= 0)
		close(manager);
}

TestSuite(reload, .init = setup, .fini = teardown, .timeout = 30);

static void reload(const struct config *cfg)
{
	reload_begin();
	reload_end(&d, cfg);
}

/* All that was logged until now. */
static const char *logged(void)
{
	ssize_t n = pread(out, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void expect_logged(const char *line)
{
	char want[1024];

	snprintf(want, sizeof(want), "ddpsctpd: %s\n", line);
	cr_expect(strstr(logged(), want), "not logged: %sbut:\n%s", want, text);
}

static mode_t mode_of_socket(void)
{
	struct stat st;

	cr_assert_eq(stat(d.cfg.socket.path, &st), 0);
	return st.st_mode & 07777;
}

/* Another value than the one in effect. */
static void other_value(const struct config_key *k, char ret[64])
{
	uint64_t n = strtoull(k->def, NULL, k->type == CONFIG_TYPE_OCTAL ? 8 : 10);

	switch (k->type) {
	case CONFIG_TYPE_PATH:
		strcpy(ret, "/elsewhere");
		break;
	case CONFIG_TYPE_GROUP:
		strcpy(ret, "root");
		break;
	case CONFIG_TYPE_LISTEN:
		strcpy(ret, "192.0.2.1");
		break;
	case CONFIG_TYPE_RULES:
		strcpy(ret, "10.0.0.0/8 bbr");
		break;
	case CONFIG_TYPE_USERS:
		strcpy(ret, "@7");
		break;
	case CONFIG_TYPE_PORTS:
		strcpy(ret, "7000-7099 0");
		break;
	case CONFIG_TYPE_PEERS:
		strcpy(ret, "10.0.0.0/8 sessions=7");
		break;
	case CONFIG_TYPE_CHOICE:
		strcpy(ret, k->choices[strcmp(k->choices[0], k->def) == 0]);
		break;
	case CONFIG_TYPE_OCTAL:
		snprintf(ret, 64, "%jo", (uintmax_t)(n == k->max ? k->min : k->max));
		break;
	case CONFIG_TYPE_NUMBER:
	case CONFIG_TYPE_SIZE:
		snprintf(ret, 64, "%ju", (uintmax_t)(n == k->max ? k->min : k->max));
		break;
	}
}

static void change(const struct config_key *k, struct config *c)
{
	char value[64], reason[CONFIG_REASON_MAX];

	other_value(k, value);
	cr_assert(config_value_parse_all(k, value, c, reason), "%s", reason);
	cr_assert_not(config_value_same(k, c, &d.said), "%s.%s", k->section, k->name);
}

Test(reload, every_key_takes_effect_as_the_table_says)
{
	const struct config_key *k;

	for (size_t i = 0; (k = config_key_at(i)); i++) {
		struct config before = d.cfg, expected = d.cfg;

		if (k->type == CONFIG_TYPE_GROUP && getuid() != 0)
			continue;
		next = d.said;
		change(k, &next);
		if (k->effect != CONFIG_AT_RESTART)
			config_value_copy(k, &next, &expected);
		log_set_level(LOG_LEVEL_INFO);
		reload(&next);
		cr_expect(memcmp(&d.cfg, &expected, sizeof(expected)) == 0, "%s.%s", k->section,
			  k->name);
		cr_expect(k->effect == CONFIG_AT_RESTART || !config_value_same(k, &before, &d.cfg));
		cr_expect(config_value_same(k, &d.said, &d.cfg), "%s.%s", k->section, k->name);
	}
}

Test(reload, a_change_is_logged_with_both_values)
{
	next.limits.mr_bytes = 1 << 20;
	next.session.answer_ms = 1000;
	next.limits.events = 16;
	reload(&next);
	expect_logged("info: reload: limits.mr_bytes: 1MiB, was 64GiB; at once");
	expect_logged("info: reload: session.answer_ms: 1000, was 30000; for new associations");
	expect_logged("info: reload: limits.events: 16, was 1024; for new programs");
	expect_logged("info: reload: done, values that wait for a restart: 0");
}

Test(reload, keys_that_need_a_restart_keep_their_values_with_a_warning_each_time)
{
	struct config before = d.cfg;

	next.user.udp_port = 4;
	next.nlisten = 1;
	memset(&next.listen[1], 0, sizeof(next.listen[1]));
	for (int i = 0; i < 2; i++) {
		reload(&next);
		expect_logged(
			"warning: reload: user.udp_port: stays 9899: a restart is required for 4");
		expect_logged("warning: reload: listen: stays [127.0.0.1, \"::1\"]: a restart is "
			      "required for [127.0.0.1]");
		expect_logged("info: reload: done, values that wait for a restart: 2");
		cr_expect(memcmp(&d.cfg, &before, sizeof(before)) == 0);
		cr_assert_eq(ftruncate(out, 0), 0);
		lseek(out, 0, SEEK_SET);
	}
	reload(&d.said);
	expect_logged("info: reload: done, values that wait for a restart: 0");
}

/* A free port that the start has chosen is no change of the file. */
Test(reload, values_adjusted_at_start_are_no_change)
{
	d.cfg.user.udp_port = 50000;
	reload(&next);
	expect_logged("info: reload: done, values that wait for a restart: 0");
	cr_expect_eq(d.cfg.user.udp_port, 50000);
}

Test(reload, a_refused_file_changes_nothing)
{
	struct config before = d.cfg;

	reload(NULL);
	expect_logged("error: reload: refused: the configuration is unchanged");
	cr_expect(memcmp(&d.cfg, &before, sizeof(before)) == 0);
	cr_expect(memcmp(&d.said, &before, sizeof(before)) == 0);
}

Test(reload, new_limits_apply_to_new_objects_only)
{
	struct client c = {.daemon = &d, .uid = 7};
	struct acct_charge one = {0}, two = {0};
	char reason[ACCT_REASON_MAX];
	uint32_t handle;

	d.cfg.session.pending_max = next.session.pending_max = 1;
	d.cfg.limits.listeners = next.limits.listeners = 64;
	client_allow(&c);
	cr_assert_eq(idtab_add(&d.clients, &c, &handle), 0);
	cr_assert_eq(acct_charge(d.acct, 7, ACCT_MRS, 5, &one, reason, sizeof(reason)), 0);
	next.limits.mrs = 4;
	reload(&next);
	cr_expect_eq(acct_used(d.acct, 7, ACCT_MRS), 5);
	cr_expect_eq(acct_charge(d.acct, 7, ACCT_MRS, 1, &two, reason, sizeof(reason)),
		     ACCT_E_LIMIT);
	cr_expect_eq(c.handles.mrs.max, 16384, "handles that are there stay");
	next.limits.mrs = 20000;
	reload(&next);
	cr_expect_eq(acct_charge(d.acct, 7, ACCT_MRS, 1, &two, reason, sizeof(reason)), ACCT_E_OK);
	cr_expect_eq(c.handles.mrs.max, 20000, "programs that are there have room for more");
	next.session.pending_max = 1000;
	reload(&next);
	cr_expect_eq(c.handles.requests.max, 64 * 1000, "and for more session requests");
	acct_release(&one);
	acct_release(&two);
	idtab_del(&d.clients, handle);
}

Test(reload, the_log_level_is_that_of_the_file)
{
	next.log.level = LOG_LEVEL_WARN;
	reload(&next);
	log_info("quiet");
	cr_expect_not(strstr(logged(), "quiet"));
	next.log.level = LOG_LEVEL_DEBUG;
	reload(&next);
	expect_logged("info: reload: log.level: debug, was warning; at once");
	log_debug("loud");
	expect_logged("debug: loud");
}

Test(reload, the_transport_gets_its_congestion_control)
{
	const struct config_key *k = config_key_find("user", "congestion_control_for");
	char reason[CONFIG_REASON_MAX];

	next.user.congestion_control = LLP_CC_BBR;
	reload(&next);
	cr_expect_eq(net_cc, LLP_CC_BBR);
	expect_logged(
		"info: reload: user.congestion_control: bbr, was cubic; for new associations");
	cr_assert(config_value_parse_all(k, "10.0.0.0/8 bbr, ::/0 cubic", &next, reason));
	reload(&next);
	cr_expect_eq(net_rules, 2);
	expect_logged("info: reload: user.congestion_control_for: [\"10.0.0.0/8 bbr\", "
		      "\"::/0 cubic\"], was []; for new associations");
}

Test(reload, the_loop_polls_as_long_as_the_file_says)
{
	next.polling.budget_us = 0;
	reload(&next);
	cr_expect_eq(event_loop_poll_us(d.worker.loop), 0);
}

Test(reload, the_socket_gets_its_mode)
{
	cr_assert_eq(mode_of_socket(), 0660);
	next.socket.mode = 0600;
	reload(&next);
	cr_expect_eq(mode_of_socket(), 0600);
}

Test(reload, a_socket_that_cannot_be_changed_leaves_its_keys_as_they_were)
{
	next.socket.mode = 0600;
	cr_assert_eq(unlink(d.cfg.socket.path), 0);
	reload(&next);
	cr_expect(strstr(logged(), "cannot set its group"), "%s", text);
	expect_logged("warning: reload: socket.mode: stays 0660: cannot be changed to 0600");
	cr_expect_eq(d.cfg.socket.mode, 0660);
	cr_expect_eq(d.said.socket.mode, 0660, "so that the next reload tries again");
}

static void expect_notified(const char *want)
{
	char got[512];
	ssize_t n = recv(manager, got, sizeof(got) - 1, MSG_DONTWAIT);

	cr_assert_gt(n, 0, "%s", want);
	got[n] = '\0';
	cr_expect(strncmp(got, want, strlen(want)) == 0, "%s, not %s", got, want);
}

Test(reload, the_service_manager_is_notified)
{
#ifndef HAVE_LIBSYSTEMD
	cr_skip_test("built without libsystemd");
#endif
	open_manager();
	next.user.udp_port = 4;
	reload(&next);
	expect_notified("RELOADING=1\nMONOTONIC_USEC=");
	expect_notified("STATUS=clients at /tmp/test_reload.");
	expect_notified("READY=1");
	reload(NULL);
	expect_notified("RELOADING=1\nMONOTONIC_USEC=");
	expect_notified("STATUS=clients at ");
	expect_notified("READY=1");
}

/* The file does not have that rule, so it is no error there. */
Test(reload, a_certificate_that_a_rule_of_ddpctl_demands_stays)
{
	const struct config_key *k = config_key_find("peers", "rules");
	char reason[CONFIG_REASON_MAX];
	struct config set;

	next.security.udp_port = 9900;
	strcpy(next.security.certificate, "/c");
	strcpy(next.security.key, "/k");
	set = d.cfg = d.said = next;
	cr_assert(config_value_parse_all(k, "10.0.0.0/8 security=require", &set, reason));
	cr_assert_eq(reload_change(&d, k, &set), 0);
	next.security.certificate[0] = next.security.key[0] = '\0';
	reload(&next);
	expect_logged("error: reload: security: rule 10.0.0.0/8 of peers.rules needs a certificate "
		      "of this host (security.certificate)");
	cr_expect_str_eq(d.cfg.security.certificate, "/c");
	cr_expect_str_eq(d.cfg.security.key, "/k");
}
