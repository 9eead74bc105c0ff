/* SPDX-License-Identifier: BSD-2-Clause */
/* ddpctl explain: every code of the protocol, in each notation, and no other. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/command/explain.h"
#include "ctl/field/print.h"
#include "proto/ddp/perr.h"
#include "proto/rdmap/rdmap.h"
#include "tests/lib/names.h"

/* The value of a key of the row that code names. */
static const char *explained(const char *code, const char *key)
{
	static char text[FIELD_TEXT];
	struct query_reply a = {0};

	cr_assert_eq(explain_code(code, &a), CTL_EXIT_OK, "%s", code);
	cr_assert_eq(a.n, 1);
	field_text(field_find(&explain_object, key), &a.recs[0].status, false, text);
	free(a.recs);
	return text;
}

static void refused(const char *code, enum ctl_exit want)
{
	struct query_reply a = {.n = 4711};

	cr_expect_eq(explain_code(code, &a), want, "'%s'", code);
	cr_expect_eq(a.n, 4711, "the output was touched");
}

/* A number that several errors have is that of the first one. */
static enum perr first_with(unsigned term)
{
	unsigned p = PERR_NONE + 1;

	while (perr_term((enum perr)p) != term)
		p++;
	return (enum perr)p;
}

Test(explain, each_error_is_found_by_its_number_in_both_ways_and_by_its_name)
{
	for (unsigned p = PERR_NONE + 1; p < PERR_COUNT; p++) {
		unsigned term = perr_term(p);
		char hex[16], path[16];

		snprintf(hex, sizeof(hex), "0x%04x", term);
		snprintf(path, sizeof(path), "%u/%u/%02x", term >> 12, term >> 8 & 15, term & 0xff);
		cr_expect_str_eq(explained(hex, "name"), names_perr(first_with(term)));
		cr_expect_str_eq(explained(path, "name"), names_perr(first_with(term)));
		cr_expect_str_eq(explained(path, "term"), hex);
		cr_expect_str_eq(explained(names_perr(p), "term"), hex);
		cr_expect_str_eq(explained(names_perr(p), "text"), perr_text(p));
	}
}

Test(explain, layer_type_and_code_are_printed_with_the_names_of_the_rfcs)
{
	cr_expect_str_eq(explained("TAGGED_BOUNDS", "layer"), "1");
	cr_expect_str_eq(explained("TAGGED_BOUNDS", "layer_name"), "DDP");
	cr_expect_str_eq(explained("TAGGED_BOUNDS", "type"), "1");
	cr_expect_str_eq(explained("TAGGED_BOUNDS", "type_name"), "tagged buffer");
	cr_expect_str_eq(explained("TAGGED_BOUNDS", "code"), "1");
	cr_expect_str_eq(explained("NO_BUFFER", "type_name"), "untagged buffer");
	cr_expect_str_eq(explained("ACCESS_STAG", "layer_name"), "RDMAP");
	cr_expect_str_eq(explained("ACCESS_STAG", "type_name"), "remote protection");
	cr_expect_str_eq(explained("OPCODE", "type_name"), "remote operation");
	cr_expect_str_eq(explained("CATASTROPHIC", "type_name"), "local catastrophic");
	cr_expect_str_eq(explained("DDP_CATASTROPHIC", "type_name"), "local catastrophic");
	cr_expect_str_eq(explained("ENH_IRD", "layer_name"), "LLP");
}

Test(explain, each_status_of_a_completion_is_found_by_its_name_and_by_its_number)
{
	for (unsigned i = 0; i < RDMAP_STATUS_COUNT; i++) {
		char number[8], name[FIELD_TEXT], api[FIELD_TEXT + 8];

		snprintf(number, sizeof(number), "%u", i);
		snprintf(name, sizeof(name), "%s", explained(number, "name"));
		snprintf(api, sizeof(api), "DDP_WC_%s", name);
		cr_expect_str_eq(explained(name, "code"), number);
		cr_expect_str_eq(explained(api, "code"), number);
		cr_expect_str_neq(explained(api, "text"), "-");
	}
	cr_expect_str_eq(explained("ddp_wc_flush_err", "name"), "FLUSH_ERR");
	cr_expect_str_eq(explained("FLUSH_ERR", "text"), "the session ended first");
	cr_expect_str_eq(explained("LOC_KEY_ERR", "text"), "the lkey does not name a region");
}

Test(explain, a_status_has_no_layer_and_no_term)
{
	static const char *const keys[] = {"term", "layer", "layer_name", "type", "type_name"};
	const struct print_opts line = {.oneline = true, .details = true};
	struct query_reply a;
	char *text = NULL, want[64];
	size_t len;
	FILE *f = open_memstream(&text, &len);

	cr_assert_eq(explain_code("LOC_KEY_ERR", &a), CTL_EXIT_OK);
	cr_assert_eq(print_records(f, &explain_object, a.recs, a.n, &line), 0);
	fclose(f);
	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(want, sizeof(want), " %s - ", keys[i]);
		cr_expect_not_null(strstr(text, want), "%s: %s", keys[i], text);
	}
	free(text);
	free(a.recs);
}

Test(explain, case_and_leading_zeros_are_ignored)
{
	cr_expect_str_eq(explained("0X11", "name"), "CATASTROPHIC");
	cr_expect_str_eq(explained("0x2FF", "name"), "RDMAP_LENGTH");
	cr_expect_str_eq(explained("00/02/Ff", "name"), "RDMAP_LENGTH");
	cr_expect_str_eq(explained("1/1/1", "name"), "TAGGED_BOUNDS");
	cr_expect_str_eq(explained("tagged_Bounds", "term"), "0x1101");
}

Test(explain, codes_that_only_other_implementations_send_have_a_text)
{
	cr_expect_str_eq(explained("0/2/08", "text"), "catastrophic error of all streams");
	cr_expect_str_eq(explained("0x01ff", "name"), "-");
}

Test(explain, an_unknown_code_is_5)
{
	static const char *const codes[] = {"0x1105",   "1/1/05", "0x3fee",
					    "15/15/ff", "0xffff", "99"};

	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		refused(codes[i], CTL_EXIT_NO_OBJECT);
}

Test(explain, an_invalid_code_is_2)
{
	static const char *const codes[] = {
		"",        "1101",          "0x",
		"0x12345", "0x11g1",        "-1",
		"1/1",     "1/1/",          "/1/01",
		"16/1/1",  "1/16/01",       "1/1/101",
		"1/1/g",   "1/1/01/",       " 1/1/1",
		"+1/1/01", "NONE",          "TAGGED",
		"-",       "1//01",         "100000000000/1/1",
		"DDP_WC_", "DDP_WC_OPCODE", "100",
	};

	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		refused(codes[i], CTL_EXIT_USAGE);
}

Test(explain, without_a_code_all_are_printed_once_and_in_full)
{
	const struct print_opts json = {.json = true};
	struct query_reply a;
	unsigned statuses = 0;
	struct json_object *all;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	cr_assert_eq(explain_code(NULL, &a), CTL_EXIT_OK);
	cr_assert_geq(a.n, PERR_COUNT - 1 + RDMAP_STATUS_COUNT);
	cr_assert_eq(print_records(f, &explain_object, a.recs, a.n, &json), 0);
	fclose(f);
	all = json_tokener_parse(text);
	cr_assert_eq(json_object_array_length(all), a.n);
	for (size_t i = 0; i < a.n; i++) {
		struct json_object *term, *name, *other, *type;
		struct json_object *row = json_object_array_get_idx(all, i);

		cr_assert(json_object_object_get_ex(row, "term", &term));
		cr_assert(json_object_object_get_ex(row, "name", &name));
		cr_assert(json_object_object_get_ex(row, "type_name", &type));
		if (!term) { /* a status */
			statuses++;
			continue;
		}
		cr_expect_str_neq(json_object_get_string(type), "unknown");
		for (size_t k = 0; k < i; k++) {
			json_object_object_get_ex(json_object_array_get_idx(all, k), "name",
						  &other);
			cr_expect_not(json_object_get_string_len(name) > 0 &&
				      json_object_equal(name, other));
		}
	}
	cr_expect_eq(statuses, RDMAP_STATUS_COUNT);
	json_object_put(all);
	free(text);
	free(a.recs);
}
