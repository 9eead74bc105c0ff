/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of `ddpctl -b`: any bytes become commands of at most 64 words, each on the command line
 * of its object, or an error with the file and the line. The first failure ends the file unless it
 * is forced. Input: a byte for the options, then the file.
 */
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ctl/command/batch.h"
#include "tests/fuzz/fuzz.h"

enum {
	WORDS = 64,
	LINE = 4096,
};

static char path[64];
static int fd = -1;
static FILE *nowhere; /* for usage, which is printed as it is */
static unsigned failures, errors;

static void note_error(const char *text)
{
	for (const char *c = text; *c; c++)
		must(*c >= 0x20 && *c < 0x7f);
	errors++;
}

static void start(void)
{
	if (fd >= 0)
		return;
	fd = memfd_create("batch", MFD_CLOEXEC);
	must(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	query_errors_to(note_error);
	nowhere = fopen("/dev/null", "w");
	must(nowhere);
}

/* What ddpctl does with the words of an object; others are commands, which need a daemon. */
static enum ctl_exit run(struct ddpctl *c, int n, char **args)
{
	enum ctl_exit e = CTL_EXIT_OK;
	size_t len = 0;

	must(n > 0 && n <= WORDS && c->nfilters == 0 && !c->obj);
	for (int i = 0; i < n; i++)
		len += strlen(args[i]) + 1;
	must(len <= LINE);
	c->obj = args_object(args[0]);
	if (c->obj)
		e = args_filters(c, n - 1, args + 1);
	else if (*args[0] == '-')
		e = CTL_EXIT_FAILED;
	must(c->nfilters <= PRINT_MAX_FILTERS);
	failures += e != CTL_EXIT_OK;
	return e;
}

/* The input; or none, or one that cannot be read. */
static const char *file_of(uint8_t bits)
{
	if (bits & 2)
		return "/no/such/file";
	return bits & 4 ? "/" : path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const bool force = size > 0 && data[0] & 1;
	FILE *const err = stderr;
	struct ddpctl c = {0};
	enum ctl_exit e;

	start();
	must(ftruncate(fd, 0) == 0);
	must(size < 2 || pwrite(fd, data + 1, size - 1, 0) == (ssize_t)size - 1);
	failures = errors = 0;
	stderr = nowhere;
	e = batch_run(&c, file_of(size > 0 ? data[0] : 0), force, run);
	stderr = err;
	must(e == CTL_EXIT_OK ? failures == 0 : errors > 0);
	must(force || failures <= 1);
	return 0;
}
