/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/acct.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/base/limits.h"
#include "util/checked.h"
#include "util/list.h"

enum { RESERVE = 8 /* connections of a uid */ };

struct acct {
	struct list users;  /* those with a charge: few */
	struct list former; /* those without one, the longest so first */
	unsigned nformer;
	uint64_t max[ACCT_KINDS];
};

struct acct_user {
	struct list link;
	struct acct *acct;
	uid_t uid;
	uint64_t charges; /* that point here, including those of 0 */
	uint64_t used[ACCT_KINDS], refused[ACCT_KINDS];
	struct acct_traffic carried; /* by queue pairs that are gone */
};

void acct_set_limits(struct acct *a, const struct config_limits *limits)
{
	for (enum acct_kind kind = 0; kind < ACCT_KINDS; kind++)
		if (limits_row(kind)->size > 0)
			a->max[kind] = limits_value(limits, kind);
}

void acct_set_maps(struct acct *a, uint64_t maps)
{
	a->max[ACCT_MAPS] = maps;
}

int acct_new(const struct config_limits *limits, struct acct **ret)
{
	struct acct *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	list_init(&a->users);
	list_init(&a->former);
	acct_set_limits(a, limits);
	acct_set_maps(a, UINT64_MAX / 3);
	a->max[ACCT_RESERVE] = RESERVE;
	*ret = a;
	return 0;
}

static void forget_former(struct acct *a)
{
	free(list_entry(list_pop(&a->former), struct acct_user, link));
	a->nformer--;
}

struct acct *acct_free(struct acct *a)
{
	if (!a)
		return NULL;
	assert(list_empty(&a->users));
	while (a->nformer > 0)
		forget_former(a);
	free(a);
	return NULL;
}

static struct acct_user *find_in(const struct list *users, uid_t uid)
{
	list_foreach (it, users) {
		struct acct_user *u = list_entry(it, struct acct_user, link);

		if (u->uid == uid)
			return u;
	}
	return NULL;
}

static struct acct_user *find_user(const struct acct *a, uid_t uid)
{
	return find_in(&a->users, uid);
}

uint64_t acct_used(const struct acct *a, uid_t uid, enum acct_kind kind)
{
	const struct acct_user *u = find_user(a, uid);

	return u ? u->used[kind] : 0;
}

static uint64_t used_by_others(const struct acct *a, uid_t uid, enum acct_kind kind)
{
	uint64_t sum = 0;

	list_foreach (it, &a->users) {
		const struct acct_user *u = list_entry(it, struct acct_user, link);

		if (u->uid != uid)
			sum += u->used[kind];
	}
	return sum;
}

uint64_t acct_limit(const struct acct *a, uid_t uid, enum acct_kind kind)
{
	uint64_t others;

	if (kind != ACCT_MAPS)
		return a->max[kind];
	others = used_by_others(a, uid, kind);
	return others < a->max[kind] ? (a->max[kind] - others) * 3 / 4 : 0;
}

static struct acct_user *find_or_add(struct acct *a, uid_t uid)
{
	struct acct_user *u = find_user(a, uid);

	if (u)
		return u;
	u = find_in(&a->former, uid);
	if (u) {
		list_del(&u->link);
		a->nformer--;
	} else {
		u = calloc(1, sizeof(*u));
		if (!u)
			return NULL;
		u->uid = uid;
		u->acct = a;
	}
	list_add_tail(&a->users, &u->link);
	return u;
}

/* A uid without any charge is not counted. */
static void count_refusal(struct acct_user *u, enum acct_kind kind)
{
	if (u)
		u->refused[kind]++;
}

uint64_t acct_refused(const struct acct *a, uid_t uid, enum acct_kind kind)
{
	const struct acct_user *u = find_user(a, uid);

	return u ? u->refused[kind] : 0;
}

static void explain_limit(uid_t uid, enum acct_kind kind, uint64_t used, uint64_t max,
			  uint64_t amount, char *ret_reason, size_t len)
{
	char more[48] = "";

	if (amount != 1)
		snprintf(more, sizeof(more), " and asks for %" PRIu64 " more", amount);
	snprintf(ret_reason, len, "uid %ju has %" PRIu64 " of %" PRIu64 " %s%s (%s)",
		 (uintmax_t)uid, used, max, limits_row(kind)->what, more, limits_row(kind)->key);
}

int acct_charge(struct acct *a, uid_t uid, enum acct_kind kind, uint64_t amount,
		struct acct_charge *ret, char *ret_reason, size_t reason_len)
{
	uint64_t used = acct_used(a, uid, kind), max = acct_limit(a, uid, kind);

	if (!checked_range(used, amount, max)) {
		count_refusal(find_user(a, uid), kind);
		explain_limit(uid, kind, used, max, amount, ret_reason, reason_len);
		return ACCT_E_LIMIT;
	}
	return acct_charge_granted(a, uid, kind, amount, ret);
}

int acct_charge_granted(struct acct *a, uid_t uid, enum acct_kind kind, uint64_t amount,
			struct acct_charge *ret)
{
	struct acct_user *u = find_or_add(a, uid);

	if (!u)
		return -ENOMEM;
	u->used[kind] += amount;
	u->charges++;
	*ret = (struct acct_charge){u, kind, amount};
	return ACCT_E_OK;
}

int acct_change(struct acct *a, struct acct_charge *c, uint64_t amount, char *ret_reason,
		size_t reason_len)
{
	struct acct_user *u = c->user;
	uint64_t others = u->used[c->kind] - c->amount, max = acct_limit(a, u->uid, c->kind);

	if (amount > c->amount && !checked_range(others, amount, max)) {
		count_refusal(u, c->kind);
		explain_limit(u->uid, c->kind, others, max, amount, ret_reason, reason_len);
		return ACCT_E_LIMIT;
	}
	u->used[c->kind] = others + amount;
	c->amount = amount;
	return ACCT_E_OK;
}

/* Its last charge was released. Its traffic is kept, or the counters of programs that run for a
 * second would never be seen. */
static void leave(struct acct_user *u)
{
	struct acct *a = u->acct;

	list_del(&u->link);
	list_add_tail(&a->former, &u->link);
	if (++a->nformer > ACCT_FORMER)
		forget_former(a);
}

void acct_release(struct acct_charge *c)
{
	struct acct_user *u = c->user;

	if (!u)
		return;
	u->used[c->kind] -= c->amount;
	if (--u->charges == 0)
		leave(u);
	*c = (struct acct_charge){0};
}

void acct_add_traffic(const struct acct_charge *c, struct acct_traffic carried)
{
	acct_traffic_add(&c->user->carried, carried);
}

struct acct_traffic acct_traffic(const struct acct *a, uid_t uid)
{
	const struct acct_user *u = find_user(a, uid);

	if (!u)
		u = find_in(&a->former, uid);
	return u ? u->carried : (struct acct_traffic){0};
}

/* The smallest uid of the list in [from, *ret), if there is one. */
static bool smallest(const struct list *users, uint64_t from, uint64_t *ret)
{
	bool found = false;

	list_foreach (it, users) {
		const struct acct_user *u = list_entry(it, struct acct_user, link);

		if (u->uid < from || u->uid >= *ret)
			continue;
		*ret = u->uid;
		found = true;
	}
	return found;
}

bool acct_next_uid(const struct acct *a, uint64_t from, bool former, uid_t *ret)
{
	uint64_t uid = UINT64_MAX;
	bool found = smallest(&a->users, from, &uid);

	if (former)
		found |= smallest(&a->former, from, &uid);
	if (found)
		*ret = (uid_t)uid;
	return found;
}

const char *acct_key(enum acct_kind kind)
{
	return limits_row(kind)->key;
}
