/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/command/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/perr_table.h"
#include "util/wc_status.h"

enum { TEXT_MAX = 112, NO_LAYER = UINT16_MAX };

/* An error that a Terminate carries, or a status of completions: its number is the code, and the
 * layer is NO_LAYER. */
struct error {
	const char *name;
	uint16_t layer, etype, code;
	const char *text;
};

enum {
#define X(name, kind, text, subject, predicate) WC_##name,
	WC_STATUS_TABLE(X)
#undef X
};

static const struct error errors[] = {
#define X(name, layer, etype, code, text) {#name, layer, etype, code, text},
#define FITS(name, layer, etype, code, text) _Static_assert(sizeof(text) <= TEXT_MAX, #name);
	PERR_TABLE(X)
#undef X
	/* Codes of RFC 5040 that this project never sends. */
	{"", 0, 1, 0xff, "unspecified remote protection error"},
	{"", 0, 2, 0x08, "catastrophic error of all streams"},
#define X(name, kind, text, subject, predicate)                                                    \
	{#name, NO_LAYER, 0, WC_##name, subject " " predicate},
	WC_STATUS_TABLE(X)
#undef X
};

#define SENTENCE_FITS(name, kind, text, subject, predicate)                                        \
	_Static_assert(sizeof(subject " " predicate) <= TEXT_MAX, #name);

PERR_TABLE(FITS)
WC_STATUS_TABLE(SENTENCE_FITS)

enum {
	ERRORS = sizeof(errors) / sizeof(errors[0]),
	FIRST = 1, /* after NONE, which no Terminate carries */
};

/* An error as it is printed. Its offset is that of the objects in the daemon's records. A status
 * has a shorter record, which ends before term. */
struct row {
	char name[32];
	char text[TEXT_MAX];
	uint16_t code;
	char term[8];
	uint16_t layer, etype;
	char layer_name[12], etype_name[32];
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

static bool is_status(const struct error *e)
{
	return e->layer == NO_LAYER;
}

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

static bool parse_term(const char *code, uint16_t *ret)
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

/* Names of statuses may have the prefix of <ddp/ddp.h>. */
static const struct error *find_name(const char *name)
{
	static const char prefix[] = "DDP_WC_";
	bool status = !strncasecmp(name, prefix, sizeof(prefix) - 1);

	if (status)
		name += sizeof(prefix) - 1;
	for (unsigned i = FIRST; i < ERRORS; i++)
		if (*name && (!status || is_status(&errors[i])) &&
		    !strcasecmp(errors[i].name, name))
			return &errors[i];
	return NULL;
}

static const struct error *find_term(uint16_t t)
{
	/* Layer 0, type 0 defines no codes: every code is the same error. */
	if (t >> 8 == 0)
		t = 0;
	for (unsigned i = FIRST; i < ERRORS; i++)
		if (!is_status(&errors[i]) && term(&errors[i]) == t)
			return &errors[i];
	return NULL;
}

static const struct error *find_status(unsigned number)
{
	for (unsigned i = FIRST; i < ERRORS; i++)
		if (is_status(&errors[i]) && errors[i].code == number)
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

static enum ctl_exit no_status(unsigned number)
{
	query_error("completion status %u is not defined", number);
	return CTL_EXIT_NO_OBJECT;
}

static enum ctl_exit no_code(const char *code)
{
	query_error("'%s' is neither a code, like 0x1101 or 1/1/01, nor the name of an error "
		    "or status, nor the number of a status; 'ddpctl explain' prints all",
		    code);
	return CTL_EXIT_USAGE;
}

static enum ctl_exit find_error(const char *code, const struct error **ret)
{
	const struct error *e;
	const char *s = code;
	unsigned number;
	uint16_t t;

	if (digits(&s, 10, 2, '\0', &number)) {
		e = find_status(number);
		if (!e)
			return no_status(number);
	} else if (parse_term(code, &t)) {
		e = find_term(t);
		if (!e)
			return no_meaning(t);
	} else {
		e = find_name(code);
		if (!e)
			return no_code(code);
	}
	*ret = e;
	return CTL_EXIT_OK;
}

static void put_row(struct ctl_record *rec, const struct error *e)
{
	struct row r = {.code = e->code};

	snprintf(r.name, sizeof(r.name), "%s", e->name);
	snprintf(r.text, sizeof(r.text), "%s", e->text);
	rec->len = offsetof(struct row, term);
	if (!is_status(e)) {
		r.layer = e->layer;
		r.etype = e->etype;
		snprintf(r.term, sizeof(r.term), "0x%04x", term(e));
		snprintf(r.layer_name, sizeof(r.layer_name), "%s", layer_name(e->layer));
		snprintf(r.etype_name, sizeof(r.etype_name), "%s", etype_name(e->layer, e->etype));
		rec->len = sizeof(r);
	}
	memcpy(&rec->status, &r, sizeof(r));
}

enum ctl_exit explain_code(const char *code, struct query_reply *ret)
{
	struct query_reply a = {.n = code ? 1 : ERRORS - FIRST};
	const struct error *e = &errors[FIRST];
	enum ctl_exit x = code ? find_error(code, &e) : CTL_EXIT_OK;

	if (x != CTL_EXIT_OK)
		return x;
	a.recs = calloc(a.n, sizeof(*a.recs));
	if (!a.recs) {
		query_error("out of memory");
		return CTL_EXIT_FAILED;
	}
	for (size_t i = 0; i < a.n; i++)
		put_row(&a.recs[i], &e[i]);
	*ret = a;
	return CTL_EXIT_OK;
}
