/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/command/completion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/command/command.h"
#include "ctl/command/explain.h"
#include "ctl/command/object_values.h"
#include "ctl/command/top_order.h"
#include "ipc/local_protocol.h"
#include "util/complete.h"

struct words {
	struct complete c;
	const char *socket;
};

/* ---- the first word ---- */

static void complete_first_word(const struct complete *c)
{
	unsigned n;
	const struct field_object *objs = field_objects(&n);
	const struct command *table;

	for (unsigned i = 0; i < n; i++)
		complete_word(c, objs[i].name, objs[i].help);
	table = command_table(&n);
	for (unsigned i = 0; i < n; i++)
		if (!args_object(table[i].word) &&
		    (i == 0 || strcmp(table[i].word, table[i - 1].word) != 0))
			complete_word(c, table[i].word, table[i].help);
}

static void complete_verbs(const struct complete *c, const char *word)
{
	unsigned n;
	const struct command *table = command_table(&n);

	for (unsigned i = 0; i < n; i++)
		if (table[i].verb && !strcmp(table[i].word, word))
			complete_word(c, table[i].verb, table[i].help);
}

/* ---- filters of an object ---- */

static void complete_keys(const struct complete *c, const struct field_object *obj)
{
	char text[FIELD_TEXT];

	for (unsigned i = 0; i < obj->nfields; i++) {
		const struct field *f = &obj->fields[i];

		field_values(f, text);
		complete_word(c, f->key, *text ? text : f->unit);
	}
}

static void complete_values(const struct words *w, const struct field_object *obj,
			    const struct field *f)
{
	char text[FIELD_TEXT];

	field_values(f, text);
	if (*text)
		complete_list(&w->c, text, NULL);
	else
		object_values_complete(&w->c, w->socket, obj, f, NULL, NULL);
}

/* [ID] [KEY VALUE]...; `from` operands precede these. */
static void complete_filters(const struct words *w, const struct field_object *obj, unsigned from)
{
	unsigned n = w->c.n - from;
	const char *const *operand = w->c.operand + from;
	const struct field *f;

	if (n && !field_find(obj, operand[0])) { /* an id */
		n--;
		operand++;
	} else if (n == 0 && obj->id) {
		object_values_complete(&w->c, w->socket, obj, field_find(obj, obj->id), NULL, NULL);
	}
	if (n % 2 == 0) {
		complete_keys(&w->c, obj);
		return;
	}
	f = field_find(obj, operand[n - 1]);
	if (f)
		complete_values(w, obj, f);
}

static void complete_object(const struct words *w, const struct field_object *obj)
{
	bool show = w->c.n > 1 && !strcmp(w->c.operand[1], "show");

	if (w->c.n == 1) {
		complete_word(&w->c, "show", "print these objects");
		complete_verbs(&w->c, obj->name);
	}
	complete_filters(w, obj, 1 + show);
}

/* ---- arguments of commands ---- */

/* The names and meanings that `ddpctl explain` knows. */
static void complete_errors(const struct complete *c)
{
	const struct field *name = field_find(&explain_object, "name");
	const struct field *meaning = field_find(&explain_object, "text");
	char text[FIELD_TEXT], help[FIELD_TEXT] = "";
	struct query_reply a;

	if (explain_code(NULL, &a) != CTL_EXIT_OK)
		return;
	for (size_t i = 0; i < a.n; i++) {
		field_text(name, &a.recs[i].status, false, text);
		if (meaning)
			field_text(meaning, &a.recs[i].status, false, help);
		if (text[0] != '-')
			complete_word(c, text, help);
	}
	free(a.recs);
}

/* The meanings of the names of arguments in the table of commands: a key of objects, or only of
 * those of the association that precedes it, or names that the shell knows. */
struct argument {
	const char *name;
	const char *object, *key;
	bool of_assoc;
	const char *by_shell;
};

static const struct argument arguments[] = {
	{"ASSOC", "assoc", "id", false, NULL},       {"CLIENT", "client", "id", false, NULL},
	{"STREAM", "session", "stream", true, NULL}, {"ADDRESS", "path", "address", true, NULL},
	{"KEY", "config", "key", false, NULL},       {"[HOST]", NULL, NULL, false, "hosts"},
	{"[FILE]", NULL, NULL, false, "files"},      {"FILE", NULL, NULL, false, "files"},
};

static void complete_argument(const struct words *w, const struct argument *a)
{
	const char *assoc = a->of_assoc && w->c.n ? w->c.operand[w->c.n - 1] : NULL;
	const struct field_object *obj;

	if (a->by_shell) {
		complete_by_shell(&w->c, a->by_shell);
		return;
	}
	obj = args_object(a->object);
	object_values_complete(&w->c, w->socket, obj, field_find(obj, a->key),
			       assoc ? "assoc" : NULL, assoc);
}

/* The name of argument number i in "ASSOC ADDRESS"; its length is 0 if there is none. */
static const char *argument_name(const char *args, unsigned i, size_t *ret_len)
{
	while (i-- && *args) {
		args += strcspn(args, " ");
		args += strspn(args, " ");
	}
	*ret_len = strcspn(args, " ");
	return args;
}

/* After FILE: assoc ID, qp NUMBER, snap BYTES. i: which argument. */
static void complete_capture(const struct words *w, unsigned i)
{
	const char *before = w->c.operand[w->c.n - 1];
	const struct field_object *obj;

	if (i % 2) {
		complete_list(&w->c, "assoc qp snap", NULL);
	} else if (!strcmp(before, "assoc") || !strcmp(before, "qp")) {
		obj = args_object(before);
		object_values_complete(&w->c, w->socket, obj, field_find(obj, obj->id), NULL, NULL);
	}
}

static void complete_top(const struct complete *c)
{
	bool order = !strcmp(c->operand[c->n - 1], "sort");

	complete_list(c, order ? TOP_ORDER_WORDS : "users sort", NULL);
}

/* After "show": a file. */
static void complete_key(const struct complete *c)
{
	if (c->n == 2 && !strcmp(c->operand[1], "show"))
		complete_by_shell(c, "files");
}

static void complete_command(const struct words *w, const struct command *cmd)
{
	unsigned from = cmd->verb ? 2 : 1, i = w->c.n - from;
	size_t len;
	const char *name = argument_name(cmd->args, i, &len);

	if (!strcmp(cmd->word, "monitor"))
		complete_filters(w, args_object("event"), from);
	else if (i > 0 && !strcmp(cmd->word, "capture"))
		complete_capture(w, i);
	else if (i == 0 && !strcmp(cmd->word, "explain"))
		complete_errors(&w->c);
	else if (i > 0 && !strcmp(cmd->word, "top"))
		complete_top(&w->c);
	else if (i > 0 && !strcmp(cmd->word, "key"))
		complete_key(&w->c);
	else if (i == 0 && *cmd->values)
		complete_list(&w->c, cmd->values, NULL);
	else
		for (unsigned k = 0; k < sizeof(arguments) / sizeof(arguments[0]); k++)
			if (len == strlen(arguments[k].name) &&
			    !strncmp(name, arguments[k].name, len))
				complete_argument(w, &arguments[k]);
}

/* ---- */

static void complete_operands(const struct words *w)
{
	const char *word = w->c.operand[0];
	const struct command *cmd = command_find(word, w->c.n > 1 ? w->c.operand[1] : NULL);
	const struct field_object *obj = args_object(word);

	if (cmd)
		complete_command(w, cmd);
	else if (obj)
		complete_object(w, obj);
	else if (w->c.n == 1)
		complete_verbs(&w->c, word);
}

enum ctl_exit completion_run(int argc, char *const *argv)
{
	const char *env = getenv(IPC_SOCKET_ENV);
	struct words w;

	complete_read(&w.c, &options_table, argc, argv, stdout);
	w.socket = complete_arg(&w.c, "socket");
	if (!w.socket)
		w.socket = env && *env ? env : IPC_DEFAULT_SOCKET;
	if (!freopen("/dev/null", "w",
		     stderr)) /* messages would be in the middle of the user's line */
		return CTL_EXIT_OK;
	if (complete_option(&w.c))
		return CTL_EXIT_OK;
	if (w.c.n == 0)
		complete_first_word(&w.c);
	else
		complete_operands(&w);
	return CTL_EXIT_OK;
}
