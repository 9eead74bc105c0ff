/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/metrics/state_json.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/field/print.h"
#include "ctl/field/query.h"

/* The members of the status that name no peer, no user and no program. */
static const char *const totals[] = {
	"version",
	"uptime_ms",
	"transport",
	"clients",
	"assocs",
	"sessions",
	"listeners",
	"pds",
	"mrs",
	"mr_bytes",
	"cqs",
	"qps",
	"tx_packets",
	"rx_packets",
	"tx_bytes",
	"rx_bytes",
	"retransmits",
	"bad_crc",
	"bad_packets",
	"unknown_packets",
	"over_budget",
	"over_share",
	"unanswered",
	"draining",
	"refused_assocs",
	"transport_bytes",
};

/* The lists of STATE_ALL. */
static const char *const lists[] = {"assoc", "session", "qp", "user", "limit", "event"};

enum {
	TOTALS = sizeof(totals) / sizeof(totals[0]),
	LISTS = sizeof(lists) / sizeof(lists[0]),
};

static const struct field_object *find_object(const char *name)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(objs[i].name, name))
			return &objs[i];
	return NULL;
}

/* The value of a member, or NULL, JSON's null, if the daemon is older than it. */
static struct json_object *member_json(const struct field *f, const struct ctl_record *rec)
{
	return (uint32_t)f->offset + f->size <= rec->len ? field_json(f, &rec->status, false)
							 : NULL;
}

static bool add_totals(struct json_object *to, const struct ctl_record *rec)
{
	const struct field_object *obj = find_object("status");
	struct json_object *o = json_object_new_object();

	if (!o || json_object_object_add(to, "status", o) < 0) {
		json_object_put(o);
		return false;
	}
	for (unsigned i = 0; i < TOTALS; i++)
		json_object_object_add(o, totals[i], member_json(field_find(obj, totals[i]), rec));
	return true;
}

/* The status of one record as it is. */
static bool add_status(struct json_object *to, const struct ctl_record *rec)
{
	struct json_object *array = print_json_array(find_object("status"), rec, 1, false);
	struct json_object *o = array ? json_object_array_get_idx(array, 0) : NULL;

	if (o)
		json_object_object_add(to, "status", json_object_get(o));
	json_object_put(array);
	return o;
}

static enum ctl_exit out_of_memory(void)
{
	query_error("out of memory");
	return CTL_EXIT_FAILED;
}

/* Adds the list of one kind. Of events the latest ones stay, which are the last ones. */
static enum ctl_exit add_list(struct json_object *to, const char *name, const char *socket,
			      int timeout_ms)
{
	const struct field_object *obj = find_object(name);
	struct json_object *more = json_object_object_get(to, "more");
	struct json_object *hidden = json_object_object_get(to, "hidden");
	struct query_reply a = {0};
	enum ctl_exit e = query_show(socket, timeout_ms, obj->number, &a);
	size_t n = a.n < STATE_JSON_ROWS ? a.n : STATE_JSON_ROWS, left = a.n - n;
	struct json_object *array = NULL;

	if (e == CTL_EXIT_OK) {
		array = print_json_array(obj, a.recs + (obj->number == CTL_EVENT ? left : 0), n,
					 false);
		if (!array || json_object_object_add(to, name, array) < 0)
			e = out_of_memory();
		json_object_object_add(more, name, json_object_new_int64((int64_t)left));
		json_object_object_add(hidden, name, json_object_new_int64(a.hidden));
	}
	free(a.recs);
	return e;
}

static enum ctl_exit add_lists(struct json_object *to, const char *socket, int timeout_ms)
{
	enum ctl_exit e = CTL_EXIT_OK;

	if (json_object_object_add(to, "more", json_object_new_object()) < 0 ||
	    json_object_object_add(to, "hidden", json_object_new_object()) < 0)
		return out_of_memory();
	for (unsigned i = 0; e == CTL_EXIT_OK && i < LISTS; i++)
		e = add_list(to, lists[i], socket, timeout_ms);
	return e;
}

static enum ctl_exit print_object(FILE *out, struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);

	if (!text || fprintf(out, "%s\n", text) < 0)
		return out_of_memory();
	return CTL_EXIT_OK;
}

enum ctl_exit state_json_print(FILE *out, const char *socket, int timeout_ms,
			       enum state_scope scope)
{
	struct json_object *o;
	struct query_reply a = {0};
	enum ctl_exit e = query_show(socket, timeout_ms, CTL_STATUS, &a);
	const char *word = scope == STATE_ALL ? "all" : "totals";

	if (e != CTL_EXIT_OK)
		return e;
	o = json_object_new_object();
	if (!o || a.n == 0 ||
	    json_object_object_add(o, "scope", json_object_new_string(word)) < 0 ||
	    !(scope == STATE_ALL ? add_status : add_totals)(o, a.recs))
		e = out_of_memory();
	free(a.recs);
	if (e == CTL_EXIT_OK && scope == STATE_ALL)
		e = add_lists(o, socket, timeout_ms);
	if (e == CTL_EXIT_OK)
		e = print_object(out, o);
	json_object_put(o);
	return e;
}

enum ctl_exit state_json_error(FILE *out, const char *text)
{
	struct json_object *o = json_object_new_object();
	enum ctl_exit e;

	if (!o || json_object_object_add(o, "error", json_object_new_string(text)) < 0) {
		json_object_put(o);
		return out_of_memory();
	}
	e = print_object(out, o);
	json_object_put(o);
	return e;
}
