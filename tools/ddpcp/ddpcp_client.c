/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/clock.h"
#include "tools/common/message.h"
#include "tools/common/tool.h"
#include "tools/ddpcp/ddpcp.h"
#include "tools/ddpcp/ddpcp_batch.h"
#include "tools/ddpcp/ddpcp_file.h"
#include "tools/ddpcp/ddpcp_flight.h"
#include "tools/ddpcp/ddpcp_name.h"
#include "tools/ddpcp/ddpcp_offer.h"
#include "tools/ddpcp/ddpcp_source.h"
#include "tools/ddpcp/ddpcp_tally.h"

enum {
	PAUSE_MS = 200, /* before the first attempt to get a lost session back; doubled up to ... */
	LONGEST_PAUSE_MS = 2000,
	LOST_MAX = 100, /* sessions of one copy */
};

struct client {
	const struct ddpcp_opts *o;
	const char *verb;
	const char *shown; /* the source that is being copied, as the user wrote it */
	FILE *out;         /* for summaries */
	char host[512];    /* or several addresses of it */
	char name[PATH_MAX];
	uint16_t level; /* to announce */
	bool connected;
	bool reached; /* the server has answered once */
	struct session s;
	struct ddpcp_link link;
	struct ddpcp_progress progress;
	struct ddpcp_source source; /* put */
	struct ddpcp_batch batch;   /* get */
	struct ddpcp_tally tally;
	uint64_t began;         /* the whole copy */
	struct ddpcp_xfer last; /* a file that was copied, and its name */
	char last_name[PATH_MAX];
	bool failed;
	bool once; /* a pipe cannot be copied again */
	bool lost; /* the session ended, for no reason of the copy */
	bool came; /* this attempt had a session */
	uint64_t lost_at;
	int pause_ms;
	unsigned losses;
};

/* Clears the progress line first; the next step redraws it. */
static void note_path(const char *sentence)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	session_note_path(sentence);
}

/* Unless there is a session from an earlier file. */
static int ensure_session(struct client *c)
{
	uint8_t hello[DDPCP_HELLO_LEN];
	const uint16_t level = c->level;
	const struct session_target target = {
		.host = c->host,
		.port = c->o->port,
		.bind = c->o->bind,
		.on_path = c->o->quiet ? NULL : note_path,
		.hello = hello,
		.hello_len = sizeof(hello),
		.server = "ddpcp serve --root DIR",
	};
	int r;

	if (c->connected)
		return 0;
	r = session_open(&c->s, c->o->socket);
	c->connected = true;
	ddpcp_hello_put(hello, level);
	if (r == 0)
		r = session_make_qp(&c->s, &ddpcp_link_need);
	if (r == 0)
		r = ddpcp_link_init(&c->link, &c->s);
	if (r == 0)
		r = session_connect(&c->s, &target);
	if (r == 0 && level)
		c->link.level = ddpcp_hello_level(c->s.reply, c->s.reply_len);
	c->came |= r == 0;
	c->reached |= r == 0;
	return r;
}

static void disconnect(struct client *c)
{
	if (c->connected)
		session_close(&c->s);
	c->connected = false;
}

static unsigned flags_of(const struct ddpcp_opts *o)
{
	bool tree = o->tree || o->archive, preserve = o->preserve || o->archive;

	return (tree ? DDPCP_TREE : 0u) | (preserve ? DDPCP_PRESERVE : 0u) |
	       (o->archive ? DDPCP_LINKS : 0u) |
	       (preserve && !o->ignore_times ? DDPCP_COMPARE : 0u) |
	       (o->no_sync ? DDPCP_NO_SYNC : 0u);
}

static void say_copied(struct client *c, const char *name, const struct ddpcp_xfer *x)
{
	double seconds = (double)(clock_now_ns() - c->began) / 1e9;
	char sum[2 * DDPCP_SHA_LEN + 1], clean[PATH_MAX], part[64] = "";

	for (int i = 0; i < DDPCP_SHA_LEN; i++)
		snprintf(sum + (ptrdiff_t)2 * i, 3, "%02x", x->sha256[i]);
	if (x->from)
		snprintf(part, sizeof(part), " (%llu already copied)", (unsigned long long)x->from);
	message_sanitize(clean, sizeof(clean), name, strlen(name));
	fprintf(c->out, "%s %s: %llu bytes%s in %.3f s, %.1f MB/s, SHA-256 %s\n", c->verb, clean,
		(unsigned long long)x->size, part, seconds,
		(double)(x->size - x->from) / seconds / 1e6, sum);
}

/* At the end: of one file all is said, of several how many there were. */
static void say_all(struct client *c)
{
	const struct ddpcp_tally *t = &c->tally;
	char line[DDPCP_TALLY_MAX];

	ddpcp_progress_end(&c->progress);
	if (c->o->quiet || c->o->verbose || t->files + t->unchanged + t->links == 0)
		return;
	if (t->files == 1 && t->unchanged + t->links == 0 && !(flags_of(c->o) & DDPCP_TREE)) {
		say_copied(c, c->last_name, &c->last);
		return;
	}
	ddpcp_tally_line(line, t, (double)(clock_now_ns() - c->began) / 1e9);
	fprintf(c->out, "%s: %s\n", c->verb, line);
}

static void note_copied(struct client *c, const char *name, const struct ddpcp_xfer *x)
{
	c->tally.files++;
	c->tally.bytes += x->size - x->from;
	c->last = *x;
	snprintf(c->last_name, sizeof(c->last_name), "%s", name);
	if (c->o->verbose)
		say_copied(c, name, x);
	else
		ddpcp_progress_tree(&c->progress, name, c->tally.files, c->tally.bytes, c->began);
}

/* A file ended so. */
static int report_file(void *arg, const char *name, enum ddpcp_status status, const char *reason,
		       const struct ddpcp_xfer *x)
{
	struct client *c = arg;

	if (name && (!*name || !strcmp(name, c->name)))
		name = c->shown;
	c->failed |= status == DDPCP_FAILED || status == DDPCP_SKIPPED;
	if (status == DDPCP_FAILED || status == DDPCP_SKIPPED)
		ddpcp_progress_end(&c->progress);
	if (status == DDPCP_FAILED) {
		c->tally.failed++;
		if (*reason)
			message_error("%s%s%s: %s", c->verb, name ? " " : "", name ? name : "",
				      reason);
	} else if (status == DDPCP_SKIPPED) {
		c->tally.skipped++;
		message_note("%s %s: %s", c->verb, name, reason);
	} else if (status == DDPCP_UNCHANGED) {
		c->tally.unchanged++;
	} else if (x) {
		note_copied(c, name, x);
	} else {
		c->tally.links++;
	}
	return 0;
}

/* Whether a daemon, the server or the network has ended the session; or nothing answers since then.
 */
static bool is_lost(const struct client *c, int r)
{
	if (!c->reached || r == -EREMOTEIO || r == -EPROTO || r == -EINTR)
		return false;
	return r == -EPIPE || c->link.over || !atomic_load(&c->s.up);
}

/* Whether to copy again, after a pause. Parts of files are used by then, and with -p or -a files
 * that are there already. */
static bool try_again(struct client *c)
{
	uint64_t now = clock_now_ns();

	if (!c->lost || c->once || tool_stopped())
		return false;
	if (c->came) {
		c->lost_at = now;
		c->pause_ms = PAUSE_MS;
		c->losses++;
	}
	if (now - c->lost_at >= c->o->retry * UINT64_C(1000000000) || c->losses > LOST_MAX)
		return false;
	message_note("%s: the session was lost: trying again", c->verb);
	poll(NULL, 0, c->pause_ms);
	c->pause_ms = c->pause_ms * 2 < LONGEST_PAUSE_MS ? c->pause_ms * 2 : LONGEST_PAUSE_MS;
	c->failed = c->lost = c->came = false;
	c->tally = (struct ddpcp_tally){0};
	return true;
}

/* Ends a source after a failure of its session; the next one makes a new session. */
static void end_source(struct client *c, int r)
{
	unsigned open = ddpcp_flight_open(c->source.flight);

	if (r >= 0)
		return;
	c->failed = true;
	c->lost |= is_lost(c, r);
	if (open > 1) /* of one, the reason was printed */
		message_error("%s: %s%s%u files were not confirmed", c->verb, c->link.reason,
			      *c->link.reason ? "; " : "", open);
	ddpcp_source_free(&c->source);
	if (!c->link.peer_knows && atomic_load(&c->s.up) && r != -EINTR &&
	    ddpcp_link_send_result(&c->link) == 0)
		ddpcp_link_flush(&c->link);
	disconnect(c);
}

/* ---- put ---- */

/* The name there: in a directory, or of a single source. An exit status. */
static int name_there(struct client *c, const char *remote, const char *name, const char *file,
		      bool several)
{
	size_t len = strlen(name), end = strlen(file);
	bool into = several || !len || name[len - 1] == '/';
	const char *fault;

	while (end > 1 && file[end - 1] == '/')
		end--;
	if (into) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%.*s", (int)end, file);
		snprintf(c->name, sizeof(c->name), "%s%s%s", name,
			 len && name[len - 1] != '/' ? "/" : "", ddpcp_name_base(path));
	} else {
		snprintf(c->name, sizeof(c->name), "%s", name);
	}
	fault = ddpcp_name_fault(c->name);
	return fault ? message_usage("'%s': %s", *name ? remote : file, fault) : TOOL_OK;
}

/* Before a session is made for it. */
static bool is_there(struct client *c)
{
	struct ddpcp_meta meta;
	struct stat st;
	int fd, r;

	if (stat(c->shown, &st) == 0 && S_ISDIR(st.st_mode) && flags_of(c->o) & DDPCP_TREE)
		return true;
	r = ddpcp_file_open(AT_FDCWD, c->shown, 1, &fd, &meta);
	if (r < 0) {
		report_file(c, "", DDPCP_FAILED,
			    r == -EISDIR ? "is a directory: -r copies it" : ddpcp_file_fault(r),
			    NULL);
		return false;
	}
	close(fd);
	return true;
}

static int put_one(struct client *c, bool from_stdin)
{
	int r;

	if (!from_stdin && !is_there(c))
		return 0;
	r = ensure_session(c);
	if (r == 0)
		r = from_stdin ? ddpcp_source_stream(&c->source, STDIN_FILENO, c->name)
			       : ddpcp_source_send(&c->source, AT_FDCWD, c->shown, c->name);
	end_source(c, r);
	return r;
}

/* All files over one session. An exit status. */
static int put_all(struct client *c, unsigned n, char **files, const char *remote, const char *name)
{
	int status = TOOL_OK;

	for (unsigned i = 0; i < n && status == TOOL_OK && !tool_stopped(); i++) {
		bool from_stdin = !strcmp(files[i], "-");

		if (from_stdin && (n > 1 || !*name))
			return message_usage("standard input needs a remote name: put - HOST:NAME");
		c->once |= from_stdin;
		status = name_there(c, remote, name, files[i], n > 1);
		c->shown = files[i];
		if (status == TOOL_OK && put_one(c, from_stdin) < 0 && (!c->reached || c->lost))
			break; /* the other files would fail, too */
	}
	if (c->connected)
		end_source(c, ddpcp_source_end(&c->source));
	return status;
}

int ddpcp_put(const struct ddpcp_opts *o, unsigned n, char **files, const char *remote)
{
	struct client c = {
		.o = o,
		.verb = "put",
		.out = stdout,
		.progress.quiet = o->quiet,
		.level = DDPCP_LEVEL,
		.began = clock_now_ns(),
		.source = {.flags = flags_of(o), .follow = true, .notify = report_file},
	};
	const char *name;
	int status;

	c.source.link = &c.link;
	c.source.progress = &c.progress;
	c.source.arg = &c;
	if (ddpcp_name_split(remote, c.host, sizeof(c.host), &name) < 0)
		return message_usage("'%s' is not HOST:NAME", remote);
	do
		status = put_all(&c, n, files, remote, name);
	while (status == TOOL_OK && try_again(&c));
	ddpcp_source_free(&c.source);
	disconnect(&c);
	say_all(&c);
	return status != TOOL_OK ? status : c.failed ? TOOL_FAILED : TOOL_OK;
}

/* ---- get ---- */

/* Opens the directory in which a file is made, and finds its name there. path may be a
 * directory. */
static int open_target(const char *path, const char *name, bool tree, int *ret_dir,
		       const char **ret_base)
{
	const char *base = ddpcp_name_base(path);
	char dir[PATH_MAX];
	struct stat st;
	bool exists = stat(path, &st) == 0;
	int fd;

	if (!*base || (exists && S_ISDIR(st.st_mode))) {
		snprintf(dir, sizeof(dir), "%s", path);
		base = ddpcp_name_base(name);
	} else if (exists && (tree || !S_ISREG(st.st_mode))) {
		return tree ? -ENOTDIR : -EINVAL; /* also at the end of a link */
	} else if (base == path) {
		strcpy(dir, ".");
	} else {
		snprintf(dir, sizeof(dir), "%.*s", (int)(base - path), path);
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_dir = fd;
	*ret_base = base;
	return 0;
}

static bool is_flush(const struct ddpcp_rec *rec)
{
	return rec->kind == DDPCP_OFFER && rec->type == DDPCP_FLUSH;
}

/* The server says why an entry does not arrive. */
static void report_absent(struct client *c, const struct ddpcp_rec *rec)
{
	char clean[DDPCP_TEXT_MAX + 1];

	message_sanitize(clean, sizeof(clean), rec->target, strlen(rec->target));
	report_file(c, rec->name, rec->flags == DDPCP_SKIPPED ? DDPCP_SKIPPED : DDPCP_FAILED, clean,
		    NULL);
}

static void report_taken(struct client *c, const struct ddpcp_rec *rec, const struct ddpcp_xfer *x)
{
	if (rec->kind == DDPCP_PUT || rec->kind == DDPCP_DATA)
		report_file(c, rec->name, DDPCP_OK, "", x);
	else if (rec->kind != DDPCP_OFFER)
		return;
	else if (rec->type == DDPCP_ABSENT)
		report_absent(c, rec);
	else if (rec->type == DDPCP_SYMLINK || rec->type == DDPCP_HARDLINK)
		report_file(c, rec->name, DDPCP_OK, "", NULL);
	else if (x->unchanged)
		report_file(c, rec->name, DDPCP_UNCHANGED, "", NULL);
}

/* Whether the record brings something that was asked for: without -r that is one file. */
static bool brings_entry(const struct ddpcp_rec *rec)
{
	return rec->kind == DDPCP_PUT || rec->kind == DDPCP_DIR || rec->kind == DDPCP_DATA ||
	       (rec->kind == DDPCP_OFFER &&
		(rec->type == DDPCP_FOLDER || rec->type == DDPCP_SYMLINK ||
		 rec->type == DDPCP_HARDLINK));
}

/* Handles the next record of the server, until END. */
static int take_record(struct client *c, struct ddpcp_sink *sink, const struct ddpcp_rec *rec)
{
	struct ddpcp_xfer x;
	char reason[DDPCP_TEXT_MAX + 1];
	int r;

	if (rec->kind == DDPCP_RESULT)
		return report_file(c, "", DDPCP_SKIPPED, rec->text, NULL);
	r = ddpcp_offer_take(sink, rec, &x);
	strcpy(reason, c->link.reason);
	if (r < 0)
		report_file(c, is_flush(rec) ? NULL : rec->name, DDPCP_FAILED, reason, NULL);
	else
		report_taken(c, rec, &x);
	if (r < 0 && (c->link.midway || c->link.over || r == -EINTR))
		return r;
	ddpcp_link_next(&c->link);
	return 0;
}

/* A copy without files is a failure. The server has sent the reason, unless it sent only END. */
static int at_end(struct client *c, uint64_t files, bool answered)
{
	if (!files)
		c->failed = true;
	if (!answered)
		report_file(c, "", DDPCP_FAILED, "the server sent no file", NULL);
	return 0;
}

static int get_files(struct client *c, struct ddpcp_sink *sink)
{
	const unsigned kinds = DDPCP_LINK_KIND(DDPCP_PUT) | DDPCP_LINK_KIND(DDPCP_DIR) |
			       DDPCP_LINK_KIND(DDPCP_RESULT) | DDPCP_LINK_KIND(DDPCP_END) |
			       (c->link.level ? DDPCP_LINK_KIND(DDPCP_OFFER) : 0) |
			       (c->link.level ? DDPCP_LINK_KIND(DDPCP_DATA) : 0);
	struct ddpcp_rec rec = {
		.kind = DDPCP_GET,
		.flags = c->link.level ? sink->flags : sink->flags & DDPCP_FLAGS,
	};
	unsigned files = 0;
	bool answered = false;
	int r;

	strcpy(rec.name, c->name);
	r = ddpcp_link_send(&c->link, &rec);
	while (r == 0 || r == -EREMOTEIO) {
		r = ddpcp_link_recv(&c->link, kinds, DDPCP_WAIT_MS, &rec);
		if (r == 0 && rec.kind == DDPCP_END)
			return at_end(c, files + c->tally.unchanged, answered);
		answered = true;
		if (r == 0 && brings_entry(&rec) && files++ && !(sink->flags & DDPCP_TREE))
			r = ddpcp_link_fail(&c->link, -EPROTO,
					    "the peer sent a file that was not requested");
		if (r == 0)
			r = take_record(c, sink, &rec);
		else
			report_file(c, "", DDPCP_FAILED, c->link.reason, NULL);
		if (r == -EREMOTEIO && !c->link.midway)
			ddpcp_link_next(&c->link);
	}
	return r;
}

/* Splits HOST:NAME; another host than before needs another session. An exit status. */
static int set_remote(struct client *c, const char *remote)
{
	char host[sizeof(c->host)];
	const char *name, *fault;

	if (ddpcp_name_split(remote, host, sizeof(host), &name) < 0)
		return message_usage("'%s' is not HOST:NAME", remote);
	fault = ddpcp_name_fault(name);
	if (fault)
		return message_usage("'%s': %s", remote, fault);
	if (strcmp(host, c->host) != 0)
		disconnect(c);
	strcpy(c->host, host);
	snprintf(c->name, sizeof(c->name), "%s", name);
	return TOOL_OK;
}

static int get_one(struct client *c, const char *file, uint32_t mask)
{
	struct ddpcp_sink sink = {
		.link = &c->link,
		.progress = &c->progress,
		.dir = -1,
		.mask = mask,
		.flags = flags_of(c->o),
		.to_stdout = !strcmp(file, "-"),
		.base = ddpcp_name_base(c->name),
		.batch = &c->batch,
	};
	int r = sink.to_stdout ? 0
			       : open_target(file, c->name, sink.flags & DDPCP_TREE, &sink.dir,
					     &sink.base);

	if (r < 0) {
		message_error("%s: %s", file, ddpcp_file_fault(r));
		c->failed = true;
		return 0;
	}
	r = ddpcp_batch_init(&c->batch, sink.dir);
	if (r < 0)
		message_fail("start", r, NULL);
	if (r == 0)
		r = ensure_session(c);
	if (r == 0)
		r = get_files(c, &sink);
	ddpcp_batch_free(&c->batch);
	end_source(c, r);
	if (sink.dir >= 0)
		close(sink.dir);
	return r;
}

/* All files, over one session for each host. An exit status. */
static int get_all(struct client *c, unsigned n, char **remotes, const char *file, uint32_t mask)
{
	int status = TOOL_OK;

	for (unsigned i = 0; i < n && status == TOOL_OK && !tool_stopped(); i++) {
		status = set_remote(c, remotes[i]);
		c->shown = remotes[i];
		if (status == TOOL_OK && get_one(c, file, mask) < 0 && (!c->reached || c->lost))
			break;
	}
	return status;
}

int ddpcp_get(const struct ddpcp_opts *o, unsigned n, char **remotes, const char *file)
{
	bool to_stdout = !strcmp(file, "-");
	struct client c = {
		.o = o,
		.verb = "get",
		.out = to_stdout ? stderr : stdout,
		.once = to_stdout,
		.level = to_stdout ? 0 : DDPCP_LEVEL, /* a pipe takes no data out of order */
		.began = clock_now_ns(),
	};
	uint32_t mask = umask(0);
	int status;
	struct stat st;

	umask(mask);
	c.progress.quiet = o->quiet;
	if (to_stdout && (n > 1 || o->tree || o->archive))
		return message_usage("only one file can be copied to standard output");
	if (n > 1 && (stat(file, &st) < 0 || !S_ISDIR(st.st_mode)))
		return message_usage("'%s' is not a directory: several files need one", file);
	do
		status = get_all(&c, n, remotes, file, mask);
	while (status == TOOL_OK && try_again(&c));
	disconnect(&c);
	say_all(&c);
	return status != TOOL_OK ? status : c.failed ? TOOL_FAILED : TOOL_OK;
}
