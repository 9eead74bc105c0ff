/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of addresses: equal for the same host, and spread over a table. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#include "util/addr.h"

enum { BUCKETS = 1024, HOSTS = 65536 };

static struct sockaddr_storage v4(uint32_t host)
{
	struct sockaddr_storage a = {.ss_family = AF_INET};

	((struct sockaddr_in *)&a)->sin_addr.s_addr = htonl(host);
	return a;
}

static struct sockaddr_storage v6(uint32_t host)
{
	struct sockaddr_storage a = {.ss_family = AF_INET6};
	uint32_t n = htonl(host);

	memcpy(&((struct sockaddr_in6 *)&a)->sin6_addr, &n, sizeof(n));
	memcpy((uint8_t *)&((struct sockaddr_in6 *)&a)->sin6_addr + 12, &n, sizeof(n));
	return a;
}

static unsigned longest(struct sockaddr_storage (*make)(uint32_t host), uint32_t first,
			uint32_t step)
{
	static unsigned count[BUCKETS];
	unsigned most = 0;

	memset(count, 0, sizeof(count));
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct sockaddr_storage a = make(first + i * step);
		unsigned n = ++count[addr_hash_host(&a) % BUCKETS];

		most = n > most ? n : most;
	}
	return most;
}

Test(addr, hosts_of_a_network_spread_over_a_table)
{
	const unsigned fair = HOSTS / BUCKETS;

	cr_expect_leq(longest(v4, 0x0a000000, 1), 2 * fair);
	cr_expect_leq(longest(v4, 0x0a000001, 256), 2 * fair);
	cr_expect_leq(longest(v6, 0x20010db8, 1), 2 * fair);
}

Test(addr, a_host_has_one_hash_whatever_its_port)
{
	struct sockaddr_storage a = v4(0x7f000001), b = a;

	addr_set_port(&b, 5043);
	cr_assert(addr_same_host(&a, &b));
	cr_expect_eq(addr_hash_host(&a), addr_hash_host(&b));
}
