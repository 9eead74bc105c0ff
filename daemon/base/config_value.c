/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/config_value.h"

#include <ctype.h>
#include <grp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "daemon/base/config_rule.h"
#include "daemon/base/config_size.h"
#include "daemon/base/peer_limits.h"

enum { LIST_MAX = 512 /* of a list in one text */ };

static void *member(const struct config_key *k, struct config *c)
{
	return (char *)c + k->offset;
}

static const void *member_const(const struct config_key *k, const struct config *c)
{
	return (const char *)c + k->offset;
}

static uint64_t get_integer(const struct config_key *k, const struct config *c)
{
	uint64_t v64;
	uint32_t v32;

	if (k->type == CONFIG_TYPE_SIZE) {
		memcpy(&v64, member_const(k, c), sizeof(v64));
		return v64;
	}
	memcpy(&v32, member_const(k, c), sizeof(v32));
	return v32;
}

static void set_integer(const struct config_key *k, struct config *c, uint64_t v)
{
	uint32_t v32 = (uint32_t)v;

	if (k->type == CONFIG_TYPE_SIZE)
		memcpy(member(k, c), &v, sizeof(v));
	else
		memcpy(member(k, c), &v32, sizeof(v32));
}

static size_t member_size(const struct config_key *k)
{
	switch (k->type) {
	case CONFIG_TYPE_PATH:
	case CONFIG_TYPE_GROUP:
		return k->max + 1;
	case CONFIG_TYPE_SIZE:
		return sizeof(uint64_t);
	case CONFIG_TYPE_LISTEN:
		return k->max * LISTEN_WORD_MAX;
	case CONFIG_TYPE_RULES:
		return k->max * sizeof(struct llp_cc_rule);
	case CONFIG_TYPE_USERS:
		return k->max * sizeof(struct principal);
	case CONFIG_TYPE_PORTS:
		return k->max * sizeof(struct port_rule);
	case CONFIG_TYPE_PEERS:
		return k->max * sizeof(struct peer_rule);
	default:
		return sizeof(uint32_t);
	}
}

/* The number of items of a list, or NULL. */
static uint32_t *list_count(const struct config_key *k, struct config *c)
{
	switch (k->type) {
	case CONFIG_TYPE_LISTEN:
		return &c->nlisten;
	case CONFIG_TYPE_RULES:
		return &c->user.ncc_rules;
	case CONFIG_TYPE_USERS:
		return &c->nadmin;
	case CONFIG_TYPE_PORTS:
		return &c->nports;
	case CONFIG_TYPE_PEERS:
		return &c->peers.rules.n;
	default:
		return NULL;
	}
}

/* ---- comparing and copying ---- */

bool config_value_same(const struct config_key *k, const struct config *a, const struct config *b)
{
	if (memcmp(member_const(k, a), member_const(k, b), member_size(k)) != 0)
		return false;
	/* The resolved value may have changed although the text has not. */
	return k->type != CONFIG_TYPE_GROUP || a->socket.gid == b->socket.gid;
}

void config_value_copy(const struct config_key *k, const struct config *from, struct config *to)
{
	memcpy(member(k, to), member_const(k, from), member_size(k));
	if (k->type == CONFIG_TYPE_GROUP)
		to->socket.gid = from->socket.gid;
	if (config_value_is_list(k))
		*list_count(k, to) = *list_count(k, (struct config *)from);
}

/* ---- the values of a key ---- */

static void choices_text(const struct config_key *k, char *ret, size_t len)
{
	size_t n = 0;

	for (unsigned i = 0; i < CONFIG_MAX_CHOICES && k->choices[i] && n < len; i++) {
		bool last = i + 1 == CONFIG_MAX_CHOICES || !k->choices[i + 1];
		const char *glue = i == 0 ? "" : last ? " or " : ", ";

		n += (size_t)snprintf(ret + n, len - n, "%s%s", glue, k->choices[i]);
	}
}

void config_value_range(const struct config_key *k, char ret[CONFIG_RANGE_MAX])
{
	const char *zero = k->or_zero ? "0, or " : "";
	char min[32], max[32];

	switch (k->type) {
	case CONFIG_TYPE_PATH:
		snprintf(ret, CONFIG_RANGE_MAX, "an absolute path of at most %" PRIu64 " bytes%s",
			 k->max, k->or_zero ? ", or empty" : "");
		break;
	case CONFIG_TYPE_GROUP:
		snprintf(ret, CONFIG_RANGE_MAX, "the name of a group, or empty");
		break;
	case CONFIG_TYPE_OCTAL:
		snprintf(ret, CONFIG_RANGE_MAX, "%04" PRIo64 " to %04" PRIo64, k->min, k->max);
		break;
	case CONFIG_TYPE_NUMBER:
		snprintf(ret, CONFIG_RANGE_MAX, "%s%" PRIu64 " to %" PRIu64, zero, k->min, k->max);
		break;
	case CONFIG_TYPE_SIZE:
		config_size_text(k->min, min, sizeof(min));
		config_size_text(k->max, max, sizeof(max));
		snprintf(ret, CONFIG_RANGE_MAX, "%s%s to %s", zero, min, max);
		break;
	case CONFIG_TYPE_CHOICE:
		choices_text(k, ret, CONFIG_RANGE_MAX);
		break;
	case CONFIG_TYPE_LISTEN:
		snprintf(ret, CONFIG_RANGE_MAX,
			 "%" PRIu64 " to %" PRIu64
			 " of: any, interface, host name, numeric address",
			 k->min, k->max);
		break;
	case CONFIG_TYPE_RULES:
		snprintf(ret, CONFIG_RANGE_MAX, "at most %" PRIu64 " rules, such as 10.0.0.0/8 bbr",
			 k->max);
		break;
	case CONFIG_TYPE_USERS:
		snprintf(ret, CONFIG_RANGE_MAX,
			 "at most %" PRIu64 " users, and groups with @, by name or number", k->max);
		break;
	case CONFIG_TYPE_PORTS:
		snprintf(ret, CONFIG_RANGE_MAX,
			 "at most %" PRIu64 " rules, such as 1-1023 root @wheel", k->max);
		break;
	case CONFIG_TYPE_PEERS:
		snprintf(ret, CONFIG_RANGE_MAX,
			 "at most %" PRIu64 " rules, such as 10.0.0.0/8 sessions=100", k->max);
		break;
	}
}

/* ---- reading ---- */

/* Writes the fault of the text and the values that are expected. */
static bool refuse_value(const struct config_key *k, char *ret_reason, const char *text,
			 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static bool refuse_value(const struct config_key *k, char *ret_reason, const char *text,
			 const char *fmt, ...)
{
	char range[CONFIG_RANGE_MAX], wrong[CONFIG_REASON_MAX / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(wrong, sizeof(wrong), fmt, ap);
	va_end(ap);
	config_value_range(k, range);
	if (*text == '\0')
		snprintf(ret_reason, CONFIG_REASON_MAX, "it is empty: %s", range);
	else
		snprintf(ret_reason, CONFIG_REASON_MAX, "%.80s %s: %s", text, wrong, range);
	return false;
}

static bool in_range(const struct config_key *k, const char *text, uint64_t v, char *ret_reason)
{
	if (v == 0 && k->or_zero)
		return true;
	if (v < k->min)
		return refuse_value(k, ret_reason, text, "is too small");
	if (v > k->max)
		return refuse_value(k, ret_reason, text, "is too large");
	return true;
}

static bool parse_number(const struct config_key *k, const char *text, struct config *c,
			 char *ret_reason)
{
	const char *end;
	uint64_t v;

	if (!config_digits(text, 10, &v, &end) || *end != '\0')
		return refuse_value(k, ret_reason, text, "is not a number");
	if (!in_range(k, text, v, ret_reason))
		return false;
	set_integer(k, c, v);
	return true;
}

/* Octal with or without the prefix 0 or 0o of YAML 1.1 and 1.2. */
static bool parse_octal(const struct config_key *k, const char *text, struct config *c,
			char *ret_reason)
{
	const char *number = strncmp(text, "0o", 2) == 0 ? text + 2 : text;
	const char *end;
	uint64_t v;

	if (!config_digits(number, 8, &v, &end) || *end != '\0')
		return refuse_value(k, ret_reason, text, "is not an octal number");
	if (!in_range(k, text, v, ret_reason))
		return false;
	set_integer(k, c, v);
	return true;
}

static bool parse_size(const struct config_key *k, const char *text, struct config *c,
		       char *ret_reason)
{
	uint64_t v = 0;

	switch (config_size_parse(text, &v)) {
	case CONFIG_SIZE_NO_NUMBER:
		return refuse_value(k, ret_reason, text, "is not a size in bytes, KiB, MiB or GiB");
	case CONFIG_SIZE_TOO_LARGE:
		return refuse_value(k, ret_reason, text, "is too large");
	case CONFIG_SIZE_OK:
		break;
	}
	if (!in_range(k, text, v, ret_reason))
		return false;
	set_integer(k, c, v);
	return true;
}

/* The other words of YAML for a truth value. */
static const char *plain_word(const char *text)
{
	if (strcmp(text, "yes") == 0 || strcmp(text, "true") == 0)
		return "on";
	if (strcmp(text, "no") == 0 || strcmp(text, "false") == 0)
		return "off";
	return text;
}

static bool parse_choice(const struct config_key *k, const char *text, struct config *c,
			 char *ret_reason)
{
	for (unsigned i = 0; i < CONFIG_MAX_CHOICES && k->choices[i]; i++) {
		if (strcmp(plain_word(text), k->choices[i]) == 0) {
			set_integer(k, c, i);
			return true;
		}
	}
	return refuse_value(k, ret_reason, text, "is unknown");
}

static void set_text(const struct config_key *k, struct config *c, const char *text)
{
	char *p = member(k, c);

	/* Sets every byte, so that two configurations can be compared. */
	memset(p, 0, k->max + 1);
	memcpy(p, text, strlen(text));
}

static bool parse_path(const struct config_key *k, const char *text, struct config *c,
		       char *ret_reason)
{
	if (*text != '/' && !(k->or_zero && *text == '\0'))
		return refuse_value(k, ret_reason, text, "is not absolute");
	if (strlen(text) > k->max)
		return refuse_value(k, ret_reason, text, "has %zu bytes", strlen(text));
	set_text(k, c, text);
	return true;
}

static bool parse_group(const struct config_key *k, const char *text, struct config *c,
			char *ret_reason)
{
	const struct group *gr = NULL;

	if (strlen(text) > k->max)
		return refuse_value(k, ret_reason, text, "has %zu bytes", strlen(text));
	if (*text != '\0' && !(gr = getgrnam(text)))
		return refuse_value(k, ret_reason, text, "is not a group of this system");
	set_text(k, c, text);
	c->socket.gid = gr ? gr->gr_gid : (gid_t)-1;
	return true;
}

/* ---- addresses ---- */

static bool parse_listen(const struct config_key *k, const char *text, struct config *c,
			 char *ret_reason)
{
	struct listen_word w;
	const char *wrong = listen_word_parse(text, &w);

	if (wrong)
		return refuse_value(k, ret_reason, text, "%s", wrong);
	for (unsigned i = 0; i < c->nlisten; i++) {
		if (listen_word_same(c->listen[i], text))
			return refuse_value(k, ret_reason, text, "occurs twice");
	}
	if (c->nlisten == k->max)
		return refuse_value(k, ret_reason, text, "is one too many");
	strcpy(c->listen[c->nlisten++], text);
	return true;
}

/* ---- rules ---- */

static bool same_prefix(const struct llp_cc_rule *a, const struct llp_cc_rule *b)
{
	return a->bits == b->bits && memcmp(&a->prefix, &b->prefix, sizeof(a->prefix)) == 0;
}

static bool parse_rule(const struct config_key *k, const char *text, struct config *c,
		       char *ret_reason)
{
	struct config_user *u = &c->user;
	struct llp_cc_rule r;
	const char *wrong = config_rule_parse(text, &r);

	if (wrong)
		return refuse_value(k, ret_reason, text, "%s", wrong);
	for (unsigned i = 0; i < u->ncc_rules; i++) {
		if (same_prefix(&u->congestion_control_for[i], &r))
			return refuse_value(k, ret_reason, text, "has the prefix of another rule");
	}
	if (u->ncc_rules == k->max)
		return refuse_value(k, ret_reason, text, "is one too many");
	/* With its padding, so that two configurations can be compared. */
	memcpy(&u->congestion_control_for[u->ncc_rules++], &r, sizeof(r));
	return true;
}

/* ---- users and ports ---- */

static bool parse_user(const struct config_key *k, const char *text, struct config *c,
		       char *ret_reason)
{
	struct principal p;
	const char *wrong = principal_parse(text, &p);

	if (wrong)
		return refuse_value(k, ret_reason, text, "%s", wrong);
	for (unsigned i = 0; i < c->nadmin; i++) {
		if (c->admin[i].kind == p.kind && c->admin[i].id == p.id)
			return refuse_value(k, ret_reason, text, "occurs twice");
	}
	if (c->nadmin == k->max)
		return refuse_value(k, ret_reason, text, "is one too many");
	memcpy(&c->admin[c->nadmin++], &p, sizeof(p));
	return true;
}

static bool parse_port_rule(const struct config_key *k, const char *text, struct config *c,
			    char *ret_reason)
{
	struct port_rule r;
	const char *wrong = port_rule_parse(text, &r);

	if (wrong)
		return refuse_value(k, ret_reason, text, "%s", wrong);
	if (c->nports == k->max)
		return refuse_value(k, ret_reason, text, "is one too many");
	memcpy(&c->ports[c->nports++], &r, sizeof(r));
	return true;
}

/* ---- peers ---- */

static bool parse_peers(const struct config_key *k, const char *text, struct config *c,
			char *ret_reason)
{
	struct peer_rules *l = &c->peers.rules;
	struct peer_rule r;
	const char *wrong = peer_limits_parse_rule(text, &r);

	if (!wrong)
		wrong = peer_rules_check(l, &r);
	if (wrong)
		return refuse_value(k, ret_reason, text, "%s", wrong);
	memcpy(&l->rule[l->n++], &r, sizeof(r));
	return true;
}

/* ---- lists and single values ---- */

bool config_value_is_list(const struct config_key *k)
{
	return k->type == CONFIG_TYPE_LISTEN || k->type == CONFIG_TYPE_RULES ||
	       k->type == CONFIG_TYPE_USERS || k->type == CONFIG_TYPE_PORTS ||
	       k->type == CONFIG_TYPE_PEERS;
}

void config_value_clear(const struct config_key *k, struct config *c)
{
	if (!config_value_is_list(k))
		return;
	memset(member(k, c), 0, member_size(k));
	*list_count(k, c) = 0;
}

bool config_value_parse(const struct config_key *k, const char *text, struct config *c,
			char ret_reason[CONFIG_REASON_MAX])
{
	static bool (*const parse[])(const struct config_key *, const char *, struct config *,
				     char *) = {
		[CONFIG_TYPE_PATH] = parse_path,     [CONFIG_TYPE_GROUP] = parse_group,
		[CONFIG_TYPE_OCTAL] = parse_octal,   [CONFIG_TYPE_NUMBER] = parse_number,
		[CONFIG_TYPE_SIZE] = parse_size,     [CONFIG_TYPE_CHOICE] = parse_choice,
		[CONFIG_TYPE_LISTEN] = parse_listen, [CONFIG_TYPE_RULES] = parse_rule,
		[CONFIG_TYPE_USERS] = parse_user,    [CONFIG_TYPE_PORTS] = parse_port_rule,
		[CONFIG_TYPE_PEERS] = parse_peers,
	};

	return parse[k->type](k, text, c, ret_reason);
}

bool config_value_parse_all(const struct config_key *k, const char *text, struct config *c,
			    char ret_reason[CONFIG_REASON_MAX])
{
	char items[LIST_MAX], *save = NULL;

	if (!config_value_is_list(k))
		return config_value_parse(k, text, c, ret_reason);
	if (strlen(text) >= sizeof(items))
		return refuse_value(k, ret_reason, text, "is too long");
	config_value_clear(k, c);
	strcpy(items, text);
	for (char *item = strtok_r(items, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		if (!config_value_parse(k, item + strspn(item, " "), c, ret_reason))
			return false;
	}
	return true;
}

/* ---- printing ---- */

/* Plain where YAML reads it as a string, else in double quotes. */
static void print_string(const char *s, FILE *f)
{
	size_t plain = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789/._-");

	if (*s != '\0' && s[plain] == '\0' && *s != '-') {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if (iscntrl((unsigned char)*s))
			fprintf(f, "\\x%02X", (unsigned)(unsigned char)*s);
		else
			fputc(*s, f);
	}
	fputc('"', f);
}

static void print_rules(const struct config *c, FILE *f)
{
	fputc('[', f);
	for (unsigned i = 0; i < c->user.ncc_rules; i++) {
		if (i > 0)
			fputs(", ", f);
		config_rule_print(&c->user.congestion_control_for[i], f);
	}
	fputc(']', f);
}

static void print_peers(const struct config *c, FILE *f)
{
	fputc('[', f);
	for (unsigned i = 0; i < c->peers.rules.n; i++) {
		if (i > 0)
			fputs(", ", f);
		peer_limits_print_rule(&c->peers.rules.rule[i], f);
	}
	fputc(']', f);
}

/* Items that begin with their text. */
static void print_texts(const char *first, size_t item, unsigned n, FILE *f)
{
	fputc('[', f);
	for (unsigned i = 0; i < n; i++) {
		if (i > 0)
			fputs(", ", f);
		print_string(first + i * item, f);
	}
	fputc(']', f);
}

void config_value_print(const struct config_key *k, const struct config *c, FILE *f)
{
	char size[32];

	switch (k->type) {
	case CONFIG_TYPE_PATH:
	case CONFIG_TYPE_GROUP:
		print_string(member_const(k, c), f);
		break;
	case CONFIG_TYPE_OCTAL:
		fprintf(f, "%04" PRIo64, get_integer(k, c));
		break;
	case CONFIG_TYPE_NUMBER:
		fprintf(f, "%" PRIu64, get_integer(k, c));
		break;
	case CONFIG_TYPE_SIZE:
		config_size_text(get_integer(k, c), size, sizeof(size));
		fputs(size, f);
		break;
	case CONFIG_TYPE_CHOICE:
		fputs(k->choices[get_integer(k, c)], f);
		break;
	case CONFIG_TYPE_LISTEN:
		print_texts(c->listen[0], sizeof(c->listen[0]), c->nlisten, f);
		break;
	case CONFIG_TYPE_USERS:
		print_texts(c->admin[0].text, sizeof(c->admin[0]), c->nadmin, f);
		break;
	case CONFIG_TYPE_PORTS:
		print_texts(c->ports[0].text, sizeof(c->ports[0]), c->nports, f);
		break;
	case CONFIG_TYPE_RULES:
		print_rules(c, f);
		break;
	case CONFIG_TYPE_PEERS:
		print_peers(c, f);
		break;
	}
}

void config_value_text(const struct config_key *k, const struct config *c, char *ret, size_t len)
{
	FILE *f = fmemopen(ret, len, "w");

	snprintf(ret, len, "?");
	if (!f)
		return;
	config_value_print(k, c, f);
	fclose(f);
	ret[len - 1] = '\0';
}
