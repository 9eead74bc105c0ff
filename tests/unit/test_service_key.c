/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "util/service_key.h"

/* As docs/choices.md describes it. */
static const uint8_t written[SERVICE_KEY_LEN] = {0x8b, 'D',  'D',  'P',  'k',  'e',  'y',  1,
						 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};

static const uint64_t KEY = 0x0123456789abcdef;

Test(service_key, has_the_documented_form)
{
	uint8_t got[SERVICE_KEY_LEN];
	uint64_t key = 0;

	service_key_put(got, KEY);
	cr_assert_arr_eq(got, written, sizeof(got));
	cr_assert_eq(service_key_get(got, sizeof(got), &key), SERVICE_KEY_E_OK);
	cr_assert_eq(key, KEY);
}

Test(service_key, other_private_data_is_no_key)
{
	uint8_t priv[64] = "DDPkey is not the first word";
	uint64_t key = 7;

	cr_assert_eq(service_key_get(priv, sizeof(priv), &key), SERVICE_KEY_E_NONE);
	cr_assert_eq(service_key_get(priv, 0, &key), SERVICE_KEY_E_NONE);
	for (size_t i = 0; i < 7; i++) {
		memcpy(priv, written, sizeof(written));
		cr_assert_eq(service_key_get(priv, i, &key), SERVICE_KEY_E_NONE);
		priv[i] ^= 1;
		cr_assert_eq(service_key_get(priv, sizeof(priv), &key), SERVICE_KEY_E_NONE);
	}
	cr_assert_eq(key, 7);
}

Test(service_key, a_malformed_key_is_no_other_private_data)
{
	uint8_t priv[SERVICE_KEY_LEN];
	uint64_t key = 7;

	for (size_t len = 7; len < SERVICE_KEY_LEN; len++)
		cr_assert_eq(service_key_get(written, len, &key), SERVICE_KEY_E_BAD);
	memcpy(priv, written, sizeof(priv));
	for (unsigned version = 0; version < 256; version++) {
		priv[7] = (uint8_t)version;
		cr_assert_eq(service_key_get(priv, sizeof(priv), &key),
			     version == 1 ? SERVICE_KEY_E_OK : SERVICE_KEY_E_BAD);
	}
	service_key_put(priv, 0);
	cr_assert_eq(service_key_get(priv, sizeof(priv), &key), SERVICE_KEY_E_BAD);
}
