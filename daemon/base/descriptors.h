/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptors of the process (RLIMIT_NOFILE): how they are divided, and messages where they are
 * exhausted: which limit, whose, and its value.
 */
#ifndef DAEMON_BASE_DESCRIPTORS_H
#define DAEMON_BASE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

struct acct;
struct reply;

/* How many associations there may be, where each is a socket of the kernel: half of the descriptors
 * that the daemon does not have for itself, and at most as many as a transport can have. */
unsigned descriptors_of_peers(void);

/* Gives the users their total: the limit less the descriptors that are open now, those of later
 * addresses, a reserve for administrators, and so many of associations. */
void descriptors_divide(struct acct *a, unsigned of_peers);

/* True for EMFILE and ENFILE. */
bool descriptors_lack(int err);

/* An errno value in words; EMFILE and ENFILE name the limit of descriptors. */
void descriptors_words(int err, char *ret, size_t len);

/* Refuses a record because of an errno value. what: the object that could not be made. Returns
 * -err. */
int descriptors_refuse(struct reply *rep, int err, const char *what);

#endif
