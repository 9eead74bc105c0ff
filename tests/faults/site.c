/* SPDX-License-Identifier: BSD-2-Clause */
/* Environment: FAULTS_TABLE is the file of the table; FAULTS_ONLY, if set, the part of a module's
 * name that must be among the callers: then the sites end where it is called. FAULTS_BLOCKS: if
 * set, blocks are not counted. */
#include "tests/faults/site.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/faults/table.h"

enum { BLOCKS = 1 << 20, FRAMES = 24, SPANS = 256, NAME = 16 };

/* Code of a module in this process. */
struct span {
	uintptr_t begin, end, base;
	unsigned module; /* its place in the table + 1; 0: code of the hooks */
	bool only;       /* FAULTS_ONLY names it */
};

struct block {
	void *p;
	size_t bytes;
	int site;
};

static struct table *table;
static struct span spans[SPANS];
static unsigned num_spans;
static struct block *blocks;
static const char *only;
static bool counts;
static char process[NAME];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool busy __attribute__((tls_model("initial-exec")));

/* ---- modules ---- */

static unsigned module_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : *path ? path : process;
	unsigned i = 0;

	while (i < TABLE_MODULES - 1 && table->module[i][0] &&
	       strncmp(table->module[i], name, TABLE_NAME - 1) != 0)
		i++;
	strncpy(table->module[i], name, TABLE_NAME - 1);
	return i + 1;
}

static int add_spans(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t here = (uintptr_t)&site_fails;

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum && num_spans < SPANS; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		struct span *s = &spans[num_spans];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		s->base = info->dlpi_addr;
		s->begin = info->dlpi_addr + ph->p_vaddr;
		s->end = s->begin + ph->p_memsz;
		s->module = here >= s->begin && here < s->end ? 0 : module_of(info->dlpi_name);
		s->only = only && strstr(info->dlpi_name, only);
		num_spans++;
	}
	return 0;
}

static const struct span *span_of(uintptr_t at)
{
	for (unsigned i = 0; i < num_spans; i++)
		if (at >= spans[i].begin && at < spans[i].end)
			return &spans[i];
	return NULL;
}

/* A module that was loaded later. */
static const struct span *find_span(uintptr_t at)
{
	const struct span *s = span_of(at);

	if (s)
		return s;
	num_spans = 0;
	dl_iterate_phdr(add_spans, NULL);
	return span_of(at);
}

/* ---- sites ---- */

/* Fills the callers' places, those next to the hooks first. False: the site is none of those that
 * FAULTS_ONLY wants. */
static bool callers(uint64_t frame[TABLE_DEPTH])
{
	void *at[FRAMES];
	int n = backtrace(at, FRAMES), depth = 0;
	bool inside = false;

	for (int i = 0; i < n && depth < TABLE_DEPTH; i++) {
		const struct span *s = find_span((uintptr_t)at[i]);

		if (s && s->module == 0)
			continue;
		if (inside && !(s && s->only))
			break;
		inside = s && s->only;
		frame[depth++] = s ? (uint64_t)s->module << 48 | ((uintptr_t)at[i] - s->base) : 1;
	}
	return !only || inside;
}

static uint64_t key_of(const char *call, const uint64_t frame[TABLE_DEPTH])
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *call; call++)
		h = (h ^ (unsigned char)*call) * 0x100000001b3;
	for (int i = 0; i < TABLE_DEPTH; i++)
		for (int shift = 0; shift < 64; shift += 8)
			h = (h ^ (frame[i] >> shift & 255)) * 0x100000001b3;
	return h ? h : 1;
}

static int place_of(uint64_t key, const char *call, const uint64_t *frame)
{
	unsigned i = (unsigned)(key % TABLE_SITES);

	for (int tries = 0; tries < 64; tries++, i = (i + 1) % TABLE_SITES) {
		struct table_site *s = &table->site[i];
		uint64_t seen = 0;

		if (atomic_compare_exchange_strong(&s->key, &seen, key)) {
			memcpy(s->frame, frame, sizeof(s->frame));
			strncpy(s->call, call, sizeof(s->call) - 1);
			memcpy(s->process, process, sizeof(s->process));
			return (int)i;
		}
		if (seen == key)
			return (int)i;
	}
	table->full++;
	return -1;
}

/* A site that was seen before the parts began belongs to the first part that has it. */
static void count_call(struct table_site *s)
{
	if (!s->part)
		s->part = table->part;
	s->hits++;
}

bool site_fails(const char *call, int *ret_site)
{
	uint64_t frame[TABLE_DEPTH] = {0}, key;
	bool fails = false;
	int before = errno;

	*ret_site = -1;
	if (!table || busy)
		return false;
	busy = true;
	pthread_mutex_lock(&lock);
	if (callers(frame)) {
		key = key_of(call, frame);
		*ret_site = place_of(key, call, frame);
		if (*ret_site >= 0)
			count_call(&table->site[*ret_site]);
		fails = atomic_compare_exchange_strong(&table->armed, &key, 0);
		if (fails)
			table->fired++;
	}
	pthread_mutex_unlock(&lock);
	busy = false;
	errno = before;
	return fails;
}

void site_pause(bool on)
{
	busy = on;
}

/* ---- blocks ---- */

static struct block *find_block(void *p)
{
	uintptr_t h = (uintptr_t)p >> 4;

	h = (h ^ h >> 15) % BLOCKS;
	while (blocks[h].p && blocks[h].p != p)
		h = (h + 1) % BLOCKS;
	return &blocks[h];
}

/* Blocks after a hole move up to it. */
static void remove_block(struct block *b)
{
	size_t i = (size_t)(b - blocks);

	b->p = NULL;
	for (;;) {
		struct block moved;

		i = (i + 1) % BLOCKS;
		if (!blocks[i].p)
			return;
		moved = blocks[i];
		blocks[i].p = NULL;
		*find_block(moved.p) = moved;
	}
}

void site_allocated(int site, void *p, size_t bytes)
{
	struct block *b;

	if (site < 0 || !p || !counts)
		return;
	pthread_mutex_lock(&lock);
	b = find_block(p);
	*b = (struct block){p, bytes, site};
	table->site[site].live++;
	table->site[site].bytes += (int64_t)bytes;
	pthread_mutex_unlock(&lock);
}

void site_freed(void *p)
{
	struct block *b;

	if (!table || !p || busy)
		return;
	pthread_mutex_lock(&lock);
	b = find_block(p);
	if (b->p) {
		table->site[b->site].live--;
		table->site[b->site].bytes -= (int64_t)b->bytes;
		remove_block(b);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- begin ---- */

static void attach_table(const char *path)
{
	void *first[2], *p;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	backtrace(first, 2); /* loads the unwinder */
	blocks = mmap(NULL, BLOCKS * sizeof(*blocks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	p = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || p == MAP_FAILED || blocks == MAP_FAILED)
		abort();
	close(fd);
	table = p;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAULTS_TABLE");
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, process, sizeof(process) - 1);

	close(fd);
	process[n > 0 ? n - 1 : 0] = '\0';
	only = getenv("FAULTS_ONLY");
	counts = !getenv("FAULTS_BLOCKS");
	busy = true;
	if (path)
		attach_table(path);
	busy = false;
}
