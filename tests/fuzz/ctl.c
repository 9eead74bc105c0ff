/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How ddpctl prints records: any bytes give valid JSON with every key, and text without control
 * characters; a filter with a field's own text matches the record. Input: object, options, the
 * value of a filter, then the record.
 */
#include "ctl/field/print.h"
#include "tests/fuzz/fuzz.h"

enum { RECORDS = 2 }; /* the second one is all zero */

static char *printed(const struct field_object *obj, const struct ctl_record *recs,
		     const struct print_opts *o)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	must(f && print_records(f, obj, recs, RECORDS, o) == 0 && fclose(f) == 0);
	must(strlen(text) == len);
	for (size_t i = 0; i < len; i++)
		must(text[i] == '\n' || ((unsigned char)text[i] >= ' ' && text[i] < 0x7f));
	return text;
}

static void check_json(const struct field_object *obj, const char *text)
{
	enum json_tokener_error err;
	struct json_object *j = json_tokener_parse_verbose(text, &err);

	must(err == json_tokener_success && json_object_array_length(j) == RECORDS);
	for (unsigned i = 0; i < obj->nfields; i++)
		must(json_object_object_get_ex(json_object_array_get_idx(j, 0), obj->fields[i].key,
					       NULL));
	json_object_put(j);
}

static void check_filters(const struct field_object *obj, const struct ctl_record *rec)
{
	char text[FIELD_TEXT];

	for (unsigned i = 0; i < obj->nfields; i++) {
		const struct field *f = &obj->fields[i];
		struct print_filter filter = {f, text};

		field_text(f, &rec->status, true, text);
		must(f->values || field_valid(f, text)); /* the bytes may be no state */
		must(print_takes(&filter, 1, rec));
	}
}

/* The value of a filter, as on a command line. */
static void check_typed(const struct field_object *obj, const struct ctl_record *rec,
			const char *typed)
{
	for (unsigned i = 0; i < obj->nfields; i++) {
		struct print_filter filter = {&obj->fields[i], typed};

		if (field_valid(filter.field, typed))
			print_takes(&filter, 1, rec);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ctl_record recs[RECORDS];
	struct input in = {data, size};
	unsigned n;
	const struct field_object *objs = field_objects(&n);
	const struct field_object *obj = &objs[in_8(&in) % n];
	uint8_t bits = in_8(&in);
	const struct print_opts o = {
		.json = bits & 1,
		.pretty = bits & 2,
		.oneline = bits & 4,
		.numeric = bits & 8,
		.details = bits & 16,
		.stats = bits & 32,
	};
	char *text, typed[16] = "";

	in_copy(&in, typed, sizeof(typed) - 1);
	memset(recs, 0, sizeof(recs));
	recs[0].len = recs[1].len = sizeof(recs[0]) - CTL_HEAD;
	in_fill(&in, &recs[0].status, sizeof(recs[0]) - offsetof(struct ctl_record, status));
	text = printed(obj, recs, &o);
	if (o.json)
		check_json(obj, text);
	free(text);
	check_filters(obj, &recs[0]);
	check_typed(obj, &recs[0], typed);
	return 0;
}
