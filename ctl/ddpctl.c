/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpctl: shows the daemon's objects. See ddpctl(8). */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/explain.h"
#include "ctl/print.h"
#include "ctl/request.h"
#include "ipc/msg_addr.h"
#include "ipc/version.h"

enum {
	OPT_SOCKET = 256,
	OPT_TIMEOUT,
	TIMEOUT_MS = 5000,
};

struct ddpctl {
	struct print_opts print;
	const char *socket;
	int timeout_ms;
	const struct field_object *obj;
	struct print_filter filters[PRINT_MAX_FILTERS];
	unsigned nfilters;
	bool by_id; /* one object was named */
};

static const struct option longopts[] = {
	{"json", no_argument, NULL, 'j'},
	{"pretty", no_argument, NULL, 'p'},
	{"oneline", no_argument, NULL, 'o'},
	{"numeric", no_argument, NULL, 'n'},
	{"details", no_argument, NULL, 'd'},
	{"stats", no_argument, NULL, 's'},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static void print_objects(FILE *out, const char *between)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? between : "", objs[i].name);
}

static enum ctl_exit help(void)
{
	printf("Usage: ddpctl [OPTION]... OBJECT [show] [ID | KEY VALUE]...\n"
	       "       ddpctl [OPTION]... path set-primary ASSOC ADDRESS\n"
	       "       ddpctl [OPTION]... explain [CODE]\n"
	       "Shows objects of ddpsctpd: ");
	print_objects(stdout, ", ");
	printf(".\nObjects may be abbreviated. KEY is any key that is printed; all must match.\n"
	       "set-primary: data goes to this ADDRESS of the peer while its path is active.\n"
	       "explain: what the CODE of a Terminate means: 0x1101, 1/1/01 or TAGGED_BOUNDS.\n\n"
	       "  -j, --json             a JSON array of objects, with all fields\n"
	       "  -p, --pretty           JSON for human eyes\n"
	       "  -o, --oneline          each object on a line of its own\n"
	       "  -n, --numeric          no names, no rounded figures\n"
	       "  -d, --details          more fields\n"
	       "  -s, --stats            counters\n"
	       "      --socket PATH      of the daemon [$" IPC_SOCKET_ENV ", or " IPC_DEFAULT_SOCKET
	       "]\n"
	       "      --timeout SECONDS  for an answer [5]\n"
	       "  -V, --version          version\n"
	       "  -h, --help             this text\n");
	return CTL_EXIT_OK;
}

static enum ctl_exit usage_hint(void)
{
	fputs("Try 'ddpctl --help'.\n", stderr);
	return CTL_EXIT_USAGE;
}

static enum ctl_exit parse_timeout(struct ddpctl *c, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v > 0 && v <= 3600)) {
		request_error("--timeout: '%s' is no time of up to 3600 s", arg);
		return usage_hint();
	}
	c->timeout_ms = v < 0.001 ? 1 : (int)(v * 1000);
	return CTL_EXIT_OK;
}

/* Sets *ret_end where nothing else is to be done. */
static enum ctl_exit set_option(struct ddpctl *c, int opt, const char *arg, bool *ret_end)
{
	*ret_end = opt == 'V' || opt == 'h';
	switch (opt) {
	case 'p':
		c->print.pretty = true;
		/* fallthrough */
	case 'j':
		c->print.json = true;
		return CTL_EXIT_OK;
	case 'o':
		c->print.oneline = true;
		return CTL_EXIT_OK;
	case 'n':
		c->print.numeric = true;
		return CTL_EXIT_OK;
	case 'd':
		c->print.details = true;
		return CTL_EXIT_OK;
	case 's':
		c->print.stats = true;
		return CTL_EXIT_OK;
	case OPT_SOCKET:
		c->socket = arg;
		return CTL_EXIT_OK;
	case OPT_TIMEOUT:
		return parse_timeout(c, arg);
	case 'V':
		printf("ddpctl " PACKAGE_VERSION "\n");
		return CTL_EXIT_OK;
	case 'h':
		return help();
	default:
		return usage_hint();
	}
}

/* The object of that name, or the only one that begins with it. */
static enum ctl_exit find_object(struct ddpctl *c, const char *name)
{
	const struct field_object *objs;
	unsigned n, found = 0;

	objs = field_objects(&n);
	for (unsigned i = 0; i < n; i++) {
		if (strncmp(objs[i].name, name, strlen(name)) != 0)
			continue;
		c->obj = &objs[i];
		found++;
		if (!strcmp(objs[i].name, name))
			return CTL_EXIT_OK;
	}
	if (found == 1)
		return CTL_EXIT_OK;
	request_error(found ? "object '%s' is ambiguous" : "there is no object '%s'", name);
	fputs("Objects: ", stderr);
	print_objects(stderr, ", ");
	fputs(".\n", stderr);
	return CTL_EXIT_USAGE;
}

static enum ctl_exit add_filter(struct ddpctl *c, const char *key, const char *value)
{
	const struct field *f = field_find(c->obj, key);

	if (!f) {
		request_error("%s has no key '%s'", c->obj->name, key);
		fputs("Keys:", stderr);
		for (unsigned i = 0; i < c->obj->nfields; i++)
			fprintf(stderr, " %s", c->obj->fields[i].key);
		fputs(".\n", stderr);
		if (c->obj->command)
			fprintf(stderr, "Commands: show %s.\n", c->obj->command);
		return CTL_EXIT_USAGE;
	}
	if (!field_valid(f, value)) {
		request_error("'%s' is no value of %s", value, key);
		return usage_hint();
	}
	if (c->nfilters == PRINT_MAX_FILTERS) {
		request_error("at most %d filters", PRINT_MAX_FILTERS);
		return usage_hint();
	}
	c->filters[c->nfilters++] = (struct print_filter){f, value};
	return CTL_EXIT_OK;
}

/* OBJECT [show] [ID] [KEY VALUE]..., of which the object is known. */
static enum ctl_exit parse_words(struct ddpctl *c, int n, char **words)
{
	enum ctl_exit e = CTL_EXIT_OK;
	int i = 1;

	if (n > 1 && !strcmp(words[1], "show"))
		i++;
	if ((n - i) % 2) {
		if (!c->obj->id || !field_valid(field_find(c->obj, c->obj->id), words[i])) {
			request_error("'%s' is neither an id nor a key with a value", words[i]);
			return usage_hint();
		}
		c->by_id = true;
		e = add_filter(c, c->obj->id, words[i++]);
	}
	for (; e == CTL_EXIT_OK && i < n; i += 2)
		e = add_filter(c, words[i], words[i + 1]);
	return e;
}

/* Prints the first n records of the answer, and frees it. */
static enum ctl_exit print(const struct field_object *obj, struct request_answer *a, size_t n,
			   const struct print_opts *o)
{
	int r = print_records(stdout, obj, a->recs, n, o);

	free(a->recs);
	if (r == 0)
		return CTL_EXIT_OK;
	request_error("out of memory");
	return CTL_EXIT_FAILED;
}

static bool is_explain(const char *word)
{
	return *word && !strncmp("explain", word, strlen(word));
}

/* explain [CODE] */
static enum ctl_exit explain(struct ddpctl *c, int n, char **words)
{
	struct request_answer a;
	enum ctl_exit e;

	if (n > 2) {
		request_error("explain takes one code");
		return usage_hint();
	}
	e = explain_code(n == 2 ? words[1] : NULL, &a);
	if (e != CTL_EXIT_OK)
		return e;
	if (n == 2)
		c->print.details = true;
	return print(&explain_object, &a, a.n, &c->print);
}

static enum ctl_exit show(const struct ddpctl *c)
{
	struct request_answer a;
	enum ctl_exit e = request_show(c->socket, c->timeout_ms, c->obj->number, &a);
	size_t n = 0;

	if (e != CTL_EXIT_OK)
		return e;
	for (size_t i = 0; i < a.n; i++)
		if (print_takes(c->filters, c->nfilters, &a.recs[i]))
			a.recs[n++] = a.recs[i];
	e = print(c->obj, &a, n, &c->print);
	if (a.hidden)
		request_error("%u object%s of other users not shown", a.hidden,
			      a.hidden == 1 ? "" : "s");
	if (e == CTL_EXIT_OK && c->by_id && n == 0) {
		request_error("there is no such %s", c->obj->name);
		e = CTL_EXIT_NO_OBJECT;
	}
	return e;
}

static bool parse_address(const char *text, struct msg_addr *ret)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM};
	struct sockaddr_storage ss = {0};
	struct addrinfo *ai;

	if (getaddrinfo(text, NULL, &hints, &ai) != 0)
		return false;
	if (ai->ai_addrlen <= sizeof(ss))
		memcpy(&ss, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	return msg_addr_put(ret, &ss) == 0;
}

/* path set-primary ASSOC ADDRESS */
static enum ctl_exit set_primary(const struct ddpctl *c, int n, char **words)
{
	const struct field *assoc = field_find(c->obj, "assoc");
	struct msg_addr remote;

	if (n != 4) {
		request_error("set-primary takes the number of an association and an address");
		return usage_hint();
	}
	if (!field_valid(assoc, words[2]) || strtoull(words[2], NULL, 0) > UINT32_MAX) {
		request_error("'%s' is no number of an association", words[2]);
		return usage_hint();
	}
	if (!parse_address(words[3], &remote)) {
		request_error("'%s' is neither an IPv4 nor an IPv6 address", words[3]);
		return usage_hint();
	}
	return request_set_primary(c->socket, c->timeout_ms, (uint32_t)strtoull(words[2], NULL, 0),
				   &remote);
}

static enum ctl_exit run(struct ddpctl *c, int n, char **words)
{
	enum ctl_exit e;

	if (n == 0) {
		request_error("which object?");
		return usage_hint();
	}
	if (is_explain(words[0]))
		return explain(c, n, words);
	e = find_object(c, words[0]);
	if (e == CTL_EXIT_OK && n > 1 && c->obj->command && !strcmp(words[1], c->obj->command))
		return set_primary(c, n, words);
	if (e == CTL_EXIT_OK)
		e = parse_words(c, n, words);
	return e == CTL_EXIT_OK ? show(c) : e;
}

int main(int argc, char **argv)
{
	struct ddpctl c = {.timeout_ms = TIMEOUT_MS};
	const char *env = getenv(IPC_SOCKET_ENV);
	enum ctl_exit e;
	bool end;
	int opt;

	c.socket = env && *env ? env : IPC_DEFAULT_SOCKET;
	while ((opt = getopt_long(argc, argv, "jpondsVh", longopts, NULL)) != -1) {
		e = set_option(&c, opt, optarg, &end);
		if (e != CTL_EXIT_OK || end)
			return e;
	}
	e = run(&c, argc - optind, argv + optind);
	if (fflush(stdout) != 0 && e == CTL_EXIT_OK) {
		request_error("stdout: %s", strerror(errno));
		e = CTL_EXIT_FAILED;
	}
	return e;
}
