/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of configuration keys. Reading, printing, the manual page and the shipped file follow
 * it; tests compare them.
 */
#ifndef DAEMON_BASE_CONFIG_KEYS_H
#define DAEMON_BASE_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CONFIG_MAX_KEYS = 80,
	CONFIG_MAX_CHOICES = 5,
};

enum config_type {                     /* and the type of the member: */
		   CONFIG_TYPE_PATH,   /* char[max + 1] */
		   CONFIG_TYPE_GROUP,  /* char[max + 1], with its gid */
		   CONFIG_TYPE_OCTAL,  /* uint32_t */
		   CONFIG_TYPE_NUMBER, /* uint32_t */
		   CONFIG_TYPE_SIZE,   /* uint64_t, bytes */
		   CONFIG_TYPE_CHOICE, /* uint32_t, index into choices */
		   CONFIG_TYPE_LISTEN, /* char[max][LISTEN_WORD_MAX], with nlisten */
		   CONFIG_TYPE_RULES,  /* struct llp_cc_rule[max], with ncc_rules */
		   CONFIG_TYPE_USERS,  /* struct principal[max], with nadmin */
		   CONFIG_TYPE_PORTS,  /* struct port_rule[max], with nports */
		   CONFIG_TYPE_PEERS,  /* struct peer_rule[max], with their number */
};

/* When a changed value takes effect. */
enum config_effect {
	CONFIG_AT_RESTART,
	CONFIG_AT_ONCE,      /* at a reload, for everything that begins later */
	CONFIG_NEW_ASSOCS,   /* at a reload, for later associations */
	CONFIG_NEW_PROGRAMS, /* at a reload, for programs that attach later */
};

struct config_key {
	const char *section; /* "" at the top level */
	const char *name;
	enum config_type type;
	uint64_t min, max;
	bool or_zero; /* 0 is allowed although min is larger; a path may be empty */
	const char *choices[CONFIG_MAX_CHOICES]; /* NULL after the last */
	const char *def; /* default, as written in a file; items of a list are separated by ", " */
	size_t offset;   /* of the member in struct config */
	enum config_effect effect;
	const char *help; /* a phrase */
};

/* The i-th key; the keys of a section are adjacent. NULL after the last one. */
const struct config_key *config_key_at(size_t i);

/* The key with this name in the section, or NULL. */
const struct config_key *config_key_find(const char *section, const char *name);

/* The key with this name as in "limits.mrs", or NULL. */
const struct config_key *config_key_named(const char *name);

/* The effect as the documents print it after the values: "; at once", or "" for a restart. */
const char *config_key_effect(const struct config_key *k);

/* The key's index in the table. */
size_t config_key_index(const struct config_key *k);

/* True if the section is not "" and some key belongs to it. */
bool config_key_section(const char *section);

/*
 * A suggestion for an unknown name in a section: "did you mean pending_max?", or the list of the
 * names known there.
 */
void config_key_suggest(const char *section, const char *name, char *ret, size_t len);

#endif
