/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How fast this machine copies memory: one block of the given size to another, again and again.
 * ddperf does the same: all its messages come from one buffer and go to one buffer. Prints one
 * line, or JSON with -j.
 *
 * usage: memcpy [-s SIZE] [-t SECONDS] [-j]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Bytes per second of copying blocks for so many seconds. */
static double measure(uint8_t *dst, const uint8_t *src, size_t size, double seconds)
{
	double began = now(), end;
	uint64_t blocks = 0;

	do {
		for (unsigned i = 0; i < 64; i++, blocks++) {
			memcpy(dst, src, size);
			__asm__ volatile("" ::"r"(dst)
					 : "memory"); /* so that the compiler keeps the copies */
		}
		end = now();
	} while (end - began < seconds);
	return (double)(blocks * size) / (end - began);
}

int main(int argc, char **argv)
{
	size_t size = 1 << 20;
	double seconds = 1, rate;
	int json = 0, opt;
	uint8_t *src, *dst;

	while ((opt = getopt(argc, argv, "s:t:j")) != -1) {
		if (opt == 's')
			size = strtoul(optarg, NULL, 10);
		else if (opt == 't')
			seconds = strtod(optarg, NULL);
		else if (opt == 'j')
			json = 1;
		else
			return 2;
	}
	if (!size || seconds <= 0)
		return 2;
	src = malloc(size);
	dst = malloc(size);
	if (!src || !dst) {
		perror("memcpy");
		return 1;
	}
	memset(src, 1, size);
	memset(dst, 2, size);
	measure(dst, src, size, seconds / 10);
	rate = measure(dst, src, size, seconds);
	printf(json ? "{\"size\": %zu, \"bytes_per_s\": %.0f}\n" : "%zu bytes: %.0f bytes/s\n",
	       size, rate);
	free(src);
	free(dst);
	return 0;
}
