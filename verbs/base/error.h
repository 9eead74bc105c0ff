/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors of verbs: errno for the program, and sentences on stderr for its user. DDPVERBS_DEBUG=1
 * also prints the reason of each call that failed.
 */
#ifndef VERBS_ERROR_H
#define VERBS_ERROR_H

/* Why an object does not work in this process. */
#define ERROR_PARENTS_OBJECT "the object belongs to the parent of this process"

/* The program asks for something that DDP over SCTP does not support. Sets errno to err, a positive
 * errno value, and returns it. Prints why, once per process and call. call and why are string
 * literals. */
int error_unsupported(const char *call, const char *why, int err);

/* The same, for calls that libraries try by design: the sentence is printed with DDPVERBS_DEBUG
 * alone. */
int error_probed(const char *call, const char *why, int err);

/* A call of libddpclient returned ret, a negative errno value. Sets errno to its positive value and
 * returns that. Prints a sentence, once per process and call, if the object belongs to the parent.
 */
int error_of_call(const char *call, int ret);

/* Prints the reason of an event with DDPVERBS_DEBUG, unless it is "". */
void error_event(const char *event, const char *reason);

/* A daemon does not answer. Prints the reason, up to 8 times per process. */
void error_no_device(const char *reason);

/* Prints a sentence once per process and call. Both are string literals. */
void error_once(const char *call, const char *why);

#endif
