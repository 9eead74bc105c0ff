/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's list of addresses, and its answer about a route: any bytes are read without a fault,
 * each record kept is an address of one host, and a name that ends. Input: datagrams, each after
 * its length in two bytes.
 */
#include <errno.h>
#include <string.h>

#include "llp/common/fib.h"
#include "llp/common/host_addrs.h"
#include "tests/fuzz/fuzz.h"
#include "util/addr.h"

static void find_route(const void *datagram, size_t len)
{
	struct fib f = {0};

	if (fib_parse(datagram, len, &f) == 0)
		must(f.device != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct host_addrs h = {0};

	while (len >= 2) {
		size_t n = (size_t)(p[0] << 8 | p[1]);
		uint8_t *exact;

		p += 2;
		len -= 2;
		n = n < len ? n : len;
		exact = malloc(n ? n : 1); /* so that a read beyond its end is seen */
		must(exact != NULL);
		memcpy(exact, p, n);
		must(host_addrs_parse(&h, exact, n) <= 1);
		find_route(exact, n);
		free(exact);
		p += n;
		len -= n;
	}
	for (unsigned i = 0; i < h.nlinks; i++)
		must(memchr(h.link[i].name, 0, sizeof(h.link[i].name)) != NULL);
	for (unsigned i = 0; i < h.naddrs; i++)
		must(addr_one_host(&h.addr[i].a));
	host_addrs_free(&h);
	return 0;
}
