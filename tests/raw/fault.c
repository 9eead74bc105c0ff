/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/raw/fault.h"

#include "tests/raw/stage.h"

struct fault fault_new(const struct client_opts *o)
{
	struct fault f = {.p = pair_new(o)};

	f.r = client_region(client_pd(), FAULT_LEN, FAULT_BASE,
			    DDP_ACCESS_REMOTE_WRITE | DDP_ACCESS_REMOTE_READ);
	return f;
}

void fault_try_any(struct fault *f, const char *detail, struct raw_msg m, const uint16_t *err,
		   unsigned n)
{
	unsigned used;

	stage.detail = detail;
	if (f->p.v.posted)
		pair_alive(&f->p);
	used = f->p.opts.recvs - f->p.v.posted;
	pair_tx(&f->p, m);
	pair_refused_any(&f->p, err, n, &m);
	client_untouched(&f->r, 0, 0);
	/* A message that fails may have written only into its own buffer. */
	for (const uint8_t *b = client_inbox(&f->p.opts, used + 1);
	     b < client_inbox(&f->p.opts, f->p.opts.recvs); b++)
		EXPECT(*b == CLIENT_FILL, "bytes were written after the receive");
	pair_next(&f->p);
	stage.detail = NULL;
}

void fault_try(struct fault *f, const char *detail, struct raw_msg m, uint16_t err)
{
	fault_try_any(f, detail, m, &err, 1);
}
