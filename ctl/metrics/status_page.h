/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The status page, status.html in this program. Its script and its style have a nonce, a number
 * used once, so that a browser runs no other script and loads no other file.
 */
#ifndef CTL_STATUS_PAGE_H
#define CTL_STATUS_PAGE_H

#include <stdbool.h>
#include <stdio.h>

enum {
	STATUS_PAGE_NONCE = 33,   /* bytes of a nonce as text, with its NUL */
	STATUS_PAGE_POLICY = 320, /* bytes that hold a policy */
};

/* Draws a new nonce. False: the kernel has no random bytes. */
bool status_page_nonce(char ret[STATUS_PAGE_NONCE]);

/* The Content-Security-Policy of a page with that nonce. */
void status_page_policy(const char *nonce, char ret[STATUS_PAGE_POLICY]);

/* Writes the page. */
void status_page_print(FILE *out, const char *nonce);

/* Whether a request for this host is answered: localhost and loopback addresses, with or without a
 * port. A page of another site that has its name lead here would send that name. NULL: no. */
bool status_page_host(const char *host);

#endif
