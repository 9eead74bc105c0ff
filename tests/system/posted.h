/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program asks for and posts, for capture.py, which compares it with the wire: lines that
 * are appended to the file that DDP_POSTED names. Without it nothing is written. Several processes
 * may write to one file.
 */
#ifndef TESTS_SYSTEM_POSTED_H
#define TESTS_SYSTEM_POSTED_H

#include <stdint.h>

#include <ddp/ddp.h>

/*
 * A session is asked for by a program of the daemon at socket from, of one at socket to. ask and
 * init may be NULL: nothing special. Its number, for the calls below: 1, 2, ... in the order of
 * these calls.
 */
unsigned posted_session(const char *from, const char *to, const struct ddp_conn_param *ask,
			const struct ddp_qp_init *init);

/* A request that was posted by that side: 0 is the one that asked. */
void posted_work(unsigned session, int side, const struct ddp_send_wr *wr);

/* That side refuses something, with this code. */
void posted_refusal(unsigned session, int side, uint16_t term);

#endif
