/* SPDX-License-Identifier: BSD-2-Clause */
/* A lack of memory while the configuration is read is an error, and never a crash. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/base/config.h"

#define EXPORT __attribute__((visibility("default")))

/* libyaml's own allocator, which it calls by name. */
EXPORT void *yaml_malloc(size_t n);
EXPORT void *yaml_realloc(void *p, size_t n);
EXPORT unsigned char *yaml_strdup(const unsigned char *s);

static int left; /* so many allocations succeed, then one fails */
static bool failed;

static bool fails(void)
{
	failed = failed || left == 0;
	return left-- == 0;
}

void *yaml_malloc(size_t n)
{
	return fails() ? NULL : malloc(n ? n : 1);
}

void *yaml_realloc(void *p, size_t n)
{
	return fails() ? NULL : realloc(p, n ? n : 1);
}

unsigned char *yaml_strdup(const unsigned char *s)
{
	return fails() ? NULL : (unsigned char *)strdup((const char *)s);
}

static int load(const char *path, int allocations, char err[CONFIG_ERR_MAX])
{
	struct config c;

	left = allocations;
	failed = false;
	err[0] = '\0';
	return config_load(path, &c, err, CONFIG_ERR_MAX);
}

Test(config_memory, an_allocation_of_libyaml_that_fails_is_reported)
{
	const char text[] = "limits: {mrs: 100}\nlisten: [127.0.0.1, \"::1\"]\n";
	char path[] = "/tmp/test_config_memory.XXXXXX", err[CONFIG_ERR_MAX];
	int fd = mkstemp(path), n;

	cr_assert_eq(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	cr_assert_eq(close(fd), 0);
	for (n = 0; load(path, n, err), failed; n++)
		cr_expect(strstr(err, "Cannot allocate memory"), "allocation %d: '%s'", n, err);
	cr_expect_gt(n, 20);
	cr_expect_eq(load(path, -1, err), 0, "%s", err);
	cr_assert_eq(unlink(path), 0);
}
