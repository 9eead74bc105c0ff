/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/acct.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/base/limits.h"
#include "util/checked.h"
#include "util/drr.h"
#include "util/list.h"
#include "util/minmax.h"

/* Of a uid. */
enum {
	RESERVE = 8, /* connections */
	/* Of DTLS, half of all: beside one who has them with hosts that do not answer, a program
	 * that begins 40 at once is served, and the twenty-first user gets one. */
	HANDSHAKES = 128,
};

/* Of one kind. */
struct amounts {
	uint64_t max;   /* of a uid */
	uint64_t total; /* of all uids, if their limits allow as much */
	uint64_t used;  /* by all, counted() */
	uint64_t users; /* that have any */
};

struct acct {
	struct list users;  /* those with a charge: few */
	struct list former; /* those without one, the longest so first */
	unsigned nformer;
	struct amounts of[ACCT_KINDS];
};

struct acct_user {
	struct list link;
	struct acct *acct;
	uid_t uid;
	uint64_t charges; /* that point here, including those of 0 */
	uint64_t used[ACCT_KINDS], refused[ACCT_KINDS];
	struct acct_traffic carried; /* by queue pairs that are gone */
	uint64_t guesses;            /* of STags at peers */
	struct drr turn[ACCT_TREES];
};

/* A uid is counted up to its limit: others do not lose by objects that it keeps beyond a lower one.
 */
static uint64_t counted(const struct amounts *m, uint64_t amount)
{
	return min_u64(amount, m->max);
}

static void set_max(struct acct *a, enum acct_kind kind, uint64_t max)
{
	struct amounts *m = &a->of[kind];

	m->max = max;
	m->used = 0;
	list_foreach (it, &a->users)
		m->used += counted(m, list_entry(it, struct acct_user, link)->used[kind]);
}

void acct_set_limits(struct acct *a, const struct config_limits *limits)
{
	for (enum acct_kind kind = 0; kind < ACCT_KINDS; kind++)
		if (limits_row(kind)->size > 0)
			set_max(a, kind, limits_value(limits, kind));
}

void acct_set_total(struct acct *a, enum acct_kind kind, uint64_t total)
{
	a->of[kind].total = total;
}

int acct_new(const struct config_limits *limits, struct acct **ret)
{
	struct acct *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	list_init(&a->users);
	list_init(&a->former);
	for (enum acct_kind kind = 0; kind < ACCT_KINDS; kind++)
		a->of[kind].max = a->of[kind].total = UINT64_MAX / ACCT_FACTOR;
	acct_set_limits(a, limits);
	a->of[ACCT_RESERVE].max = a->of[ACCT_ADMINS].max = RESERVE;
	a->of[ACCT_HANDSHAKES].max = HANDSHAKES;
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

static uint64_t total_of(const struct acct *a, enum acct_kind kind)
{
	const struct amounts *m = &a->of[kind];

	return limits_row(kind)->size > 0 ? min_u64(m->total, m->max * ACCT_FACTOR) : m->total;
}

/* Those who share a kind, with one that has `own` of it. */
static uint64_t sharers(const struct amounts *m, uint64_t own)
{
	return m->users + (own == 0);
}

/* The share of it: alone, all but a quarter. Beside others it is rounded up, so that no uid is
 * refused while something is left. */
static uint64_t share_of(uint64_t left, uint64_t users)
{
	if (users == 1)
		return left - left / 4 - (left % 4 > 0);
	return left / (users + 1) + (left % (users + 1) > 0);
}

uint64_t acct_limit(const struct acct *a, uid_t uid, enum acct_kind kind)
{
	const struct amounts *m = &a->of[kind];
	uint64_t own = acct_used(a, uid, kind), others = m->used - counted(m, own);
	uint64_t total = total_of(a, kind);
	uint64_t left = others < total ? total - others : 0;

	return min_u64(m->max, share_of(left, sharers(m, own)));
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
		for (enum acct_tree t = 0; t < ACCT_TREES; t++)
			drr_init(&u->turn[t], NULL);
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

/* The end of the sentence, if others or the total make the limit smaller than its key says. */
static void explain_share(const struct amounts *m, uint64_t own, uint64_t max, char *ret,
			  size_t len)
{
	uint64_t users = sharers(m, own);

	*ret = '\0';
	if (max < m->max && users > 1)
		snprintf(ret, len, ", its share beside %" PRIu64 " other user%s", users - 1,
			 users > 2 ? "s" : "");
	else if (max < m->max)
		snprintf(ret, len, ", its share");
}

static void explain_limit(const struct acct *a, uid_t uid, enum acct_kind kind, uint64_t used,
			  uint64_t amount, char *ret_reason, size_t len)
{
	const struct limits_row *row = limits_row(kind);
	uint64_t max = acct_limit(a, uid, kind);
	char more[48] = "", share[64];

	explain_share(&a->of[kind], acct_used(a, uid, kind), max, share, sizeof(share));
	if (amount != 1)
		snprintf(more, sizeof(more), "%s and asks for %" PRIu64 " more", *share ? "," : "",
			 amount);
	snprintf(ret_reason, len, "uid %ju has %" PRIu64 " of %" PRIu64 " %s%s%s (%s)",
		 (uintmax_t)uid, used, max, row->what, share, more, row->key);
}

int acct_charge(struct acct *a, uid_t uid, enum acct_kind kind, uint64_t amount,
		struct acct_charge *ret, char *ret_reason, size_t reason_len)
{
	uint64_t used = acct_used(a, uid, kind);

	if (!checked_range(used, amount, acct_limit(a, uid, kind))) {
		count_refusal(find_user(a, uid), kind);
		explain_limit(a, uid, kind, used, amount, ret_reason, reason_len);
		return ACCT_E_LIMIT;
	}
	return acct_charge_granted(a, uid, kind, amount, ret);
}

/* Sets how much the uid has of a kind. */
static void set_used(struct acct_user *u, enum acct_kind kind, uint64_t amount)
{
	struct amounts *m = &u->acct->of[kind];

	m->used += counted(m, amount) - counted(m, u->used[kind]);
	m->users += (amount > 0) - (u->used[kind] > 0);
	u->used[kind] = amount;
}

int acct_charge_granted(struct acct *a, uid_t uid, enum acct_kind kind, uint64_t amount,
			struct acct_charge *ret)
{
	struct acct_user *u = find_or_add(a, uid);

	if (!u)
		return -ENOMEM;
	set_used(u, kind, u->used[kind] + amount);
	u->charges++;
	*ret = (struct acct_charge){u, kind, amount};
	return ACCT_E_OK;
}

int acct_change(struct acct *a, struct acct_charge *c, uint64_t amount, char *ret_reason,
		size_t reason_len)
{
	struct acct_user *u = c->user;
	uint64_t rest = u->used[c->kind] - c->amount;

	if (amount > c->amount && !checked_range(rest, amount, acct_limit(a, u->uid, c->kind))) {
		count_refusal(u, c->kind);
		explain_limit(a, u->uid, c->kind, u->used[c->kind], amount - c->amount, ret_reason,
			      reason_len);
		return ACCT_E_LIMIT;
	}
	set_used(u, c->kind, rest + amount);
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
	set_used(u, c->kind, u->used[c->kind] - c->amount);
	if (--u->charges == 0)
		leave(u);
	*c = (struct acct_charge){0};
}

uid_t acct_uid(const struct acct_charge *c)
{
	return c->user->uid;
}

struct drr *acct_turn(const struct acct_charge *c, enum acct_tree tree, struct drr *root)
{
	c->user->turn[tree].parent = root;
	return &c->user->turn[tree];
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

void acct_add_guess(const struct acct_charge *c)
{
	c->user->guesses++;
}

uint64_t acct_guesses(const struct acct *a, uid_t uid)
{
	const struct acct_user *u = find_user(a, uid);

	return u ? u->guesses : 0;
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
