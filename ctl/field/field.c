/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/field/field.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t number_of(const struct field *f, const void *rec)
{
	const uint8_t *p = (const uint8_t *)rec + f->offset;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (f->size) {
	case 2:
		memcpy(&v16, p, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, p, sizeof(v32));
		return v32;
	default:
		memcpy(&v64, p, sizeof(v64));
		return v64;
	}
}

/* Users choose the names of their programs: replaces bytes that could control a terminal. */
static void copy_string(const struct field *f, const void *rec, char buf[FIELD_TEXT])
{
	const unsigned char *p = (const unsigned char *)rec + f->offset;
	size_t n = 0;

	while (n < f->size && n + 1 < FIELD_TEXT && p[n]) {
		buf[n] = p[n] >= 0x20 && p[n] < 0x7f ? (char)p[n] : '?';
		n++;
	}
	buf[n] = '\0';
}

static const char *const rights[] = {"local_write", "remote_write", "remote_read", "remote_atomic",
				     "mw_bind"};

enum { RIGHTS = sizeof(rights) / sizeof(rights[0]) };

static void access_text(uint64_t v, char buf[FIELD_TEXT])
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < RIGHTS; i++)
		if (v & (UINT64_C(1) << i))
			n += (size_t)snprintf(buf + n, FIELD_TEXT - n, "%s%s", n ? "," : "",
					      rights[i]);
	if (v >> RIGHTS)
		n += (size_t)snprintf(buf + n, FIELD_TEXT - n, "%s0x%" PRIx64, n ? "," : "",
				      v >> RIGHTS << RIGHTS);
	if (!n)
		strcpy(buf, "none");
}

/* Returns the port, or -1 for an address that is unset. */
static int addr_host(const struct field *f, const void *rec, char host[INET6_ADDRSTRLEN])
{
	struct sockaddr_storage ss;
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	memcpy(&ss, (const uint8_t *)rec + f->offset, sizeof(ss));
	memcpy(&in, &ss, sizeof(in));
	memcpy(&in6, &ss, sizeof(in6));
	if (ss.ss_family == AF_INET && inet_ntop(AF_INET, &in.sin_addr, host, INET6_ADDRSTRLEN))
		return ntohs(in.sin_port);
	if (ss.ss_family == AF_INET6 && inet_ntop(AF_INET6, &in6.sin6_addr, host, INET6_ADDRSTRLEN))
		return ntohs(in6.sin6_port);
	return -1;
}

static void addr_text(const struct field *f, const void *rec, char buf[FIELD_TEXT])
{
	char host[INET6_ADDRSTRLEN];
	int port = addr_host(f, rec, host);

	if (port < 0)
		strcpy(buf, f->type == FIELD_ANY_ADDR ? "*" : "-");
	else if (port == 0)
		snprintf(buf, FIELD_TEXT, "%s", host);
	else if (strchr(host, ':'))
		snprintf(buf, FIELD_TEXT, "[%s]:%d", host, port);
	else
		snprintf(buf, FIELD_TEXT, "%s:%d", host, port);
}

/* "2026-11-23T00:05:13.123Z", as in the journal of the daemon */
static void time_text(uint64_t us, char buf[FIELD_TEXT])
{
	time_t s = (time_t)(us / 1000000);
	struct tm tm;
	size_t n;

	n = gmtime_r(&s, &tm) ? strftime(buf, FIELD_TEXT, "%Y-%m-%dT%H:%M:%S", &tm) : 0;
	snprintf(buf + n, FIELD_TEXT - n, ".%03uZ", (unsigned)(us % 1000000 / 1000));
}

void field_text(const struct field *f, const void *rec, bool numeric, char buf[FIELD_TEXT])
{
	switch (f->type) {
	case FIELD_STRING:
		copy_string(f, rec, buf);
		if (!*buf)
			strcpy(buf, "-");
		return;
	case FIELD_ADDR:
	case FIELD_ANY_ADDR:
		addr_text(f, rec, buf);
		return;
	case FIELD_BOOL:
		strcpy(buf, number_of(f, rec) ? "yes" : "no");
		return;
	case FIELD_TIME:
		time_text(number_of(f, rec), buf);
		return;
	case FIELD_STAG:
		snprintf(buf, FIELD_TEXT, "0x%08" PRIx64, number_of(f, rec));
		return;
	case FIELD_MEASURED:
		if (number_of(f, rec))
			snprintf(buf, FIELD_TEXT, "%" PRIu64, number_of(f, rec));
		else
			strcpy(buf, "-");
		return;
	case FIELD_ACCESS:
		if (!numeric) {
			access_text(number_of(f, rec), buf);
			return;
		}
		/* fallthrough */
	default:
		snprintf(buf, FIELD_TEXT, "%" PRIu64, number_of(f, rec));
		return;
	}
}

static void round_bytes(uint64_t v, char buf[FIELD_TEXT])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
	double d = (double)v / 1024;
	unsigned u = 0;

	if (v < 1024)
		return;
	for (; d >= 1024 && u < 3; u++)
		d /= 1024;
	snprintf(buf, FIELD_TEXT, "%.1f %s", d, units[u]);
}

static void round_msec(uint64_t ms, char buf[FIELD_TEXT])
{
	uint64_t s = ms / 1000;

	if (s < 60)
		snprintf(buf, FIELD_TEXT, "%" PRIu64 ".%" PRIu64 " s", s, ms % 1000 / 100);
	else if (s < 3600)
		snprintf(buf, FIELD_TEXT, "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, FIELD_TEXT, "%" PRIu64 " h %" PRIu64 " min", s / 3600, s % 3600 / 60);
	else
		snprintf(buf, FIELD_TEXT, "%" PRIu64 " d %" PRIu64 " h", s / 86400,
			 s % 86400 / 3600);
}

void field_note(const struct field *f, const void *rec, char buf[FIELD_TEXT])
{
	const struct passwd *pw;

	buf[0] = '\0';
	switch (f->type) {
	case FIELD_BYTES:
		round_bytes(number_of(f, rec), buf);
		break;
	case FIELD_RATE:
		round_bytes(number_of(f, rec), buf);
		strcat(buf, *buf ? "/s" : "bytes/s");
		break;
	case FIELD_MSEC:
		round_msec(number_of(f, rec), buf);
		break;
	case FIELD_UID:
		pw = getpwuid((uid_t)number_of(f, rec));
		if (pw)
			snprintf(buf, FIELD_TEXT, "%s", pw->pw_name);
		break;
	default:
		if (f->unit)
			snprintf(buf, FIELD_TEXT, "%s", f->unit);
		break;
	}
}

struct json_object *field_json(const struct field *f, const void *rec, bool numeric)
{
	char text[FIELD_TEXT];

	switch (f->type) {
	case FIELD_STRING: /* as it is: empty, not "-" */
		copy_string(f, rec, text);
		return json_object_new_string(text);
	case FIELD_ADDR:
		field_text(f, rec, numeric, text);
		return strcmp(text, "-") ? json_object_new_string(text) : NULL;
	case FIELD_ANY_ADDR:
	case FIELD_STAG:
	case FIELD_TIME:
		field_text(f, rec, numeric, text);
		return json_object_new_string(text);
	case FIELD_MEASURED:
		return number_of(f, rec) ? json_object_new_uint64(number_of(f, rec)) : NULL;
	case FIELD_BOOL:
		return json_object_new_boolean(number_of(f, rec) != 0);
	case FIELD_ACCESS:
		if (!numeric) {
			field_text(f, rec, numeric, text);
			return json_object_new_string(text);
		}
		/* fallthrough */
	default:
		return json_object_new_uint64(number_of(f, rec));
	}
}

/* Decimal, or hexadecimal with 0x. */
static bool parse_number(const char *value, uint64_t *ret)
{
	int hex = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
	const char *digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
	const char *from = hex ? value + 2 : value;

	if (!*from || strspn(from, digits) != strlen(from))
		return false;
	errno = 0;
	*ret = strtoull(from, NULL, hex ? 16 : 10);
	return errno == 0;
}

/* A number, or "-" for an unmeasured value. */
static bool parse_measured(const char *value, uint64_t *ret)
{
	*ret = 0;
	return !strcmp(value, "-") || parse_number(value, ret);
}

static bool parse_uid(const char *value, uint64_t *ret)
{
	const struct passwd *pw;

	if (parse_number(value, ret))
		return true;
	pw = getpwnam(value);
	if (pw)
		*ret = pw->pw_uid;
	return pw != NULL;
}

static bool is_right(const char *value)
{
	for (unsigned i = 0; i < RIGHTS; i++)
		if (!strcmp(value, rights[i]))
			return true;
	return !strcmp(value, "none");
}

/* Whether a word is in a list separated by blanks, or stands for no value. */
static bool is_listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strcasestr(at, word)); at += len)
		if (len && (at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return !strcmp(word, "-");
}

bool field_valid(const struct field *f, const char *value)
{
	uint64_t v;

	switch (f->type) {
	case FIELD_STRING:
		return !f->values || is_listed(f->values, value);
	case FIELD_TIME:
	case FIELD_ADDR:
	case FIELD_ANY_ADDR:
		return true;
	case FIELD_BOOL:
		return !strcmp(value, "yes") || !strcmp(value, "no");
	case FIELD_UID:
		return parse_uid(value, &v);
	case FIELD_ACCESS:
		return is_right(value) || parse_number(value, &v);
	case FIELD_MEASURED:
		return parse_measured(value, &v);
	default:
		return parse_number(value, &v);
	}
}

const char *field_expects(const struct field *f)
{
	static char words[FIELD_TEXT];

	switch (f->type) {
	case FIELD_STRING:
		if (!f->values)
			return "a string";
		snprintf(words, sizeof(words), "one of: %s", f->values);
		return words;
	case FIELD_TIME:
		return "a string";
	case FIELD_ADDR:
	case FIELD_ANY_ADDR:
		return "an address";
	case FIELD_BOOL:
		return "yes or no";
	case FIELD_UID:
		return "the name or the number of a user";
	case FIELD_ACCESS:
		return "a number, none, local_write, remote_write, remote_read, remote_atomic or "
		       "mw_bind";
	case FIELD_MEASURED:
		return "a number, or - for an unmeasured value";
	default:
		return "a number, decimal or hexadecimal with 0x, of at most 64 bits";
	}
}

/* One right of the value, or its number. */
static bool match_access(const struct field *f, const void *rec, const char *value)
{
	uint64_t v, have = number_of(f, rec);

	if (parse_number(value, &v))
		return v == have;
	for (unsigned i = 0; i < RIGHTS; i++)
		if (!strcmp(value, rights[i]))
			return have & (UINT64_C(1) << i);
	return have == 0;
}

/* With the port or without. */
static bool match_addr(const struct field *f, const void *rec, const char *value)
{
	char host[INET6_ADDRSTRLEN] = "", text[FIELD_TEXT];

	addr_host(f, rec, host);
	addr_text(f, rec, text);
	return !strcmp(value, host) || !strcmp(value, text);
}

bool field_match(const struct field *f, const void *rec, const char *value)
{
	char text[FIELD_TEXT];
	uint64_t v;

	switch (f->type) {
	case FIELD_STRING:
	case FIELD_TIME:
	case FIELD_BOOL:
		field_text(f, rec, false, text);
		return !strcasecmp(value, text);
	case FIELD_ADDR:
	case FIELD_ANY_ADDR:
		return match_addr(f, rec, value);
	case FIELD_ACCESS:
		return match_access(f, rec, value);
	case FIELD_UID:
		return parse_uid(value, &v) && v == number_of(f, rec);
	case FIELD_MEASURED:
		return parse_measured(value, &v) && v == number_of(f, rec);
	default:
		return parse_number(value, &v) && v == number_of(f, rec);
	}
}

void field_values(const struct field *f, char buf[FIELD_TEXT])
{
	size_t n = 0;

	snprintf(buf, FIELD_TEXT, "%s", f->values ? f->values : "");
	if (f->type == FIELD_BOOL)
		strcpy(buf, "yes no");
	if (f->type != FIELD_ACCESS)
		return;
	for (unsigned i = 0; i < RIGHTS; i++)
		n += (size_t)snprintf(buf + n, FIELD_TEXT - n, "%s ", rights[i]);
	snprintf(buf + n, FIELD_TEXT - n, "none");
}

bool field_right(const struct field *f)
{
	return f->type == FIELD_NUM || f->type == FIELD_BYTES || f->type == FIELD_RATE ||
	       f->type == FIELD_MEASURED || f->type == FIELD_MSEC || f->type == FIELD_UID;
}
