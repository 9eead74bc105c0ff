/* SPDX-License-Identifier: BSD-2-Clause */
/* The printer table of ddpctl: every field in text and JSON, aligned, filtered, valid. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/field/print.h"
#include "ctl/field/rates.h"

static const struct field_object *object(const char *name)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(objs[i].name, name))
			return &objs[i];
	cr_assert_fail("no object %s", name);
	return NULL;
}

static void set_addr(struct sockaddr_storage *ss, const char *host, uint16_t port)
{
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, host, &in.sin_addr) == 1) {
		memcpy(ss, &in, sizeof(in));
		return;
	}
	cr_assert_eq(inet_pton(AF_INET6, host, &in6.sin6_addr), 1);
	memcpy(ss, &in6, sizeof(in6));
}

static char *printed(const char *name, const struct ctl_record *recs, size_t n,
		     const struct print_opts *o)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	cr_assert_eq(print_records(f, object(name), recs, n, o), 0);
	fclose(f);
	return text;
}

static const struct print_opts json = {.json = true}, text_opts = {0};

static struct json_object *parsed(const char *name, const struct ctl_record *recs, size_t n,
				  const struct print_opts *o)
{
	char *text = printed(name, recs, n, o);
	enum json_tokener_error err;
	struct json_object *j = json_tokener_parse_verbose(text, &err);

	cr_assert_eq(err, json_tokener_success, "%s: %s", json_tokener_error_desc(err), text);
	cr_assert(json_object_is_type(j, json_type_array));
	cr_assert_eq(json_object_array_length(j), n);
	free(text);
	return j;
}

static struct json_object *member(struct json_object *array, size_t i, const char *key)
{
	struct json_object *v = NULL;

	cr_assert(json_object_object_get_ex(json_object_array_get_idx(array, i), key, &v),
		  "no key %s", key);
	return v;
}

/* Records whose bytes are all the same: every field gets a value, also an invalid one. */
static struct ctl_record filled(int byte)
{
	struct ctl_record rec;

	memset(&rec, byte, sizeof(rec));
	rec.len = sizeof(rec) - CTL_HEAD;
	return rec;
}

/* ---- JSON ---- */

Test(print, json_of_nothing_is_an_empty_array)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++) {
		char *text = printed(objs[i].name, NULL, 0, &json);

		cr_expect_str_eq(text, "[]\n");
		free(text);
	}
}

Test(print, json_is_valid_for_any_record_of_the_daemon)
{
	static const int bytes[] = {0, 0x22, 0x5c, 0x0a, 0x1b, 0x7f, 0xc3, 0xff, 'a', 2, 10};
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++) {
		for (size_t b = 0; b < sizeof(bytes) / sizeof(bytes[0]); b++) {
			struct ctl_record recs[2] = {filled(bytes[b]), filled(0)};
			struct json_object *j = parsed(objs[i].name, recs, 2, &json);

			cr_expect_eq(json_object_object_length(json_object_array_get_idx(j, 0)),
				     (int)objs[i].nfields, "%s: two fields have one key",
				     objs[i].name);
			json_object_put(j);
		}
	}
}

Test(print, numbers_are_numbers_and_stags_are_hex_strings)
{
	struct ctl_record rec = filled(0);
	struct json_object *j;

	rec.mr.stag = 0x00ab12cd;
	rec.mr.len = UINT64_MAX;
	rec.mr.iova = UINT64_C(1) << 63;
	rec.mr.access = 5;
	strcpy(rec.mr.mode, "shared");
	j = parsed("mr", &rec, 1, &json);
	cr_expect_str_eq(json_object_get_string(member(j, 0, "stag")), "0x00ab12cd");
	cr_expect(json_object_is_type(member(j, 0, "stag"), json_type_string));
	cr_expect(json_object_is_type(member(j, 0, "len"), json_type_int));
	cr_expect_eq(json_object_get_uint64(member(j, 0, "len")), UINT64_MAX);
	cr_expect_eq(json_object_get_uint64(member(j, 0, "iova")), UINT64_C(1) << 63);
	cr_expect_str_eq(json_object_get_string(member(j, 0, "access")), "local_write,remote_read");
	json_object_put(j);
	j = parsed("mr", &rec, 1, &(struct print_opts){.json = true, .numeric = true});
	cr_expect(json_object_is_type(member(j, 0, "access"), json_type_int));
	json_object_put(j);
}

Test(print, addresses_are_strings_with_port)
{
	struct ctl_record recs[3] = {filled(0), filled(0), filled(0)};
	struct json_object *j;

	set_addr(&recs[0].qp.remote, "127.0.0.2", 5043);
	set_addr(&recs[1].qp.remote, "::1", 5044);
	j = parsed("qp", recs, 3, &json);
	cr_expect_str_eq(json_object_get_string(member(j, 0, "remote")), "127.0.0.2:5043");
	cr_expect_str_eq(json_object_get_string(member(j, 1, "remote")), "[::1]:5044");
	cr_expect_null(member(j, 2, "remote"));
	json_object_put(j);
	j = parsed("listener", recs, 1, &json);
	cr_expect_str_eq(json_object_get_string(member(j, 0, "addr")), "*");
	json_object_put(j);
}

Test(print, a_time_that_was_not_measured_is_null)
{
	struct ctl_record recs[2] = {filled(0), filled(0)};
	struct json_object *j;
	char *text;

	recs[0].assoc.srtt_us = 2;
	j = parsed("assoc", recs, 2, &json);
	cr_expect_eq(json_object_get_int(member(j, 0, "srtt_us")), 2);
	cr_expect_null(member(j, 1, "srtt_us"));
	json_object_put(j);
	text = printed("path", &recs[1], 1, &(struct print_opts){.oneline = true});
	cr_expect_not_null(strstr(text, " srtt_us - "), "%s", text);
	free(text);
}

Test(print, pretty_json_is_the_same_json)
{
	struct ctl_record rec = filled('a');
	struct json_object *a = parsed("client", &rec, 1, &json);
	struct json_object *b =
		parsed("client", &rec, 1, &(struct print_opts){.json = true, .pretty = true});

	cr_expect(json_object_equal(a, b));
	json_object_put(a);
	json_object_put(b);
}

/* ---- text ---- */

Test(print, every_field_is_in_the_detailed_text)
{
	const struct print_opts all = {.details = true, .stats = true};
	const struct print_opts line = {.details = true, .stats = true, .oneline = true};
	struct ctl_record rec = filled(1);
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++) {
		char *block = printed(objs[i].name, &rec, 1, &all);
		char *one = printed(objs[i].name, &rec, 1, &line);

		for (unsigned k = 0; k < objs[i].nfields; k++) {
			char key[64];

			snprintf(key, sizeof(key), " %s ", objs[i].fields[k].key);
			cr_expect_not_null(strstr(one, key), "%s: %s", objs[i].name, key);
			key[strlen(key) - 1] = '\0';
			cr_expect_not_null(strstr(block, key + 1), "%s: %s", objs[i].name, key);
		}
		cr_expect_eq(strchr(one, '\n'), one + strlen(one) - 1, "not one line");
		free(block);
		free(one);
	}
}

Test(print, a_table_is_aligned)
{
	struct ctl_record recs[2] = {filled(0), filled(0)};
	char *text;

	recs[0].cq.handle = 7;
	recs[0].cq.pid = 123456;
	recs[0].cq.entries = 64;
	recs[1].cq.handle = 1234567;
	recs[1].cq.client = 2;
	text = printed("cq", recs, 2, &text_opts);
	cr_expect_str_eq(text, " handle  client     pid  entries  waiting  qps\n"
			       "      7       0  123456       64        0    0\n"
			       "1234567       2       0        0        0    0\n");
	free(text);
}

Test(print, strings_are_aligned_left_and_no_line_ends_in_blanks)
{
	struct ctl_record recs[2] = {filled(0), filled(0)};
	char *text;

	strcpy(recs[0].mr.mode, "shared");
	strcpy(recs[0].mr.rung, "adopt");
	recs[0].mr.valid = 1;
	recs[1].mr.access = 7;
	text = printed("mr", recs, 2, &text_opts);
	cr_expect_str_eq(text,
			 "stag        handle  client  pid  pd  len  mode    valid  rung   access\n"
			 "0x00000000       0       0    0   0    0  shared  yes    adopt  none\n"
			 "0x00000000       0       0    0   0    0  -       no     -      "
			 "local_write,remote_write,remote_read\n");
	free(text);
}

Test(print, a_window_names_its_region_and_its_rights)
{
	struct ctl_record rec = filled(0);
	char *text;

	rec.mw.stag = 0x1a2b3c01;
	rec.mw.mr_stag = 0x00ab1200;
	rec.mw.type = 2;
	rec.mw.valid = 1;
	rec.mw.qp_num = 9;
	rec.mw.len = 4096;
	rec.mw.access = 8 | 4;
	text = printed("mw", &rec, 1, &(struct print_opts){.oneline = true});
	cr_expect_str_eq(text, "mw stag 0x1a2b3c01 handle 0 client 0 pid 0 pd 0 type 2 valid yes "
			       "mr_stag 0x00ab1200 qp_num 9 len 4096 access "
			       "remote_read,remote_atomic\n");
	free(text);
}

Test(print, all_rights_have_names_and_unknown_ones_a_number)
{
	struct ctl_record rec = filled(0);
	struct json_object *j;

	rec.mr.access = 31;
	j = parsed("mr", &rec, 1, &json);
	cr_expect_str_eq(json_object_get_string(member(j, 0, "access")),
			 "local_write,remote_write,remote_read,remote_atomic,mw_bind");
	json_object_put(j);
	rec.mr.access = 0x80000010;
	j = parsed("mr", &rec, 1, &json);
	cr_expect_str_eq(json_object_get_string(member(j, 0, "access")), "mw_bind,0x80000000");
	json_object_put(j);
}

Test(print, a_table_of_nothing_is_empty)
{
	char *text = printed("qp", NULL, 0, &text_opts);

	cr_expect_str_eq(text, "");
	free(text);
}

Test(print, names_of_programs_are_printed_without_control_characters)
{
	struct ctl_record rec = filled(0);
	char *text;

	memcpy(rec.client.comm, "a\033[2Jb\xff", 7);
	text = printed("client", &rec, 1, &(struct print_opts){.oneline = true});
	cr_expect_not_null(strstr(text, " comm a?[2Jb? "), "%s", text);
	free(text);
	/* A name without a NUL ends at the end of its array. */
	memset(rec.client.comm, 'x', sizeof(rec.client.comm));
	rec.client.pds = 0x78787878;
	text = printed("client", &rec, 1, &(struct print_opts){.oneline = true});
	cr_expect_not_null(strstr(text, " comm xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx "), "%s", text);
	free(text);
}

Test(print, levels_choose_what_is_shown)
{
	struct ctl_record rec = filled(1);
	const char *const keys[] = {"qp_num", "sq_entries", "tx_msgs"};

	for (int i = 0; i < 4; i++) {
		struct print_opts o = {.oneline = true, .details = i & 1, .stats = i & 2};
		char *text = printed("qp", &rec, 1, &o);

		cr_expect_not_null(strstr(text, keys[0]));
		cr_expect_eq(strstr(text, keys[1]) != NULL, o.details);
		cr_expect_eq(strstr(text, keys[2]) != NULL, o.stats);
		free(text);
	}
}

Test(print, the_status_rounds_figures_unless_exact_numbers_are_requested)
{
	struct ctl_record rec = filled(0);
	char *text;

	rec.status.uptime_ms = 2 * 3600000 + 3 * 60000;
	rec.status.mr_bytes = 3 << 19;
	text = printed("status", &rec, 1, &text_opts);
	cr_expect_not_null(strstr(text, "7380000 (2 h 3 min)\n"), "%s", text);
	cr_expect_not_null(strstr(text, "1572864 (1.5 MiB)\n"), "%s", text);
	free(text);
	text = printed("status", &rec, 1, &(struct print_opts){.numeric = true});
	cr_expect_null(strchr(text, '('), "%s", text);
	free(text);
}

/* ---- filters ---- */

static bool takes(const char *name, const char *key, const char *value,
		  const struct ctl_record *rec)
{
	const struct print_filter f = {field_find(object(name), key), value};

	cr_assert_not_null(f.field, "%s has no %s", name, key);
	cr_assert(field_valid(f.field, value), "%s is no value of %s", value, key);
	return print_takes(&f, 1, rec);
}

Test(filter, matches_numbers_strings_stags_and_rights)
{
	struct ctl_record rec = filled(0);

	rec.qp.pid = 4711;
	strcpy(rec.qp.state, "error");
	cr_expect(takes("qp", "pid", "4711", &rec));
	cr_expect(takes("qp", "pid", "0x1267", &rec));
	cr_expect_not(takes("qp", "pid", "471", &rec));
	cr_expect(takes("qp", "state", "error", &rec));
	cr_expect(takes("qp", "state", "ERROR", &rec));
	cr_expect_not(field_valid(field_find(object("qp"), "state"), "err"));
	cr_expect(takes("qp", "uid", "root", &rec));
	cr_expect(takes("qp", "uid", "0", &rec));
	rec = filled(0);
	rec.mr.stag = 0xab12;
	rec.mr.access = 6;
	cr_expect(takes("mr", "stag", "0xab12", &rec));
	cr_expect(takes("mr", "stag", "0x0000AB12", &rec));
	cr_expect(takes("mr", "access", "remote_read", &rec));
	cr_expect(takes("mr", "access", "6", &rec));
	cr_expect_not(takes("mr", "access", "local_write", &rec));
	cr_expect_not(takes("mr", "access", "none", &rec));
	rec = filled(0);
	rec.mw.valid = 1;
	rec.mw.access = 8;
	cr_expect(takes("mw", "valid", "yes", &rec));
	cr_expect_not(takes("mw", "valid", "no", &rec));
	cr_expect(takes("mw", "access", "remote_atomic", &rec));
	cr_expect_not(takes("mw", "access", "mw_bind", &rec));
}

Test(filter, matches_addresses_with_and_without_port)
{
	struct ctl_record rec = filled(0);

	set_addr(&rec.assoc.remote, "10.0.0.2", 5043);
	cr_expect(takes("assoc", "remote", "10.0.0.2", &rec));
	cr_expect(takes("assoc", "remote", "10.0.0.2:5043", &rec));
	cr_expect_not(takes("assoc", "remote", "10.0.0.2:5044", &rec));
	cr_expect_not(takes("assoc", "remote", "10.0.0.20", &rec));
	cr_expect(takes("assoc", "local", "-", &rec));
}

Test(filter, all_filters_must_match)
{
	struct ctl_record rec = filled(0);
	struct print_filter f[2] = {
		{field_find(object("qp"), "pid"), "0"},
		{field_find(object("qp"), "qp_num"), "1"},
	};

	cr_expect(print_takes(f, 0, &rec));
	cr_expect(print_takes(f, 1, &rec));
	cr_expect_not(print_takes(f, 2, &rec));
	rec.qp.qp_num = 1;
	cr_expect(print_takes(f, 2, &rec));
}

Test(filter, values_that_a_field_cannot_have_are_refused)
{
	const struct field *pid = field_find(object("qp"), "pid");
	const struct field *opener = field_find(object("assoc"), "opener");

	cr_expect_not(field_valid(pid, ""));
	cr_expect_not(field_valid(pid, "x"));
	cr_expect_not(field_valid(pid, "1x"));
	cr_expect_not(field_valid(pid, "-1"));
	cr_expect_not(field_valid(pid, "0x"));
	cr_expect_not(field_valid(pid, "18446744073709551616"));
	cr_expect(field_valid(opener, "yes"));
	cr_expect_not(field_valid(opener, "1"));
	cr_expect_not(field_valid(field_find(object("mr"), "access"), "write"));
	cr_expect_null(field_find(object("qp"), "unknown"));
}

/* ---- the table ---- */

Test(table, each_object_of_the_protocol_has_one)
{
	bool seen[CTL_OBJECT_COUNT] = {false};
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++) {
		cr_assert(objs[i].number > 0 && objs[i].number < CTL_OBJECT_COUNT);
		cr_expect_not(seen[objs[i].number], "%s", objs[i].name);
		seen[objs[i].number] = true;
	}
	cr_expect_eq(n, CTL_OBJECT_COUNT - 1);
}

Test(print, a_member_that_the_record_lacks_is_absent_and_not_0)
{
	struct ctl_record rec = filled(7);
	struct print_filter filter = {field_find(object("qp"), "tx_msgs"), "0"};
	struct print_opts stats = {.oneline = true, .stats = true};
	struct json_object *j;
	char *text;

	rec.len = offsetof(struct ctl_qp, tx_msgs);
	memset(&rec.qp.tx_msgs, 0, sizeof(rec.qp) - rec.len);
	j = parsed("qp", &rec, 1, &json);
	cr_expect_null(member(j, 0, "tx_msgs"));
	cr_expect_not_null(member(j, 0, "recv_cq"));
	json_object_put(j);
	text = printed("qp", &rec, 1, &stats);
	cr_expect_not_null(strstr(text, " tx_msgs - "), "%s", text);
	free(text);
	cr_expect_not(print_takes(&filter, 1, &rec));
	rec.len = sizeof(rec.qp);
	cr_expect(print_takes(&filter, 1, &rec));
}

Test(table, ids_are_keys_and_fields_lie_within_their_records)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);

	for (unsigned i = 0; i < n; i++) {
		cr_expect(!objs[i].id || field_find(&objs[i], objs[i].id), "%s", objs[i].name);
		for (unsigned k = 0; k < objs[i].nfields; k++) {
			const struct field *f = &objs[i].fields[k];
			size_t body =
				sizeof(struct ctl_record) - offsetof(struct ctl_record, status);
			bool number = f->type != FIELD_STRING && f->type != FIELD_ADDR &&
				      f->type != FIELD_ANY_ADDR;

			cr_expect_leq((size_t)f->offset + f->size, body, "%s", f->key);
			cr_expect(!number || f->size == 2 || f->size == 4 || f->size == 8, "%s %s",
				  objs[i].name, f->key);
			cr_expect_eq(field_find(&objs[i], f->key), f, "%s twice", f->key);
		}
	}
}

Test(table, a_path_is_shown_and_found_by_its_address)
{
	struct ctl_record rec = {.object = CTL_PATH, .len = sizeof(rec.path)};
	const struct field *address = field_find(object("path"), "address");
	char *text;

	rec.path = (struct ctl_path){.assoc = 3, .state = "inactive", .srtt_us = 70, .mtu = 1500};
	set_addr(&rec.path.remote, "10.2.0.2", 5043);
	text = printed("path", &rec, 1, &json);
	cr_assert_str_eq(text, "[{\"assoc\":3,\"address\":\"10.2.0.2:5043\",\"state\":"
			       "\"inactive\",\"primary\":false,\"srtt_us\":70,\"rto_ms\":0,"
			       "\"cwnd\":0,\"mtu\":1500,\"rate\":0,\"pacing_rate\":0,"
			       "\"flight\":0,\"limited_by\":\"\"}]\n");
	free(text);
	cr_assert(field_match(address, &rec.path, "10.2.0.2"));
	cr_assert_not(field_match(address, &rec.path, "10.2.0.1"));
}

Test(print, rates_are_differences_and_only_of_counters)
{
	const struct field_object *obj = object("qp");
	struct ctl_record old = filled(0), new = old;
	struct query_reply before = {0}, now = {.recs = &old, .n = 1};

	old.qp.qp_num = new.qp.qp_num = 7;
	old.qp.tx_bytes = 1000;
	new.qp.tx_bytes = 5000;
	new.qp.in_flight = 3;
	rates_apply(obj, &now, &before, 2);
	cr_assert_eq(old.qp.tx_bytes, 1000, "the first time there is no rate");
	now.recs = &new;
	rates_apply(obj, &now, &before, 2);
	cr_assert_eq(new.qp.tx_bytes, 2000);
	cr_assert_eq(new.qp.in_flight, 3);
	cr_assert_eq(new.qp.qp_num, 7);
	new.qp.tx_bytes = 4000; /* of another queue pair by now: it began again */
	rates_apply(obj, &now, &before, 2);
	cr_assert_eq(new.qp.tx_bytes, 0);
	free(before.recs);
}
