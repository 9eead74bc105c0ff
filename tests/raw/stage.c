/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/raw/stage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/raw/link.h"
#include "tests/raw/client.h"

struct stage stage;

static void (*use)(int fd) = link_turn;

void stage_use(void (*turn)(int fd))
{
	use = turn;
}

void stage_hex(const char *title, const void *p, uint32_t n)
{
	const uint8_t *b = p;

	printf("  %s (%u bytes)", title, n);
	for (uint32_t i = 0; i < n && i < 160; i++)
		printf("%s%02x", i % 32 == 0 ? "\n    " : i % 2 == 0 ? " " : "", b[i]);
	printf("%s\n", n > 160 ? " ..." : "");
}

void stage_fail(const char *fmt, ...)
{
	static bool failing;
	va_list ap;

	if (failing)
		_Exit(1);
	failing = true;
	printf("FAIL %s: %s%s", stage.name, stage.detail ? stage.detail : "",
	       stage.detail ? ": " : "");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	link_dump();
	client_dump();
	link_close_all();
	fflush(stdout);
	_Exit(1);
}

uint64_t stage_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void stage_turn(int fd, uint64_t end, const char *what)
{
	EXPECT(stage_now_ms() < end, "waited too long for %s", what);
	use(fd);
}
