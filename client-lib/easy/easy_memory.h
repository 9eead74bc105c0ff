/* SPDX-License-Identifier: BSD-2-Clause */
/* The registered memory of a hub, and the parts of it that are offered to peers. */
#ifndef DDP_EASY_MEMORY_H
#define DDP_EASY_MEMORY_H

#include "client-lib/easy/easy_hub.h"

/* Registers memory: addr NULL allocates it; memfd -1: memory of any kind. Returns its address in
 * *ret. */
int easy_memory_add(struct easy_hub *hub, struct easy_error *error, void *addr, size_t length,
		    int memfd, void **ret);

/* Ends the region that begins there, with its offers. */
int easy_memory_remove(struct easy_hub *hub, struct easy_error *error, const void *addr);
void easy_memory_remove_all(struct easy_hub *hub);

/* Makes a scatter/gather element for this part of a region. Returns 0 or -EFAULT. */
int easy_memory_find(struct easy_hub *hub, struct easy_error *error, const void *addr,
		     size_t length, struct ddp_sge *ret);

/* Grants access to this part of a region: sets access, rkey, addr and length of the offer. */
int easy_memory_offer(struct easy_hub *hub, struct easy_error *error, void *addr, size_t length,
		      unsigned access, struct easy_hello *ret);

/* The offer, which may be none, before a peer hears of it: after easy_hub_reopen() its key is
 * another one, and of memory that was freed there is none. */
void easy_memory_renew(struct easy_hub *hub, struct easy_hello *offer);

#endif
