/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time limits of test programs. Only a fault reaches them: other work may keep the processors busy
 * for many times what anything takes on an idle machine, and a guest of scripts/check-kernel is
 * slow by itself.
 */
#ifndef TESTS_LIB_PATIENCE_H
#define TESTS_LIB_PATIENCE_H

enum {
	PATIENCE_MS = 120000, /* what has to come has not come in this time: a fault */
	LIFE_S = 380,         /* of a program: scripts/check-kernel ends a test after 400 seconds */
};

#endif
