/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/rules/peer_rule.h"

#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/rules/config_prefix.h"

static const char *const securities[] = {"", "none", "allow", "require"};

/* ---- prefixes ---- */

static const char *parse_prefix(const char *text, struct peer_rule *ret)
{
	struct sockaddr_storage at = {0};
	struct peer_prefix *p = &ret->prefix[ret->nprefixes];
	uint32_t bits;
	const char *wrong = config_prefix_parse(text, &at, &bits);

	if (wrong)
		return wrong;
	if (ret->nprefixes == PEER_RULE_PREFIXES)
		return "has more than 4 prefixes";
	p->bits = bits;
	if (at.ss_family == AF_INET) {
		network_ip_v4(&((const struct sockaddr_in *)&at)->sin_addr, p->ip);
		p->bits += NETWORK_V4_AT;
	} else {
		memcpy(p->ip, &((const struct sockaddr_in6 *)&at)->sin6_addr, sizeof(p->ip));
	}
	ret->nprefixes++;
	return NULL;
}

static bool is_v4(const struct peer_prefix *p)
{
	static const uint8_t v4[NETWORK_V4_AT / 8] = {[10] = 0xff, [11] = 0xff};

	return p->bits >= NETWORK_V4_AT && memcmp(p->ip, v4, sizeof(v4)) == 0;
}

const char *peer_prefix_text(const struct peer_prefix *p, char ret[PEER_RULE_TITLE])
{
	struct sockaddr_storage at = {.ss_family = is_v4(p) ? AF_INET : AF_INET6};

	if (is_v4(p))
		memcpy(&((struct sockaddr_in *)&at)->sin_addr, p->ip + NETWORK_V4_AT / 8, 4);
	else
		memcpy(&((struct sockaddr_in6 *)&at)->sin6_addr, p->ip, sizeof(p->ip));
	return config_prefix_text(&at, is_v4(p) ? p->bits - NETWORK_V4_AT : p->bits, ret);
}

bool peer_prefix_has(const struct peer_prefix *p, const uint8_t ip[16])
{
	uint32_t whole = p->bits / 8, rest = p->bits % 8;

	if (p->bits < NETWORK_V4_AT && network_ip_is_v4(ip))
		return false;
	if (memcmp(p->ip, ip, whole) != 0)
		return false;
	return rest == 0 || (p->ip[whole] ^ ip[whole]) >> (8 - rest) == 0;
}

/* A network of peers, which has limits, is not divided. */
static const char *check_limits(const struct peer_rule *r)
{
	for (unsigned i = 0; r->has && i < r->nprefixes; i++) {
		const struct peer_prefix *p = &r->prefix[i];

		if (is_v4(p) && p->bits > NETWORK_V4_AT + NETWORK_V4_BITS)
			return "has limits for more than 24 bits";
		if (!is_v4(p) && p->bits > NETWORK_V6_BITS)
			return "has limits for more than 64 bits";
	}
	return NULL;
}

/* ---- ports ---- */

static bool take_port(const char **text, uint16_t *ret)
{
	size_t len = strspn(*text, "0123456789");
	unsigned long n = len > 0 && len <= 5 ? strtoul(*text, NULL, 10) : 0;

	*text += len;
	*ret = (uint16_t)n;
	return n > 0 && n <= UINT16_MAX;
}

static bool take_range(const char **text, struct peer_ports *ret)
{
	uint16_t first, last;

	if (ret->n == PEER_RULE_RANGES || !take_port(text, &first))
		return false;
	last = first;
	if (**text == '-') {
		++*text;
		if (!take_port(text, &last))
			return false;
	}
	ret->range[ret->n].first = first;
	ret->range[ret->n++].last = last;
	return first <= last;
}

/* "all", "none", or "7000-7099+7471". */
static const char *parse_ports(const char *text, struct peer_ports *ret)
{
	if (ret->said)
		return "has a word twice";
	ret->said = 1;
	if (strcmp(text, "none") == 0)
		return NULL;
	if (strcmp(text, "all") == 0)
		text = "1-65535";
	while (take_range(&text, ret))
		if (*text == '\0')
			return NULL;
		else if (*text++ != '+')
			break;
	return "has ports that are not all, none, or up to 8 ranges as in 7000-7099+7471";
}

static void print_ports(const char *word, const struct peer_ports *p, FILE *f)
{
	if (!p->said)
		return;
	fprintf(f, " %s=", word);
	if (p->n == 0)
		fputs("none", f);
	if (p->n == 1 && p->range[0].first == 1 && p->range[0].last == UINT16_MAX) {
		fputs("all", f);
		return;
	}
	for (unsigned i = 0; i < p->n; i++) {
		fprintf(f, "%s%u", i ? "+" : "", p->range[i].first);
		if (p->range[i].last != p->range[i].first)
			fprintf(f, "-%u", p->range[i].last);
	}
}

/* ---- the other words ---- */

static const char *parse_name(const char *text, struct peer_rule *ret)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._-";

	if (*ret->name)
		return "has a word twice";
	if (*text == '\0' || strlen(text) >= sizeof(ret->name) || text[strspn(text, good)])
		return "has a name that is not 1 to 31 letters, digits, dots, _ and -";
	strcpy(ret->name, text);
	return NULL;
}

static const char *parse_security(const char *text, struct peer_rule *ret)
{
	if (ret->security)
		return "has a word twice";
	for (uint32_t i = PEER_SECURITY_NONE; i <= PEER_SECURITY_REQUIRE; i++)
		if (strcmp(text, securities[i]) == 0)
			ret->security = i;
	return ret->security ? NULL : "has a security that is not none, allow or require";
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* 32 bytes in hexadecimal, with colons as OpenSSL prints them, or without. */
static bool read_fingerprint(const char *text, uint8_t ret[PEER_FINGERPRINT])
{
	for (unsigned i = 0; i < PEER_FINGERPRINT; i++) {
		int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);

		if (low < 0)
			return false;
		ret[i] = (uint8_t)(high << 4 | low);
		text += 2;
		if (*text == ':' && i + 1 < PEER_FINGERPRINT)
			text++;
	}
	return *text == '\0';
}

static const char *parse_identity(enum peer_identity_kind kind, const char *text,
				  struct peer_identity *ret)
{
	if (ret->kind)
		return "has two identities";
	ret->kind = kind;
	if (kind == PEER_IDENTITY_FINGERPRINT)
		return read_fingerprint(text, ret->fingerprint)
			       ? NULL
			       : "has a fingerprint that is not 32 bytes in hexadecimal";
	if (*text == '\0' || strlen(text) >= sizeof(ret->file) || strpbrk(text, "\"\\"))
		return "has a file whose path is empty or too long";
	if (*text != '/')
		return "has a file that is not absolute";
	strcpy(ret->file, text);
	return NULL;
}

static const char *parse_host(const char *text, struct peer_identity *ret)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._:-";

	if (*ret->host)
		return "has a word twice";
	if (*text == '\0' || strlen(text) >= sizeof(ret->host) || text[strspn(text, good)])
		return "has a host that is not a name of 1 to 127 letters, digits, dots, _ and -, "
		       "or an address";
	strcpy(ret->host, text);
	return NULL;
}

const char *peer_fingerprint_text(const uint8_t fingerprint[PEER_FINGERPRINT],
				  char ret[PEER_FINGERPRINT_TEXT])
{
	for (unsigned i = 0; i < PEER_FINGERPRINT; i++)
		sprintf(ret + 3 * i, "%02X%s", fingerprint[i], i + 1 < PEER_FINGERPRINT ? ":" : "");
	return ret;
}

static void print_identity(const struct peer_identity *id, FILE *f)
{
	char text[PEER_FINGERPRINT_TEXT];

	if (id->kind == PEER_IDENTITY_CA)
		fprintf(f, " ca=%s", id->file);
	if (*id->host)
		fprintf(f, " host=%s", id->host);
	if (id->kind == PEER_IDENTITY_PSK)
		fprintf(f, " psk=%s", id->file);
	if (id->kind == PEER_IDENTITY_FINGERPRINT)
		fprintf(f, " fingerprint=%s", peer_fingerprint_text(id->fingerprint, text));
}

/* ---- a rule ---- */

static bool has_key(const char **word, const char *key)
{
	size_t len = strlen(key);

	if (strncmp(*word, key, len) != 0 || (*word)[len] != '=')
		return false;
	*word += len + 1;
	return true;
}

static const char *parse_word(char *word, peer_rule_word *other, struct peer_rule *ret)
{
	const char *value = word;

	if (!strchr(word, '='))
		return ret->nprefixes ? "has a word without = and a value"
				      : "does not begin with a prefix";
	if (has_key(&value, "name"))
		return parse_name(value, ret);
	if (has_key(&value, "accept"))
		return parse_ports(value, &ret->accept);
	if (has_key(&value, "connect"))
		return parse_ports(value, &ret->connect);
	if (has_key(&value, "security"))
		return parse_security(value, ret);
	if (has_key(&value, "fingerprint"))
		return parse_identity(PEER_IDENTITY_FINGERPRINT, value, &ret->identity);
	if (has_key(&value, "ca"))
		return parse_identity(PEER_IDENTITY_CA, value, &ret->identity);
	if (has_key(&value, "host"))
		return parse_host(value, &ret->identity);
	if (has_key(&value, "psk"))
		return parse_identity(PEER_IDENTITY_PSK, value, &ret->identity);
	return other(word, ret);
}

static bool says_something(const struct peer_rule *r)
{
	return r->has || r->accept.said || r->connect.said || r->security || r->identity.kind;
}

static const char *check_rule(const struct peer_rule *r)
{
	if (r->nprefixes == 0)
		return "has no prefix";
	if (!says_something(r))
		return "says nothing about its prefix";
	if (*r->identity.host && r->identity.kind != PEER_IDENTITY_CA)
		return "has a host without ca=";
	return check_limits(r);
}

const char *peer_rule_parse(const char *text, peer_rule_word *other, struct peer_rule *ret)
{
	char copy[PEER_RULE_TEXT], *save = NULL;
	const char *wrong = NULL;
	bool words = false;

	memset(ret, 0, sizeof(*ret));
	if (strlen(text) >= sizeof(copy))
		return "is too long";
	strcpy(copy, text);
	for (char *word = strtok_r(copy, " ", &save); word && !wrong;
	     word = strtok_r(NULL, " ", &save)) {
		words = words || strchr(word, '=');
		wrong = words ? parse_word(word, other, ret) : parse_prefix(word, ret);
	}
	return wrong ? wrong : check_rule(ret);
}

void peer_rule_print(const struct peer_rule *r, FILE *f)
{
	char text[PEER_RULE_TITLE];

	for (unsigned i = 0; i < r->nprefixes; i++)
		fprintf(f, "%s%s", i ? " " : "", peer_prefix_text(&r->prefix[i], text));
	if (*r->name)
		fprintf(f, " name=%s", r->name);
	print_ports("accept", &r->accept, f);
	print_ports("connect", &r->connect, f);
	if (r->security)
		fprintf(f, " security=%s", securities[r->security]);
	print_identity(&r->identity, f);
}

const char *peer_rule_title(const struct peer_rule *r, char ret[PEER_RULE_TITLE])
{
	if (*r->name)
		strcpy(ret, r->name);
	else
		peer_prefix_text(&r->prefix[0], ret);
	return ret;
}
