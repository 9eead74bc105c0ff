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

/*
 * Gives the users their total: the limit less the descriptors that are open now, those of later
 * addresses, and a reserve for administrators. peers: of the users' part,
 * half is kept for associations, because each is a socket of the kernel.
 */
void descriptors_divide(struct acct *a, bool peers);

/* True for EMFILE and ENFILE. */
bool descriptors_lack(int err);

/* An errno value in words; EMFILE and ENFILE name the limit of descriptors. */
void descriptors_words(int err, char *ret, size_t len);

/* Refuses a record because of an errno value. what: the object that could not be made. Returns
 * -err. */
int descriptors_refuse(struct reply *rep, int err, const char *what);

#endif
