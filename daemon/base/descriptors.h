/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages about exhausted descriptors: which limit, whose, and its value. */
#ifndef DAEMON_BASE_DESCRIPTORS_H
#define DAEMON_BASE_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

struct reply;

/* True for EMFILE and ENFILE. */
bool descriptors_lack(int err);

/* An errno value in words; EMFILE and ENFILE name the limit of descriptors. */
void descriptors_words(int err, char *ret, size_t len);

/* Refuses a record because of an errno value. what: the object that could not be made. Returns
 * -err. */
int descriptors_refuse(struct reply *rep, int err, const char *what);

#endif
