/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A long link between two network namespaces: a TUN device wan0 in each, and between them, in each
 * direction, a bottleneck with a rate and a queue, a delay, losses and packets that overtake
 * others. It needs no module of the kernel but tun. Random numbers depend on the seed alone.
 *
 *   wan NAMESPACE NAMESPACE [KEY=VALUE]...
 *
 * NAMESPACE is a file, as in /run/netns. With far=US the packets between two IPv4 addresses whose
 * last byte is above 100 have that much more delay: flows of different length share the bottleneck.
 * Prints "ready" when both devices exist; somebody else gives them addresses. Ends after `time`
 * seconds, or by SIGTERM or SIGINT, and prints its counters.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	PACKET_MAX = 65536,
	LANE_PACKETS = 1 << 15, /* at most on the way, a power of two */
	BATCH = 64,             /* packets that are read at once */
	IDLE_NS = 50000000,
};

#define SECOND_NS UINT64_C(1000000000)

/* What the link is like. Both directions are, but for losses. */
static struct {
	const char *name;
	double value;
	const char *help;
} option[] = {
	{"rate", 1e9, "bits per second of the bottleneck"},
	{"delay", 5000, "microseconds one way, behind the bottleneck"},
	{"queue", 1e6, "bytes that wait before the bottleneck; more are dropped"},
	{"loss", 0, "of a million packets of the first namespace, lost"},
	{"lossb", 0, "of a million packets of the second one, lost"},
	{"burst", 1, "packets that are lost one after the other"},
	{"reorder", 0, "of a million packets of the first namespace, early"},
	{"early", 3000, "microseconds that they are early"},
	{"far", 0, "more microseconds one way, between addresses above .100"},
	{"mtu", 1500, "of the devices, which somebody else sets"},
	{"time", 600, "seconds until the end"},
	{"seed", 1, "of the random numbers"},
};

enum {
	RATE,
	DELAY,
	QUEUE,
	LOSS,
	LOSS_BACK,
	BURST,
	REORDER,
	EARLY,
	FAR,
	MTU,
	TIME,
	SEED,
	OPTIONS,
};

struct packet {
	uint64_t due_ns; /* when it leaves the link */
	uint32_t len;
	uint8_t data[];
};

/* In the order in which they leave. */
struct lane {
	uint8_t *ring; /* of elements with room for a packet */
	uint32_t first, end;
};

enum { IN_ORDER, AHEAD, DISTANT, LANES };

struct direction {
	int from, to; /* devices */
	struct lane lane[LANES];
	uint64_t busy_ns;     /* the bottleneck has sent all that it has */
	double loss, reorder; /* probabilities */
	unsigned losing;      /* of a burst, still to be lost */
	uint64_t in, out, dropped, lost, refused, queued_max;
};

static struct direction way[2];
static uint64_t state;
static volatile sig_atomic_t stopped;

static void on_end(int signo)
{
	(void)signo;
	stopped = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "wan: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

/* xorshift64*; true with that probability. */
static bool happens(double probability)
{
	if (probability <= 0)
		return false;
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)((state * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0 <
	       probability;
}

/* ---- the devices ---- */

static int open_device(const char *namespace)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI, .ifr_name = "wan0"};
	int buffer = 1 << 26, ns = open(namespace, O_RDONLY | O_CLOEXEC), fd;

	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		die(namespace);
	close(ns);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		die("/dev/net/tun");
	if (ioctl(fd, TUNSETIFF, &request) < 0 || ioctl(fd, TUNSETSNDBUF, &buffer) < 0)
		die("wan0");
	return fd;
}

static size_t element_size(void)
{
	return (sizeof(struct packet) + (size_t)option[MTU].value + 7) & ~(size_t)7;
}

static struct packet *element(const struct lane *l, uint32_t n)
{
	return (struct packet *)(void *)(l->ring + n % LANE_PACKETS * element_size());
}

static void open_lane(struct lane *l)
{
	l->ring = calloc(LANE_PACKETS, element_size());
	if (!l->ring)
		die("memory");
}

static void open_direction(struct direction *d, int from, int to, double loss, double reorder)
{
	d->from = from;
	d->to = to;
	d->loss = loss / 1e6 / option[BURST].value;
	d->reorder = reorder / 1e6;
	for (unsigned i = 0; i < LANES; i++)
		open_lane(&d->lane[i]);
}

/* ---- packets ---- */

static bool is_lost(struct direction *d)
{
	if (!d->losing && happens(d->loss))
		d->losing = (unsigned)option[BURST].value;
	if (!d->losing)
		return false;
	d->losing--;
	d->lost++;
	return true;
}

/* Bytes that wait before the bottleneck. */
static double backlog(const struct direction *d, uint64_t now)
{
	return d->busy_ns > now ? (double)(d->busy_ns - now) * option[RATE].value / 8e9 : 0;
}

/* False if the queue has no room. Else *ret_ns: when the packet has passed the bottleneck. */
static bool pass_bottleneck(struct direction *d, size_t len, uint64_t now, uint64_t *ret_ns)
{
	double waiting = backlog(d, now) + (double)len;

	if (waiting > option[QUEUE].value) {
		d->dropped++;
		return false;
	}
	if ((uint64_t)waiting > d->queued_max)
		d->queued_max = (uint64_t)waiting;
	if (d->busy_ns < now)
		d->busy_ns = now;
	d->busy_ns += (uint64_t)((double)len * 8e9 / option[RATE].value);
	*ret_ns = d->busy_ns;
	return true;
}

/* Between two addresses of IPv4 whose last byte is above 100. */
static bool is_far(const uint8_t *data, size_t len)
{
	return len >= 20 && data[0] >> 4 == 4 && data[15] > 100 && data[19] > 100;
}

/* Which lane a packet takes, and how long it is on its way. */
static unsigned choose_lane(const struct direction *d, const uint8_t *data, size_t len,
			    double *ret_delay)
{
	*ret_delay = option[DELAY].value;
	if (option[FAR].value > 0 && is_far(data, len)) {
		*ret_delay += option[FAR].value;
		return DISTANT;
	}
	if (!happens(d->reorder))
		return IN_ORDER;
	*ret_delay -= option[EARLY].value;
	return AHEAD;
}

static void take(struct direction *d, const uint8_t *data, size_t len)
{
	double delay;
	struct lane *l = &d->lane[choose_lane(d, data, len, &delay)];
	struct packet *p = element(l, l->end);
	uint64_t passed;

	d->in++;
	if (is_lost(d) || !pass_bottleneck(d, len, now_ns(), &passed))
		return;
	if (l->end - l->first == LANE_PACKETS) {
		d->refused++;
		return;
	}
	p->due_ns = passed + (uint64_t)(delay > 0 ? delay * 1e3 : 0);
	p->len = (uint32_t)len;
	memcpy(p->data, data, len);
	l->end++;
}

static void read_packets(struct direction *d)
{
	uint8_t data[PACKET_MAX];

	for (unsigned n = 0; n < BATCH; n++) {
		ssize_t len = read(d->from, data, sizeof(data));

		if (len <= 0 || (double)len > option[MTU].value)
			return;
		take(d, data, (size_t)len);
	}
}

/* Sends what is due, and lowers *next_ns to when the next one is. */
static void send_due(struct direction *d, struct lane *l, uint64_t now, uint64_t *next_ns)
{
	for (; l->first != l->end; l->first++) {
		const struct packet *p = element(l, l->first);

		if (p->due_ns > now) {
			if (p->due_ns < *next_ns)
				*next_ns = p->due_ns;
			return;
		}
		if (write(d->to, p->data, p->len) == (ssize_t)p->len)
			d->out++;
		else
			d->refused++;
	}
}

static void run(uint64_t end_ns)
{
	struct pollfd poll[2] = {{way[0].from, POLLIN, 0}, {way[1].from, POLLIN, 0}};
	uint64_t now = now_ns();

	while (!stopped && now < end_ns) {
		uint64_t next = now + IDLE_NS;
		struct timespec wait = {0};

		for (unsigned i = 0; i < 2 * LANES; i++)
			send_due(&way[i / LANES], &way[i / LANES].lane[i % LANES], now, &next);
		now = now_ns();
		wait.tv_nsec = next > now ? (long)(next - now) : 0;
		if (ppoll(poll, 2, &wait, NULL) > 0)
			for (unsigned i = 0; i < 2; i++)
				if (poll[i].revents & POLLIN)
					read_packets(&way[i]);
		now = now_ns();
	}
}

/* ---- start and end ---- */

static bool set_option(const char *arg)
{
	const char *equals = strchr(arg, '=');
	char *end;

	for (unsigned i = 0; equals && i < OPTIONS; i++) {
		if (strlen(option[i].name) != (size_t)(equals - arg) ||
		    strncmp(option[i].name, arg, (size_t)(equals - arg)) != 0)
			continue;
		option[i].value = strtod(equals + 1, &end);
		return end != equals + 1 && *end == '\0' && option[i].value >= 0;
	}
	return false;
}

static int usage(void)
{
	fprintf(stderr, "usage: wan NAMESPACE NAMESPACE [KEY=VALUE]...\n");
	for (unsigned i = 0; i < OPTIONS; i++)
		fprintf(stderr, "  %-8s %s [%.0f]\n", option[i].name, option[i].help,
			option[i].value);
	return 2;
}

static void report(const char *name, const struct direction *d)
{
	printf("%s: in %llu out %llu dropped %llu lost %llu refused %llu queue %llu\n", name,
	       (unsigned long long)d->in, (unsigned long long)d->out,
	       (unsigned long long)d->dropped, (unsigned long long)d->lost,
	       (unsigned long long)d->refused, (unsigned long long)d->queued_max);
}

int main(int argc, char **argv)
{
	const struct sigaction end = {.sa_handler = on_end};
	int fd[2];

	if (argc < 3)
		return usage();
	for (int i = 3; i < argc; i++)
		if (!set_option(argv[i]))
			return usage();
	if (option[RATE].value < 1 || option[BURST].value < 1 || option[MTU].value > PACKET_MAX)
		return usage();
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);
	state = (uint64_t)option[SEED].value * 2 + 1;
	for (unsigned i = 0; i < 2; i++)
		fd[i] = open_device(argv[1 + i]);
	open_direction(&way[0], fd[0], fd[1], option[LOSS].value, option[REORDER].value);
	open_direction(&way[1], fd[1], fd[0], option[LOSS_BACK].value, 0);
	puts("ready");
	fflush(stdout);
	run(now_ns() + (uint64_t)(option[TIME].value * 1e9));
	report("there", &way[0]);
	report("back", &way[1]);
	return 0;
}
