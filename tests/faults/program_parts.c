/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the program for libddpclient. */
#include "tests/faults/program.h"

#include <stddef.h>

const struct part program_parts[] = {
	{"attach", part_attach},   {"memory", part_memory},   {"own-memory", part_own_memory},
	{"threads", part_threads}, {"fork", part_fork},       {"queues", part_queues},
	{"listen", part_listen},   {"work", part_work},       {"large", part_large},
	{"raw", part_raw},         {"late", part_late},       {"enhanced", part_enhanced},
	{"reject", part_reject},   {"refused", part_refused}, {"many", part_many},
	{"hold", part_hold},       {"easy", part_easy},       {NULL, NULL},
};
