/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/base/config.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#include "daemon/base/config_keys.h"
#include "daemon/base/config_value.h"
#include "util/cleanup.h"

enum {
	DEPTH_MAX = 8,      /* of lists and mappings in each other; valid files have 3 */
	FILE_MAX = 4 << 20, /* bytes */
};

/* A file being read. */
struct reader {
	const char *path;
	char *err;
	size_t errlen;
	yaml_document_t doc;
	struct config cfg;
	const yaml_node_t *given[CONFIG_MAX_KEYS]; /* values that the file has */
	int line[CONFIG_MAX_KEYS];                 /* of these; 0: not given */
	int rule_line[PEER_RULES];                 /* of each rule of peers.rules */
};

/* ---- defaults ---- */

void config_default(struct config *ret)
{
	const struct config_key *k;
	char reason[CONFIG_REASON_MAX];

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; (k = config_key_at(i)); i++) {
		bool ok = config_value_parse_all(k, k->def, ret, reason);

		assert(ok);
		(void)ok;
	}
}

/* ---- errors ---- */

static int fail_at(struct reader *r, yaml_mark_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail_at(struct reader *r, yaml_mark_t at, const char *fmt, ...)
{
	char what[CONFIG_ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(r->err, r->errlen, "%s:%zu:%zu: %s", r->path, at.line + 1, at.column + 1, what);
	return -EINVAL;
}

static const char *dot(const char *section)
{
	return *section ? "." : "";
}

static int fail_key(struct reader *r, const yaml_node_t *at, const struct config_key *k,
		    const char *what)
{
	return fail_at(r, at->start_mark, "%s%s%s: %s", k->section, dot(k->section), k->name, what);
}

static int fail_file(struct reader *r, int err)
{
	snprintf(r->err, r->errlen, "%s: cannot be read: %s", r->path, strerror(err));
	return -err;
}

/* ---- the tree ---- */

/* NULL if it is not a scalar. */
static const char *text_of(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;
}

/* "section:" without a value, or followed by comments only. */
static bool is_nothing(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0;
}

static int load_one(struct reader *r, const struct config_key *k, const yaml_node_t *n)
{
	const char *text = text_of(n);
	char reason[CONFIG_REASON_MAX];

	if (!text || strlen(text) != n->data.scalar.length) {
		char range[CONFIG_RANGE_MAX];

		config_value_range(k, range);
		snprintf(reason, sizeof(reason), "expected one value: %s", range);
		return fail_key(r, n, k, reason);
	}
	return config_value_parse(k, text, &r->cfg, reason) ? 0 : fail_key(r, n, k, reason);
}

static const char *expected_list(const struct config_key *k)
{
	switch (k->type) {
	case CONFIG_TYPE_LISTEN:
		return "expected a list, such as [127.0.0.1, \"::1\"]";
	case CONFIG_TYPE_USERS:
		return "expected a list, such as [root, \"@wheel\"]";
	case CONFIG_TYPE_PORTS:
		return "expected a list, such as [1-1023 root]";
	case CONFIG_TYPE_PEERS:
		return "expected a list, such as [10.0.0.0/8 sessions=100]";
	default:
		return "expected a list, such as [10.0.0.0/8 bbr]";
	}
}

static int load_list(struct reader *r, const struct config_key *k, const yaml_node_t *n)
{
	yaml_node_item_t *it;
	int res = 0;

	if (n->type != YAML_SEQUENCE_NODE)
		return fail_key(r, n, k, expected_list(k));
	config_value_clear(k, &r->cfg);
	it = n->data.sequence.items.start;
	if (it == n->data.sequence.items.top && k->min > 0)
		return fail_key(r, n, k, "the list is empty");
	for (; res == 0 && it < n->data.sequence.items.top; it++) {
		const yaml_node_t *item = yaml_document_get_node(&r->doc, *it);

		res = load_one(r, k, item);
		if (res == 0 && k->type == CONFIG_TYPE_PEERS)
			r->rule_line[r->cfg.peers.rules.n - 1] = (int)item->start_mark.line + 1;
	}
	return res;
}

static int load_value(struct reader *r, const struct config_key *k, const yaml_node_t *n)
{
	r->given[config_key_index(k)] = n;
	r->line[config_key_index(k)] = (int)n->start_mark.line + 1;
	return config_value_is_list(k) ? load_list(r, k, n) : load_one(r, k, n);
}

static int load_map(struct reader *r, const char *section, const yaml_node_t *map);

static int load_entry(struct reader *r, const char *section, const yaml_node_t *key,
		      const yaml_node_t *value)
{
	const char *name = text_of(key);
	const struct config_key *k = config_key_find(section, name);
	char hint[CONFIG_REASON_MAX];

	if (k)
		return load_value(r, k, value);
	if (*section == '\0' && config_key_section(name))
		return load_map(r, name, value);
	config_key_suggest(section, name, hint, sizeof(hint));
	return fail_at(r, key->start_mark, "%s%s%.80s: unknown key: %s", section, dot(section),
		       name, hint);
}

/* An earlier occurrence of the key in the mapping, or NULL. */
static const yaml_node_t *earlier_key(struct reader *r, const yaml_node_t *map,
				      const yaml_node_pair_t *pair)
{
	const char *name = text_of(yaml_document_get_node(&r->doc, pair->key));

	for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
		const yaml_node_t *key = yaml_document_get_node(&r->doc, p->key);

		if (strcmp(text_of(key), name) == 0)
			return key;
	}
	return NULL;
}

static int load_pair(struct reader *r, const char *section, const yaml_node_t *map,
		     const yaml_node_pair_t *pair)
{
	const yaml_node_t *key = yaml_document_get_node(&r->doc, pair->key);
	const yaml_node_t *first;

	if (!text_of(key))
		return fail_at(r, key->start_mark, "a key must be a word");
	first = earlier_key(r, map, pair);
	if (first)
		return fail_at(r, key->start_mark, "%s%s%.80s: given twice, first in line %zu",
			       section, dot(section), text_of(key), first->start_mark.line + 1);
	return load_entry(r, section, key, yaml_document_get_node(&r->doc, pair->value));
}

/* A section, or the whole file with section "". */
static int load_map(struct reader *r, const char *section, const yaml_node_t *map)
{
	int res = 0;

	if (is_nothing(map))
		return 0;
	if (map->type != YAML_MAPPING_NODE)
		return fail_at(r, map->start_mark, "%s%sexpected keys with values", section,
			       *section ? ": " : "");
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     res == 0 && p < map->data.mapping.pairs.top; p++)
		res = load_pair(r, section, map, p);
	return res;
}

/* ---- values that depend on each other ---- */

static int check_rto(struct reader *r)
{
	const struct config_key *min = config_key_find("sctp", "rto_min_ms");
	const struct config_key *max = config_key_find("sctp", "rto_max_ms");
	const yaml_node_t *at = r->given[config_key_index(min)];
	char reason[CONFIG_REASON_MAX];

	if (r->cfg.sctp.rto_min_ms <= r->cfg.sctp.rto_max_ms)
		return 0;
	if (at) {
		snprintf(reason, sizeof(reason), "%u is more than sctp.rto_max_ms: at most %u",
			 r->cfg.sctp.rto_min_ms, r->cfg.sctp.rto_max_ms);
		return fail_key(r, at, min, reason);
	}
	snprintf(reason, sizeof(reason), "%u is less than sctp.rto_min_ms: at least %u",
		 r->cfg.sctp.rto_max_ms, r->cfg.sctp.rto_min_ms);
	return fail_key(r, r->given[config_key_index(max)], max, reason);
}

const char *config_unmet_demand(const struct config *c, unsigned *ret_rule)
{
	const struct peer_rules *l = &c->peers.rules;

	for (unsigned i = 0; i < l->n; i++) {
		const char *wrong = peer_rule_demands(&l->rule[i], c->security.udp_port != 0,
						      *c->security.certificate != 0);

		if (!wrong)
			continue;
		*ret_rule = i;
		return wrong;
	}
	return NULL;
}

static int check_demands(struct reader *r)
{
	const struct config_key *k = config_key_find("peers", "rules");
	const yaml_node_t *list = r->given[config_key_index(k)], *item;
	char reason[CONFIG_REASON_MAX];
	unsigned rule;
	const char *wrong = config_unmet_demand(&r->cfg, &rule);

	if (!wrong)
		return 0;
	item = yaml_document_get_node(&r->doc, list->data.sequence.items.start[rule]);
	snprintf(reason, sizeof(reason), "%.80s %s", text_of(item), wrong);
	return fail_key(r, item, k, reason);
}

static bool has_psk(const struct peer_rules *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->rule[i].identity.kind == PEER_IDENTITY_PSK)
			return true;
	return false;
}

static int check_security(struct reader *r)
{
	const struct config_security *s = &r->cfg.security;
	const struct config_key *k = config_key_find("security", "udp_port");
	const yaml_node_t *at = r->given[config_key_index(k)];

	if (s->udp_port == 0)
		return 0;
	if (r->cfg.transport == CONFIG_TRANSPORT_KERNEL)
		return fail_key(r, at, k, "the transport kernel has no DTLS: IPsec encrypts it");
	if (s->udp_port == r->cfg.user.udp_port)
		return fail_key(r, at, k, "the same as user.udp_port: DTLS needs another port");
	if (!*s->certificate != !*s->key)
		return fail_key(r, at, k,
				"one of security.certificate and security.key is missing");
	if (!*s->certificate && !has_psk(&r->cfg.peers.rules))
		return fail_key(r, at, k, "security.certificate and security.key are missing");
	return 0;
}

static int check_combinations(struct reader *r)
{
	int res = check_rto(r);

	if (res == 0)
		res = check_security(r);
	return res == 0 ? check_demands(r) : res;
}

/* ---- the file ---- */

/* A common mistake: [::1]. */
static const char *yaml_hint(const char *problem)
{
	return strcmp(problem, "did not find expected node content") == 0
		       ? " (an IPv6 address needs quotes here)"
		       : "";
}

/* Whether a call that has failed had no memory. libyaml forgets to say so where it copies a tag. */
static bool lacked_memory(const yaml_parser_t *p)
{
	return p->error == YAML_MEMORY_ERROR || p->error == YAML_NO_ERROR;
}

static int fail_yaml(struct reader *r, const yaml_parser_t *p)
{
	if (lacked_memory(p))
		return fail_file(r, ENOMEM);
	if (p->error == YAML_READER_ERROR) {
		snprintf(r->err, r->errlen, "%s: not UTF-8 text: %s at byte %zu", r->path,
			 p->problem, p->problem_offset);
		return -EINVAL;
	}
	return fail_at(r, p->problem_mark, "not YAML: %s%s", p->problem, yaml_hint(p->problem));
}

static int load_document(struct reader *r)
{
	yaml_node_t *root = yaml_document_get_root_node(&r->doc);
	int res = root ? load_map(r, "", root) : 0;

	return res != 0 ? res : check_combinations(r);
}

/* The file may hold only one document. */
static int load_rest(struct reader *r, yaml_parser_t *p)
{
	yaml_node_t *root;
	int res = 0;

	if (!yaml_parser_load(p, &r->doc))
		return fail_yaml(r, p);
	root = yaml_document_get_root_node(&r->doc);
	if (root)
		res = fail_at(r, root->start_mark, "a second document; expected one");
	yaml_document_delete(&r->doc);
	return res;
}

static int load_stream(struct reader *r, yaml_parser_t *p)
{
	int res;

	if (!yaml_parser_load(p, &r->doc))
		return fail_yaml(r, p);
	res = load_document(r);
	yaml_document_delete(&r->doc);
	return res != 0 ? res : load_rest(r, p);
}

/* How an event changes the number of open lists and mappings. */
static int depth_step(yaml_event_type_t type)
{
	switch (type) {
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return 1;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return -1;
	default:
		return 0;
	}
}

/* Reads as far as brackets in brackets matter: libyaml takes minutes for many of them. */
static int check_nesting(struct reader *r, yaml_parser_t *p)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	yaml_event_t e;
	int depth = 0;

	while (type != YAML_STREAM_END_EVENT && yaml_parser_parse(p, &e)) {
		type = e.type;
		depth += depth_step(type);
		if (depth > DEPTH_MAX)
			fail_at(r, e.start_mark, "lists and sections in each other: at most %d",
				DEPTH_MAX);
		yaml_event_delete(&e);
		if (depth > DEPTH_MAX)
			return -EINVAL;
	}
	if (type != YAML_STREAM_END_EVENT && lacked_memory(p))
		return fail_file(r, ENOMEM);
	return 0; /* another fault is found again when the document is loaded */
}

static int parse_text(struct reader *r, const char *text, size_t len,
		      int (*parse)(struct reader *r, yaml_parser_t *p))
{
	yaml_parser_t p;
	int res;

	if (!yaml_parser_initialize(&p))
		return fail_file(r, ENOMEM);
	yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
	res = parse(r, &p);
	yaml_parser_delete(&p);
	return res;
}

static int load_file(struct reader *r, FILE *f)
{
	char *text = malloc(FILE_MAX + 1);
	size_t len = text ? fread(text, 1, FILE_MAX + 1, f) : 0;
	int res = 0;

	if (!text || ferror(f))
		res = fail_file(r, text ? errno : ENOMEM);
	else if (len > FILE_MAX)
		res = fail_file(r, EFBIG);
	if (res == 0)
		res = parse_text(r, text, len, check_nesting);
	if (res == 0)
		res = parse_text(r, text, len, load_stream);
	free(text);
	return res;
}

static void close_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

int config_load(const char *path, struct config *ret, char *err, size_t errlen)
{
	struct config_origin origin;

	return config_load_origin(path, ret, &origin, err, errlen);
}

int config_load_origin(const char *path, struct config *ret, struct config_origin *ret_origin,
		       char *err, size_t errlen)
{
	struct reader r = {.path = path ? path : CONFIG_PATH, .err = err, .errlen = errlen};
	cleanup(close_file) FILE *f = fopen(r.path, "re");
	struct stat st;
	int res;

	config_default(&r.cfg);
	if (!f && (path || errno != ENOENT))
		return fail_file(&r, errno);
	if (f && fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode))
		return fail_file(&r, EISDIR);
	res = f ? load_file(&r, f) : 0;
	if (res != 0)
		return res;
	memcpy(ret, &r.cfg, sizeof(*ret));
	snprintf(ret_origin->file, sizeof(ret_origin->file), "%s", r.path);
	memcpy(ret_origin->line, r.line, sizeof(r.line));
	memcpy(ret_origin->rule_line, r.rule_line, sizeof(r.rule_line));
	return 0;
}
