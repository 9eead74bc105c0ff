/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads parts from standard input: "PART SOCKET-A SOCKET-B ADDRESS-B", and answers each with a
 * line: "ok", "failed: SENTENCE" or "BAD: SENTENCE".
 */
#include "tests/faults/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { UNDOS = 512, WORDS = 1024 };

static struct {
	int (*undo)(void *);
	void *object;
} undos[UNDOS];
static int num_undos;
static jmp_buf over;
static char said[WORDS], complaint[WORDS];

static void set_words(char *words, const char *fmt, va_list ap)
{
	if (!*words)
		vsnprintf(words, WORDS, fmt, ap);
}

static void also_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_words(complaint, fmt, ap);
	va_end(ap);
}

void complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_words(complaint, fmt, ap);
	va_end(ap);
	longjmp(over, 1);
}

void give_up(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_words(said, fmt, ap);
	va_end(ap);
	longjmp(over, 1);
}

int try(const char *call, int r)
{
	if (r >= 0)
		return r;
	if (!*ddp_last_reason())
		complain("%s: %s, and no reason", call, strerror(-r));
	give_up("%s: %s: %s", call, strerror(-r), ddp_last_reason());
}

void later(int (*undo)(void *), void *object)
{
	if (num_undos == UNDOS)
		complain("more than %d objects", UNDOS);
	undos[num_undos].undo = undo;
	undos[num_undos++].object = object;
}

void now(void *object)
{
	int i = num_undos - 1;

	while (i >= 0 && undos[i].object != object)
		i--;
	if (i < 0)
		complain("an object that is not there");
	try("undo", undos[i].undo(object));
	memmove(&undos[i], &undos[i + 1], sizeof(undos[0]) * (size_t)(num_undos - i - 1));
	num_undos--;
}

static void undo_all(void)
{
	while (num_undos > 0) {
		void *object = undos[--num_undos].object;
		int (*undo)(void *) = undos[num_undos].undo;
		int r = undo(object);

		if (r < 0 && undo(object) < 0)
			also_complain("an object cannot be freed: %s", ddp_last_reason());
	}
}

static void run_part(struct program *p, void (*run)(struct program *p))
{
	said[0] = complaint[0] = '\0';
	if (setjmp(over) == 0)
		run(p);
	undo_all();
	memset(p->end, 0, sizeof(p->end));
	if (*complaint)
		printf("BAD: %s (%s)\n", complaint, *said ? said : "no failure before");
	else if (*said)
		printf("failed: %s\n", said);
	else
		puts("ok");
}

static void run_line(char *line)
{
	static struct program p;
	const char *name = strtok(line, " \n");

	p.socket[0] = strtok(NULL, " \n");
	p.socket[1] = strtok(NULL, " \n");
	p.address = strtok(NULL, " \n");
	for (const struct part *at = program_parts; name && p.address && at->name; at++)
		if (strcmp(at->name, name) == 0) {
			run_part(&p, at->run);
			return;
		}
	puts("BAD: no such part");
}

int main(void)
{
	static char line[WORDS], out[BUFSIZ];

	setvbuf(stdout, out, _IOLBF, sizeof(out));
	while (fgets(line, sizeof(line), stdin)) {
		alarm(120);
		run_line(line);
		alarm(0);
	}
	return 0;
}
