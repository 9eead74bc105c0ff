/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/doctor/doctor.h"

#include <errno.h>
#include <grp.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/doctor/net_device.h"
#include "ctl/doctor/peer.h"
#include "ctl/doctor/probe.h"
#include "ctl/doctor/security.h"
#include "ctl/doctor/tool_run.h"
#include "util/addr.h"

enum {
	UDP_PORT = 9899,  /* of the transport user, where the daemon does not say */
	BUFFER = 4 << 20, /* bytes of socket buffers below which losses are likely */
	PROBE_MS = 2000,
	TEXT = 768,
	WIRE = 32,
};

struct doctor {
	const struct ddpctl *c;
	struct ctl_status status;
	bool has_status;
	bool wrong;
	bool tuning; /* of checks that tell about speed alone */
	bool hindered;
	enum probe_answer answer; /* of another host, by the transport of this daemon */
	struct json_object *json; /* the findings so far; NULL: text */
};

/* One finding. remedy: the command or change that helps; NULL if the finding is good. */
__attribute__((format(printf, 4, 5))) static void
add_finding(struct doctor *d, const char *check, const char *remedy, const char *fmt, ...)
{
	struct json_object *o;
	char text[TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->wrong |= remedy != NULL;
	d->hindered |= remedy && !d->tuning;
	if (!d->json) {
		printf("%-6s %s: %s\n", remedy ? "WRONG" : "ok", check, text);
		if (remedy)
			printf("       -> %s\n", remedy);
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "check", json_object_new_string(check));
	json_object_object_add(o, "ok", json_object_new_boolean(!remedy));
	json_object_object_add(o, "finding", json_object_new_string(text));
	json_object_object_add(o, "remedy", remedy ? json_object_new_string(remedy) : NULL);
	json_object_array_add(d->json, o);
}

/* ---- the daemon and its socket ---- */

static void check_socket(struct doctor *d)
{
	const char *path = d->c->opts.socket;
	char remedy[TEXT] = "", group[64];
	const struct group *g;
	struct stat st;

	if (stat(path, &st) < 0) {
		int err = errno;

		add_finding(d, "socket",
			    err == EACCES ? "usermod -a -G ddp USER, as root; then log in again"
					  : "systemctl enable --now ddpsctpd.socket ddpsctpd",
			    "%s: %s", path, strerror(err));
		return;
	}
	g = getgrgid(st.st_gid);
	snprintf(group, sizeof(group), "%s", g ? g->gr_name : "?");
	if (access(path, W_OK) < 0)
		snprintf(remedy, sizeof(remedy),
			 "usermod -a -G %s USER, as root; then log in again", group);
	add_finding(d, "socket", *remedy ? remedy : NULL, "%s: group %s, mode 0%o", path, group,
		    (unsigned)st.st_mode & 0777);
}

/* The file may be why the daemon does not run. False if it is wrong: said with line and column. */
static bool configuration_is_good(struct doctor *d)
{
	char *const argv[] = {"ddpsctpd", "-n", NULL};
	char out[2 * TEXT], *text;
	int status = tool_run(SBINDIR, argv, out, sizeof(out));

	if (status <= 0)
		return true;
	out[strcspn(out, "\n")] = '\0';
	text = strstr(out, "error: ");
	add_finding(d, "configuration", "fix that, then systemctl restart ddpsctpd", "%s",
		    text ? text + strlen("error: ") : out);
	return false;
}

static void report_silence(struct doctor *d)
{
	if (access(d->c->opts.socket, W_OK) < 0 && errno == EACCES)
		return; /* the finding about the socket says why */
	if (configuration_is_good(d))
		add_finding(d, "daemon",
			    "systemctl restart ddpsctpd; journalctl -u ddpsctpd has the reason",
			    "it does not answer");
}

static void check_daemon(struct doctor *d)
{
	struct query_reply a;
	enum ctl_exit e = query_show(d->c->opts.socket, args_timeout_ms(d->c), CTL_STATUS, &a);

	if (e != CTL_EXIT_OK || a.n != 1) {
		report_silence(d);
		return;
	}
	d->status = a.recs[0].status;
	free(a.recs);
	d->has_status = true;
	add_finding(d, "daemon",
		    strcmp(d->status.version, PACKAGE_VERSION) ? "systemctl restart ddpsctpd"
							       : NULL,
		    "version %.15s, ddpctl has %s", d->status.version, PACKAGE_VERSION);
	add_finding(d, "transport", NULL, "%.15s (%.127s)", d->status.transport,
		    d->status.transport_reason);
	if (d->status.udp_port)
		add_finding(d, "udp port", NULL, "%u; a firewall must allow it in both directions",
			    d->status.udp_port);
	add_finding(d, "drain", d->status.draining ? "ddpctl drain off" : NULL,
		    d->status.draining ? "new sessions are refused" : "new sessions are accepted");
}

/* Programs do not always say why they fail. */
static void check_limits(struct doctor *d)
{
	struct query_reply a;
	bool any = false;

	if (query_show(d->c->opts.socket, args_timeout_ms(d->c), CTL_LIMIT, &a) != CTL_EXIT_OK)
		return;
	for (size_t i = 0; i < a.n; i++) {
		const struct ctl_limit *l = &a.recs[i].limit;

		if (l->refused == 0)
			continue;
		any = true;
		add_finding(d, "limits",
			    "ddpctl limit set KEY VALUE, and the same in ddpsctpd.yaml",
			    "%" PRIu64 " requests of uid %" PRIu32
			    " were refused by %.23s: %" PRIu64 " of %" PRIu64 " are in use",
			    l->refused, l->uid, l->name, l->used, l->max);
	}
	if (!any)
		add_finding(d, "limits", NULL, "no request was refused");
	free(a.recs);
}

/* ---- addresses ---- */

static bool is_loopback(const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in *in = (const struct sockaddr_in *)a;

	if (a->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	return ntohl(in->sin_addr.s_addr) >> 24 == 127;
}

static bool on_this_host(const struct sockaddr_storage *a, const struct ifaddrs *all)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct sockaddr_storage own;

		if (i->ifa_addr && addr_copy(&own, i->ifa_addr) == 0 && addr_same_host(&own, a))
			return true;
	}
	return is_loopback(a);
}

/* Whether the host of the command line is this one, which loopback addresses reach. */
static bool is_name_of_loopback(const char *host)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	struct sockaddr_storage to;
	struct addrinfo *ai;
	bool r;

	if (getaddrinfo(host, NULL, &hints, &ai))
		return false;
	r = addr_copy(&to, ai->ai_addr) == 0 && is_loopback(&to);
	freeaddrinfo(ai);
	return r;
}

static void check_addresses(struct doctor *d, bool for_host)
{
	struct ifaddrs *all = NULL;
	bool outside = false;
	char text[ADDR_TEXT_MAX];

	if (getifaddrs(&all) < 0)
		return;
	for (unsigned i = 0; i < 2 && i < d->status.naddrs; i++) {
		const struct sockaddr_storage *a = &d->status.addr[i];
		bool here = addr_any(a) || on_this_host(a, all);

		outside |= !is_loopback(a);
		add_finding(d, "listen",
			    here ? NULL : "set the key 'listen' to addresses that this host has",
			    "%s%s", addr_host_text(a, text),
			    here ? "" : " is not an address of this host");
	}
	if (*d->status.waits_for)
		add_finding(d, "listen",
			    strncmp(d->status.waits_for, "::1 ", 4) == 0
				    ? NULL
				    : "correct 'listen' if it is wrong; the daemon uses an address "
				      "as soon as the host has it",
			    "waits for %.95s", d->status.waits_for);
	if (!outside && d->status.naddrs <= 2)
		add_finding(d, "listen",
			    for_host
				    ? "set the key 'listen' in ddpsctpd.yaml and restart the daemon"
				    : NULL,
			    "only loopback addresses: other hosts cannot be reached, and cannot "
			    "connect");
	freeifaddrs(all);
}

/* ---- SCTP of the kernel over UDP ---- */

/* Linux joins SCTP packets up to this size for the device to cut them. It does not cut those in UDP
 * right, and does not fill in their checksum. */
static void check_device(struct doctor *d, const char *name)
{
	char check[IF_NAMESIZE + 8], remedy[TEXT];
	struct net_device dev;
	bool joined;

	if (net_device_read(name, &dev) < 0)
		return;
	joined = dev.gso_max > dev.mtu;
	snprintf(check, sizeof(check), "gso %s", name);
	snprintf(remedy, sizeof(remedy), "ip link set dev %s gso_max_size %" PRIu32, name, dev.mtu);
	add_finding(
		d, check, joined ? remedy : NULL, "%s",
		joined ? "SCTP packets in UDP are sent joined, and are lost; peers with transport "
			 "user "
			 "receive slowly"
		       : "SCTP packets are sent one by one");
}

/* Whether the daemon listens at the address. */
static bool daemon_listens_at(const struct doctor *d, const struct sockaddr *at)
{
	struct sockaddr_storage own;

	if (!at || addr_copy(&own, at) != 0)
		return false;
	for (unsigned i = 0; i < 2 && i < d->status.naddrs; i++)
		if (addr_any(&d->status.addr[i]) || addr_same_host(&own, &d->status.addr[i]))
			return true;
	return d->status.naddrs > 2; /* the record has two of them */
}

/* Once for each device: a device may have several addresses. */
static bool is_first(const struct doctor *d, const struct ifaddrs *all, const struct ifaddrs *i)
{
	for (; all != i; all = all->ifa_next)
		if (!strcmp(all->ifa_name, i->ifa_name) && daemon_listens_at(d, all->ifa_addr))
			return false;
	return true;
}

static void check_devices(struct doctor *d)
{
	struct ifaddrs *all = NULL;

	if (strncmp(d->status.transport, "kernel", 7) != 0 || d->status.udp_port == 0 ||
	    getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next)
		if (daemon_listens_at(d, i->ifa_addr) && is_first(d, all, i))
			check_device(d, i->ifa_name);
	freeifaddrs(all);
}

/* ---- encryption ---- */

static void check_security(struct doctor *d)
{
	struct security_finding f[SECURITY_FINDINGS];
	unsigned n = security_check(d->c, f);

	for (unsigned i = 0; i < n; i++)
		add_finding(d, f[i].check, *f[i].remedy ? f[i].remedy : NULL, "%s", f[i].text);
}

/* ---- the system ---- */

static bool read_kernel_number(const char *path, uint64_t *ret)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fscanf(f, "%" SCNu64, ret) == 1;

	if (f)
		fclose(f);
	return ok;
}

static void check_buffers(struct doctor *d)
{
	static const struct {
		const char *name, *path;
	} keys[] = {
		{"net.core.rmem_max", "/proc/sys/net/core/rmem_max"},
		{"net.core.wmem_max", "/proc/sys/net/core/wmem_max"},
	};
	char remedy[TEXT];
	uint64_t v;

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!read_kernel_number(keys[i].path, &v))
			continue; /* a container may hide it */
		snprintf(remedy, sizeof(remedy),
			 "sysctl -w %s=8388608, or restart systemd-sysctl after the installation",
			 keys[i].name);
		add_finding(d, keys[i].name, v < BUFFER ? remedy : NULL, "%" PRIu64 " bytes", v);
	}
}

static void check_kernel(struct doctor *d)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SCTP);

	add_finding(d, "kernel sctp", NULL, "%s",
		    fd >= 0 ? "available" : "not available, and not needed for transport user");
	if (fd >= 0)
		close(fd);
	if (d->has_status && !strncmp(d->status.transport, "user", 4))
		add_finding(
			d, "gso", NULL,
			d->status.gso
				? "UDP segmentation offload is in use"
				: "UDP segmentation offload is not available: more CPU per byte");
}

static void check_clock(struct doctor *d)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	FILE *f = fopen(path, "re");
	char name[32] = "";
	bool slow;

	if (f && fscanf(f, "%31s", name) == 1) {
		slow = !strcmp(name, "hpet") || !strcmp(name, "acpi_pm") ||
		       !strcmp(name, "jiffies");
		add_finding(d, "clock",
			    slow ? "boot with clocksource=tsc if the processor has a stable one"
				 : NULL,
			    "%s%s", name, slow ? ": reading it takes a system call" : "");
	}
	if (f)
		fclose(f);
}

/* ---- another host ---- */

static bool has_transport(const struct doctor *d, const char *name)
{
	return d->has_status && !strncmp(d->status.transport, name, strlen(name) + 1);
}

/* The UDP port of the transport user, here and there. */
static unsigned udp_port(const struct doctor *d)
{
	return d->status.udp_port ? d->status.udp_port : UDP_PORT;
}

/* The protocol between the hosts, with the transport of this daemon. */
static const char *wire_text(const struct doctor *d, char ret[WIRE])
{
	if (d->status.udp_port)
		snprintf(ret, WIRE, "UDP port %u", d->status.udp_port);
	else
		snprintf(ret, WIRE, "IP protocol 132");
	return ret;
}

/* An INIT of this program, not of the daemon: it shows which protocols get through, and no more. */
static void check_transport(struct doctor *d, const char *name, enum probe_answer answer, bool here)
{
	static const char *const words[] = {
		[PROBE_LISTENS] = "a program listens at SCTP port 5043",
		[PROBE_ABORTS] = "SCTP answers, and no program listens at SCTP port 5043",
		[PROBE_NOTHING] = "refused: nothing listens there",
		[PROBE_FOREIGN] = "something else has the port: its answer is no SCTP",
		[PROBE_SILENCE] = "no answer: the host is down, or a firewall drops the packets",
		[PROBE_REJECTED] = "a firewall rejects the packets: ICMP says so",
		[PROBE_UNREACHABLE] = "unreachable: no route, or ICMP reports it",
		[PROBE_IMPOSSIBLE] = "not tried: this kernel does not support SCTP",
	};
	char remedy[TEXT] = "", wire[WIRE];

	if (has_transport(d, name)) {
		d->answer = answer;
		wire_text(d, wire);
		if (answer == PROBE_NOTHING && here)
			snprintf(remedy, sizeof(remedy),
				 "it is an address of this host, and the daemon listens elsewhere: "
				 "add it to 'listen', or name one that 'ddpctl status' shows");
		else if (answer == PROBE_NOTHING || answer == PROBE_FOREIGN)
			snprintf(remedy, sizeof(remedy),
				 "start ddpsctpd there, with this transport, %s, and this address "
				 "in 'listen': 'ddpctl status' there shows them",
				 wire);
		else if (answer == PROBE_UNREACHABLE)
			snprintf(remedy, sizeof(remedy),
				 "check the route to the host: ip route get ADDRESS, here and "
				 "there");
		else if (answer > PROBE_FOREIGN)
			snprintf(remedy, sizeof(remedy),
				 "let firewalls pass %s in both directions; if the host is up, "
				 "'ddpctl doctor' there checks the other side",
				 wire);
	}
	add_finding(d, name, *remedy ? remedy : NULL, "%s%s", words[answer],
		    has_transport(d, name) ? " (the transport of this daemon)" : "");
}

static bool is_of_this_host(const struct sockaddr_storage *a)
{
	struct ifaddrs *all = NULL;
	bool r;

	if (getifaddrs(&all) < 0)
		return false;
	r = on_this_host(a, all);
	freeifaddrs(all);
	return r;
}

static void check_both_transports(struct doctor *d, const struct sockaddr_storage *to)
{
	bool here = is_of_this_host(to);

	check_transport(d, "user", probe_user(to, (uint16_t)udp_port(d), PROBE_MS), here);
	check_transport(d, "kernel", probe_kernel(to, MSG_DEFAULT_PORT, PROBE_MS), here);
	add_finding(d, "wire", NULL, "transport user is UDP port %u, kernel is IP protocol 132",
		    udp_port(d));
}

static uint64_t retransmits_of(const struct doctor *d, uint32_t assoc)
{
	struct query_reply a;
	uint64_t r = 0;

	if (query_show(d->c->opts.socket, args_timeout_ms(d->c), CTL_ASSOC, &a) != CTL_EXIT_OK)
		return 0;
	for (size_t i = 0; i < a.n; i++)
		if (a.recs[i].assoc.id == assoc)
			r = a.recs[i].assoc.retransmits;
	free(a.recs);
	return r;
}

/* The paths to the host, which stay for idle_ms after the session. */
static void show_paths(struct doctor *d, const struct sockaddr_storage *to)
{
	struct query_reply a;

	if (query_show(d->c->opts.socket, args_timeout_ms(d->c), CTL_PATH, &a) != CTL_EXIT_OK)
		return;
	for (size_t i = 0; i < a.n; i++) {
		const struct ctl_path *p = &a.recs[i].path;

		if (addr_same_host(&p->remote, to))
			add_finding(d, "path", NULL,
				    "round trip %u us, path MTU %u (found by probes), %" PRIu64
				    " chunks sent again",
				    p->srtt_us, p->mtu, retransmits_of(d, p->assoc));
	}
	free(a.recs);
}

/* For a session that does not begin. The INIT of this program has a port of its own: a filter of
 * the daemon's alone lets it pass. */
static const char *session_remedy(const struct doctor *d, const char *reason)
{
	if (strstr(reason, "not the address of one host"))
		return "name an address of one host";
	if (d->answer == PROBE_ABORTS)
		return "start a program there, such as: systemctl enable --now ddping";
	if (d->answer == PROBE_LISTENS && strstr(reason, "does not answer"))
		return "let firewalls pass packets between the UDP ports of both daemons";
	if (d->hindered)
		return "first what is WRONG above";
	return "'ddpctl doctor' there checks the other side, and 'ddpctl event' there may have "
	       "the reason";
}

/* A host that answers an INIT need not have a ddpsctpd: this is the finding that counts. */
static void check_session(struct doctor *d, const char *host, const struct sockaddr_storage *to)
{
	struct peer_rounds p;
	char wire[WIRE];

	peer_ping(d->c->opts.socket, host, &p);
	if (!p.tried) {
		add_finding(d, "session", "install ddping (package ddpsctp-tools)", "not tried: %s",
			    p.reason);
	} else if (p.works) {
		add_finding(d, "session", NULL,
			    "a ddpsctpd answers over %s: %u of %u rounds, median %.2f ms",
			    wire_text(d, wire), p.good, p.sent, p.rtt_us / 1000);
		show_paths(d, to);
	} else if (p.good > 0) {
		add_finding(d, "session", "packets are lost on the way: 'ddpctl stats' counts them",
			    "%u of %u rounds: %s", p.good, p.sent, p.reason);
	} else {
		add_finding(d, "session", session_remedy(d, p.reason), "%s",
			    *p.reason ? p.reason : "no round was answered");
	}
}

static void check_host(struct doctor *d, const char *host)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	struct sockaddr_storage to;
	char text[ADDR_TEXT_MAX];
	struct addrinfo *ai;
	unsigned mtu;
	int r = getaddrinfo(host, NULL, &hints, &ai);

	if (r) {
		add_finding(d, "host", "a name or an address, without user and port", "%s: %s",
			    host, gai_strerror(r));
		return;
	}
	r = addr_copy(&to, ai->ai_addr);
	freeaddrinfo(ai);
	if (r)
		return;
	mtu = probe_mtu(&to);
	addr_host_text(&to, text);
	if (mtu)
		add_finding(d, "host", NULL, "%s, MTU of the route %u", text, mtu);
	else
		add_finding(d, "host", "check the route: ip route get ADDRESS", "%s, no route",
			    text);
	check_both_transports(d, &to);
	if (d->has_status)
		check_session(d, host, &to);
}

enum ctl_exit doctor_run(struct ddpctl *c, int n, char **args)
{
	struct doctor d = {.c = c};

	if (c->opts.print.json)
		d.json = json_object_new_array();
	check_socket(&d);
	check_daemon(&d);
	if (d.has_status) {
		check_addresses(&d, n > 0 && !is_name_of_loopback(args[0]));
		check_limits(&d);
		check_devices(&d);
		check_security(&d);
	}
	d.tuning = true;
	check_kernel(&d);
	check_buffers(&d);
	check_clock(&d);
	d.tuning = false;
	if (n > 0)
		check_host(&d, args[0]);
	if (d.json)
		printf("%s\n", json_object_to_json_string_ext(d.json, JSON_C_TO_STRING_PLAIN));
	json_object_put(d.json);
	return d.wrong ? CTL_EXIT_FAILED : CTL_EXIT_OK;
}
