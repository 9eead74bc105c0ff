/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of the daemon's records, declared once per object. All that prints, filters or
 * documents a field reads this table, so that text and JSON have the same ones.
 */
#ifndef CTL_FIELD_H
#define CTL_FIELD_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/ctl.h"

enum field_type {
	FIELD_NUM,      /* unsigned, of 2, 4 or 8 bytes */
	FIELD_BYTES,    /* a number of bytes */
	FIELD_RATE,     /* bytes per second */
	FIELD_MEASURED, /* a number; 0: not measured */
	FIELD_MSEC,     /* a time that has passed, in milliseconds */
	FIELD_TIME,     /* microseconds since 1970 */
	FIELD_UID,
	FIELD_BOOL,
	FIELD_STAG,
	FIELD_ACCESS, /* DDP_ACCESS_* */
	FIELD_STRING,
	FIELD_ADDR,     /* unset: "-" */
	FIELD_ANY_ADDR, /* unset: "*" */
};

/* When text shows it. JSON always has all. */
enum field_level {
	FIELD_BASIC,
	FIELD_DETAIL, /* with -d */
	FIELD_STATS,  /* with -s */
};

struct field {
	const char *key;
	enum field_type type;
	uint16_t offset, size; /* in the object's struct: of ipc/ctl.h, or of explain.c */
	const char *unit;      /* where the key does not say it, else NULL */
	enum field_level level;
	const char *values; /* of a string or a number: the ones that exist, NULL: not listed */
};

struct field_object {
	const char *name;
	enum ctl_object number; /* 0 where the daemon is not asked */
	const struct field *fields;
	unsigned nfields;
	const char *id;   /* key that `ddpctl OBJECT ID` means, NULL if there is none */
	const char *help; /* description in a few words */
};

enum { FIELD_TEXT = 320 }; /* bytes that hold any field as text */

/* All objects; *ret_n is their number. */
const struct field_object *field_objects(unsigned *ret_n);

/* The field of that key, or NULL. */
const struct field *field_find(const struct field_object *obj, const char *key);

/* The value as text, "-" if there is none. numeric: access rights as a number. */
void field_text(const struct field *f, const void *rec, bool numeric, char buf[FIELD_TEXT]);

/* A note that makes a value easier to read: its unit, a rounded figure, the name of a user. "" for
 * values without one. */
void field_note(const struct field *f, const void *rec, char buf[FIELD_TEXT]);

/* The value for JSON: a number, a string, a boolean, or NULL (JSON's null) for an unset address or
 * an unmeasured value. */
struct json_object *field_json(const struct field *f, const void *rec, bool numeric);

/* Whether a filter can have that value. */
bool field_valid(const struct field *f, const char *value);

/* The valid values, for messages: "yes or no". Static. */
const char *field_expects(const struct field *f);

/* Whether a filter with that value, which is valid, takes the record. */
bool field_match(const struct field *f, const void *rec, const char *value);

/* All values of a field with few of them, separated by blanks: for completion. "" for others. */
void field_values(const struct field *f, char buf[FIELD_TEXT]);

/* True if the column has numbers, which are aligned right. */
bool field_right(const struct field *f);

#endif
