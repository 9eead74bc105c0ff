/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys and certificates from files: each refusal has a sentence that names the file. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/dtls_net.h"

TestSuite(dtls_identity, .fini = net_remove_files);

static char reason[DTLS_REASON];

/* Loads files that are to be refused. */
static int refused(const struct dtls_files *f)
{
	struct dtls_identity *id = NULL;
	int r = dtls_identity_load(f, reason, sizeof(reason), &id);

	cr_assert_null(id);
	return r;
}

static void loads(const struct dtls_files *f)
{
	struct dtls_identity *id = NULL;

	cr_assert_eq(dtls_identity_load(f, reason, sizeof(reason), &id), 0, "%s", reason);
	dtls_identity_drop(id);
}

/* The file, and why. */
static void says(const char *file, const char *why)
{
	cr_assert_eq(strncmp(reason, file, strlen(file)), 0, "%s", reason);
	cr_assert(strstr(reason, why), "%s", reason);
}

Test(dtls_identity, key_that_others_can_read_is_refused)
{
	struct dtls_files f;

	net_write_identity("P-256", -60, 3600, &f);
	loads(&f);
	for (unsigned mode = 0601; mode <= 0607; mode++) {
		chmod(f.key, mode);
		cr_assert_eq(refused(&f), -EACCES);
		says(f.key, "others can read this key");
	}
	chmod(f.key, 0660);
	cr_assert_eq(refused(&f), -EACCES);
	chmod(f.key, 0400);
	loads(&f);
	/* As LoadCredential= gives it. */
	chmod(f.key, 0440);
	if (getgid() == 0)
		loads(&f);
	else
		cr_assert_eq(refused(&f), -EACCES);
}

Test(dtls_identity, key_that_dtls_cannot_use_is_refused)
{
	struct dtls_files f, other;
	char key[128];

	net_write_identity("ED25519", -60, 3600, &f);
	cr_assert_eq(refused(&f), -EINVAL);
	says(f.key, "Ed25519");
	net_write_identity("P-256", -60, 3600, &f);
	snprintf(key, sizeof(key), "%s.other", f.key);
	cr_assert_eq(rename(f.key, key), 0);
	net_write_identity("P-256", -60, 3600, &other);
	other.key = key;
	cr_assert_eq(refused(&other), -EINVAL);
	says(key, "is not the key of the certificate");
	unlink(key);
}

/* Clear text goes on. */
Test(dtls_identity, certificate_of_ours_that_is_expired_or_not_valid_yet_is_a_warning)
{
	struct dtls_files f;

	net_write_identity("P-256", -60, 3600, &f);
	loads(&f);
	cr_assert_str_eq(reason, "");
	net_write_identity("P-256", -3600, -60, &f);
	loads(&f);
	says(f.cert, "this certificate of ours is expired");
	net_write_identity("P-256", 60, 3600, &f);
	loads(&f);
	says(f.cert, "this certificate of ours is not valid yet");
}

Test(dtls_identity, file_of_a_ca_without_certificates_is_refused)
{
	struct dtls_files f;

	net_write_identity("P-256", -60, 3600, &f);
	f.ca[f.ncas++] = f.cert;
	loads(&f);
	f.ca[f.ncas++] = net_file("ca.pem", "none", 0644);
	cr_assert_eq(refused(&f), -EINVAL);
	says(f.ca[1], "has no certificate in PEM");
	unlink(f.ca[1]);
	cr_assert_eq(refused(&f), -ENOENT);
	says(f.ca[1], "No such file");
}

Test(dtls_identity, file_that_is_missing_empty_or_no_file_is_refused)
{
	struct dtls_files f;

	net_write_identity("P-256", -60, 3600, &f);
	unlink(f.key);
	cr_assert_eq(refused(&f), -ENOENT);
	says(f.key, "No such file");
	net_file("key.pem", "no PEM", 0600);
	cr_assert_eq(refused(&f), -EINVAL);
	says(f.key, "no private key");
	net_file("cert.pem", "", 0644);
	cr_assert_eq(refused(&f), -EINVAL);
	says(f.cert, "no certificate");
	f.cert = "/";
	cr_assert_eq(refused(&f), -EINVAL);
	says("/", "is not a file");
	cr_assert_eq(refused(&(struct dtls_files){0}), -EINVAL);
}

Test(dtls_identity, pre_shared_key_has_16_to_64_bytes_in_hexadecimal_digits)
{
	static const struct {
		const char *text;
		int r;
	} rows[] = {
		{"000102030405060708090a0b0c0d0e0f\n", 0},
		{"000102030405060708090a0b0c0d0e", -EINVAL},
		{"000102030405060708090a0b0c0d0e0", -EINVAL},
		{"not hexadecimal digits at all ....", -EINVAL},
		{"", -EINVAL},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dtls_files f = {.npsks = 1, .psk = {net_file("psk", rows[i].text, 0600)}};

		if (rows[i].r == 0) {
			loads(&f);
			continue;
		}
		cr_assert_eq(refused(&f), rows[i].r, "row %u", i);
		says(f.psk[0], "hexadecimal");
	}
}

Test(dtls_identity, pre_shared_key_that_others_can_read_is_refused)
{
	struct dtls_files f = {.npsks = 1};

	f.psk[0] = net_file("psk", "000102030405060708090a0b0c0d0e0f", 0644);

	cr_assert_eq(refused(&f), -EACCES);
	says(f.psk[0], "others can read this key");
}
