/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sessions and requests of a program, for capture.py, which compares them with the wire: lines
 * appended to the file that DDP_POSTED names. Without it nothing is written. Several processes may
 * write to one file.
 */
#ifndef TESTS_SYSTEM_POSTED_H
#define TESTS_SYSTEM_POSTED_H

#include <stdint.h>

#include <ddp/ddp.h>

/*
 * A program of the daemon at socket from requests a session with one at socket to. ask and init may
 * be NULL: defaults. Its number, for the calls below: 1, 2, ... in the order of these calls.
 */
unsigned posted_session(const char *from, const char *to, const struct ddp_conn_param *request,
			const struct ddp_qp_init *init);

/* A request that was posted by that side: 0 is the initiator. */
void posted_work(unsigned session, int side, const struct ddp_send_wr *wr);

/* That side refuses a message, with this code. */
void posted_refusal(unsigned session, int side, uint16_t term);

#endif
