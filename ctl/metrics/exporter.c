/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/metrics/exporter.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl/metrics/http_conns.h"
#include "ctl/metrics/http_listen.h"
#include "ctl/metrics/state_json.h"
#include "ctl/metrics/status_page.h"
#include "ctl/field/metric.h"
#include "ctl/field/query.h"
#include "util/cleanup.h"

enum {
	MAX_HEADERS = 8192, /* bytes of a request before its body */
	MAX_BODY = 1024,    /* it is ignored */
	FRESH_MS = 1000,    /* requests within this time share an answer of the daemon */
	HTTP_MISDIRECTED = 421,
	CHECK_MS = 500, /* between two looks at the connections, while there are any */
};

/* The resources of this server. */
enum resource {
	METRICS,
	STATE,
	RESOURCES, /* those that the daemon is asked for */
	STATUS_PAGE = RESOURCES,
	UNKNOWN,
};

static const char *const paths[] = {
	[METRICS] = "/metrics", [STATE] = "/status.json", [STATUS_PAGE] = "/"};
static const char *const types[] = {
	[METRICS] = "text/plain; version=0.0.4; charset=utf-8",
	[STATE] = "application/json",
	[STATUS_PAGE] = "text/html; charset=utf-8",
};

/* An answer. Connections that are slow to take it share one text. */
struct page {
	unsigned refs;
	int code;
	uint64_t made_ms;
	char *text;
	size_t len;
};

struct exporter {
	const struct exporter_conf *conf;
	struct event_base *base;
	struct evhttp *http;
	struct event *check, *term, *intr;
	struct http_listen listen;
	struct http_conns conns;
	struct page *pages[RESOURCES]; /* the latest ones, NULL: none yet */
	bool down;                     /* the daemon did not answer the last time */
};

/* The last failure of a query, a sentence. */
static char last_error[512];

static void keep_error(const char *text)
{
	snprintf(last_error, sizeof(last_error), "%s", text);
}

static void print_message(const char *what, const char *text)
{
	fprintf(stderr, "ddpmetrics: %s%s\n", what, text);
}

static uint64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- pages ---- */

static void page_unref(struct page *p)
{
	if (!p || --p->refs > 0)
		return;
	free(p->text);
	free(p);
}

static void print_up(FILE *out, bool up)
{
	fprintf(out,
		"# HELP ddpsctpd_up Whether the daemon answers.\n"
		"# TYPE ddpsctpd_up gauge\n"
		"ddpsctpd_up %d\n",
		up);
}

/* Writes the current metrics of the daemon. */
static enum ctl_exit write_metrics(const struct exporter *x, FILE *out)
{
	const struct exporter_conf *conf = x->conf;
	enum ctl_exit e = metric_print(out, conf->socket, conf->timeout_ms, METRIC_PROMETHEUS);

	if (e == CTL_EXIT_OK)
		print_up(out, true);
	return e;
}

/* Writes why there are no metrics. */
static enum ctl_exit write_reason(const struct exporter *x, FILE *out)
{
	(void)x;
	fprintf(out, "# %s\n", last_error);
	print_up(out, false);
	return CTL_EXIT_OK;
}

/* A UNIX socket has its readers by its mode; at an address any user of the host may read. */
static enum ctl_exit write_state(const struct exporter *x, FILE *out)
{
	return state_json_print(out, x->conf->socket, x->conf->timeout_ms,
				x->listen.unix_socket ? STATE_ALL : STATE_TOTALS);
}

static enum ctl_exit write_state_reason(const struct exporter *x, FILE *out)
{
	(void)x;
	return state_json_error(out, last_error);
}

typedef enum ctl_exit write_fn(const struct exporter *x, FILE *out);

static write_fn *const writers[RESOURCES] = {[METRICS] = write_metrics, [STATE] = write_state};
static write_fn *const failures[RESOURCES] = {
	[METRICS] = write_reason, [STATE] = write_state_reason};

/* Sets the text of the page to the output of fn; after a failure the page has none. */
static enum ctl_exit fill_page(struct page *p, const struct exporter *x, write_fn *fn)
{
	FILE *out = open_memstream(&p->text, &p->len);
	enum ctl_exit e;

	if (!out) {
		keep_error("out of memory");
		return CTL_EXIT_FAILED;
	}
	e = fn(x, out);
	if (fclose(out) != 0 && e == CTL_EXIT_OK) {
		keep_error("out of memory");
		e = CTL_EXIT_FAILED;
	}
	if (e != CTL_EXIT_OK) {
		free(p->text);
		p->text = NULL;
	}
	return e;
}

/* Logs when the daemon stops to answer, and when it answers again. */
static void note_daemon(struct exporter *x, bool down)
{
	if (down != x->down)
		print_message(down ? "" : "the daemon answers again", down ? last_error : "");
	x->down = down;
}

static struct page *new_page(struct exporter *x, enum resource which)
{
	autofree struct page *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->code = HTTP_OK;
	if (fill_page(p, x, writers[which]) != CTL_EXIT_OK)
		p->code = HTTP_SERVUNAVAIL;
	note_daemon(x, p->code != HTTP_OK);
	if (p->code != HTTP_OK && fill_page(p, x, failures[which]) != CTL_EXIT_OK)
		return NULL;
	p->refs = 1;
	p->made_ms = clock_ms();
	return take_ptr(p);
}

/* The latest page, made again if it is old. NULL: out of memory. */
static struct page *fresh_page(struct exporter *x, enum resource which)
{
	struct page **latest = &x->pages[which];

	if (*latest && clock_ms() - (*latest)->made_ms < FRESH_MS)
		return *latest;
	page_unref(*latest);
	*latest = new_page(x, which);
	return *latest;
}

/* ---- requests ---- */

static void on_sent(const void *data, size_t len, void *page)
{
	(void)data;
	(void)len;
	page_unref(page);
}

/* One request for each connection, so that the time of a connection is that of its request. */
static void send_answer(struct evhttp_request *req, int code, const char *type,
			struct evbuffer *body)
{
	struct evkeyvalq *head = evhttp_request_get_output_headers(req);

	evhttp_add_header(head, "Connection", "close");
	evhttp_add_header(head, "Cache-Control", "no-store");
	evhttp_add_header(head, "Content-Type", type);
	evhttp_add_header(head, "X-Content-Type-Options", "nosniff");
	evhttp_add_header(head, "Referrer-Policy", "no-referrer");
	evhttp_add_header(head, "Cross-Origin-Resource-Policy", "same-origin");
	evhttp_send_reply(req, code, NULL, body);
	evbuffer_free(body);
}

static void answer_words(struct evhttp_request *req, int code, const char *words)
{
	struct evbuffer *body = evbuffer_new();

	if (!body) {
		evhttp_send_error(req, HTTP_INTERNAL, NULL);
		return;
	}
	evbuffer_add_printf(body, "%s\n", words);
	send_answer(req, code, "text/plain; charset=utf-8", body);
}

static void answer_page(struct exporter *x, struct evhttp_request *req, enum resource which)
{
	struct page *p = fresh_page(x, which);
	struct evbuffer *body = p ? evbuffer_new() : NULL;

	if (!body || evbuffer_add_reference(body, p->text, p->len, on_sent, p) < 0) {
		if (body)
			evbuffer_free(body);
		answer_words(req, HTTP_INTERNAL, "out of memory");
		return;
	}
	p->refs++;
	send_answer(req, p->code, types[which], body);
}

/* The page has a nonce of its own each time. */
static void answer_status_page(struct evhttp_request *req)
{
	char nonce[STATUS_PAGE_NONCE], policy[STATUS_PAGE_POLICY];
	autofree char *text = NULL;
	size_t len = 0;
	FILE *out = status_page_nonce(nonce) ? open_memstream(&text, &len) : NULL;
	struct evbuffer *body = evbuffer_new();

	if (out)
		status_page_print(out, nonce);
	if (!out || fclose(out) != 0 || !body || evbuffer_add(body, text, len) < 0) {
		if (body)
			evbuffer_free(body);
		answer_words(req, HTTP_INTERNAL, "out of memory or random bytes");
		return;
	}
	status_page_policy(nonce, policy);
	evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Security-Policy",
			  policy);
	send_answer(req, HTTP_OK, types[STATUS_PAGE], body);
}

static enum resource resource_of(struct evhttp_request *req)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
	enum resource which = METRICS;

	while (which < UNKNOWN && (!path || strcmp(path, paths[which]) != 0))
		which++;
	return which;
}

static const char *host_of(struct evhttp_request *req)
{
	return evhttp_find_header(evhttp_request_get_input_headers(req), "Host");
}

static void on_http_request(struct evhttp_request *req, void *user)
{
	enum resource which = resource_of(req);

	if (which == UNKNOWN) {
		answer_words(req, HTTP_NOTFOUND,
			     "the metrics are at /metrics, the status page at /");
	} else if (evhttp_request_get_command(req) != EVHTTP_REQ_GET) {
		evhttp_add_header(evhttp_request_get_output_headers(req), "Allow", "GET");
		answer_words(req, HTTP_BADMETHOD, "this can only be read: GET");
	} else if (which != METRICS && !status_page_host(host_of(req))) {
		answer_words(req, HTTP_MISDIRECTED,
			     "the status page is for readers of this host: open it as localhost");
	} else if (which == STATUS_PAGE) {
		answer_status_page(req);
	} else {
		answer_page(user, req, which);
	}
}

/* ---- connections ---- */

static void arm_check(struct exporter *x)
{
	const struct timeval tv = {.tv_usec = CHECK_MS * 1000L};

	if (!event_pending(x->check, EV_TIMEOUT, NULL))
		event_add(x->check, &tv);
}

static void on_check(evutil_socket_t fd, short what, void *user)
{
	struct exporter *x = user;

	(void)fd;
	(void)what;
	if (http_conns_check(&x->conns, clock_ms()) > 0)
		arm_check(x);
}

/* evhttp calls this for each connection that it has accepted. NULL: it makes its own. */
static struct bufferevent *on_connection(struct event_base *base, void *user)
{
	struct exporter *x = user;

	(void)base;
	http_conns_came(&x->conns, clock_ms());
	arm_check(x);
	return NULL;
}

static void on_end_signal(evutil_socket_t signo, short what, void *user)
{
	(void)signo;
	(void)what;
	event_base_loopbreak(user);
}

/* ---- start and end ---- */

static bool make_events(struct exporter *x)
{
	x->base = event_base_new();
	if (!x->base)
		return false;
	x->http = evhttp_new(x->base);
	x->check = evtimer_new(x->base, on_check, x);
	x->term = evsignal_new(x->base, SIGTERM, on_end_signal, x->base);
	x->intr = evsignal_new(x->base, SIGINT, on_end_signal, x->base);
	return x->http && x->check && x->term && x->intr && event_add(x->term, NULL) == 0 &&
	       event_add(x->intr, NULL) == 0;
}

static bool make_http(struct exporter *x)
{
	evhttp_set_max_headers_size(x->http, MAX_HEADERS);
	evhttp_set_max_body_size(x->http, MAX_BODY);
	evhttp_set_timeout(x->http, HTTP_CONNS_MS / 1000);
	evhttp_set_allowed_methods(x->http, UINT16_MAX);
	evhttp_set_bevcb(x->http, on_connection, x);
	evhttp_set_gencb(x->http, on_http_request, x);
	return evhttp_accept_socket_with_handle(x->http, x->listen.fd) != NULL;
}

static enum ctl_exit serve_http(struct exporter *x)
{
	if (!make_events(x) || !make_http(x) || http_conns_init(&x->conns) < 0) {
		print_message("cannot serve: ", "out of memory or descriptors");
		return CTL_EXIT_FAILED;
	}
	print_message("listening on ", x->listen.name);
	return event_base_dispatch(x->base) < 0 ? CTL_EXIT_FAILED : CTL_EXIT_OK;
}

static void free_events(struct exporter *x)
{
	struct event *events[] = {x->check, x->term, x->intr};

	for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (events[i])
			event_free(events[i]);
	if (x->http)
		evhttp_free(x->http); /* closes the listening socket, too */
	if (x->base)
		event_base_free(x->base);
}

enum ctl_exit exporter_run(const struct exporter_conf *conf)
{
	struct exporter x = {.conf = conf};
	char error[HTTP_LISTEN_ERROR];
	enum ctl_exit e;

	query_errors_to(keep_error);
	signal(SIGPIPE, SIG_IGN);
	if (http_listen_open(&x.listen, conf->listen, error)) {
		print_message("--listen: ", error);
		return CTL_EXIT_USAGE;
	}
	e = serve_http(&x);
	free_events(&x);
	x.listen.fd = -1;
	http_listen_close(&x.listen);
	for (unsigned i = 0; i < RESOURCES; i++)
		page_unref(x.pages[i]);
	return e;
}
