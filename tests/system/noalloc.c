/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into the daemon: counts calls of malloc, calloc and realloc, and writes the number to
 * the file that NOALLOC_FILE names when the process exits. The daemon has one thread.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long calls;

/* dlsym() may allocate before it has returned the real calloc(). */
static char early[4096];
static size_t early_used;

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

__attribute__((visibility("default"))) void *malloc(size_t n)
{
	static void *(*real)(size_t);

	if (!real)
		*(void **)&real = next("malloc");
	calls++;
	return real(n);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
	static void *(*real)(size_t, size_t);
	static int looking;

	if (!real) {
		if (looking) {
			early_used += n * size;
			return early_used <= sizeof(early) ? early + early_used - n * size : NULL;
		}
		looking = 1;
		*(void **)&real = next("calloc");
	}
	calls++;
	return real(n, size);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t n)
{
	static void *(*real)(void *, size_t);

	if (!real)
		*(void **)&real = next("realloc");
	calls++;
	return real(p, n);
}

__attribute__((destructor)) static void write_count(void)
{
	const char *path = getenv("NOALLOC_FILE");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%lu\n", calls);
	fclose(f);
}
