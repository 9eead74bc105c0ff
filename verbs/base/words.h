/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program hears of this library on stderr, besides errno. DDPVERBS_DEBUG=1 makes it more:
 * the reason of each call that failed.
 */
#ifndef VERBS_WORDS_H
#define VERBS_WORDS_H

/* Why an object does not work in this process. */
#define WORDS_PARENTS "the object belongs to the parent of this process"

/* A call asks for what DDP over SCTP lacks. Prints a sentence, once per process and call, and
 * returns err, a positive errno value, which errno gets, too. call and why: string literals. */
int words_lacks(const char *call, const char *why, int err);

/* A call of libddpclient failed. ret: its result. Returns the positive errno value, which errno
 * gets, too. Prints a sentence, once per process and call, if the object belongs to the parent. */
int words_failed(const char *call, int ret);

/* Prints the reason of an event, which is "" if there is none, with DDPVERBS_DEBUG only. */
void words_event(const char *event, const char *reason);

/* A daemon does not answer. Prints the reason, for up to 8 attempts of the process. */
void words_no_device(const char *reason);

/* A sentence that is printed once per process, at the first failure of its kind. */
void words_once(const char *call, const char *why);

#endif
