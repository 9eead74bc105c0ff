/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/field/print.h"

#include <errno.h>
#include <string.h>

/* The object's own struct in a record: all of them begin at the same place. */
static const void *body(const struct ctl_record *rec)
{
	return &rec->status;
}

/* False for a member that a shorter record lacks. */
static bool has_value(const struct ctl_record *rec, const struct field *f)
{
	return (uint32_t)f->offset + f->size <= rec->len;
}

/* The value as text, "-" if the record lacks it. */
static void value_text(const struct field *f, const struct ctl_record *rec, bool numeric,
		       char buf[FIELD_TEXT])
{
	if (has_value(rec, f))
		field_text(f, body(rec), numeric, buf);
	else
		strcpy(buf, "-");
}

bool print_takes(const struct print_filter *filters, unsigned n, const struct ctl_record *rec)
{
	for (unsigned i = 0; i < n; i++)
		if (!has_value(rec, filters[i].field) ||
		    !field_match(filters[i].field, body(rec), filters[i].value))
			return false;
	return true;
}

/* ---- JSON ---- */

static struct json_object *json_record(const struct field_object *obj, const struct ctl_record *rec,
				       bool numeric)
{
	struct json_object *o = json_object_new_object();

	for (unsigned i = 0; o && i < obj->nfields; i++) {
		const struct field *f = &obj->fields[i];
		struct json_object *v =
			has_value(rec, f) ? field_json(f, body(rec), numeric) : NULL;

		if (json_object_object_add(o, f->key, v) < 0) {
			json_object_put(o);
			return NULL;
		}
	}
	return o;
}

int print_json_line(FILE *out, const struct field_object *obj, const struct ctl_record *rec,
		    const struct print_opts *o)
{
	struct json_object *json = json_record(obj, rec, o->numeric);

	if (!json)
		return -ENOMEM;
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(json);
	return 0;
}

struct json_object *print_json_array(const struct field_object *obj, const struct ctl_record *recs,
				     size_t n, bool numeric)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; array && i < n; i++) {
		struct json_object *rec = json_record(obj, &recs[i], numeric);

		if (!rec || json_object_array_add(array, rec) < 0) {
			json_object_put(rec);
			json_object_put(array);
			return NULL;
		}
	}
	return array;
}

static int print_json(FILE *out, const struct field_object *obj, const struct ctl_record *recs,
		      size_t n, const struct print_opts *o)
{
	int flags = o->pretty ? JSON_C_TO_STRING_PRETTY : JSON_C_TO_STRING_PLAIN;
	struct json_object *array = print_json_array(obj, recs, n, o->numeric);
	const char *text = NULL;

	if (array)
		text = json_object_to_json_string_ext(array,
						      flags | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		fprintf(out, "%s\n", text);
	json_object_put(array);
	return text ? 0 : -ENOMEM;
}

/* ---- text ---- */

static bool shown(const struct field *f, const struct print_opts *o)
{
	switch (f->level) {
	case FIELD_DETAIL:
		return o->details;
	case FIELD_STATS:
		return o->stats;
	default:
		return true;
	}
}

/* `key value` for each field. */
static void print_line(FILE *out, const struct field_object *obj, const struct ctl_record *rec,
		       const struct print_opts *o)
{
	char text[FIELD_TEXT];

	fputs(obj->name, out);
	for (unsigned i = 0; i < obj->nfields; i++) {
		const struct field *f = &obj->fields[i];

		if (!shown(f, o))
			continue;
		value_text(f, rec, o->numeric, text);
		fprintf(out, " %s %s", f->key, text);
	}
	putc('\n', out);
}

/* A field on each line, with a note. */
static void print_block(FILE *out, const struct field_object *obj, const struct ctl_record *rec,
			const struct print_opts *o)
{
	char text[FIELD_TEXT], note[FIELD_TEXT];
	int width = 0;

	for (unsigned i = 0; i < obj->nfields; i++)
		if (shown(&obj->fields[i], o) && (int)strlen(obj->fields[i].key) > width)
			width = (int)strlen(obj->fields[i].key);
	for (unsigned i = 0; i < obj->nfields; i++) {
		const struct field *f = &obj->fields[i];

		if (!shown(f, o))
			continue;
		value_text(f, rec, o->numeric, text);
		field_note(f, body(rec), note);
		if (*note && !o->numeric && has_value(rec, f))
			fprintf(out, "%-*s  %s (%s)\n", width, f->key, text, note);
		else
			fprintf(out, "%-*s  %s\n", width, f->key, text);
	}
}

/* Width of a column with its heading. */
static int column(const struct field *f, const struct ctl_record *recs, size_t n,
		  const struct print_opts *o)
{
	size_t width = strlen(f->key);
	char text[FIELD_TEXT];

	for (size_t i = 0; i < n; i++) {
		value_text(f, &recs[i], o->numeric, text);
		if (strlen(text) > width)
			width = strlen(text);
	}
	return (int)width;
}

/* One row; rec NULL is the heading. The last column is not filled up. */
static void print_row(FILE *out, const struct field_object *obj, const int *widths,
		      const struct ctl_record *rec, const struct print_opts *o)
{
	const char *gap = "", *text;
	char value[FIELD_TEXT];
	int pad = 0;

	for (unsigned i = 0; i < obj->nfields; i++) {
		const struct field *f = &obj->fields[i];

		if (!shown(f, o))
			continue;
		text = f->key;
		if (rec) {
			value_text(f, rec, o->numeric, value);
			text = value;
		}
		fprintf(out, "%*s%s", pad, "", gap);
		pad = widths[i] - (int)strlen(text);
		if (field_right(f)) {
			fprintf(out, "%*s", pad, "");
			pad = 0;
		}
		fputs(text, out);
		gap = "  ";
	}
	putc('\n', out);
}

static void print_table(FILE *out, const struct field_object *obj, const struct ctl_record *recs,
			size_t n, const struct print_opts *o)
{
	int widths[64] = {0};

	for (unsigned i = 0; i < obj->nfields; i++)
		widths[i] = column(&obj->fields[i], recs, n, o);
	print_row(out, obj, widths, NULL, o);
	for (size_t i = 0; i < n; i++)
		print_row(out, obj, widths, &recs[i], o);
}

int print_records(FILE *out, const struct field_object *obj, const struct ctl_record *recs,
		  size_t n, const struct print_opts *o)
{
	bool blocks = o->details || o->stats || obj->number == CTL_STATUS;

	if (o->json)
		return print_json(out, obj, recs, n, o);
	if (!o->oneline && !blocks) {
		if (n)
			print_table(out, obj, recs, n, o);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (o->oneline) {
			print_line(out, obj, &recs[i], o);
			continue;
		}
		if (i)
			putc('\n', out);
		print_block(out, obj, &recs[i], o);
	}
	return 0;
}
