/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One JSON object on a stream, by json-c. Members are printed in the order in which they are added;
 * those of a list as soon as each is complete, so that an endless list needs no memory.
 */
#ifndef TOOLS_JSON_OUT_H
#define TOOLS_JSON_OUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
	FILE *out;
	struct json_object
		*members; /* not yet printed: of the item that is open, else of the object */
	unsigned printed; /* members of the object */
	unsigned items;   /* of the list that is open */
	bool failed;      /* out of memory */
};

/* Begins the object. json_out_end() must follow. */
void json_out_begin(struct json_out *j, FILE *out);

/* Adds a member. Bytes of a string that are not ASCII become '?'. */
void json_out_str(struct json_out *j, const char *key, const char *s);
void json_out_uint(struct json_out *j, const char *key, uint64_t v);
void json_out_bool(struct json_out *j, const char *key, bool v);
void json_out_null(struct json_out *j, const char *key);

/* The same for a number with that many decimals. */
void json_out_fixed(struct json_out *j, const char *key, double v, int decimals);

/* A member that is an array of objects. Between json_out_item_begin() and json_out_item_end()
 * members belong to the item. */
void json_out_list_begin(struct json_out *j, const char *key);
void json_out_item_begin(struct json_out *j);
void json_out_item_end(struct json_out *j);
void json_out_list_end(struct json_out *j);

/* Ends the object and the line. Returns 0, or -ENOMEM if members are missing. */
int json_out_end(struct json_out *j);

#endif
