/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/field/metric.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM };

static const char *const type_names[] = {"gauge", "counter", "histogram"};

/* A field as a metric. Its unit is the end of its name, as OpenMetrics requires. A histogram is
 * made of all objects of its kind: struct ctl_turn. */
struct metric {
	const char *object, *key;
	const char *name; /* after "ddpsctpd_" */
	const char *unit; /* "" or the last word of the name */
	enum metric_type type;
	unsigned scale; /* the field counts parts of the unit: 1000 of a second */
	const char *help;
};

#define COUNTER(object, key, name, unit, help)                                                     \
	{                                                                                          \
		object, key, name, unit, METRIC_COUNTER, 1, help                                   \
	}
#define GAUGE(object, key, name, unit, scale, help)                                                \
	{                                                                                          \
		object, key, name, unit, METRIC_GAUGE, scale, help                                 \
	}

static const struct metric metrics[] = {
	GAUGE("status", "uptime_ms", "uptime_seconds", "seconds", 1000, "Time since the start."),
	GAUGE("status", "clients", "clients", "", 1, "Attached programs."),
	GAUGE("status", "assocs", "assocs", "", 1, "Associations."),
	GAUGE("status", "sessions", "sessions", "", 1, "DDP stream sessions."),
	GAUGE("status", "qps", "qps", "", 1, "Queue pairs."),
	GAUGE("status", "mr_bytes", "mr_bytes", "bytes", 1, "Registered memory."),
	GAUGE("status", "transport_bytes", "transport_memory_bytes", "bytes", 1,
	      "Memory of the associations of the transport."),
	COUNTER("status", "tx_packets", "tx_packets", "", "Packets sent."),
	COUNTER("status", "rx_packets", "rx_packets", "", "Packets received."),
	COUNTER("status", "tx_bytes", "tx_bytes", "bytes", "Bytes sent."),
	COUNTER("status", "rx_bytes", "rx_bytes", "bytes", "Bytes received."),
	COUNTER("status", "retransmits", "retransmits", "", "Chunks sent again."),
	COUNTER("status", "spurious", "spurious_retransmits", "",
		"Chunks sent again that the peer had already."),
	COUNTER("status", "bad_crc", "bad_crc", "", "Packets dropped for their checksum."),
	COUNTER("status", "bad_packets", "bad_packets", "", "Packets dropped for another reason."),
	COUNTER("status", "unknown_packets", "unknown_packets", "",
		"Packets of peers without association."),
	COUNTER("status", "over_budget", "over_budget_packets", "",
		"Packets dropped unread beyond the rate for all."),
	COUNTER("status", "over_share", "over_share_packets", "",
		"Packets dropped unread beyond the share of their network."),
	COUNTER("status", "refused_assocs", "refused_assocs", "",
		"Associations of peers that were refused."),
	COUNTER("status", "unanswered", "unanswered_packets", "",
		"Packets not answered: the queue of replies was full."),
	COUNTER("status", "guesses", "guesses", "",
		"Requests of peers for memory that they may not use."),
	COUNTER("status", "slowed", "slowed_sessions", "",
		"Sessions of networks with many guesses that waited or were refused."),
	GAUGE("assoc", "srtt_us", "assoc_srtt_seconds", "seconds", 1000000,
	      "Smoothed round-trip time."),
	COUNTER("assoc", "retransmits", "assoc_retransmits", "", "Chunks sent again."),
	COUNTER("assoc", "spurious", "assoc_spurious_retransmits", "",
		"Chunks sent again that the peer had already."),
	COUNTER("assoc", "wrong_tags", "assoc_wrong_tags", "",
		"Packets in the name of the association with another verification tag."),
	COUNTER("assoc", "rx_refused", "assoc_rx_refused", "",
		"Session requests that were refused for want of memory."),
	GAUGE("assoc", "cwnd", "assoc_cwnd_bytes", "bytes", 1, "Congestion window."),
	GAUGE("assoc", "mtu", "assoc_mtu_bytes", "bytes", 1, "MTU of the path."),
	GAUGE("assoc", "sessions", "assoc_sessions", "", 1, "Sessions on the association."),
	COUNTER("assoc", "tx_segments", "assoc_tx_segments", "", "DDP segments sent."),
	COUNTER("assoc", "rx_segments", "assoc_rx_segments", "", "DDP segments received."),
	COUNTER("assoc", "tx_control", "assoc_tx_control", "", "Control messages sent."),
	COUNTER("assoc", "rx_control", "assoc_rx_control", "", "Control messages received."),
	COUNTER("assoc", "tx_terminates", "assoc_tx_terminates", "",
		"Sessions terminated by this side."),
	COUNTER("assoc", "rx_ahead", "assoc_rx_ahead", "",
		"Messages that arrived ahead of their order."),
	COUNTER("assoc", "rx_early", "assoc_rx_early", "", "Messages before their Accept."),
	COUNTER("assoc", "rx_dropped", "assoc_rx_dropped", "", "Messages dropped."),
	COUNTER("assoc", "rx_violations", "assoc_rx_violations", "",
		"Messages that violated the protocol."),
	COUNTER("qp", "tx_msgs", "qp_tx_msgs", "", "Messages sent."),
	COUNTER("qp", "rx_msgs", "qp_rx_msgs", "", "Messages received."),
	COUNTER("qp", "tx_bytes", "qp_tx_bytes", "bytes", "Payload sent."),
	COUNTER("qp", "rx_bytes", "qp_rx_bytes", "bytes", "Payload received."),
	COUNTER("qp", "held_msgs", "qp_held_msgs", "", "Messages that waited for a receive."),
	COUNTER("qp", "not_ready", "qp_not_ready", "", "Times that the peer had no receive."),
	COUNTER("qp", "tx_dropped", "qp_tx_dropped", "",
		"Datagrams of the queue pair that reached no other."),
	COUNTER("qp", "rx_dropped", "qp_rx_dropped", "",
		"Datagrams for the queue pair that found no receive, or had another Q_Key."),
	COUNTER("qp", "srq_taken", "qp_srq_taken", "",
		"Receives taken from the shared receive queue."),
	COUNTER("cq", "completions", "cq_completions", "", "Completions written."),
	COUNTER("cq", "bells", "cq_bells", "", "Wake-ups of the program."),
	COUNTER("srq", "taken", "srq_receives_taken", "", "Receives taken by queue pairs."),
	COUNTER("srq", "held_msgs", "srq_held_msgs", "", "Messages that waited for a receive."),
	COUNTER("listener", "requests", "listener_requests", "", "Session requests received."),
	GAUGE("path", "srtt_us", "path_srtt_seconds", "seconds", 1000000,
	      "Smoothed round-trip time of the path."),
	GAUGE("path", "cwnd", "path_cwnd_bytes", "bytes", 1, "Congestion window of the path."),
	GAUGE("path", "flight", "path_flight_bytes", "bytes", 1,
	      "Bytes of the path that are not acknowledged."),
	GAUGE("path", "rate", "path_rate_bytes_per_second", "bytes_per_second", 1,
	      "Bytes of the path that were acknowledged per second lately."),
	GAUGE("path", "pacing_rate", "path_pacing_rate_bytes_per_second", "bytes_per_second", 1,
	      "Rate at which packets of the path leave, 0 if it is not paced."),
	GAUGE("mr", "len", "mr_length_bytes", "bytes", 1, "Length of the memory region."),
	GAUGE("limit", "used", "limit_used", "", 1, "Amount of the resource that the user has."),
	GAUGE("limit", "max", "limit_max", "", 1, "Amount of the resource that the user may have."),
	COUNTER("limit", "refused", "limit_refused", "", "Requests that the limit refused."),
	GAUGE("user", "mr_bytes", "user_mr_bytes", "bytes", 1, "Registered memory."),
	COUNTER("user", "tx_msgs", "user_tx_msgs", "", "Messages sent by the user's programs."),
	COUNTER("user", "rx_msgs", "user_rx_msgs", "", "Messages received by the user's programs."),
	COUNTER("user", "tx_bytes", "user_tx_bytes", "bytes",
		"Payload sent by the user's programs."),
	COUNTER("user", "rx_bytes", "user_rx_bytes", "bytes",
		"Payload received by the user's programs."),
	GAUGE("client", "mr_bytes", "client_mr_bytes", "bytes", 1, "Registered memory."),
	GAUGE("client", "qps", "client_qps", "", 1, "Queue pairs."),
	GAUGE("peer", "associations", "peer_assocs", "", 1, "Associations that peers opened."),
	GAUGE("peer", "sessions", "peer_sessions", "", 1, "Sessions that peers began."),
	GAUGE("peer", "requests", "peer_requests", "", 1, "Session requests that wait."),
	GAUGE("peer", "early_bytes", "peer_early_bytes", "bytes", 1,
	      "Memory for segments before the Accept of their session."),
	GAUGE("peer", "memory", "peer_memory_bytes", "bytes", 1, "Memory for data that is queued."),
	COUNTER("peer", "refused_associations", "peer_refused_assocs", "",
		"Associations that the limit of a network refused."),
	COUNTER("peer", "refused_sessions", "peer_refused_sessions", "",
		"Session requests of networks with too many sessions."),
	COUNTER("peer", "refused_requests", "peer_refused_requests", "",
		"Session requests of networks with too many that wait."),
	COUNTER("peer", "refused_rate", "peer_refused_rate", "",
		"Session requests beyond the rate of their network."),
	COUNTER("peer", "refused_early", "peer_refused_early", "",
		"Segments before their Accept that got no memory."),
	COUNTER("peer", "refused_memory", "peer_refused_memory", "",
		"Blocks of memory that the limit of a network refused."),
	COUNTER("peer", "kernel_dropped", "peer_kernel_dropped_packets", "",
		"Packets that the kernel dropped: in floods, or for a full buffer."),
	COUNTER("peer", "lost_datagrams", "peer_lost_datagrams", "",
		"Datagrams of peers to numbers that nobody has."),
	{"turn", "turns", "turn_seconds", "seconds", METRIC_HISTOGRAM, 1000000,
	 "Duration of turns of the event loop that did something."},
};

enum { METRICS = sizeof(metrics) / sizeof(metrics[0]) };

/* Keys that tell the objects of a kind apart. */
static const struct {
	const char *object, *keys[METRIC_LABELS];
} labels[] = {
	{"assoc", {"id", "remote", "security", "rule"}},
	{"qp", {"qp_num", "client", "comm", "uid"}},
	{"cq", {"client", "handle", "uid"}},
	{"client", {"id", "comm", "uid"}},
	{"srq", {"client", "handle", "uid"}},
	{"listener", {"client", "handle", "port", "uid"}},
	{"path", {"assoc", "address"}},
	{"mr", {"stag", "client", "uid"}},
	{"limit", {"uid", "name"}},
	{"user", {"uid"}},
};

bool metric_is_counter(const struct field_object *obj, const struct field *f)
{
	for (unsigned i = 0; i < METRICS; i++)
		if (!strcmp(metrics[i].object, obj->name) && !strcmp(metrics[i].key, f->key))
			return metrics[i].type != METRIC_GAUGE;
	return false;
}

const char *const *metric_labels(const char *object)
{
	for (unsigned i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (!strcmp(labels[i].object, object))
			return labels[i].keys;
	return NULL;
}

static const struct field_object *object_of(const struct metric *m)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(objs[i].name, m->object))
			return &objs[i];
	return NULL;
}

/* ---- one value ---- */

/* A metric of one object. */
struct sample {
	const struct metric *m;
	const struct field_object *obj;
	const struct ctl_record *rec;
	double value;
};

/* False if it was not measured, or an older daemon lacks it. */
static bool take_value(struct sample *s)
{
	const struct field *f = field_find(s->obj, s->m->key);
	char text[FIELD_TEXT];

	if ((uint32_t)f->offset + f->size > s->rec->len)
		return false;
	field_text(f, &s->rec->status, true, text);
	s->value = strtod(text, NULL) / s->m->scale;
	return strcmp(text, "-") != 0;
}

/* The text of a label's value, in quotes. Programs choose their names, which may have bytes that
 * are not printable ASCII. */
static void print_quoted(FILE *out, const char *text)
{
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		putc((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f ? '?' : *text,
		     out);
	}
	putc('"', out);
}

static void print_labels(FILE *out, const struct sample *s)
{
	const char *const *keys = metric_labels(s->obj->name);
	char text[FIELD_TEXT];

	for (unsigned i = 0; keys && i < METRIC_LABELS && keys[i]; i++) {
		field_text(field_find(s->obj, keys[i]), &s->rec->status, true, text);
		fprintf(out, "%s%s=", i ? "," : "{", keys[i]);
		print_quoted(out, text);
	}
	if (keys)
		putc('}', out);
}

static void print_line(FILE *out, const struct sample *s)
{
	fprintf(out, "ddpsctpd_%s%s", s->m->name, s->m->type == METRIC_COUNTER ? "_total" : "");
	print_labels(out, s);
	fprintf(out, " %.15g\n", s->value);
}

static struct json_object *json_labels(const struct sample *s)
{
	struct json_object *o = json_object_new_object();
	const char *const *keys = metric_labels(s->obj->name);
	char text[FIELD_TEXT];

	for (unsigned i = 0; o && keys && i < METRIC_LABELS && keys[i]; i++) {
		field_text(field_find(s->obj, keys[i]), &s->rec->status, true, text);
		json_object_object_add(o, keys[i], json_object_new_string(text));
	}
	return o;
}

static void add_json(struct json_object *array, const struct metric *m, const char *name,
		     struct json_object *has, double value)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(name));
	json_object_object_add(o, "type", json_object_new_string(type_names[m->type]));
	json_object_object_add(o, "unit", json_object_new_string(m->unit));
	json_object_object_add(o, "labels", has);
	json_object_object_add(o, "value", json_object_new_double(value));
	json_object_array_add(array, o);
}

/* ---- a histogram ---- */

/* One line of it. le: the label of a bucket, NULL: none. */
static void print_part(FILE *out, const struct metric *m, const char *part, const char *le,
		       double value, struct json_object *array)
{
	struct json_object *has;
	char name[64];

	snprintf(name, sizeof(name), "%s_%s", m->name, part);
	if (array) {
		has = json_object_new_object();
		if (le)
			json_object_object_add(has, "le", json_object_new_string(le));
		add_json(array, m, name, has, value);
		return;
	}
	fprintf(out, "ddpsctpd_%s", name);
	if (le)
		fprintf(out, "{le=\"%s\"}", le);
	fprintf(out, " %.15g\n", value);
}

/* A bucket of a metric has those of the buckets before it, too. */
static void print_histogram(FILE *out, const struct metric *m, const struct query_reply *a,
			    struct json_object *array)
{
	uint64_t n = 0, us = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct ctl_turn *t = &a->recs[i].turn;
		char le[32] = "+Inf";

		if (t->up_to_us)
			snprintf(le, sizeof(le), "%.15g", (double)t->up_to_us / m->scale);
		n += t->turns;
		us += t->time_us;
		print_part(out, m, "bucket", le, (double)n, array);
	}
	if (a->n == 0)
		return;
	print_part(out, m, "sum", NULL, (double)us / m->scale, array);
	print_part(out, m, "count", NULL, (double)n, array);
}

/* ---- all of them ---- */

/* Prometheus names a counter as its lines do, and has no units. */
static void print_prometheus_head(FILE *out, const struct metric *m)
{
	const char *total = m->type == METRIC_COUNTER ? "_total" : "";

	fprintf(out, "# HELP ddpsctpd_%s%s %s\n", m->name, total, m->help);
	fprintf(out, "# TYPE ddpsctpd_%s%s %s\n", m->name, total, type_names[m->type]);
}

static void print_openmetrics_head(FILE *out, const struct metric *m)
{
	fprintf(out, "# TYPE ddpsctpd_%s %s\n", m->name, type_names[m->type]);
	if (*m->unit)
		fprintf(out, "# UNIT ddpsctpd_%s %s\n", m->name, m->unit);
	fprintf(out, "# HELP ddpsctpd_%s %s\n", m->name, m->help);
}

/* Peers decide how many networks there are: only the sum of all is a metric, the first record. */
static size_t records_of(const struct metric *m, const struct query_reply *a)
{
	return strcmp(m->object, "peer") == 0 && a->n > 1 ? 1 : a->n;
}

static void print_metric(FILE *out, const struct metric *m, const struct query_reply *a,
			 enum metric_format format, struct json_object *array)
{
	struct sample s = {.m = m, .obj = object_of(m)};

	if (format == METRIC_OPENMETRICS)
		print_openmetrics_head(out, m);
	else if (format == METRIC_PROMETHEUS)
		print_prometheus_head(out, m);
	if (m->type == METRIC_HISTOGRAM) {
		print_histogram(out, m, a, array);
		return;
	}
	for (size_t i = 0; i < records_of(m, a); i++) {
		s.rec = &a->recs[i];
		if (!take_value(&s))
			continue;
		if (array)
			add_json(array, m, m->name, json_labels(&s), s.value);
		else
			print_line(out, &s);
	}
}

static void print_end(FILE *out, enum metric_format format, struct json_object *array)
{
	if (array)
		fprintf(out, "%s\n", json_object_to_json_string_ext(array, JSON_C_TO_STRING_PLAIN));
	json_object_put(array);
	if (format == METRIC_OPENMETRICS)
		fputs("# EOF\n", out);
}

enum ctl_exit metric_print(FILE *out, const char *socket, int timeout_ms, enum metric_format format)
{
	struct json_object *array = format == METRIC_JSON ? json_object_new_array() : NULL;
	struct query_reply a = {0};
	enum ctl_exit e = CTL_EXIT_OK;

	for (unsigned i = 0; e == CTL_EXIT_OK && i < METRICS; i++) {
		if (i == 0 || strcmp(metrics[i].object, metrics[i - 1].object) != 0) {
			free(a.recs);
			a.recs = NULL;
			e = query_show(socket, timeout_ms, object_of(&metrics[i])->number, &a);
		}
		if (e == CTL_EXIT_OK)
			print_metric(out, &metrics[i], &a, format, array);
	}
	free(a.recs);
	if (e == CTL_EXIT_OK)
		print_end(out, format, array);
	else
		json_object_put(array);
	return e;
}
