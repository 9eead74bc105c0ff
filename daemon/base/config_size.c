/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/config_size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned shift;
} units[] = {{"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"", 0}};

enum { UNITS = sizeof(units) / sizeof(units[0]) };

void config_size_text(uint64_t v, char *ret, size_t len)
{
	unsigned u = 0;

	while (u < UNITS - 1 && (v == 0 || v % (UINT64_C(1) << units[u].shift) != 0))
		u++;
	snprintf(ret, len, "%" PRIu64 "%s", v >> units[u].shift, units[u].name);
}

bool config_digits(const char *text, unsigned base, uint64_t *ret, const char **ret_end)
{
	const char *p = text;
	uint64_t v = 0;

	for (; *p >= '0' && *p < (char)('0' + base); p++) {
		unsigned d = (unsigned)(*p - '0');

		if (v > (UINT64_MAX - d) / base)
			return false;
		v = v * base + d;
	}
	*ret = v;
	*ret_end = p;
	return p != text;
}

enum config_size_result config_size_parse(const char *text, uint64_t *ret)
{
	unsigned u = 0;
	const char *end;
	uint64_t v;

	if (!config_digits(text, 10, &v, &end))
		return CONFIG_SIZE_NO_NUMBER;
	while (*end == ' ')
		end++;
	while (u < UNITS && strcmp(end, units[u].name) != 0)
		u++;
	if (u == UNITS)
		return CONFIG_SIZE_NO_NUMBER;
	if (v > UINT64_MAX >> units[u].shift)
		return CONFIG_SIZE_TOO_LARGE;
	*ret = v << units[u].shift;
	return CONFIG_SIZE_OK;
}
