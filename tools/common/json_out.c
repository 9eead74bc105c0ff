/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/common/json_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FLAGS = JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE, NUMBER = 64 };

static void new_members(struct json_out *j)
{
	j->members = json_object_new_object();
	j->failed |= !j->members;
}

/* Takes the value over; NULL is JSON's null. */
static void add_member(struct json_out *j, const char *key, struct json_object *v)
{
	if (!j->members || json_object_object_add(j->members, key, v) < 0) {
		json_object_put(v);
		j->failed = true;
	}
}

/* A value whose creation can fail. */
static void add_new_value(struct json_out *j, const char *key, struct json_object *v)
{
	if (v)
		add_member(j, key, v);
	else
		j->failed = true;
}

static void print_value(struct json_out *j, struct json_object *v)
{
	const char *text = json_object_to_json_string_ext(v, FLAGS);

	j->failed |= !text;
	fputs(text ? text : "null", j->out);
}

/* The comma after the previous member, and the key, which is one of this program's. */
static void print_key(struct json_out *j, const char *key)
{
	fprintf(j->out, "%s\"%s\": ", j->printed++ ? ",\n " : "", key);
}

/* Prints the members that were added to the object. */
static void print_members(struct json_out *j)
{
	if (j->members) {
		json_object_object_foreach(j->members, key, v)
		{
			print_key(j, key);
			print_value(j, v);
		}
	}
	json_object_put(j->members);
	j->members = NULL;
}

void json_out_begin(struct json_out *j, FILE *out)
{
	*j = (struct json_out){.out = out};
	new_members(j);
	putc('{', out);
}

void json_out_str(struct json_out *j, const char *key, const char *s)
{
	char *ascii = strdup(s);

	if (!ascii) {
		j->failed = true;
		return;
	}
	for (char *c = ascii; *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	add_new_value(j, key, json_object_new_string(ascii));
	free(ascii);
}

void json_out_uint(struct json_out *j, const char *key, uint64_t v)
{
	add_new_value(j, key, json_object_new_uint64(v));
}

void json_out_bool(struct json_out *j, const char *key, bool v)
{
	add_new_value(j, key, json_object_new_boolean(v));
}

void json_out_null(struct json_out *j, const char *key)
{
	add_member(j, key, NULL);
}

void json_out_fixed(struct json_out *j, const char *key, double v, int decimals)
{
	char text[NUMBER];

	snprintf(text, sizeof(text), "%.*f", decimals, v);
	add_new_value(j, key, json_object_new_double_s(v, text));
}

void json_out_list_begin(struct json_out *j, const char *key)
{
	print_members(j);
	print_key(j, key);
	putc('[', j->out);
	j->items = 0;
}

void json_out_item_begin(struct json_out *j)
{
	new_members(j);
}

void json_out_item_end(struct json_out *j)
{
	fputs(j->items++ ? ",\n  " : "\n  ", j->out);
	print_value(j, j->members);
	fflush(j->out);
	json_object_put(j->members);
	j->members = NULL;
}

void json_out_list_end(struct json_out *j)
{
	putc(']', j->out);
	new_members(j);
}

int json_out_end(struct json_out *j)
{
	print_members(j);
	fputs("}\n", j->out);
	return j->failed ? -ENOMEM : 0;
}
