/* SPDX-License-Identifier: BSD-2-Clause */
/* Common functions of the tools: statistics, text for terminals. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/host_list.h"
#include "tools/common/message.h"
#include "tools/common/samples.h"
#include "tools/ddpcp/ddpcp_progress.h"

static struct samples_summary stats_of(const double *v, size_t n)
{
	struct samples s = {0};
	struct samples_summary st;

	for (size_t i = 0; i < n; i++)
		cr_assert_eq(samples_add(&s, v[i]), 0);
	samples_summarize(&s, &st);
	samples_free(&s);
	return st;
}

Test(common, the_median_of_an_odd_number_is_in_the_middle)
{
	struct samples_summary st = stats_of((double[]){9, 1, 5}, 3);

	cr_expect_eq(st.n, 3);
	cr_expect_float_eq(st.min, 1, 1e-12);
	cr_expect_float_eq(st.median, 5, 1e-12);
	cr_expect_float_eq(st.mean, 5, 1e-12);
	cr_expect_float_eq(st.max, 9, 1e-12);
}

Test(common, the_median_of_an_even_number_lies_between_two)
{
	struct samples_summary st = stats_of((double[]){10, 2, 4, 100}, 4);

	cr_expect_float_eq(st.median, 7, 1e-12);
	cr_expect_float_eq(st.mean, 29, 1e-12);
}

Test(common, one_sample_is_all_figures_and_none_is_zero)
{
	struct samples_summary one = stats_of((double[]){3.5}, 1), none = stats_of(NULL, 0);

	cr_expect_float_eq(one.min, 3.5, 1e-12);
	cr_expect_float_eq(one.median, 3.5, 1e-12);
	cr_expect_float_eq(one.p99, 3.5, 1e-12);
	cr_expect_eq(none.n, 0);
	cr_expect_float_eq(none.median, 0, 1e-12);
}

Test(common, p99_is_exceeded_by_one_in_a_hundred)
{
	double v[200];

	for (int i = 0; i < 200; i++)
		v[i] = 200 - i;
	cr_expect_float_eq(stats_of(v, 200).p99, 198, 1e-12);
	cr_expect_float_eq(stats_of(v, 99).p99, 200, 1e-12);
}

Test(common, p999_is_exceeded_by_one_in_a_thousand)
{
	static double v[2000];

	for (int i = 0; i < 2000; i++)
		v[i] = 2000 - i;
	cr_expect_float_eq(stats_of(v, 2000).p999, 1998, 1e-12);
	cr_expect_float_eq(stats_of(v, 999).p999, 2000, 1e-12);
}

Test(common, samples_grow_beyond_their_first_room)
{
	struct samples s = {0};
	struct samples_summary st;

	for (int i = 0; i < 5000; i++)
		cr_assert_eq(samples_add(&s, i), 0);
	samples_summarize(&s, &st);
	cr_expect_eq(st.n, 5000);
	cr_expect_float_eq(st.max, 4999, 1e-12);
	samples_free(&s);
	cr_expect_eq(s.n, 0);
}

Test(common, foreign_text_is_printed_without_control_characters)
{
	char out[8];

	message_sanitize(out, sizeof(out), "a\033[2J\xff", 6);
	cr_expect_str_eq(out, "a?[2J?");
	message_sanitize(out, sizeof(out), "0123456789", 10);
	cr_expect_str_eq(out, "0123456");
	message_sanitize(out, sizeof(out), "ab\0cd", 5);
	cr_expect_str_eq(out, "ab");
	message_sanitize(out, sizeof(out), "abc", 2);
	cr_expect_str_eq(out, "ab");
}

Test(common, errno_texts_begin_in_lower_case)
{
	cr_expect_str_eq(message_strerror(ECONNREFUSED), "connection refused");
	cr_expect_str_eq(message_strerror(-ECONNREFUSED), "connection refused");
}

Test(addrs, a_list_is_split_at_commas)
{
	const struct sockaddr_in *in;
	struct host_list l;

	cr_assert(host_list_several("10.1.0.2,10.2.0.2"));
	cr_assert_not(host_list_several("10.1.0.2"));
	cr_assert_eq(host_list_parse("HOST", "10.1.0.2,::1,10.2.0.2", 5043, &l), 0);
	cr_assert_eq(l.n, 3);
	cr_assert_eq(l.a[1].ss_family, AF_INET6);
	in = (const struct sockaddr_in *)&l.a[2];
	cr_assert_eq(in->sin_family, AF_INET);
	cr_assert_eq(in->sin_port, htons(5043));
	cr_assert_eq(in->sin_addr.s_addr, htonl(0x0a020002));
}

Test(addrs, invalid_lists_are_refused)
{
	struct host_list l = {.n = 77};

	cr_assert_eq(host_list_parse("--bind", "", 0, &l), -EINVAL);
	cr_assert_eq(host_list_parse("--bind", "10.1.0.2,", 0, &l), -EINVAL);
	cr_assert_eq(host_list_parse("--bind", "10.1.0.2,,10.1.0.3", 0, &l), -EINVAL);
	cr_assert_eq(host_list_parse("--bind",
				     "1.1.1.1,1.1.1.2,1.1.1.3,1.1.1.4,1.1.1.5,1.1.1.6,"
				     "1.1.1.7,1.1.1.8,1.1.1.9",
				     0, &l),
		     -EINVAL);
	cr_assert(strstr(message_last_error(), "at most 8"));
	cr_assert_eq(l.n, 77);
}

static const char *said(int err, const char *reason)
{
	cr_assert_eq(message_fail("connect", err, reason), err);
	return message_last_error();
}

Test(common, a_reason_replaces_the_text_of_errno)
{
	cr_expect_str_eq(said(-ECONNREFUSED, "nothing listens on this port"),
			 "connect: nothing listens on this port");
	cr_expect_str_eq(said(-EADDRINUSE, "ddp_listen: port 5043: Address already in use"),
			 "connect: port 5043: Address already in use");
	cr_expect_str_eq(said(-EINVAL, NULL), "connect: invalid argument");
	cr_expect_str_eq(said(EINVAL, ""), "connect: invalid argument");
	cr_expect_str_eq(said(-EIO, "ddp_what"), "connect: ddp_what");
}

static const char *wrong_host(const char *text)
{
	return host_list_check(text) ? "" : message_last_error();
}

Test(common, hosts_in_the_notation_of_other_programs_are_explained)
{
	cr_expect_str_eq(wrong_host("me@host"), "me@host: a peer has no users: write host");
	cr_expect_str_eq(wrong_host("10.0.0.1:5050"),
			 "10.0.0.1:5050: give the port as an option: -p 5050 10.0.0.1");
	cr_expect_str_eq(wrong_host("[2001:db8::1]:7"),
			 "[2001:db8::1]:7: give the port as an option: -p 7 2001:db8::1");
	cr_expect_str_eq(wrong_host("2001:db8::1"), "");
	cr_expect_str_eq(wrong_host("host,2001:db8::1"), "");
	cr_expect_str_eq(wrong_host(""), "");
}

Test(common, the_progress_of_a_copy_never_wraps)
{
	struct ddpcp_progress p = {.name = "a-name-that-is-longer-than-its-place.tar.xz",
				   .size = 4000000000};
	char line[DDPCP_PROGRESS_MAX];

	for (unsigned columns = 0; columns < 2 * DDPCP_PROGRESS_MAX; columns++) {
		ddpcp_progress_line(line, &p, 1000000000, 0.5, columns);
		cr_expect(columns == 0 || strlen(line) < columns, "%u columns: %s", columns, line);
	}
	ddpcp_progress_line(line, &p, 1000000000, 0.5, 120);
	cr_expect_str_eq(line, "a-name-that-is-longer-th [######..................]  25%   2000.0 "
			       "MB/s     2 s left");
	ddpcp_progress_line(line, &p, 1000000000, 0.5, 80);
	cr_expect_eq(strlen(line), 79, "%s", line);
	cr_expect(strstr(line, "[####") && strstr(line, "25%") && strstr(line, "s left"), "%s",
		  line);
	ddpcp_progress_line(line, &p, 1000000000, 0.5, 40);
	cr_expect_str_eq(line, "a-name-  25%   2000.0 MB/s     2 s left");
}
