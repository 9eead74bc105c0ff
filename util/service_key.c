/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/service_key.h"

#include <string.h>

#include "util/be.h"

enum { NAME_LEN = 7, VERSION = 1 };

/* The first byte is neither ASCII nor the beginning of UTF-8, so no text begins like this. */
static const uint8_t name[NAME_LEN] = {0x8b, 'D', 'D', 'P', 'k', 'e', 'y'};

void service_key_put(uint8_t ret[SERVICE_KEY_LEN], uint64_t key)
{
	memcpy(ret, name, NAME_LEN);
	ret[NAME_LEN] = VERSION;
	be_put64(ret + NAME_LEN + 1, key);
}

int service_key_get(const uint8_t *priv, size_t len, uint64_t *ret)
{
	uint64_t key;

	if (len < NAME_LEN || memcmp(priv, name, NAME_LEN) != 0)
		return SERVICE_KEY_E_NONE;
	if (len < SERVICE_KEY_LEN || priv[NAME_LEN] != VERSION)
		return SERVICE_KEY_E_BAD;
	key = be_get64(priv + NAME_LEN + 1);
	if (key == 0)
		return SERVICE_KEY_E_BAD;
	*ret = key;
	return SERVICE_KEY_E_OK;
}
