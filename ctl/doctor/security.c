/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/doctor/security.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl/key/certificate.h"
#include "util/cleanup.h"

enum { SOON_DAYS = 30 };

struct check {
	struct security_finding *to;
	unsigned n;
};

/* The next finding, without its remedy. NULL: there is no room. */
__attribute__((format(printf, 3, 4))) static struct security_finding *
add_finding(struct check *c, const char *name, const char *fmt, ...)
{
	struct security_finding *f = c->n < SECURITY_FINDINGS ? &c->to[c->n++] : NULL;
	va_list ap;

	if (!f)
		return NULL;
	*f = (struct security_finding){.remedy = ""};
	snprintf(f->check, sizeof(f->check), "%s", name);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return f;
}

__attribute__((format(printf, 2, 3))) static void set_remedy(struct security_finding *f,
							     const char *fmt, ...)
{
	va_list ap;

	if (!f)
		return;
	va_start(ap, fmt);
	vsnprintf(f->remedy, sizeof(f->remedy), fmt, ap);
	va_end(ap);
}

static const char *config_text(const struct query_reply *config, const char *key)
{
	for (size_t i = 0; i < config->n; i++)
		if (strcmp(config->recs[i].config.key, key) == 0)
			return config->recs[i].config.value;
	return "";
}

/* ---- files ---- */

static void check_time(struct check *c, const char *name, const char *path,
		       const struct certificate *x)
{
	struct security_finding *f;

	if (x->days_left < 0)
		f = add_finding(c, name, "%s is expired since %s: peers refuse it", path,
				x->expires);
	else if (x->is_early)
		f = add_finding(c, name, "%s is not valid yet: peers refuse it", path);
	else
		f = add_finding(c, name, "%s expires on %s", path, x->expires);
	if (x->days_left < 0 || x->days_left < SOON_DAYS)
		set_remedy(f, "a new certificate in this file, then systemctl reload ddpsctpd");
	else if (x->is_early)
		set_remedy(f, "compare the clock of this host: date");
}

/* Who may not open it has no finding: doctor is for everybody. */
static void check_certificate(struct check *c, const char *name, const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct certificate x;

	if (fd < 0 && errno == EACCES)
		add_finding(c, name, "%s cannot be read by this user", path);
	else if (fd < 0)
		set_remedy(add_finding(c, name, "%s: %s", path, strerror(errno)),
			   "restore the file; the next reload or restart reads it");
	else if (certificate_read(fd, &x) < 0)
		set_remedy(add_finding(c, name, "%s has no certificate in PEM", path),
			   "restore the file; the next reload or restart reads it");
	else
		check_time(c, name, path, &x);
}

/* As the daemon has it in llp/dtls/dtls_identity.c: LoadCredential= gives files of the group root.
 */
static bool others_can_read(const struct stat *st)
{
	return (st->st_mode & S_IRWXO) || (st->st_mode & S_IWGRP) ||
	       ((st->st_mode & S_IRGRP) && st->st_gid != 0);
}

static void check_secret(struct check *c, const char *name, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 && errno == EACCES)
		add_finding(c, name, "%s is in a folder that this user cannot see", path);
	else if (stat(path, &st) < 0)
		set_remedy(add_finding(c, name, "%s: %s", path, strerror(errno)),
			   "restore the file; the next reload or restart reads it");
	else if (others_can_read(&st))
		set_remedy(add_finding(c, name, "%s: others can read this key, mode 0%o", path,
				       (unsigned)st.st_mode & 07777),
			   "chmod 600 %s; if somebody has read it, make another one", path);
	else
		add_finding(c, name, "%s: only its owner reads it", path);
}

/* ---- rules ---- */

/* The value of the next word KEY=VALUE of the list of rules. False: there is none. */
static bool next_word(const char **rules, const char *key, char *ret, size_t len)
{
	const char *at = *rules;
	size_t n;

	while ((at = strstr(at, key)) && at != *rules && at[-1] != ' ')
		at++;
	if (!at)
		return false;
	at += strlen(key);
	n = strcspn(at, " \",]");
	snprintf(ret, len, "%.*s", (int)n, at);
	*rules = at + n;
	return true;
}

static void check_files(struct check *c, const char *rules, const char *key, const char *name,
			void (*check)(struct check *c, const char *name, const char *path))
{
	char path[256];

	while (next_word(&rules, key, path, sizeof(path)))
		check(c, name, path);
}

static bool demand_dtls(const char *rules)
{
	return strstr(rules, "security=require") || strstr(rules, "fingerprint=") ||
	       strstr(rules, " ca=") || strstr(rules, " psk=");
}

static void check_rules(struct check *c, const struct query_reply *config)
{
	const char *rules = config_text(config, "peers.rules"),
		   *listen = config_text(config, "listen");

	check_files(c, rules, "ca=", "ca", check_certificate);
	check_files(c, rules, "psk=", "pre-shared key", check_secret);
	if (!demand_dtls(rules))
		set_remedy(add_finding(c, "security",
				       "no rule of peers.rules demands DTLS: peers "
				       "are who they say, in clear text"),
			   "a rule for each peer: ddpctl key show prints it there");
	else if (strchr(listen, ','))
		add_finding(c, "security",
			    "associations in DTLS have one address at each end: programs that name "
			    "several addresses of such a peer are refused");
}

static void check_security_keys(struct check *c, const struct query_reply *config)
{
	const char *port = config_text(config, "security.udp_port");
	const char *cert = config_text(config, "security.certificate");

	if (!*port)
		return; /* an older daemon */
	if (strcmp(port, "0") == 0) {
		add_finding(c, "security",
			    "no DTLS: associations are in clear text, unless IPsec "
			    "or a tunnel encrypts them");
		return;
	}
	add_finding(c, "security", "DTLS on UDP port %s; a firewall must allow it", port);
	if (*cert) {
		check_certificate(c, "certificate", cert);
		check_secret(c, "key", config_text(config, "security.key"));
	}
	check_rules(c, config);
}

unsigned security_check(const struct ddpctl *ctl, struct security_finding ret[SECURITY_FINDINGS])
{
	struct check c = {.to = ret};
	struct query_reply config;

	if (query_show(ctl->opts.socket, args_timeout_ms(ctl), CTL_CONFIG, &config) != CTL_EXIT_OK)
		return 0;
	check_security_keys(&c, &config);
	free(config.recs);
	return c.n;
}
