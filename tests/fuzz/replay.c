/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a target once with each input of its corpus, and prints the name of the input.
 *
 * usage: TARGET [INPUT...]        [tests/fuzz/corpus/TARGET.hex]
 *        TARGET -x FOLDER FILE.hex   writes each input of the list to a file of its own
 *
 * INPUT is a list FILE.hex, with a line `name: hexadecimal digits` for each input; or a file of
 * raw bytes; or a folder of these.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 1 << 20, HANGS_S = 60 };

static unsigned inputs;

/* What to do with an input of a list. */
typedef void use_fn(const char *name, const uint8_t *p, size_t n, const char *folder);

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(2);
}

/* In memory of exactly its size, so that sanitizers detect reads after its end. */
static void run(const char *name, const uint8_t *p, size_t n, const char *folder)
{
	uint8_t *exact = malloc(n + !n);

	(void)folder;
	if (!exact)
		die(name);
	if (n > 0)
		memcpy(exact, p, n);
	printf("%s\n", name);
	fflush(stdout); /* the last one printed is the one that fails ... */
	alarm(HANGS_S); /* ... or does not end */
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	inputs++;
}

static void extract(const char *name, const uint8_t *p, size_t n, const char *folder)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f))
		die(path);
}

/* Converts digits to bytes in place. Returns the number of bytes, or -1. */
static long decode(char *digits)
{
	size_t len = strspn(digits, "0123456789abcdefABCDEF");
	uint8_t *to = (uint8_t *)digits;

	if (digits[len] != '\0' || len % 2 != 0)
		return -1;
	for (size_t i = 0; i < len; i += 2) {
		const char two[3] = {digits[i], digits[i + 1], '\0'};

		*to++ = (uint8_t)strtoul(two, NULL, 16);
	}
	return (long)(len / 2);
}

static void use_list(const char *path, use_fn *use, const char *folder)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;

	if (!f)
		die(path);
	for (unsigned no = 1; getline(&line, &cap, f) > 0; no++) {
		char *digits = strstr(line, ": ");
		long n;

		line[strcspn(line, "\n")] = '\0';
		if (!*line || *line == '#')
			continue;
		n = digits ? decode(digits + 2) : -1;
		if (n < 0) {
			fprintf(stderr, "%s:%u: not `name: hexadecimal digits`\n", path, no);
			exit(2);
		}
		*digits = '\0';
		use(line, (uint8_t *)digits + 2, (size_t)n, folder);
	}
	free(line);
	fclose(f);
}

static void run_file(const char *path)
{
	const size_t len = strlen(path);
	uint8_t *bytes;
	size_t n;
	FILE *f;

	if (len > 4 && !strcmp(path + len - 4, ".hex")) {
		use_list(path, run, NULL);
		return;
	}
	f = fopen(path, "r");
	bytes = malloc(INPUT_MAX);
	if (!f || !bytes)
		die(path);
	n = fread(bytes, 1, INPUT_MAX, f);
	run(path, bytes, n, NULL);
	free(bytes);
	fclose(f);
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void run_path(const char *path)
{
	struct dirent **e;
	struct stat st;
	int n;

	if (stat(path, &st) < 0)
		die(path);
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	n = scandir(path, &e, visible, alphasort);
	if (n < 0)
		die(path);
	for (int i = 0; i < n; i++) {
		char full[PATH_MAX];

		snprintf(full, sizeof(full), "%s/%s", path, e[i]->d_name);
		run_path(full);
		free(e[i]);
	}
	free(e);
}

static void run_corpus(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/../fuzz/corpus/%s.hex", TEST_DATA_DIR,
		 program_invocation_short_name);
	run_path(path);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "-x")) {
		use_list(argv[3], extract, argv[2]);
		return 0;
	}
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	if (argc == 1)
		run_corpus();
	printf("%u inputs\n", inputs);
	return inputs == 0;
}
