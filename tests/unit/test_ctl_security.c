/* SPDX-License-Identifier: BSD-2-Clause */
/* What ddpctl doctor says of keys, certificates and rules, by the configuration as a daemon shows
 * it. */
#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/doctor/security.h"

enum { DAY_S = 86400 };

static struct security_finding f[SECURITY_FINDINGS];
static struct ctl_record recs[8];
static struct query_reply config;
static char folder[] = "/tmp/test_ctl_security.XXXXXX";

static void begin(void)
{
	config = (struct query_reply){.recs = recs};
	cr_assert(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static void end(void)
{
	static const char *const files[] = {"cert", "psk", "a \"b\\c\n"};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		unlink(files[i]);
	cr_assert_eq(rmdir(folder), 0);
}

TestSuite(ctl_security, .init = begin, .fini = end);

static void have(const char *key, const char *value)
{
	struct ctl_config *c = &recs[config.n++].config;

	*c = (struct ctl_config){.key = ""};
	snprintf(c->key, sizeof(c->key), "%s", key);
	snprintf(c->value, sizeof(c->value), "%s", value); /* cut as by the daemon */
}

/* How many findings of n have these words; the last of them is *ret. */
static unsigned having(const char *words, unsigned n, const struct security_finding **ret)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!strstr(f[i].text, words))
			continue;
		found++;
		*ret = &f[i];
	}
	return found;
}

static const struct security_finding *the_one(const char *words)
{
	const struct security_finding *one = NULL;

	cr_expect_eq(having(words, security_judge(&config, f), &one), 1, "%s", words);
	cr_assert(one);
	return one;
}

static unsigned times(const char *words)
{
	const struct security_finding *one;

	return having(words, security_judge(&config, f), &one);
}

static void write_empty(const char *path, mode_t mode)
{
	FILE *to = fopen(path, "we");

	cr_assert(to);
	fclose(to);
	cr_assert_eq(chmod(path, mode), 0);
}

/* Valid from `from` days from now until `until` days from now. */
static void write_certificate(const char *path, long from, long until)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	FILE *to = fopen(path, "we");

	cr_assert(key && x && to);
	cr_assert(X509_gmtime_adj(X509_getm_notBefore(x), from * DAY_S));
	cr_assert(X509_gmtime_adj(X509_getm_notAfter(x), until * DAY_S));
	cr_assert_eq(X509_set_pubkey(x, key), 1);
	cr_assert_gt(X509_sign(x, key, EVP_sha256()), 0);
	cr_assert_eq(PEM_write_X509(to, x), 1);
	fclose(to);
	X509_free(x);
	EVP_PKEY_free(key);
}

/* ---- */

Test(ctl_security, what_others_may_not_see_is_not_an_older_daemon)
{
	cr_expect_eq(security_judge(&config, f), 0);
	config.hidden = 3;
	cr_expect_str_eq(the_one("only administrators see")->remedy, "");
}

Test(ctl_security, a_list_that_was_cut_says_nothing_of_its_end)
{
	char rules[2 * CTL_VALUE_MAX] = "[";

	have("security.udp_port", "9900");
	for (int i = 0; strlen(rules) < CTL_VALUE_MAX; i++)
		sprintf(rules + strlen(rules), "\"192.0.2.%d max_sessions=1\", ", i);
	strcpy(rules + CTL_VALUE_MAX - 1 - strlen(" psk=/half"), " psk=/half/a/path\"]");
	have("peers.rules", rules);
	cr_expect_str_eq(the_one("longer than the 255 bytes")->remedy, "");
	cr_expect_eq(times("no rule of peers.rules demands DTLS"), 0);
	cr_expect_eq(times("/half"), 0);
}

Test(ctl_security, without_a_rule_it_says_so)
{
	have("security.udp_port", "9900");
	have("peers.rules", "[]");
	cr_expect_str_neq(the_one("no rule of peers.rules demands DTLS")->remedy, "");
}

Test(ctl_security, paths_are_those_of_the_files)
{
	write_empty("a \"b\\c\n", 0600);
	have("security.udp_port", "9900");
	have("security.key", "\"a \\\"b\\\\c\\x0A\"");
	cr_expect_str_eq(the_one("a \"b\\c\n: only its owner reads it")->remedy, "");
	recs[config.n - 1].config.value[0] = '\0';
	cr_expect_eq(times("No such file"), 0);
}

Test(ctl_security, a_path_that_was_cut_is_not_opened)
{
	char path[2 * CTL_VALUE_MAX];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	have("security.udp_port", "9900");
	have("security.key", path);
	cr_expect_str_eq(the_one("the path is longer than the 255 bytes")->remedy, "");
}

Test(ctl_security, times_of_certificates)
{
	have("security.udp_port", "9900");
	have("security.certificate", "cert");
	write_certificate("cert", -2, 100);
	cr_expect_str_eq(the_one("cert expires on")->remedy, "");
	write_certificate("cert", -2, 10);
	cr_expect(strstr(the_one("cert expires on")->remedy, "a new certificate"));
	write_certificate("cert", 2, 10);
	cr_expect(strstr(the_one("cert is not valid yet")->remedy, "clock"));
	write_certificate("cert", -10, -2);
	cr_expect(strstr(the_one("cert is expired since")->remedy, "a new certificate"));
}

Test(ctl_security, files_that_rules_name_twice_are_checked_once)
{
	have("security.udp_port", "9900");
	have("peers.rules",
	     "[\"192.0.2.1 psk=gone\", \"192.0.2.2 psk=gone2\", \"192.0.2.3 psk=gone\"]");
	cr_expect_eq(times("gone: No such file"), 1);
	cr_expect_eq(times("gone2: No such file"), 1);
}

Test(ctl_security, findings_that_are_left_out_are_counted)
{
	char rules[CTL_VALUE_MAX] = "[";

	write_empty("psk", 0600);
	have("security.udp_port", "9900");
	for (char name = 'a'; name < 'a' + 13; name++)
		sprintf(rules + strlen(rules), "\"::/0 ca=%c psk=%c\",", name, name);
	strcat(rules, "]");
	have("peers.rules", rules);
	cr_expect_eq(security_judge(&config, f), SECURITY_FINDINGS);
	cr_expect_str_neq(the_one("4 further findings are left out")->remedy, "");
	cr_expect_eq(times(": No such file"), SECURITY_FINDINGS - 2);
}
