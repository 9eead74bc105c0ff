/* SPDX-License-Identifier: BSD-2-Clause */
/* The sentence for the last failure of an easy object. */
#ifndef DDP_EASY_ERROR_H
#define DDP_EASY_ERROR_H

struct easy_error {
	char text[400];
};

/* Sets the sentence of e; e NULL: that of ddp_easy_error(NULL) in this thread. Returns err. */
int easy_error_set(struct easy_error *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets it to the sentence of the call of ddp.h that has just failed. Returns err. */
int easy_error_pass(struct easy_error *e, int err);

/* The sentence of this object, or of the thread. */
const char *easy_error_text(const struct easy_error *e);

#endif
