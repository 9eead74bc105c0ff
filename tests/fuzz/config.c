/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file: any bytes are accepted, or refused with a reason; an accepted
 * configuration is printed as a file that parses to the same values.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/base/config.h"
#include "tests/fuzz/fuzz.h"

static char path[64];

static void write_file(const void *p, size_t n)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("config", MFD_CLOEXEC);
		must(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	must(ftruncate(fd, 0) == 0);
	must(pwrite(fd, p, n, 0) == (ssize_t)n);
}

static void print_and_load(const struct config *cfg)
{
	char err[CONFIG_ERR_MAX] = "", *text = NULL;
	struct config again;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	must(f);
	config_print(cfg, f);
	must(fclose(f) == 0);
	write_file(text, len);
	free(text);
	if (config_load(path, &again, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		abort();
	}
	must(!memcmp(&again, cfg, sizeof(again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[CONFIG_ERR_MAX] = "";
	struct config cfg, untouched;

	memset(&cfg, 0xa5, sizeof(cfg));
	memset(&untouched, 0xa5, sizeof(untouched));
	write_file(data, size);
	if (config_load(path, &cfg, err, sizeof(err)) == 0) {
		print_and_load(&cfg);
		return 0;
	}
	must(strnlen(err, sizeof(err)) > 0 && strnlen(err, sizeof(err)) < sizeof(err));
	must(!memcmp(&cfg, &untouched, sizeof(cfg)));
	return 0;
}
