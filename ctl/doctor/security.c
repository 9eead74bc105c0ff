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
	unsigned n, left_out;
	struct security_finding rest; /* the remedy of one that was left out */
};

/* The next finding, without its remedy. The last place is for those that were left out. */
__attribute__((format(printf, 3, 4))) static struct security_finding *
add_finding(struct check *c, const char *name, const char *fmt, ...)
{
	struct security_finding *f;
	va_list ap;

	if (c->n == SECURITY_FINDINGS - 1) {
		c->left_out++;
		return &c->rest;
	}
	f = &c->to[c->n++];
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

	va_start(ap, fmt);
	vsnprintf(f->remedy, sizeof(f->remedy), fmt, ap);
	va_end(ap);
}

static void say_left_out(struct check *c)
{
	if (c->left_out == 0)
		return;
	c->to[c->n] = (struct security_finding){.check = "security"};
	snprintf(c->to[c->n].text, SECURITY_TEXT, "%u further findings are left out", c->left_out);
	memcpy(c->to[c->n].remedy, c->rest.remedy, SECURITY_TEXT);
	c->n++;
}

static const char *config_text(const struct query_reply *config, const char *key)
{
	for (size_t i = 0; i < config->n; i++)
		if (strcmp(config->recs[i].config.key, key) == 0)
			return config->recs[i].config.value;
	return "";
}

/* Values that are longer lose their end on the way. */
static bool is_cut(const char *value)
{
	return strlen(value) == CTL_VALUE_MAX - 1;
}

/* One character of a text in double quotes. Returns what follows it. */
static const char *read_char(const char *text, char *ret)
{
	unsigned code;

	if (*text == '\\' && sscanf(text, "\\x%2x", &code) == 1) {
		*ret = (char)code;
		return text + 4;
	}
	text += *text == '\\' && text[1] != '\0';
	*ret = *text;
	return text + 1;
}

/* Undoes the quotes and escapes with which the daemon shows a path that is not plain in YAML. */
static void read_path(const char *text, char ret[CTL_VALUE_MAX])
{
	size_t n = 0;

	if (*text != '"') {
		snprintf(ret, CTL_VALUE_MAX, "%s", text);
		return;
	}
	for (text++; *text != '\0' && *text != '"'; n++)
		text = read_char(text, &ret[n]);
	ret[n] = '\0';
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
	if (x->days_left >= 0 && x->is_early)
		set_remedy(f, "compare the clock of this host: date");
	else if (x->days_left < SOON_DAYS)
		set_remedy(f, "a new certificate in this file, then systemctl reload ddpsctpd");
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

/* The value of the next word KEY=VALUE of the list of rules. False: there is none, or the list was
 * cut within it. */
static bool next_word(const char **rules, const char *key, char *ret, size_t len)
{
	const char *at = *rules;
	size_t n;

	while ((at = strstr(at, key)) && at != *rules && at[-1] != ' ')
		at++;
	if (!at)
		return false;
	at += strlen(key);
	n = strcspn(at, " \"");
	snprintf(ret, len, "%.*s", (int)n, at);
	*rules = at + n;
	return at[n] != '\0';
}

/* Whether an earlier rule has the same word; this one ends there. */
static bool was_named(const char *rules, const char *key, const char *path, const char *end)
{
	char other[CTL_VALUE_MAX];

	while (next_word(&rules, key, other, sizeof(other)) && rules != end)
		if (strcmp(other, path) == 0)
			return true;
	return false;
}

static void check_files(struct check *c, const char *rules, const char *key, const char *name,
			void (*check)(struct check *c, const char *name, const char *path))
{
	const char *at = rules;
	char path[CTL_VALUE_MAX];

	while (next_word(&at, key, path, sizeof(path)))
		if (!was_named(rules, key, path, at))
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
	if (is_cut(rules))
		add_finding(c, "security",
			    "peers.rules is longer than the %u bytes that the daemon shows: what "
			    "follows is not checked",
			    CTL_VALUE_MAX - 1);
	else if (!demand_dtls(rules))
		set_remedy(add_finding(c, "security",
				       "no rule of peers.rules demands DTLS: peers "
				       "are who they say, in clear text"),
			   "a rule for each peer: ddpctl key show prints it there");
	if (demand_dtls(rules) && strchr(listen, ','))
		add_finding(c, "security",
			    "associations in DTLS have one address at each end: programs that name "
			    "several addresses of such a peer are refused");
}

/* The certificate and the key of this host. */
static void check_own(struct check *c, const struct query_reply *config, const char *key,
		      const char *name,
		      void (*check)(struct check *c, const char *name, const char *path))
{
	const char *text = config_text(config, key);
	char path[CTL_VALUE_MAX];

	if (is_cut(text)) {
		add_finding(c, name, "the path is longer than the %u bytes that the daemon shows",
			    CTL_VALUE_MAX - 1);
		return;
	}
	read_path(text, path);
	if (*path)
		check(c, name, path);
}

static void check_security_keys(struct check *c, const struct query_reply *config)
{
	const char *port = config_text(config, "security.udp_port");

	if (!*port && config->hidden)
		add_finding(c, "security",
			    "only administrators see how associations are protected");
	if (!*port)
		return; /* or an older daemon */
	if (strcmp(port, "0") == 0) {
		add_finding(c, "security",
			    "no DTLS: associations are in clear text, unless IPsec "
			    "or a tunnel encrypts them");
		return;
	}
	add_finding(c, "security", "DTLS on UDP port %s; a firewall must allow it", port);
	check_own(c, config, "security.certificate", "certificate", check_certificate);
	check_own(c, config, "security.key", "key", check_secret);
	check_rules(c, config);
}

unsigned security_judge(const struct query_reply *config,
			struct security_finding ret[SECURITY_FINDINGS])
{
	struct check c = {.to = ret};

	check_security_keys(&c, config);
	say_left_out(&c);
	return c.n;
}

unsigned security_check(const struct ddpctl *ctl, struct security_finding ret[SECURITY_FINDINGS])
{
	struct query_reply config;
	unsigned n;

	if (query_show(ctl->opts.socket, args_timeout_ms(ctl), CTL_CONFIG, &config) != CTL_EXIT_OK)
		return 0;
	n = security_judge(&config, ret);
	free(config.recs);
	return n;
}
