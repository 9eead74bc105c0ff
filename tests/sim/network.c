/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/random.h>

#include "llp/common/route.h"
#include "sctp/wire/chunk.h"
#include "util/addr.h"

enum {
	QUOTED = 64,
	HEADERS_V4 = 28, /* IP and UDP */
	HEADERS_V6 = 48,
	START_US = 10000000,
	FULL_US = 150000, /* a socket is full for less than that */
};

/* A packet on its way, or an ICMP message about one. */
struct packet {
	struct list link;
	unsigned host, subnet; /* where it goes */
	bool icmp;
	struct udp_error error;
	struct sockaddr_storage from;
	size_t len;
	uint8_t data[];
};

struct udp {
	unsigned host, subnet;
	struct sockaddr_storage local;
	struct list arrived, errors;
	uint64_t full_until; /* its buffer has no room */
	struct udp_stats stats;
};

static struct sim_network *net;
static unsigned opening; /* the host that opens sockets */
static struct udp *sockets[NETWORK_HOSTS][NETWORK_SUBNETS];

static uint64_t now(void)
{
	return simclock_now(net->clock);
}

static bool chance(unsigned of_10000)
{
	return simclock_chance(net->clock, of_10000);
}

static uint64_t below(uint64_t n)
{
	return simclock_below(net->clock, n);
}

static void *get(size_t len)
{
	void *p = calloc(1, len);

	if (!p)
		abort(); /* the run cannot continue */
	return p;
}

/* ---- the network ---- */

struct sim_network *network_new(struct simclock *k, const struct network_faults *f,
				unsigned subnets, bool v6)
{
	net = get(sizeof(*net));
	net->clock = k;
	net->faults = *f;
	net->subnets = subnets;
	net->v6 = v6;
	list_init(&net->flying);
	for (unsigned i = 0; i < NETWORK_HOSTS; i++) {
		net->host[i].port = NETWORK_UDP;
		net->host[i].offset_us = START_US + below(1000 * (uint64_t)START_US);
	}
	return net;
}

static void drop_all(struct list *packets)
{
	struct list *it;

	while ((it = list_pop(packets)))
		free(list_entry(it, struct packet, link));
}

struct sim_network *network_free(struct sim_network *n)
{
	if (n)
		drop_all(&n->flying);
	free(n);
	net = NULL;
	return NULL;
}

struct sockaddr_storage network_addr(const struct sim_network *n, unsigned host, unsigned subnet)
{
	struct sctp_addr a =
		sctp_addr_v4((const uint8_t[]){10, 0, (uint8_t)subnet, (uint8_t)(host + 1)});
	struct sockaddr_storage ret;

	if (n->v6)
		a = (struct sctp_addr){
			.ip = {0xfd, [13] = (uint8_t)subnet, [15] = (uint8_t)(host + 1)}};
	llp_user_sockaddr(&a, 0, &ret);
	return ret;
}

void network_open(struct sim_network *n, unsigned host)
{
	(void)n;
	opening = host;
}

uint64_t network_time(struct sim_network *n, unsigned host)
{
	uint64_t t = now() + n->host[host].offset_us;

	return chance(n->faults.clock) ? t - below(START_US / 10) : t;
}

void network_watch(struct sim_network *n, unsigned host)
{
	n->nbefore = judge_before(&n->host[host].judge, n->before);
	if (n->host[host].watch)
		invariant_before(n->host[host].watch);
}

/* ---- packets ---- */

static unsigned headers(void)
{
	return net->v6 ? HEADERS_V6 : HEADERS_V4;
}

/* The socket with that address, or NULL. */
static struct udp *find(const struct sockaddr_storage *a)
{
	for (unsigned h = 0; h < NETWORK_HOSTS; h++)
		for (unsigned s = 0; s < net->subnets; s++)
			if (sockets[h][s] && addr_same_host(&sockets[h][s]->local, a) &&
			    addr_port(a) == net->host[h].port)
				return sockets[h][s];
	return NULL;
}

static void arrive(void *obj, void *arg)
{
	struct packet *p = obj;
	struct udp *u = sockets[p->host][p->subnet];

	(void)arg;
	list_del(&p->link);
	if (!u) {
		free(p);
		return;
	}
	list_add_tail(p->icmp ? &u->errors : &u->arrived, &p->link);
	net->host[u->host].wake(net->host[u->host].arg);
}

/* Its first chunk is HEARTBEAT, perhaps a probe of the path's size, or HEARTBEAT ACK. */
static bool is_heartbeat(const struct packet *p)
{
	const uint8_t type = p->len > SCTP_HEAD ? p->data[SCTP_HEAD] : 0;

	return !p->icmp && (type == SCTP_HEARTBEAT || type == SCTP_HEARTBEAT_ACK);
}

unsigned network_heartbeats(const struct sim_network *n)
{
	unsigned sum = 0;

	list_foreach (it, &n->flying)
		sum += is_heartbeat(list_entry(it, struct packet, link));
	return sum;
}

static struct packet *make(const struct udp *to, const uint8_t *p, size_t len)
{
	struct packet *k = get(sizeof(*k) + len);

	k->host = to->host;
	k->subnet = to->subnet;
	k->len = len;
	if (len > 0)
		memcpy(k->data, p, len);
	return k;
}

static void send_later(struct packet *k, uint64_t us)
{
	list_add_tail(&net->flying, &k->link);
	simclock_after(net->clock, us, arrive, k, NULL);
}

/* A router tells the sender that the packet was too long. */
static void report(const struct udp *u, const struct sockaddr_storage *to, const uint8_t *p,
		   size_t len)
{
	struct packet *k = make(u, p, len < QUOTED ? len : QUOTED);

	k->icmp = true;
	k->error = (struct udp_error){.kind = UDP_TOO_BIG, .to = *to, .mtu = net->faults.mtu};
	send_later(k, net->faults.delay_us);
}

/* When a packet leaves the sender's link; false: its queue is full. */
static bool pass(struct network_host *h, size_t len, uint64_t *ret)
{
	uint64_t begin = h->free_us > now() ? h->free_us : now();

	*ret = 0;
	if (net->faults.rate == 0)
		return true;
	if (begin - now() > net->faults.queue_us)
		return false;
	h->free_us = begin + (uint64_t)len * 1000 / net->faults.rate;
	*ret = h->free_us - now();
	return true;
}

static void deliver(const struct udp *from, const struct udp *to, const uint8_t *p, size_t len,
		    uint64_t at)
{
	const struct network_faults *f = &net->faults;
	struct packet *k = make(to, p, len);

	k->from = from->local;
	addr_set_port(&k->from, net->host[from->host].port);
	if (chance(f->corrupt))
		k->data[below(len)] ^= (uint8_t)(1u << below(8));
	if (chance(f->truncate))
		k->len = below(len);
	at += f->delay_us + below(f->jitter_us + 1);
	if (chance(f->reorder))
		at += f->delay_us + below(20000);
	send_later(k, at);
}

static void transmit(const struct udp *u, const struct udp_batch *b, const uint8_t *p, size_t len)
{
	struct network_host *h = &net->host[u->host];
	struct udp *to = find(&b->to);
	uint64_t at;

	net->sent++;
	if (len + headers() > net->faults.mtu && !b->fragment) {
		if (net->faults.icmp && !chance(3000))
			report(u, &b->to, p, len);
		return;
	}
	if (!to || to->subnet != u->subnet || net->cut[u->subnet][u->host] ||
	    chance(net->faults.lose) || !pass(h, len, &at)) {
		net->lost++;
		return;
	}
	deliver(u, to, p, len, at);
	if (chance(net->faults.dup))
		deliver(u, to, p, len, at);
}

/* ---- llp/user/udp.h ---- */

int udp_open(const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer, struct udp **ret)
{
	struct udp *u = get(sizeof(*u));

	(void)buffer;
	u->host = opening;
	while (sockets[u->host][u->subnet])
		u->subnet++;
	u->local = *addr;
	addr_set_port(&u->local, port);
	list_init(&u->arrived);
	list_init(&u->errors);
	sockets[u->host][u->subnet] = *ret = u;
	return 0;
}

int udp_adopt(int fd, const struct sockaddr_storage *addr, uint16_t port, uint32_t buffer,
	      struct udp **ret)
{
	(void)fd; /* there is no store */
	return udp_open(addr, port, buffer, ret);
}

struct udp *udp_close(struct udp *u)
{
	drop_all(&u->arrived);
	drop_all(&u->errors);
	sockets[u->host][u->subnet] = NULL;
	free(u);
	return NULL;
}

int udp_fd(const struct udp *u)
{
	(void)u;
	return -1;
}

const struct sockaddr_storage *udp_local(const struct udp *u)
{
	return &u->local;
}

uint32_t udp_rcvbuf(const struct udp *u)
{
	(void)u;
	return 1 << 22;
}

bool udp_can_gso(const struct udp *u)
{
	(void)u;
	return net->faults.refuse > 0;
}

static void wake(void *obj, void *arg)
{
	struct network_host *h = obj;

	(void)arg;
	h->wake(h->arg);
}

static void fill_up(struct udp *u)
{
	uint64_t us = below(FULL_US);

	u->full_until = now() + us;
	simclock_after(net->clock, us, wake, &net->host[u->host], NULL);
}

/* Cuts a batch into its packets. */
static void send_packets(const struct udp *u, const struct udp_batch *b)
{
	static uint8_t packet[UDP_MAX_PACKET];
	const struct span *s = b->span;
	uint32_t left = b->len, len;

	for (; left > 0; left -= len) {
		uint32_t at = 0;

		len = left < b->segment ? left : b->segment;
		for (; at < len; at += (uint32_t)s->len, s++)
			memcpy(packet + at, s->p, s->len);
		transmit(u, b, packet, len);
	}
}

int udp_send(struct udp *u, struct udp_batch *b)
{
	struct network_host *h = &net->host[u->host];

	if (h->judge.s) {
		judge_batch(&h->judge, &h->user->out);
		judge_output(&h->judge, net->before, net->nbefore, &h->user->out);
		invariant_sent(h->watch, &h->user->out);
		network_watch(net, u->host);
	}
	if (b->gso && chance(net->faults.refuse))
		b->gso = false;
	u->stats.tx_packets++;
	if (h->muted || udp_blocked(u))
		return 0;
	if (b->segment + headers() > net->faults.route_mtu && !b->fragment) {
		struct packet *k = make(u, NULL, 0);

		k->error = (struct udp_error){
			.kind = UDP_TOO_BIG_LOCAL, .to = b->to, .mtu = net->faults.route_mtu};
		list_add_tail(&u->errors, &k->link);
		return -EMSGSIZE;
	}
	send_packets(u, b);
	if (chance(net->faults.full))
		fill_up(u);
	return 0;
}

void udp_flush(struct udp *u)
{
	(void)u;
}

bool udp_blocked(const struct udp *u)
{
	return u->full_until > now();
}

static void arrives(struct network_host *h, const struct udp *u, const struct packet *p)
{
	const struct sctp_flow from = {.peer = llp_user_addr(&p->from),
				       .udp_port = addr_port(&p->from),
				       .local = (uint8_t)u->subnet};

	invariant_arrives(h->watch, &from, p->data, p->len);
}

/* Each in memory of its size, so that sanitizers see more. */
unsigned udp_recv(struct udp *u, unsigned budget, udp_packets_fn *fn, void *arg)
{
	struct network_host *h = &net->host[u->host];
	unsigned n = 0;

	while (n < budget && !list_empty(&u->arrived)) {
		struct packet *p = list_entry(list_pop(&u->arrived), struct packet, link);
		uint8_t *exact = get(p->len + !p->len);

		memcpy(exact, p->data, p->len);
		network_watch(net, u->host);
		arrives(h, u, p);
		if (p->len)
			fn(arg, &p->from, exact, p->len, p->len);
		judge_input(&h->judge, net->before, net->nbefore);
		invariant_arrived(h->watch);
		network_watch(net, u->host);
		free(exact);
		free(p);
		n++;
	}
	return n;
}

void udp_errors(struct udp *u, udp_error_fn *fn, void *arg)
{
	struct list *it;

	while ((it = list_pop(&u->errors))) {
		struct packet *p = list_entry(it, struct packet, link);

		p->error.quoted = p->data;
		p->error.len = p->len;
		fn(arg, &p->error);
		free(p);
	}
	network_watch(net, u->host);
}

/* A filter drops packets of unknown peers, which these hosts do not send. */
void udp_filter(struct udp *u, const struct sock_filter *f, unsigned short n)
{
	(void)u;
	(void)f;
	(void)n;
}

bool udp_crowded(const struct udp *u)
{
	(void)u;
	return chance(net->faults.full);
}

void udp_stats(const struct udp *u, struct udp_stats *ret)
{
	*ret = u->stats;
}

/* ---- the rest of the kernel ---- */

int route_find(const struct sockaddr_storage *local, const struct sockaddr_storage *to,
	       struct route *ret)
{
	*ret = (struct route){.mtu = net->faults.route_mtu, .gso_safe = true};
	ret->src = local ? *local : *to; /* no address of ours: the caller takes its first one */
	return 0;
}

void llp_user_read_clock(struct user *t)
{
	const struct udp *first = t->sock[USER_CLEAR][0].udp;
	unsigned host = first ? first->host : opening;

	t->now_us = network_time(net, host) + t->skew_us;
}

/* Cookies, tags and TSNs that repeat in the next run of the seed. */
ssize_t getrandom(void *ret, size_t len, unsigned flags)
{
	uint8_t *p = ret;

	(void)flags;
	for (size_t i = 0; i < len; i++)
		p[i] = net ? (uint8_t)simclock_random(net->clock) : 0;
	if (net && len == sizeof(uint32_t) && chance(net->faults.wrap))
		memcpy(ret, &(uint32_t){UINT32_MAX - (uint32_t)below(200)}, len);
	return (ssize_t)len;
}
