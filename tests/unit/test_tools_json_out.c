/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON of the tools: exact numbers, quoted strings, lists that are printed while they grow. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/json_out.h"

/* A stream whose text is read back. */
static char *text;
static size_t length;

static FILE *stream(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &length);
}

/* The object in text, which the caller releases. */
static struct json_object *parsed(void)
{
	struct json_object *o = json_tokener_parse(text);

	cr_assert_not_null(o, "not JSON: %s", text);
	return o;
}

static void has(const char *want)
{
	cr_expect(strstr(text, want), "%s is not in %s", want, text);
}

Test(json, numbers_are_exact)
{
	FILE *f = stream();
	struct json_out j;

	json_out_begin(&j, f);
	json_out_uint(&j, "most", UINT64_MAX);
	json_out_fixed(&j, "three", 0.1 + 0.2, 3);
	json_out_fixed(&j, "whole", 12, 1);
	json_out_fixed(&j, "large", 123456789012.5, 6);
	json_out_bool(&j, "yes", true);
	json_out_null(&j, "none");
	cr_assert_eq(json_out_end(&j), 0);
	fclose(f);
	has("\"most\": 18446744073709551615");
	has("\"three\": 0.300");
	has("\"whole\": 12.0");
	has("\"large\": 123456789012.500000");
	has("\"yes\": true");
	has("\"none\": null");
	json_object_put(parsed());
	free(text);
}

Test(json, strings_are_quoted_and_ascii)
{
	FILE *f = stream();
	struct json_object *o;
	struct json_out j;

	json_out_begin(&j, f);
	json_out_str(&j, "s", "a\"b\\c\n/\x7f\xc3\xa4");
	cr_assert_eq(json_out_end(&j), 0);
	fclose(f);
	o = parsed();
	cr_expect_str_eq(json_object_get_string(json_object_object_get(o, "s")),
			 "a\"b\\c\n/\x7f??");
	json_object_put(o);
	free(text);
}

Test(json, an_item_is_printed_when_it_ends)
{
	FILE *f = stream();
	struct json_object *o, *list;
	struct json_out j;

	json_out_begin(&j, f);
	json_out_str(&j, "before", "b");
	json_out_list_begin(&j, "list");
	for (unsigned i = 0; i < 3; i++) {
		json_out_item_begin(&j);
		json_out_uint(&j, "i", i);
		json_out_item_end(&j);
		cr_expect(strstr(text, i ? "\"i\": 1" : "\"i\": 0") || i > 1);
	}
	json_out_list_end(&j);
	json_out_uint(&j, "after", 1);
	cr_assert_eq(json_out_end(&j), 0);
	fclose(f);
	o = parsed();
	list = json_object_object_get(o, "list");
	cr_assert_eq(json_object_array_length(list), 3);
	cr_expect_eq(json_object_object_length(o), 3);
	json_object_put(o);
	free(text);
}

Test(json, a_list_may_be_empty_or_first_or_last)
{
	FILE *f = stream();
	struct json_out j;

	json_out_begin(&j, f);
	json_out_list_begin(&j, "list");
	json_out_list_end(&j);
	cr_assert_eq(json_out_end(&j), 0);
	fclose(f);
	cr_expect_str_eq(text, "{\"list\": []}\n");
	free(text);
}
