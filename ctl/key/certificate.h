/* SPDX-License-Identifier: BSD-2-Clause */
/* A certificate that a host signs itself, with its key of ECDSA P-256. */
#ifndef CTL_CERTIFICATE_H
#define CTL_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>

enum { CERTIFICATE_FINGERPRINT = 32, CERTIFICATE_NAME = 65 };

struct certificate {
	char name[CERTIFICATE_NAME];                  /* its common name; "": none */
	uint8_t fingerprint[CERTIFICATE_FINGERPRINT]; /* SHA-256 */
	char expires[sizeof("2000-01-01")];           /* the day, in UTC */
	int days_left;                                /* until then; negative: it is expired */
	bool is_early;                                /* it is not valid yet */
};

/* Writes a new key and its certificate in PEM. 0; -errno of a file; -EIO: OpenSSL failed. */
int certificate_make(const char *name, int key_fd, int cert_fd);

/* Reads the first certificate of a file in PEM. 0; -EINVAL: there is none. */
int certificate_read(int fd, struct certificate *ret);

#endif
