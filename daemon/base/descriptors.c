/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "daemon/base/acct.h"
#include "daemon/base/reply.h"
#include "llp/common/llp.h"
#include "util/minmax.h"

enum {
	PASSING = 8,   /* open during one request */
	ADMIN_FDS = 4, /* of a connection of an administrator */
	ADMINS_LEAST = 4,
	ADMINS_MOST = 16, /* such connections */
	PEERS_MOST = 16384,
};

static uint64_t count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	uint64_t n = 0;

	if (!dir)
		return 3;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n; /* with . and .., and that of the folder itself */
}

/* The limit less all that the daemon has for itself. */
static uint64_t count_left(uint64_t *ret_admins)
{
	struct rlimit l = {.rlim_cur = 1024};
	uint64_t kept;

	getrlimit(RLIMIT_NOFILE, &l);
	*ret_admins = max_u64(min_u64(l.rlim_cur / 8 / ADMIN_FDS, ADMINS_MOST), ADMINS_LEAST);
	kept = count_open() + *ret_admins * ADMIN_FDS + PASSING +
	       min_u64(l.rlim_cur / 16, LLP_MAX_OWN);
	return kept < l.rlim_cur ? l.rlim_cur - kept : 0;
}

unsigned descriptors_of_peers(void)
{
	uint64_t admins, half = count_left(&admins) / 2;

	return (unsigned)max_u64(min_u64(half, PEERS_MOST), 1);
}

void descriptors_divide(struct acct *a, unsigned of_peers)
{
	uint64_t admins, left = count_left(&admins);

	acct_set_total(a, ACCT_ADMINS, admins);
	acct_set_total(a, ACCT_DESCRIPTORS, left > of_peers ? left - of_peers : 0);
}

bool descriptors_lack(int err)
{
	return err == EMFILE || err == ENFILE;
}

void descriptors_words(int err, char *ret, size_t len)
{
	struct rlimit l = {0};

	getrlimit(RLIMIT_NOFILE, &l);
	if (err == EMFILE)
		snprintf(ret, len,
			 "ddpsctpd has reached its limit of descriptors (RLIMIT_NOFILE, %llu): "
			 "raise it, or close programs",
			 (unsigned long long)l.rlim_cur);
	else if (err == ENFILE)
		snprintf(ret, len,
			 "this host has reached its limit of descriptors of all processes "
			 "(fs.file-max): raise it");
	else
		snprintf(ret, len, "%s", strerror(err));
}

int descriptors_refuse(struct reply *rep, int err, const char *what)
{
	char words[MSG_REASON_MAX];

	descriptors_words(err, words, sizeof(words));
	return reply_refuse(rep, err, "%s: %s", what, words);
}
