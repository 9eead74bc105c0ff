/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of what a configuration file may say. Reading, printing, the manual page and the
 * shipped file all follow it; tests hold them together.
 */
#ifndef DAEMON_BASE_CONFIG_KEYS_H
#define DAEMON_BASE_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CONFIG_MAX_KEYS = 64,
	CONFIG_MAX_CHOICES = 5,
};

enum config_type {                     /* and what the member is: */
		   CONFIG_TYPE_PATH,   /* char[max + 1] */
		   CONFIG_TYPE_GROUP,  /* char[max + 1], with its gid */
		   CONFIG_TYPE_OCTAL,  /* uint32_t */
		   CONFIG_TYPE_NUMBER, /* uint32_t */
		   CONFIG_TYPE_SIZE,   /* uint64_t, bytes */
		   CONFIG_TYPE_CHOICE, /* uint32_t, index into choices */
		   CONFIG_TYPE_ADDRS,  /* struct sockaddr_storage[max], with naddrs */
};

/* When a value that was changed in the file takes effect. */
enum config_effect {
	CONFIG_AT_RESTART,
	CONFIG_AT_ONCE,      /* by a reload, for all that begins from then on */
	CONFIG_NEW_ASSOCS,   /* by a reload, for associations that begin from then on */
	CONFIG_NEW_PROGRAMS, /* by a reload, for programs that attach from then on */
};

struct config_key {
	const char *section; /* "" at the top level */
	const char *name;
	enum config_type type;
	uint64_t min, max;
	bool or_zero;                            /* 0 is allowed although min is more */
	const char *choices[CONFIG_MAX_CHOICES]; /* NULL after the last */
	const char *def; /* default, as a file would say it; of a list: with ", " in between */
	size_t offset;   /* of the member in struct config */
	enum config_effect effect;
	const char *help; /* half a line */
};

/* The i-th key, keys of one section in a row; NULL behind the last. */
const struct config_key *config_key_at(size_t i);

/* The key of that name in that section, or NULL. */
const struct config_key *config_key_find(const char *section, const char *name);

/* How the documents tell its effect, behind what it takes: "; at once", or "" for a restart. */
const char *config_key_effect(const struct config_key *k);

/* The key's place in the table. */
size_t config_key_index(const struct config_key *k);

/* True if some key has that section, and it is not "". */
bool config_key_section(const char *section);

/*
 * What could have been meant by an unknown name in a section: "did you mean pending_max?", or
 * else the list of what is known there.
 */
void config_key_suggest(const char *section, const char *name, char *ret, size_t len);

#endif
