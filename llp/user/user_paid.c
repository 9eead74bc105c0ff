/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/user/user_paid.h"

#include <errno.h>
#include <string.h>

#include "util/minmax.h"

static struct user_payment *find_payment(struct user_paid *p, const struct dtls_flow *flow)
{
	for (unsigned i = 0; p->n > 0 && i < USER_HANDSHAKES; i++)
		if (p->of[i].by && memcmp(&p->of[i].flow, flow, sizeof(*flow)) == 0)
			return &p->of[i];
	return NULL;
}

static void end_payment(struct user_paid *p, const struct llp_cover *cfg, struct user_payment *one)
{
	cfg->paid(cfg->arg, one->by);
	one->by = NULL;
	p->n--;
}

/* One that has no event is over with its time. */
static void end_old(struct user_paid *p, const struct llp_cover *cfg, uint64_t now_us)
{
	for (unsigned i = 0; p->n > 0 && i < USER_HANDSHAKES; i++)
		if (p->of[i].by && p->of[i].until_us <= now_us)
			end_payment(p, cfg, &p->of[i]);
}

static struct user_payment *find_unused(struct user_paid *p)
{
	for (unsigned i = 0; i < USER_HANDSHAKES; i++)
		if (!p->of[i].by)
			return &p->of[i];
	return NULL;
}

/* Handshakes of peers, and takeovers, leave so many to programs here, which leave an eighth to
 * them. */
static unsigned left_for_programs(const struct user_paid *p, const struct dtls *d)
{
	struct dtls_stats s;
	uint64_t others;

	dtls_stats(d, &s);
	others = s.handshakes - min_u64(s.handshakes, p->n);
	return USER_HANDSHAKES -
	       (unsigned)min_u64(max_u64(others, USER_HANDSHAKES / 8), USER_HANDSHAKES);
}

/* A handshake may be on its way that the peer has begun. */
static int renew_if_paid(struct user_paid *p, const struct llp_cover *cfg, struct dtls *d,
			 struct user_payment *one, uint64_t now_us)
{
	struct dtls_stats before, after;
	int r;

	dtls_stats(d, &before);
	r = dtls_renew(d, &one->flow, now_us);
	dtls_stats(d, &after);
	if (after.begun == before.begun)
		end_payment(p, cfg, one);
	return r;
}

/* Peers leave so many links to programs here, which leave a quarter of all to them. */
static unsigned links_for_programs(const struct user_paid *p, const struct dtls *d)
{
	struct dtls_stats s;
	uint64_t others;

	dtls_stats(d, &s);
	others = s.links - min_u64(s.links, p->links);
	return USER_LINKS - (unsigned)min_u64(max_u64(others, USER_LINKS / 4), USER_LINKS);
}

static int begin_handshake(struct user_paid *p, const struct llp_cover *cfg, struct dtls *d,
			   const struct dtls_flow *flow, void *user, uint64_t now_us)
{
	struct user_payment *one;

	if (!cfg->pays || find_payment(p, flow))
		return dtls_renew(d, flow, now_us);
	one = find_unused(p);
	if (!one)
		return -EAGAIN;
	one->by = cfg->pays(cfg->arg, user, left_for_programs(p, d));
	if (!one->by)
		return -EDQUOT;
	one->flow = *flow;
	one->until_us = now_us + USER_HANDSHAKE_S * UINT64_C(1000000);
	p->n++;
	return renew_if_paid(p, cfg, d, one, now_us);
}

int llp_user_paid_begin(struct user_paid *p, const struct llp_cover *cfg, struct dtls *d,
			const struct dtls_flow *flow, void *user, uint64_t now_us)
{
	bool charges = cfg->pays_link && !dtls_has_link(d, flow);
	void *link = charges ? cfg->pays_link(cfg->arg, user, links_for_programs(p, d)) : NULL;
	int r;

	if (charges && !link)
		return -EDQUOT;
	end_old(p, cfg, now_us);
	r = begin_handshake(p, cfg, d, flow, user, now_us);
	if (!link)
		return r;
	p->links++;
	if (r == 0)
		dtls_keep(d, flow, link);
	else
		llp_user_paid_drop(p, cfg, link);
	return r;
}

void llp_user_paid_drop(struct user_paid *p, const struct llp_cover *cfg, void *payment)
{
	p->links--;
	cfg->paid(cfg->arg, payment);
}

void llp_user_paid_end(struct user_paid *p, const struct llp_cover *cfg,
		       const struct dtls_flow *flow)
{
	struct user_payment *one = find_payment(p, flow);

	if (one)
		end_payment(p, cfg, one);
}

void llp_user_paid_end_all(struct user_paid *p, const struct llp_cover *cfg)
{
	end_old(p, cfg, UINT64_MAX);
}
