/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/command/object_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/field/query.h"

enum {
	TIMEOUT_MS = 500, /* a user waits for this while typing */
	MOST = 1000,      /* candidates; more are not readable */
	SUMMARY = 3,      /* fields that tell an object from others */
};

/* "state rts, comm ddping, ..." */
static void summarize(const struct field_object *obj, const void *rec, char buf[FIELD_TEXT])
{
	unsigned shown = 0;
	size_t len = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < obj->nfields && shown < SUMMARY; i++) {
		const struct field *f = &obj->fields[i];
		char text[FIELD_TEXT];

		if (f->level != FIELD_BASIC || !strcmp(f->key, obj->id))
			continue;
		field_text(f, rec, false, text);
		if (!strcmp(text, "-") || len >= FIELD_TEXT)
			continue;
		len += (size_t)snprintf(buf + len, FIELD_TEXT - len, "%s%s %s", shown++ ? ", " : "",
					f->key, text);
	}
}

/* Whether an object before this one has the same value. */
static bool is_repeated(const struct query_reply *a, size_t i, const struct field *f,
			const char *text)
{
	char other[FIELD_TEXT];

	while (i--) {
		field_text(f, &a->recs[i].status, false, other);
		if (!strcmp(text, other))
			return true;
	}
	return false;
}

void object_values_complete(const struct complete *c, const char *socket,
			    const struct field_object *obj, const struct field *f,
			    const char *where, const char *is)
{
	const struct field *cond = where ? field_find(obj, where) : NULL;
	bool id = obj->id && !strcmp(obj->id, f->key);
	char text[FIELD_TEXT], help[FIELD_TEXT] = "";
	struct query_reply a;

	if (query_show(socket, TIMEOUT_MS, obj->number, &a) != CTL_EXIT_OK)
		return;
	for (size_t i = 0; i < a.n && i < MOST; i++) {
		const void *rec = &a.recs[i].status;

		if (cond && (!field_valid(cond, is) || !field_match(cond, rec, is)))
			continue;
		field_text(f, rec, false, text);
		if (!strcmp(text, "-") || strpbrk(text, " \t\n") ||
		    (!cond && is_repeated(&a, i, f, text)))
			continue;
		if (id)
			summarize(obj, rec, help);
		complete_word(c, text, help);
	}
	free(a.recs);
}
