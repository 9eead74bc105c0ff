/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses in records survive conversion, and invalid ones are refused. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "ipc/msg_addr.h"

static struct sockaddr_storage ipv4(const char *host, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_storage ss = {0};

	cr_assert_eq(inet_pton(AF_INET, host, &in.sin_addr), 1);
	memcpy(&ss, &in, sizeof(in));
	return ss;
}

static struct sockaddr_storage ipv6(const char *host, uint16_t port, uint32_t scope)
{
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = scope};
	struct sockaddr_storage ss = {0};

	cr_assert_eq(inet_pton(AF_INET6, host, &in6.sin6_addr), 1);
	memcpy(&ss, &in6, sizeof(in6));
	return ss;
}

static void there_and_back(const struct sockaddr_storage *a)
{
	struct sockaddr_storage back;
	struct msg_addr m;

	memset(&back, 0xff, sizeof(back));
	cr_assert_eq(msg_addr_put(&m, a), 0);
	cr_assert_eq(msg_addr_get(&m, &back), 0);
	cr_assert_arr_eq(&back, a, sizeof(back));
}

Test(msg_addr, both_families_survive_conversion)
{
	const struct sockaddr_storage a[] = {
		ipv4("192.0.2.1", 5043), ipv4("0.0.0.0", 0),       ipv6("2001:db8::1", 65535, 0),
		ipv6("::", 0, 0),        ipv6("fe80::1", 5043, 7),
	};

	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		there_and_back(&a[i]);
}

Test(msg_addr, a_record_has_the_port_as_a_number_and_the_bytes_of_the_wire)
{
	const struct sockaddr_storage a = ipv4("192.0.2.1", 5043);
	const struct msg_addr want = {.family = AF_INET, .port = 5043, .bytes = {192, 0, 2, 1}};
	struct msg_addr m;

	cr_assert_eq(msg_addr_put(&m, &a), 0);
	cr_assert_arr_eq(&m, &want, sizeof(m));
}

Test(msg_addr, other_families_are_refused_and_nothing_is_written)
{
	const struct sockaddr_storage un = {.ss_family = AF_UNIX}, none = {0};
	const struct msg_addr untouched = {.family = 77};
	struct sockaddr_storage out = {.ss_family = 77};
	struct msg_addr m = untouched;

	cr_assert_eq(msg_addr_put(&m, &un), -EAFNOSUPPORT);
	cr_assert_eq(msg_addr_put(&m, &none), -EAFNOSUPPORT);
	cr_assert_arr_eq(&m, &untouched, sizeof(m));
	cr_assert_eq(msg_addr_get(&m, &out), -EAFNOSUPPORT);
	m.family = AF_UNSPEC;
	cr_assert_eq(msg_addr_get(&m, &out), -EAFNOSUPPORT);
	cr_assert_eq(out.ss_family, 77);
}

Test(msg_addr, an_ipv4_address_with_more_to_it_is_refused)
{
	struct sockaddr_storage out = {.ss_family = 77};

	for (unsigned i = 4; i < 16; i++) {
		struct msg_addr m = {.family = AF_INET};

		m.bytes[i] = 1;
		cr_assert_eq(msg_addr_get(&m, &out), -EINVAL, "byte %u", i);
	}
	cr_assert_eq(msg_addr_get(&(struct msg_addr){.family = AF_INET, .scope = 1}, &out),
		     -EINVAL);
	cr_assert_eq(out.ss_family, 77);
}
