/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the laboratory with links and flows of the command line, and prints what it has measured.
 *
 *   lab [-v] [-t] LINK [KEY=VALUE]... [FLOW]...
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sctp/base/assoc.h"
#include "tests/sctp/lab/lab.h"

static const char *const algo_name[] = {
	[SCTP_CC_RFC9260] = "rfc9260",
	[SCTP_CC_CUBIC] = "cubic",
	[SCTP_CC_BBR] = "bbr",
};

enum { ALGOS = sizeof(algo_name) / sizeof(algo_name[0]) };

static int usage(void)
{
	puts("usage: lab [-v] LINK [KEY=VALUE]... [FLOW]...\n"
	     "       lab -t LINK,... [KEY=VALUE]... [FLOW]...   a table: each link with each flow "
	     "alone\n"
	     "  -v    a line for each second; -v0.05: every 50 ms\n"
	     "  KEY   of the link: rate (bit/s), delay (us, one way), queue (bytes), loss and "
	     "lossb\n"
	     "        (of a million, there and back), burst (packets), reorder (of a million), "
	     "early\n"
	     "        (us), mtu, out and in (s, of an outage);\n"
	     "        of the run: time (s), seed, buffer (bytes), sack (packets), sack_us, gather "
	     "(us:\n"
	     "        what arrives within is one run), late (us: of timers);\n"
	     "        second=LINK: a second path, with another address\n"
	     "  FLOW  ALGORITHM[,start=S][,delay=US more][,small | ,both]\n"
	     "        small: 64 bytes every 10 ms; both: these beside bulk data of the "
	     "association");
	printf("  ALGORITHM ");
	for (unsigned i = 0; i < ALGOS; i++)
		printf(" %s", algo_name[i]);
	printf("\n  LINK      ");
	for (unsigned i = 0; lab_link_name(i); i++)
		printf(" %s", lab_link_name(i));
	puts("");
	return 2;
}

/* ---- the command line ---- */

static bool set_algo(const char *name, struct lab_flow_config *ret)
{
	for (unsigned i = 0; i < ALGOS; i++)
		if (algo_name[i] && strcmp(algo_name[i], name) == 0) {
			ret->algo = (enum sctp_cc_algo)i;
			return true;
		}
	return false;
}

static bool add_flow(struct lab_config *c, const char *arg)
{
	struct lab_flow_config f = {.algo = SCTP_CC_CUBIC};
	char text[128], *rest = text, *word;

	snprintf(text, sizeof(text), "%s", arg);
	if (c->flows == LAB_FLOWS || !set_algo(strsep(&rest, ","), &f))
		return false;
	while ((word = strsep(&rest, ","))) {
		if (strncmp(word, "start=", 6) == 0)
			f.start_s = strtod(word + 6, NULL);
		else if (strncmp(word, "delay=", 6) == 0)
			f.extra_us = (uint32_t)strtoul(word + 6, NULL, 10);
		else if (strcmp(word, "small") == 0)
			f.kind = LAB_SMALL;
		else if (strcmp(word, "both") == 0)
			f.kind = LAB_BOTH;
		else
			return false;
	}
	c->flow[c->flows++] = f;
	return true;
}

static bool set_run(struct lab_config *c, const char *key, const char *value)
{
	double x = strtod(value, NULL);

	if (strcmp(key, "time") == 0)
		c->time_s = x;
	else if (strcmp(key, "seed") == 0)
		c->seed = (uint64_t)x;
	else if (strcmp(key, "buffer") == 0)
		c->buffer = (uint32_t)x;
	else if (strcmp(key, "sack") == 0)
		c->sack_packets = (unsigned)x;
	else if (strcmp(key, "sack_us") == 0)
		c->sack_us = (uint32_t)x;
	else if (strcmp(key, "gather") == 0)
		c->gather_us = (uint32_t)x;
	else if (strcmp(key, "late") == 0)
		c->late_us = (uint32_t)x;
	else
		return false;
	return true;
}

static bool set_key(struct lab_config *c, const char *arg, const char *equals)
{
	const struct lab_link_config *second;
	char key[32];

	if (equals - arg >= (int)sizeof(key))
		return false;
	memcpy(key, arg, (size_t)(equals - arg));
	key[equals - arg] = 0;
	if (strcmp(key, "second") == 0) {
		second = lab_link_find(equals + 1);
		if (second)
			c->link[1] = *second;
		c->paths = 2;
		return second;
	}
	return lab_link_set(&c->link[0], key, equals + 1) || set_run(c, key, equals + 1);
}

static bool set_words(struct lab_config *c, char **arg)
{
	c->flows = 0;
	for (; *arg; arg++) {
		const char *equals = strchr(*arg, '='), *comma = strchr(*arg, ',');
		bool key = equals && !(comma && comma < equals);

		if (!(key ? set_key(c, *arg, equals) : add_flow(c, *arg)))
			return false;
	}
	if (c->flows == 0)
		add_flow(c, "cubic");
	return c->time_s > 0 && c->time_s < LAB_SECONDS && c->seed;
}

/* ---- reports ---- */

/* Until an association is up: seconds of a flow begin then. */
#define HANDSHAKE_S 0.5

static void print_flow_now(const struct lab_flow *f)
{
	static const char *const limit[] = {
		[SCTP_LIMIT_USER] = "application", [SCTP_LIMIT_BUFFER] = "buffer",
		[SCTP_LIMIT_PEER] = "peer window", [SCTP_LIMIT_CONGESTION] = "congestion",
		[SCTP_LIMIT_PACING] = "pacing",
	};
	const struct sctp_assoc *a = f->host[0].assoc;
	struct sctp_path_info info[SCTP_MAX_PATHS];
	struct sctp_stats st;
	unsigned n;

	printf("  %u: ", (unsigned)(f - f->lab->flow));
	if (!a || !f->up || f->down) {
		printf("%s\n", f->down ? "down" : "not up");
		return;
	}
	n = sctp_assoc_paths(a, info);
	printf("%7.2f MB", (double)f->bytes / 1e6);
	for (unsigned i = 0; i < n; i++)
		printf("%s cwnd %u flight %u srtt %.1f ms pacing %.2f MB/s by %s", i ? " |" : "",
		       info[i].cwnd, info[i].flight, info[i].srtt_us / 1e3,
		       (double)info[i].pacing_rate / 1e6, limit[info[i].limit]);
	sctp_stats(f->host[0].s, &st);
	printf(" queued %u peer %u again %" PRIu64 "\n", a->tx.bytes, a->window.rwnd,
	       st.retransmits);
}

static void print_now(const struct lab *l, double at_s)
{
	printf("%.2f s: ", at_s);
	for (unsigned i = 0; i < l->c.paths; i++)
		printf("queue %.1f ms, dropped %" PRIu64 ", lost %" PRIu64 "; ",
		       lab_link_backlog(&l->link[i].way[0], l->now) * 8e3 / l->link[i].c.rate,
		       l->link[i].way[0].dropped, l->link[i].way[0].lost);
	puts("");
	for (unsigned i = 0; i < l->c.flows; i++)
		print_flow_now(&l->flow[i]);
}

static void print_flow(const struct lab_flow *f)
{
	struct sctp_stats st;
	unsigned n = f->seconds;

	sctp_stats(f->host[0].s, &st);
	printf("flow %u %s: ", (unsigned)(f - f->lab->flow), algo_name[f->c.algo]);
	if (f->c.kind != LAB_SMALL)
		printf("%.2f MB/s (first 2 s %.2f, later %.2f), 16 MB in %.2f s, ",
		       lab_flow_rate(f, 0, n), lab_flow_rate(f, 0, 2), lab_flow_rate(f, 2, n),
		       lab_flow_seconds_16m(f));
	if (f->c.kind != LAB_BULK)
		printf("small %" PRIu64 " in %.1f ms, p99 %.1f ms, ", f->small.n,
		       lab_delays_mean_ms(&f->small), lab_delays_ms(&f->small, 99));
	printf("again %" PRIu64 " of %" PRIu64 ", timeouts %" PRIu64 ", duplicates ",
	       st.retransmits, st.tx_packets, st.timeouts);
	sctp_stats(f->host[1].s, &st);
	printf("%" PRIu64, st.duplicates);
	if (f->down)
		printf(", DOWN: %d, cause %u %s", f->end.end, f->end.cause, f->end.text);
	puts("");
}

/* The rates while all flows of bulk data were up, without the first five seconds. */
static void print_shares(const struct lab *l)
{
	double from_s = 0, rate[LAB_FLOWS], sum = 0;

	for (unsigned i = 0; i < l->c.flows; i++)
		if (l->flow[i].c.start_s > from_s)
			from_s = l->flow[i].c.start_s;
	for (unsigned i = 0; i < l->c.flows; i++) {
		const struct lab_flow *f = &l->flow[i];

		rate[i] = lab_flow_rate(f, (unsigned)(from_s - f->c.start_s) + 5, f->seconds);
		sum += rate[i];
	}
	printf("together:");
	for (unsigned i = 0; i < l->c.flows && sum > 0; i++)
		printf(" %.2f MB/s (%.0f %%)", rate[i], 100 * rate[i] / sum);
	puts("");
}

static void print_link(const struct lab *l, unsigned i)
{
	const struct lab_way *w = &l->link[i].way[0];

	printf("link %u: used %.3f, queue %.1f ms, p99 %.1f ms, dropped %" PRIu64 ", lost %" PRIu64
	       " of %" PRIu64 "\n",
	       i,
	       (double)w->bytes * 8 / l->link[i].c.rate /
		       ((double)(l->now - LAB_SECOND) / LAB_SECOND),
	       lab_delays_mean_ms(&w->wait), lab_delays_ms(&w->wait, 99), w->dropped, w->lost,
	       w->in);
}

static int run(const struct lab_config *c, bool verbose, double every_s)
{
	struct lab *l = lab_new(c);

	if (verbose)
		for (double s = every_s; s < c->time_s; s += every_s) {
			lab_run(l, s);
			print_now(l, s);
		}
	lab_run(l, c->time_s + HANDSHAKE_S);
	for (unsigned i = 0; i < c->flows; i++)
		print_flow(&l->flow[i]);
	if (c->flows > 1)
		print_shares(l);
	for (unsigned i = 0; i < c->paths; i++)
		print_link(l, i);
	lab_free(l);
	return 0;
}

/* A line for each link and flow: the first 6 seconds, 2 to 6, the rest, 16 MB, the queue. */
static int table(const char *names, char **words)
{
	char text[1024], *rest = text, *name;

	snprintf(text, sizeof(text), "%s", names);
	puts("| link | flow | 0-2 s | 2-6 s | 0-6 s | 6 s on | 16 MB in s | queue ms, p99 | again "
	     "|");
	puts("|---|---|---|---|---|---|---|---|---|");
	while ((name = strsep(&rest, ","))) {
		const struct lab_link_config *link = lab_link_find(name);
		struct lab_config all, one;

		if (!link)
			return usage();
		all = lab_config(link);
		if (!set_words(&all, words))
			return usage();
		for (unsigned i = 0; i < all.flows; i++) {
			const struct lab_flow *f;
			struct sctp_stats st;
			struct lab *l;

			one = all;
			one.flow[0] = all.flow[i];
			one.flows = 1;
			l = lab_new(&one);
			lab_run(l, one.time_s + HANDSHAKE_S);
			f = &l->flow[0];
			sctp_stats(f->host[0].s, &st);
			printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f, %.1f | "
			       "%" PRIu64 " |%s\n",
			       name, algo_name[one.flow[0].algo], lab_flow_rate(f, 0, 2),
			       lab_flow_rate(f, 2, 6), lab_flow_rate(f, 0, 6),
			       lab_flow_rate(f, 6, f->seconds), lab_flow_seconds_16m(f),
			       lab_delays_mean_ms(&l->link[0].way[0].wait),
			       lab_delays_ms(&l->link[0].way[0].wait, 99), st.retransmits,
			       f->down ? " DOWN" : "");
			fflush(stdout);
			lab_free(l);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strncmp(argv[1], "-v", 2) == 0;
	double every_s = verbose && argv[1][2] ? strtod(argv[1] + 2, NULL) : 1;
	const struct lab_link_config *link;
	struct lab_config c;

	if (argc > 2 && strcmp(argv[1], "-t") == 0)
		return table(argv[2], argv + 3);
	argv += verbose;
	link = argv[1] ? lab_link_find(argv[1]) : NULL;
	if (!link)
		return usage();
	c = lab_config(link);
	return set_words(&c, argv + 2) && every_s > 0 ? run(&c, verbose, every_s) : usage();
}
