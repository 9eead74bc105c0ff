/* SPDX-License-Identifier: BSD-2-Clause */
/* A client of daemon A and a listener of daemon B, by the calls of ddp_easy.h. */
#ifndef TESTS_SYSTEM_EASY_RIG_H
#define TESTS_SYSTEM_EASY_RIG_H

#include <ddp/ddp_easy.h>
#include <pthread.h>

#include "tests/system/rig.h"

extern const char *socket_a, *socket_b, *address_b;
extern uint16_t port; /* of the listener */

/* A call of an object that must not fail. */
#define EASY(e, call) easy_must(e, #call, (call))
long easy_must(const struct ddp_easy *e, const char *what, long r);

/* One that must fail with this error, and a sentence. */
void refused(const struct ddp_easy *e, const char *what, long came, int err);

struct ddp_easy *open_at(const char *socket, uint32_t messages, uint32_t bytes);
struct ddp_easy *listen_with(uint32_t messages, uint32_t bytes);

/* Connects without a second thread: time-out 0 only starts it. */
void pair(struct ddp_easy *listener, struct ddp_easy *a, struct ddp_easy **b);
void close_all(struct ddp_easy *a, struct ddp_easy *b, struct ddp_easy *listener);

/* Until the descriptor for event loops is readable. */
void sleep_until(struct ddp_easy *e);

void start(pthread_t *thread, void *(*run)(void *), void *arg);

/* The daemon ends while both wait; or begins again and again, and the listener serves. */
void easy_is_orphan(void);
void easy_survives(void);

#endif
