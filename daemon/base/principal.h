/* SPDX-License-Identifier: BSD-2-Clause */
/* A user or a group, as the keys `admin` and `ports` name it: alice, 1000, @wheel, @27. */
#ifndef DAEMON_BASE_PRINCIPAL_H
#define DAEMON_BASE_PRINCIPAL_H

#include <stdbool.h>
#include <stdint.h>

enum { PRINCIPAL_TEXT_MAX = 40 };

enum principal_kind {
	PRINCIPAL_USER,
	PRINCIPAL_GROUP,
	PRINCIPAL_ALL, /* "*" */
};

struct principal {
	char text[PRINCIPAL_TEXT_MAX]; /* as written */
	uint32_t kind;
	uint32_t id; /* uid or gid */
};

/* Reads one; every byte is set. NULL, or the rest of a sentence about it: "is not a user of this
 * system". */
const char *principal_parse(const char *text, struct principal *ret);

/* The user with that uid, as a number. */
void principal_of_uid(uint32_t uid, struct principal *ret);

/* True if any of them is a group. */
bool principal_any_group(const struct principal *list, unsigned n);

/* True if one of them is that user, or a group of these. */
bool principal_holds(const struct principal *list, unsigned n, uint32_t uid, const uint32_t *gids,
		     unsigned ngids);

#endif
