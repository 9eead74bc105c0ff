/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/config.h"
#include "daemon/base/config_value.h"

#define TOP TEST_DATA_DIR "/../.."
#define SHIPPED TOP "/etc/ddpsctpd.yaml"
#define MANUAL TOP "/man/ddpsctpd.yaml.5"

static char path[] = "/tmp/test_config.XXXXXX";
static char err[CONFIG_ERR_MAX];

static void setup(void)
{
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

TestSuite(config, .init = setup, .fini = teardown);

static void write_file(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	cr_assert_eq(fwrite(text, 1, len, f), len);
	cr_assert_eq(fclose(f), 0);
}

static int load(const char *text, struct config *ret)
{
	write_file(text, strlen(text));
	err[0] = '\0';
	return config_load(path, ret, err, sizeof(err));
}

static void load_well(const char *text, struct config *ret)
{
	cr_assert_eq(load(text, ret), 0, "%s", err);
}

static bool same(const struct config *a, const struct config *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* The whole file, NUL-terminated; freed by the caller. */
static char *read_all(const char *name)
{
	FILE *f = fopen(name, "r");
	char *text = calloc(1, 1 << 17);

	cr_assert(f && text, "%s", name);
	cr_assert_lt(fread(text, 1, 1 << 17, f), (size_t)1 << 17);
	fclose(f);
	return text;
}

/* ---- good files ---- */

/* rows: 5043-7.1-02 */
Test(config, defaults_are_what_the_table_says)
{
	struct config c;

	config_default(&c);
	cr_expect_str_eq(c.socket.path, "/run/ddpsctpd/ddp.sock");
	cr_expect_eq(c.socket.mode, 0660);
	cr_expect_eq(c.socket.gid, (gid_t)-1);
	cr_expect_eq(c.transport, CONFIG_TRANSPORT_USER);
	cr_expect_eq(c.nlisten, 2);
	cr_expect_str_eq(c.listen[0], "127.0.0.1");
	cr_expect_str_eq(c.listen[1], "::1");
	cr_expect_eq(c.loopback, CONFIG_ON);
	cr_expect_eq(c.user.udp_port, 9899);
	cr_expect_eq(c.user.buffer, 64 << 20);
	cr_expect_eq(c.user.congestion_control, LLP_CC_CUBIC);
	cr_expect_eq(c.user.ncc_rules, 0);
	cr_expect_eq(c.limits.mr_bytes, UINT64_C(64) << 30);
	cr_expect_eq(c.log.level, LOG_LEVEL_INFO);
	cr_expect_eq(c.sctp.adaptation, 1);
	cr_expect_eq(c.session.enhanced, CONFIG_ON);
	cr_expect_eq(c.session.extensions, CONFIG_ON);
	cr_expect_eq(c.limits.srqs, 1024);
	cr_expect_eq(c.limits.mws, 16384);
}

Test(config, an_empty_file_means_the_defaults)
{
	static const char *const empty[] = {"", "# nothing\n", "---\n", "socket:\nlimits:\n", "{}"};
	struct config c, def;

	config_default(&def);
	for (unsigned i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		load_well(empty[i], &c);
		cr_expect(same(&c, &def), "%s", empty[i]);
	}
}

static const char other[] =
	"transport: user\n"
	"listen: [192.0.2.1, \"2001:db8::1\", \"fe80::1%eth0\", any, eth0, br-1.7@x, h1.example]\n"
	"loopback: off\n"
	"socket: {path: \"/tmp/a \\\"b\\\"\\\\ \\x01\u00e9\", mode: 0600, group: root}\n"
	"user:\n"
	"  udp_port: 19899\n"
	"  gso: off\n"
	"  mtu: 1400\n"
	"  buffer: 524289\n"
	"  congestion_control: rfc9260\n"
	"  congestion_control_for: [10.0.0.0/8 bbr, \"2001:db8::/33 rfc9260\", 192.0.2.1  cubic,\n"
	"    \"::/0 bbr\", 0.0.0.0/0 cubic]\n"
	"sctp: {heartbeat_ms: 0, rto_min_ms: 200, rto_max_ms: 200, adaptation: 4294967295}\n"
	"session:\n"
	"  early_bytes: 128 KiB\n"
	"  idle_ms: 0\n"
	"  enhanced: off\n"
	"  extensions: off\n"
	"polling: {budget_us: 0}\n"
	"limits: {mr_bytes: 65536GiB, listeners: 0, qp_wr: 32768, srqs: 1, mws: 65535, "
	"associations: 1}\n"
	"log: {level: debug}\n";

static void expect_rule(const struct llp_cc_rule *r, int family, unsigned bits, enum llp_cc cc)
{
	cr_expect_eq(r->prefix.ss_family, family);
	cr_expect_eq(r->bits, bits);
	cr_expect_eq(r->cc, cc);
}

/* rows: 5043-7.1-01 */
Test(config, values_of_the_file_are_used)
{
	struct config c;

	load_well(other, &c);
	cr_expect_eq(c.transport, CONFIG_TRANSPORT_USER);
	cr_expect_eq(c.nlisten, 7);
	cr_expect_str_eq(c.listen[1], "2001:db8::1");
	cr_expect_str_eq(c.listen[6], "h1.example");
	cr_expect_eq(c.loopback, CONFIG_OFF);
	cr_expect_str_eq(c.socket.path, "/tmp/a \"b\"\\ \x01\u00e9");
	cr_expect_eq(c.socket.mode, 0600);
	cr_expect_str_eq(c.socket.group, "root");
	cr_expect_eq(c.socket.gid, 0);
	cr_expect_eq(c.user.udp_port, 19899);
	cr_expect_eq(c.user.gso, LLP_GSO_OFF);
	cr_expect_eq(c.user.mtu, 1400);
	cr_expect_eq(c.user.buffer, 524289);
	cr_expect_eq(c.user.congestion_control, LLP_CC_RFC9260);
	cr_expect_eq(c.user.ncc_rules, 5);
	expect_rule(&c.user.congestion_control_for[0], AF_INET, 8, LLP_CC_BBR);
	expect_rule(&c.user.congestion_control_for[1], AF_INET6, 33, LLP_CC_RFC9260);
	expect_rule(&c.user.congestion_control_for[2], AF_INET, 32, LLP_CC_CUBIC);
	expect_rule(&c.user.congestion_control_for[3], AF_INET6, 0, LLP_CC_BBR);
	expect_rule(&c.user.congestion_control_for[4], AF_INET, 0, LLP_CC_CUBIC);
	cr_expect_eq(c.sctp.heartbeat_ms, 0);
	cr_expect_eq(c.session.early_bytes, 128 << 10);
	cr_expect_eq(c.limits.mr_bytes, UINT64_C(65536) << 30);
	cr_expect_eq(c.limits.listeners, 0);
	cr_expect_eq(c.sctp.adaptation, UINT32_MAX);
	cr_expect_eq(c.session.enhanced, CONFIG_OFF);
	cr_expect_eq(c.session.extensions, CONFIG_OFF);
	cr_expect_eq(c.limits.srqs, 1);
	cr_expect_eq(c.limits.mws, 65535);
	cr_expect_eq(c.limits.associations, 1);
	cr_expect_eq(c.log.level, LOG_LEVEL_DEBUG);
	cr_expect_eq(c.session.close_ms, 5000, "other keys have their defaults");
}

Test(config, truth_values_have_the_words_of_yaml)
{
	static const char *const on[] = {"on", "yes", "true"};
	static const char *const off[] = {"off", "no", "false"};
	char text[64];
	struct config c;

	for (unsigned i = 0; i < sizeof(on) / sizeof(on[0]); i++) {
		snprintf(text, sizeof(text), "session: {enhanced: %s}\n", on[i]);
		load_well(text, &c);
		cr_expect_eq(c.session.enhanced, CONFIG_ON, "%s", on[i]);
		snprintf(text, sizeof(text), "user: {gso: %s}\n", off[i]);
		load_well(text, &c);
		cr_expect_eq(c.user.gso, LLP_GSO_OFF, "%s", off[i]);
	}
}

Test(config, octal_may_be_written_in_three_ways)
{
	static const char *const modes[] = {"0640", "0o640", "640", "\"0640\""};
	char text[64];
	struct config c;

	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		snprintf(text, sizeof(text), "socket: {mode: %s}\n", modes[i]);
		load_well(text, &c);
		cr_expect_eq(c.socket.mode, 0640, "%s", modes[i]);
	}
}

/* ---- printing ---- */

static void expect_round_trip(const struct config *c)
{
	struct config again;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	cr_assert(f);
	config_print(c, f);
	fclose(f);
	load_well(text, &again);
	cr_expect(same(c, &again), "%s", text);
	free(text);
}

Test(config, printed_text_parses_to_the_same_values)
{
	struct config c;

	config_default(&c);
	expect_round_trip(&c);
	load_well(other, &c);
	expect_round_trip(&c);
	load_well("listen: [\"fe80::1%nowhere\", 9th.example, any]", &c);
	expect_round_trip(&c);
}

/* Each key at either end of its range. */
Test(config, the_limits_of_every_range_are_accepted_and_printed)
{
	const struct config_key *k;
	char range[CONFIG_RANGE_MAX], reason[CONFIG_REASON_MAX], min[32], max[32];

	for (size_t i = 0; (k = config_key_at(i)); i++) {
		struct config c;

		config_value_range(k, range);
		if (sscanf(range, k->or_zero ? "0, or %31s to %31s" : "%31s to %31s", min, max) !=
			    2 ||
		    config_value_is_list(k))
			continue;
		config_default(&c);
		if (strcmp(k->name, "rto_min_ms") == 0)
			c.sctp.rto_max_ms = 60000;
		if (strcmp(k->name, "rto_max_ms") == 0)
			c.sctp.rto_min_ms = 20;
		if (strcmp(k->section, "security") == 0)
			c.security = (struct config_security){.certificate = "/a", .key = "/b"};
		cr_expect(config_value_parse(k, min, &c, reason), "%s: %s", k->name, reason);
		expect_round_trip(&c);
		cr_expect(config_value_parse(k, max, &c, reason), "%s: %s", k->name, reason);
		expect_round_trip(&c);
		cr_expect(!k->or_zero || config_value_parse(k, "0", &c, reason), "%s", k->name);
	}
}

/* ---- invalid files and their messages ---- */

static const struct {
	const char *text;
	const char *error;
} bad[] = {
	/* values */
	{"session:\n  pending_max: 0\n", "2:16: session.pending_max: 0 is too small: 1 to 1024"},
	{"session: {pending_max: 1025}", "1:24: session.pending_max: 1025 is too large: 1 to 1024"},
	{"session: {pending_max: -1}", "1:24: session.pending_max: -1 is not a number: 1 to 1024"},
	{"session: {pending_max: 6 4}",
	 "1:24: session.pending_max: 6 4 is not a number: 1 to 1024"},
	{"session:\n  pending_max:\n", "2:15: session.pending_max: it is empty: 1 to 1024"},
	{"session: {pending_max: [1]}", "1:24: session.pending_max: expected one value: 1 to 1024"},
	{"session: {pending_max: {a: 1}}",
	 "1:24: session.pending_max: expected one value: 1 to 1024"},
	{"session: {pending_max: 99999999999999999999}",
	 "1:24: session.pending_max: 99999999999999999999 is not a number: 1 to 1024"},
	{"user: {mtu: 575}", "1:13: user.mtu: 575 is too small: 0, or 576 to 65536"},
	{"user: {buffer: 2MB}",
	 "1:16: user.buffer: 2MB is not a size in bytes, KiB, MiB or GiB: 512KiB to 256MiB"},
	{"user: {buffer: 100}", "1:16: user.buffer: 100 is too small: 512KiB to 256MiB"},
	{"user: {buffer: 18446744073709551615GiB}",
	 "1:16: user.buffer: 18446744073709551615GiB is too large: 512KiB to 256MiB"},
	{"sctp: {adaptation: 4294967296}",
	 "1:20: sctp.adaptation: 4294967296 is too large: 0 to 4294967295"},
	{"session: {enhanced: maybe}", "1:21: session.enhanced: maybe is unknown: on or off"},
	{"session: {extensions: 0}", "1:23: session.extensions: 0 is unknown: on or off"},
	{"limits: {srqs: 0}", "1:16: limits.srqs: 0 is too small: 1 to 65535"},
	{"limits: {mws: 65536}", "1:15: limits.mws: 65536 is too large: 1 to 65535"},
	{"user: {congestion_control: reno}",
	 "1:28: user.congestion_control: reno is unknown: rfc9260, cubic or bbr"},
	{"user: {gso: Yes}", "1:13: user.gso: Yes is unknown: auto, on or off"},
	{"transport: tcp\n", "1:12: transport: tcp is unknown: user, kernel or auto"},
	{"log: {level: loud}", "1:14: log.level: loud is unknown: error, warning, info or debug"},
	{"socket: {mode: 0888}", "1:16: socket.mode: 0888 is not an octal number: 0000 to 0777"},
	{"socket: {mode: 4755}", "1:16: socket.mode: 4755 is too large: 0000 to 0777"},
	{"socket: {path: ddp.sock}",
	 "1:16: socket.path: ddp.sock is not absolute: an absolute path of at most 107 bytes"},
	{"socket: {path: \"/a\\0b\"}",
	 "1:16: socket.path: expected one value: an absolute path of at most 107 bytes"},
	{"socket: {group: \"no such group\"}",
	 "1:17: socket.group: no such group is not a group of this "
	 "system: the name of a group, or empty"},
	{"user: {congestion_control_for: 10.0.0.0/8 bbr}",
	 "1:32: user.congestion_control_for: expected a list, such as [10.0.0.0/8 bbr]"},
	{"user: {congestion_control_for: [10.0.0.0/8]}",
	 "1:33: user.congestion_control_for: 10.0.0.0/8 is not a prefix and an algorithm: at most "
	 "32 rules, such as 10.0.0.0/8 bbr"},
	/* addresses */
	{"listen: 192.0.2.1", "1:9: listen: expected a list, such as [127.0.0.1, \"::1\"]"},
	{"listen: []", "1:9: listen: the list is empty"},
	{"listen: [127.1]", "1:10: listen: 127.1 is neither an address nor a name: 1 to 8 of: any, "
			    "interface, host name, numeric address"},
	{"listen: [\"192.0.2.1:9899\"]",
	 "1:10: listen: 192.0.2.1:9899 is neither an address nor a name: 1 to 8 of: any, "
	 "interface, host name, numeric address"},
	{"listen: [\"eth 0\"]", "1:10: listen: eth 0 is neither an address nor a name: 1 to 8 of: "
				"any, interface, host name, numeric address"},
	{"listen: [\"fe80::1%an-interface-with-a-long-name\"]",
	 "1:10: listen: fe80::1%an-interface-with-a-long-name is neither an address nor a name: 1 "
	 "to 8 of: any, interface, host name, numeric address"},
	{"listen: [\"fe80::1\"]", "1:10: listen: fe80::1 needs its interface, as in fe80::1%eth0: "
				  "1 to 8 of: any, interface, host name, numeric address"},
	{"listen: [\"2001:db8::1%eth0\"]",
	 "1:10: listen: 2001:db8::1%eth0 has an interface, but is not a link-local address: 1 to 8 "
	 "of: any, interface, host name, numeric address"},
	{"listen: [0.0.0.0]", "1:10: listen: 0.0.0.0 is a wildcard; write any: 1 to 8 of: any, "
			      "interface, host name, numeric address"},
	{"listen: [\"::\"]", "1:10: listen: :: is a wildcard; write any: 1 to 8 of: any, "
			     "interface, host name, numeric address"},
	{"listen: [224.0.0.1]", "1:10: listen: 224.0.0.1 is not the address of one host: 1 to 8 "
				"of: any, interface, host name, numeric address"},
	{"listen: [\"::ffff:192.0.2.1\"]",
	 "1:10: listen: ::ffff:192.0.2.1 must be written as an IPv4 address: 1 to 8 of: any, "
	 "interface, host name, numeric address"},
	{"listen:\n- 192.0.2.1\n- 192.0.2.1\n", "3:3: listen: 192.0.2.1 occurs twice: 1 to 8 of: "
						"any, interface, host name, numeric address"},
	{"listen: [\"2001:db8::1\", \"2001:DB8:0::1\"]",
	 "1:25: listen: 2001:DB8:0::1 occurs twice: 1 to 8 of: any, interface, host name, numeric "
	 "address"},
	{"listen: [192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5, 192.0.2.6, 192.0.2.7, "
	 "192.0.2.8, 192.0.2.9]",
	 "1:98: listen: 192.0.2.9 is one too many: 1 to 8 of: any, interface, host name, numeric "
	 "address"},
	/* keys */
	{"session:\n  pending_mx: 1\n",
	 "2:3: session.pending_mx: unknown key: did you mean pending_max?"},
	{"sesion:\n  pending_max: 1\n", "1:1: sesion: unknown key: did you mean session?"},
	{"udp_port: 1", "1:1: udp_port: unknown key: did you mean user.udp_port?"},
	{"user: {listen: []}", "1:8: user.listen: unknown key: listen belongs to the top level"},
	{"user: {color: red}", "1:8: user.color: unknown key: known here: udp_port gso mtu buffer "
			       "congestion_control congestion_control_for"},
	{"color: red", "1:1: color: unknown key: known here: transport listen loopback admin ports "
		       "socket user kernel sctp "
		       "session polling limits peers security log"},
	{"log: {level: info, level: info}", "1:20: log.level: given twice, first in line 1"},
	{"log: {level: info}\nuser: {}\nlog: {}\n", "3:1: log: given twice, first in line 1"},
	{"? [a]\n: 1\n", "1:3: a key must be a word"},
	/* combinations of values */
	{"security: {udp_port: 4433}",
	 "1:22: security.udp_port: security.certificate and security.key are missing"},
	{"security: {udp_port: 9899, certificate: /a, key: /b}",
	 "1:22: security.udp_port: the same as user.udp_port: DTLS needs another port"},
	{"transport: kernel\nsecurity: {udp_port: 4433, certificate: /a, key: /b}",
	 "2:22: security.udp_port: the transport kernel has no DTLS: IPsec encrypts it"},
	{"security: {key: b}",
	 "1:17: security.key: b is not absolute: an absolute path of at most 255 bytes, or empty"},
	{"peers: {rules: [10.0.0.0/8 accept=all, 11.0.0.0/8 security=require]}",
	 "1:40: peers.rules: 11.0.0.0/8 security=require has a security other than none, which no "
	 "transport here has (security.udp_port)"},
	{"sctp: {rto_min_ms: 6000}",
	 "1:20: sctp.rto_min_ms: 6000 is more than sctp.rto_max_ms: at most 5000"},
	{"sctp: {rto_max_ms: 50}",
	 "1:20: sctp.rto_max_ms: 50 is less than sctp.rto_min_ms: at least 100"},
	/* the file as a whole */
	{"- a\n", "1:1: expected keys with values"},
	{"socket: /run/x\n", "1:9: socket: expected keys with values"},
	{"log: {}\n---\nlog: {}\n", "3:1: a second document; expected one"},
	{"log: {level: info\n", "2:1: not YAML: did not find expected ',' or '}'"},
	{"log:\n\tlevel: info\n", "2:1: not YAML: found character that cannot start any token"},
	{"listen: [192.0.2.1, ::1]\n",
	 "1:21: not YAML: did not find expected node content (an IPv6 address needs quotes here)"},
	{"log: *other\n", "1:6: not YAML: found undefined alias"},
};

Test(config, every_error_has_its_place_and_the_expected_value)
{
	struct config before, c;
	char expected[CONFIG_ERR_MAX];

	memset(&before, 0x5a, sizeof(before));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		c = before;
		snprintf(expected, sizeof(expected), "%s:%s", path, bad[i].error);
		cr_expect_eq(load(bad[i].text, &c), -EINVAL, "%s", bad[i].text);
		cr_expect_str_eq(err, expected);
		cr_expect(same(&c, &before), "untouched on failure");
	}
}

/* It took libyaml minutes. */
Test(config, brackets_in_brackets_are_refused_at_once)
{
	enum { OPEN = 100000 };
	char *text = malloc(2 * OPEN + 16), expected[CONFIG_ERR_MAX];
	struct config c;

	strcpy(text, "listen: ");
	memset(text + 8, '[', OPEN);
	memset(text + 8 + OPEN, ']', OPEN);
	text[8 + 2 * OPEN] = '\0';
	snprintf(expected, sizeof(expected), "%s:1:16: lists and sections in each other: at most 8",
		 path);
	cr_expect_eq(load(text, &c), -EINVAL);
	cr_expect_str_eq(err, expected);
	text[8 + OPEN] = '\0'; /* none is closed */
	cr_expect_eq(load(text, &c), -EINVAL);
	cr_expect_str_eq(err, expected);
	free(text);
}

Test(config, a_binary_file_is_refused_with_its_place)
{
	char expected[CONFIG_ERR_MAX];
	struct config c;

	snprintf(expected, sizeof(expected),
		 "%s: not UTF-8 text: invalid leading UTF-8 octet at byte 5", path);
	cr_expect_eq(load("log: \xff\n", &c), -EINVAL);
	cr_expect_str_eq(err, expected);
}

/* For any contents of the file the result is a message or a configuration. */
Test(config, a_file_cut_off_anywhere_is_read_or_refused)
{
	char *text = read_all(SHIPPED);
	size_t len = strlen(text);
	struct config c, def;

	config_default(&def);
	for (size_t n = 0; n < len; n += 13) {
		int r;

		write_file(text, n);
		err[0] = '\0';
		r = config_load(path, &c, err, sizeof(err));
		cr_expect(r == 0 || (r == -EINVAL && strncmp(err, path, strlen(path)) == 0),
			  "%zu bytes: %d %s", n, r, err);
	}
	free(text);
}

/* ---- absent files ---- */

Test(config, a_named_file_must_be_there)
{
	struct config c;

	cr_expect_eq(config_load("/nonexistent/x.yaml", &c, err, sizeof(err)), -ENOENT);
	cr_expect_str_eq(err, "/nonexistent/x.yaml: cannot be read: No such file or directory");
	cr_expect_eq(config_load("/", &c, err, sizeof(err)), -EISDIR);
	cr_expect_str_eq(err, "/: cannot be read: Is a directory");
}

Test(config, the_default_file_may_be_absent)
{
	struct config c, def;

	if (access(CONFIG_PATH, F_OK) == 0)
		cr_skip_test(CONFIG_PATH " is there");
	config_default(&def);
	cr_assert_eq(config_load(NULL, &c, err, sizeof(err)), 0);
	cr_expect(same(&c, &def));
}

Test(config, the_longest_path_fits_and_one_more_byte_does_not)
{
	char name[110], text[128];
	struct config c;

	memset(name, 'x', sizeof(name));
	name[0] = '/';
	name[107] = '\0';
	snprintf(text, sizeof(text), "socket: {path: %s}", name);
	load_well(text, &c);
	cr_expect_str_eq(c.socket.path, name);
	name[107] = 'x';
	name[108] = '\0';
	snprintf(text, sizeof(text), "socket: {path: %s}", name);
	cr_expect_eq(load(text, &c), -EINVAL);
	cr_expect(strstr(err, ":1:16: socket.path: /xxx"), "%s", err);
	cr_expect(strstr(err, "xxx has 108 bytes: an absolute path of at most 107 bytes"), "%s",
		  err);
}

/* ---- documents ---- */

Test(config, the_shipped_file_holds_the_defaults)
{
	struct config c, def;

	config_default(&def);
	cr_assert_eq(config_load(SHIPPED, &c, err, sizeof(err)), 0, "%s", err);
	cr_expect(same(&c, &def));
}

/* The text after the line "section:", or the whole text for the top level. */
static const char *section_of(const char *text, const char *section)
{
	char head[64];
	const char *at;

	if (*section == '\0')
		return text;
	snprintf(head, sizeof(head), "\n%s:\n", section);
	at = strstr(text, head);
	return at ? at + strlen(head) - 1 : NULL;
}

Test(config, the_shipped_file_has_every_key_under_a_comment_with_its_range)
{
	char *text = read_all(SHIPPED);
	const struct config_key *k;
	char range[CONFIG_RANGE_MAX], want[256];

	for (size_t i = 0; (k = config_key_at(i)); i++) {
		const char *indent = *k->section ? "  " : "";
		const char *at = section_of(text, k->section), *found, *end;

		config_value_range(k, range);
		snprintf(want, sizeof(want), "\n%s# (%s%s)\n%s%s: ", indent, range,
			 config_key_effect(k), indent, k->name);
		cr_assert(at, "section %s", k->section);
		found = strstr(at, want);
		end = *k->section ? strstr(at, "\n\n#") : NULL; /* of the section */
		cr_expect(found && (!end || found < end), "%s.%s: not found:%s", k->section,
			  k->name, want);
	}
	free(text);
}

/* rows: 5043-7.1-02 */
Test(config, the_manual_page_has_every_key_with_range_and_default)
{
	char *text = read_all(MANUAL);
	const struct config_key *k;
	char range[CONFIG_RANGE_MAX], want[256];

	for (size_t i = 0; (k = config_key_at(i)); i++) {
		const char *at, *found, *end;

		config_value_range(k, range);
		snprintf(want, sizeof(want), "\n.SS %s\n", *k->section ? k->section : "Top level");
		at = strstr(text, want);
		cr_assert(at, "section %s", k->section);
		end = strstr(at + 1, "\n.S");
		snprintf(want, sizeof(want), "\n.TP\n.BR %s \" (%s; default %s%s)\"\n", k->name,
			 range, *k->def ? k->def : "empty", config_key_effect(k));
		found = strstr(at, want);
		cr_expect(found && found < end, "%s.%s: not found:%s", k->section, k->name, want);
	}
	free(text);
}

Test(config, the_manual_page_has_no_key_that_is_unknown)
{
	char *text = read_all(MANUAL), *save = NULL;
	char section[64] = "", name[64];

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, ".SS %63s", section) == 1 && strcmp(section, "Top") == 0)
			section[0] = '\0';
		if (strstr(line, "; default ") && sscanf(line, ".BR %63s", name) == 1)
			cr_expect(config_key_find(section, name), "%s.%s", section, name);
	}
	free(text);
}
