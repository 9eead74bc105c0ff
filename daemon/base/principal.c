/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/principal.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(const char *text)
{
	return *text && strlen(text) <= 10 && text[strspn(text, "0123456789")] == '\0';
}

/* The last number means "no user" and "no group". */
static const char *read_number(const char *text, struct principal *ret)
{
	unsigned long long n = strtoull(text, NULL, 10);

	if (n >= UINT32_MAX)
		return "is too large";
	ret->id = (uint32_t)n;
	return NULL;
}

static const char *read_group(const char *text, struct principal *ret)
{
	const struct group *gr;

	ret->kind = PRINCIPAL_GROUP;
	if (is_number(text))
		return read_number(text, ret);
	gr = getgrnam(text);
	if (!gr)
		return "is not a group of this system";
	ret->id = gr->gr_gid;
	return NULL;
}

static const char *read_user(const char *text, struct principal *ret)
{
	const struct passwd *pw;

	ret->kind = PRINCIPAL_USER;
	if (is_number(text))
		return read_number(text, ret);
	pw = getpwnam(text);
	if (!pw)
		return "is not a user of this system";
	ret->id = pw->pw_uid;
	return NULL;
}

const char *principal_parse(const char *text, struct principal *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (strlen(text) >= sizeof(ret->text))
		return "is too long";
	strcpy(ret->text, text);
	if (strcmp(text, "*") == 0) {
		ret->kind = PRINCIPAL_ALL;
		return NULL;
	}
	return *text == '@' ? read_group(text + 1, ret) : read_user(text, ret);
}

void principal_of_uid(uint32_t uid, struct principal *ret)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->text, sizeof(ret->text), "%u", uid);
	ret->kind = PRINCIPAL_USER;
	ret->id = uid;
}

bool principal_any_group(const struct principal *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i].kind == PRINCIPAL_GROUP)
			return true;
	return false;
}

static bool has_gid(uint32_t gid, const uint32_t *gids, unsigned ngids)
{
	for (unsigned i = 0; i < ngids; i++)
		if (gids[i] == gid)
			return true;
	return false;
}

bool principal_holds(const struct principal *list, unsigned n, uint32_t uid, const uint32_t *gids,
		     unsigned ngids)
{
	for (unsigned i = 0; i < n; i++) {
		const struct principal *p = &list[i];

		if (p->kind == PRINCIPAL_ALL || (p->kind == PRINCIPAL_USER && p->id == uid) ||
		    (p->kind == PRINCIPAL_GROUP && has_gid(p->id, gids, ngids)))
			return true;
	}
	return false;
}
