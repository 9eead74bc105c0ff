/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/vector.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *str_of(struct json_object *o, const char *key)
{
	return json_object_get_string(json_object_object_get(o, key));
}

static void read_vector(struct json_object *o, struct vector *ret)
{
	const char *hex = str_of(o, "hex");

	ret->ppid = (unsigned)json_object_get_int(json_object_object_get(o, "ppid"));
	ret->len = strlen(hex) / 2;
	for (size_t i = 0; i < ret->len && i < VECTOR_MAX; i++) {
		char two[3] = {hex[2 * i], hex[2 * i + 1], 0};

		ret->b[i] = (uint8_t)strtoul(two, NULL, 16);
	}
}

struct vector vector_get(const char *id)
{
	struct json_object *root = json_object_from_file(TEST_DATA_DIR "/vectors.json");
	struct json_object *list = json_object_object_get(root, "vectors");
	struct vector v = {0};

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);

		if (strcmp(str_of(o, "id"), id) == 0)
			read_vector(o, &v);
	}
	json_object_put(root);
	if (v.len == 0 || v.len > VECTOR_MAX) {
		fprintf(stderr, "no vector %s in " TEST_DATA_DIR "/vectors.json\n", id);
		abort();
	}
	return v;
}
