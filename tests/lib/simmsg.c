/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/simmsg.h"

#include <stdlib.h>

enum {
	SMALL = 640, /* up to this length, the first span may have the whole message */
	PIECES = 4,  /* spans at most */
};

static void *get(size_t len)
{
	void *p = calloc(1, len ? len : 1);

	if (!p)
		abort();
	return p;
}

struct simmsg *simmsg_new(const struct llp_msg *src)
{
	struct simmsg *m = get(sizeof(*m));
	struct span dst[2];

	list_init(&m->link);
	m->sid = src->sid;
	m->ppid = src->ppid;
	m->len = src->len;
	m->head_len = src->len <= SMALL ? src->len : (uint32_t)src->part[0].len;
	m->head = get(m->head_len);
	m->rest = get(m->len - m->head_len);
	dst[0] = (struct span){m->head, m->head_len};
	dst[1] = (struct span){m->rest, m->len - m->head_len};
	span_copy(dst, 2, src->part, src->n, 0, m->len);
	return m;
}

struct simmsg *simmsg_free(struct simmsg *m)
{
	if (m) {
		list_del(&m->link);
		free(m->head);
		free(m->rest);
		free(m);
	}
	return NULL;
}

/* Splits the last span at random. */
static void split_spans(struct simclock *k, struct llp_msg *v)
{
	while (v->n < PIECES) {
		struct span *last = &v->part[v->n - 1];
		size_t at = 1 + simclock_below(k, last->len);

		if (at >= last->len)
			return;
		v->part[v->n++] = (struct span){last->p + at, last->len - at};
		last->len = at;
	}
}

void simmsg_view(const struct simmsg *m, struct simclock *k, struct llp_msg *ret)
{
	*ret = (struct llp_msg){.sid = m->sid, .ppid = m->ppid, .len = m->len, .n = 1};
	ret->part[0] = (struct span){m->head, m->head_len};
	if (m->len == m->head_len)
		return;
	ret->part[ret->n++] = (struct span){m->rest, m->len - m->head_len};
	if (k)
		split_spans(k, ret);
}
