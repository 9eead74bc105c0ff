/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases of verbs_events: signals during a wait for the event of a completion queue. The function
 * makes a completion in a queue that is armed.
 */
#ifndef TESTS_SYSTEM_VERBS_SIGNALS_H
#define TESTS_SYSTEM_VERBS_SIGNALS_H

#include "tests/system/verbs_rig.h"

/* As read() of a device file: a handler decides whether its signal ends the wait. */
void verbs_signals_wait(struct side *a, void (*flush_armed)(struct ibv_cq *cq));

/* A stop of the process: no handler runs, though there is one that would end the wait. */
void verbs_signals_stop(struct side *a, void (*flush_armed)(struct ibv_cq *cq));

#endif
