/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Only for tests: sets counters near their wrap. Legal only while no earlier message is in flight
 * or outstanding, and only with the same values on both sides.
 */
#ifndef TESTS_LIB_ASSOC_TEST_H
#define TESTS_LIB_ASSOC_TEST_H

#include <stdint.h>

#include "proto/association/assoc.h"

/* Next DDP-SSNs of a stream with a session. */
void assoc_test_preset(struct assoc *a, uint16_t sid, uint16_t tx_ssn, uint16_t rx_ssn);

/* Next message numbers of a bound endpoint: on QN 0, QN 1 and QN 3; raw: on any queue. */
void assoc_test_preset_msn(struct rdmap *ep, uint32_t qn, uint32_t tx_msn, uint32_t rx_msn);

#endif
