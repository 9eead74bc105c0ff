/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/perr_table.h"

enum { TEXT_MAX = 112 };

struct error {
	const char *name;
	uint16_t layer, etype, code;
	const char *text;
};

static const struct error errors[] = {
#define X(name, layer, etype, code, text) {#name, layer, etype, code, text},
#define FITS(name, layer, etype, code, text) _Static_assert(sizeof(text) <= TEXT_MAX, #name);
	PERR_TABLE(X)
#undef X
	/* Codes of RFC 5040 that this project never sends. */
	{"", 0, 1, 0xff, "remote protection error that has no code of its own"},
	{"", 0, 2, 0x08, "catastrophic error of all streams"},
};

PERR_TABLE(FITS)

enum {
	ERRORS = sizeof(errors) / sizeof(errors[0]),
	FIRST = 1, /* after NONE, which no Terminate carries */
};

/* What is printed of an error. It lies where the daemon's records have their objects. */
struct row {
	char name[32], term[8];
	uint16_t layer, etype, code;
	char layer_name[12], etype_name[32];
	char text[TEXT_MAX];
};

_Static_assert(sizeof(struct row) <= sizeof(struct ctl_status), "rows fit into a record");

#define F(key, member, type, level)                                                                \
	{                                                                                          \
		key, FIELD_##type, offsetof(struct row, member),                                   \
			sizeof(((struct row *)NULL)->member), NULL, FIELD_##level, NULL            \
	}

static const struct field fields[] = {
	F("name", name, STRING, BASIC), F("term", term, STRING, BASIC),
	F("layer", layer, NUM, BASIC),  F("layer_name", layer_name, STRING, DETAIL),
	F("type", etype, NUM, BASIC),   F("type_name", etype_name, STRING, DETAIL),
	F("code", code, NUM, BASIC),    F("text", text, STRING, BASIC),
};

const struct field_object explain_object = {
	.name = "error",
	.fields = fields,
	.nfields = sizeof(fields) / sizeof(fields[0]),
};

/* ---- names of RFC 5040 4.8 ---- */

static const char *layer_name(unsigned layer)
{
	static const char *const names[] = {"RDMAP", "DDP", "LLP"};

	return layer < 3 ? names[layer] : "no layer";
}

static const char *etype_name(unsigned layer, unsigned etype)
{
	static const char *const names[3][4] = {
		{"local catastrophic", "remote protection", "remote operation"},
		{"local catastrophic", "tagged buffer", "untagged buffer", "of the LLP"},
		{"session"},
	};
	const char *name = layer < 3 && etype < 4 ? names[layer][etype] : NULL;

	return name ? name : "unknown";
}

/* ---- finding the row ---- */

static uint16_t term(const struct error *e)
{
	return (uint16_t)(e->layer << 12 | e->etype << 8 | e->code);
}

/* A number of 1 to max digits up to the character `end`, which is skipped. */
static bool digits(const char **s, unsigned base, size_t max, char end, unsigned *ret)
{
	const char *set = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
	size_t n = strspn(*s, set);

	if (n < 1 || n > max || (*s)[n] != end)
		return false;
	*ret = (unsigned)strtoul(*s, NULL, (int)base);
	*s += n + (end != '\0');
	return true;
}

static bool parse(const char *code, uint16_t *ret)
{
	const char *s = code;
	unsigned layer, etype, c;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		s += 2;
		if (!digits(&s, 16, 4, '\0', &c))
			return false;
		*ret = (uint16_t)c;
		return true;
	}
	if (!digits(&s, 10, 2, '/', &layer) || !digits(&s, 10, 2, '/', &etype) ||
	    !digits(&s, 16, 2, '\0', &c) || layer > 15 || etype > 15)
		return false;
	*ret = (uint16_t)(layer << 12 | etype << 8 | c);
	return true;
}

static const struct error *find_name(const char *name)
{
	for (unsigned i = FIRST; i < ERRORS; i++)
		if (*name && !strcasecmp(errors[i].name, name))
			return &errors[i];
	return NULL;
}

static const struct error *find_term(uint16_t t)
{
	/* Layer 0, type 0 defines no codes: every code is the same error. */
	if (t >> 8 == 0)
		t = 0;
	for (unsigned i = FIRST; i < ERRORS; i++)
		if (term(&errors[i]) == t)
			return &errors[i];
	return NULL;
}

static enum ctl_exit no_meaning(uint16_t t)
{
	unsigned layer = t >> 12, etype = t >> 8 & 15;

	query_error("layer %u (%s), error type %u (%s), code 0x%02x is not defined", layer,
		    layer_name(layer), etype, etype_name(layer, etype), t & 0xff);
	return CTL_EXIT_NO_OBJECT;
}

static enum ctl_exit no_code(const char *code)
{
	query_error("'%s' is neither a code, like 0x1101 or 1/1/01, nor the name of an error; "
		    "'ddpctl explain' prints all",
		    code);
	return CTL_EXIT_USAGE;
}

static enum ctl_exit find(const char *code, const struct error **ret)
{
	uint16_t t = 0;
	bool number = parse(code, &t);
	const struct error *e = number ? find_term(t) : find_name(code);

	if (!e)
		return number ? no_meaning(t) : no_code(code);
	*ret = e;
	return CTL_EXIT_OK;
}

static void put(struct ctl_record *rec, const struct error *e)
{
	struct row r = {.layer = e->layer, .etype = e->etype, .code = e->code};

	snprintf(r.name, sizeof(r.name), "%s", e->name);
	snprintf(r.term, sizeof(r.term), "0x%04x", term(e));
	snprintf(r.layer_name, sizeof(r.layer_name), "%s", layer_name(e->layer));
	snprintf(r.etype_name, sizeof(r.etype_name), "%s", etype_name(e->layer, e->etype));
	snprintf(r.text, sizeof(r.text), "%s", e->text);
	memcpy(&rec->status, &r, sizeof(r));
	rec->len = sizeof(r);
}

enum ctl_exit explain_code(const char *code, struct query_reply *ret)
{
	struct query_reply a = {.n = code ? 1 : ERRORS - FIRST};
	const struct error *e = &errors[FIRST];
	enum ctl_exit x = code ? find(code, &e) : CTL_EXIT_OK;

	if (x != CTL_EXIT_OK)
		return x;
	a.recs = calloc(a.n, sizeof(*a.recs));
	if (!a.recs) {
		query_error("out of memory");
		return CTL_EXIT_FAILED;
	}
	for (size_t i = 0; i < a.n; i++)
		put(&a.recs[i], &e[i]);
	*ret = a;
	return CTL_EXIT_OK;
}
