/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/service/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/base/descriptors.h"
#include "daemon/base/event_loop.h"
#include "daemon/base/log.h"
#include "daemon/base/sdnotify.h"
#include "daemon/base/state.h"
#include "daemon/service/attach.h"
#include "ipc/conn.h"

enum {
	BACKLOG = 64,
	ACCEPTS_PER_WAKE = 16,
	PAUSE_MS = 1000, /* without descriptors: do not ask again before */
};

struct server {
	struct daemon *daemon;
	int fd;
	bool passed; /* by systemd: it is not ours to remove */
	struct event_loop_watch *watch;
	int spare;           /* closed to tell a program that the descriptors are used up; or -1 */
	struct timer resume; /* set during a pause for want of descriptors */
};

static int fail(const struct daemon *d, const char *what)
{
	log_err("socket %s: %s: %s", d->cfg.socket.path, what, strerror(errno));
	return -1;
}

/* A socket file without a listener is left over from a daemon that was killed: it is replaced. */
static int check_old(const struct daemon *d)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct stat st;
	int fd, r;

	memcpy(sun.sun_path, d->cfg.socket.path, sizeof(sun.sun_path));
	if (lstat(sun.sun_path, &st) < 0)
		return errno == ENOENT ? 0 : fail(d, "cannot be examined");
	if (!S_ISSOCK(st.st_mode)) {
		log_err("socket %s: a file of that name exists and is not a socket", sun.sun_path);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail(d, "cannot create a socket");
	r = connect(fd, (const struct sockaddr *)&sun, sizeof(sun));
	close(fd);
	if (r == 0)
		log_err("socket %s: another daemon listens there", sun.sun_path);
	return r == 0 ? -1 : 0;
}

static int set_group(const struct daemon *d, const char *file, gid_t gid)
{
	return lchown(file, (uid_t)-1, gid) < 0 ? fail(d, "cannot set its group") : 0;
}

static int set_mode(const struct daemon *d, const char *file)
{
	return chmod(file, d->cfg.socket.mode) < 0 ? fail(d, "cannot set its mode") : 0;
}

int server_set_access(struct server *s)
{
	const struct daemon *d = s->daemon;
	gid_t gid = d->cfg.socket.gid;

	if (s->passed) {
		log_info("socket %s: the service manager sets mode and group", d->cfg.socket.path);
		return 0;
	}
	if (set_group(d, d->cfg.socket.path, gid == (gid_t)-1 ? getegid() : gid))
		return -1;
	return set_mode(d, d->cfg.socket.path);
}

/* The working directory becomes that of the socket. Returns a descriptor of the one before, or -1.
 */
static int enter_folder(const struct daemon *d)
{
	const char *path = d->cfg.socket.path, *slash = strrchr(path, '/');
	char folder[sizeof(d->cfg.socket.path)];
	int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (before < 0)
		return fail(d, "no working directory");
	snprintf(folder, sizeof(folder), "%.*s", slash > path ? (int)(slash - path) : 1, path);
	if (chdir(folder) == 0)
		return before;
	if (errno == ENOENT)
		log_err("socket %s: the folder %s does not exist: make it, or set socket.path",
			path, folder);
	else
		(void)fail(d, "cannot enter its folder");
	close(before);
	return -1;
}

static int leave_folder(const struct daemon *d, int before)
{
	int r = fchdir(before) < 0 ? fail(d, "cannot leave its folder") : 0;

	close(before);
	return r;
}

/* Lets programs find the socket that was bound to this name: with mode, group and a listener. */
static int show_socket(struct server *s, const char *name)
{
	const struct daemon *d = s->daemon;

	if (d->cfg.socket.gid != (gid_t)-1 && set_group(d, name, d->cfg.socket.gid))
		return -1;
	if (set_mode(d, name))
		return -1;
	if (listen(s->fd, BACKLOG) < 0)
		return fail(d, "cannot listen");
	return rename(name, d->cfg.socket.path) < 0 ? fail(d, "cannot have its name") : 0;
}

static int bind_here(struct server *s)
{
	const struct daemon *d = s->daemon;
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int r;

	snprintf(sun.sun_path, sizeof(sun.sun_path), ".ddpsctpd.%d", (int)getpid());
	unlink(sun.sun_path); /* of a process with this number that was killed */
	if (bind(s->fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
		return fail(d, "cannot bind");
	r = show_socket(s, sun.sun_path);
	if (r)
		unlink(sun.sun_path);
	return r;
}

/* Binds to another name in the folder first: relative, for an address may have no room for a longer
 * path. */
static int bind_socket(struct server *s)
{
	const struct daemon *d = s->daemon;
	int r, before;

	if (check_old(d))
		return -1;
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return fail(d, "cannot create a socket");
	before = enter_folder(d);
	if (before < 0)
		return -1;
	r = bind_here(s);
	return leave_folder(d, before) ? -1 : r;
}

static int any_descriptor(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* The program does not become a client. It gets the reason at once instead of a timeout later. */
static void send_reason(int fd, int err)
{
	struct msg_error e = {.hdr = {.op = MSG_ERROR}, .err = err, .fatal = 1};

	descriptors_words(err, e.reason, sizeof(e.reason));
	conn_try_send(fd, &e, sizeof(e), NULL, 0); /* fails if the program is gone already */
	close(fd);
}

/* Turns the next program away with the descriptor that is kept for this. False: it is not there. */
static bool turn_away(struct server *s, int err)
{
	int fd;

	if (s->spare < 0 || !descriptors_lack(err))
		return false;
	close(s->spare);
	fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		send_reason(fd, err);
	s->spare = any_descriptor();
	return fd >= 0;
}

/* Accept failed for want of resources. False: accepting has to pause. */
static bool out_of(struct server *s, int err)
{
	struct worker *w = &s->daemon->worker;
	char words[MSG_REASON_MAX];

	descriptors_words(err, words, sizeof(words));
	log_limited(&w->socket_log, w->now_ms, LOG_LEVEL_WARN, "socket %s: accept: %s",
		    s->daemon->cfg.socket.path, words);
	if (turn_away(s, err))
		return true;
	if (s->spare < 0)
		s->spare = any_descriptor();
	event_loop_watch_set(s->watch, 0);
	timer_set(&w->timers, &s->resume, w->now_ms + PAUSE_MS);
	return false;
}

static void incoming(void *user, unsigned what)
{
	struct server *s = user;

	(void)what;
	for (int i = 0; i < ACCEPTS_PER_WAKE; i++) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			attach_client(&s->daemon->worker, fd);
		} else if (descriptors_lack(errno) || errno == ENOMEM) {
			if (!out_of(s, errno))
				return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return;
		}
	}
}

static void resume(struct timer *t)
{
	struct server *s = list_entry(t, struct server, resume);

	if (!s->daemon->stopping)
		event_loop_watch_set(s->watch, EVENT_LOOP_READ);
}

/* The path of the configuration is not that of a socket which others made. */
static void note_path(struct server *s)
{
	struct config_socket *cfg = &s->daemon->cfg.socket;
	struct sockaddr_un sun = {0};
	socklen_t len = sizeof(sun);

	if (getsockname(s->fd, (struct sockaddr *)&sun, &len) < 0 || sun.sun_path[0] != '/' ||
	    strncmp(sun.sun_path, cfg->path, sizeof(sun.sun_path)) == 0)
		return;
	log_warn("socket %s: not created: the service manager listens at %.*s", cfg->path,
		 (int)sizeof(sun.sun_path), sun.sun_path);
	snprintf(cfg->path, sizeof(cfg->path), "%.*s", (int)sizeof(cfg->path) - 1, sun.sun_path);
}

/* The socket that the service manager holds for us, or one of our own. */
static int take_socket(struct server *s)
{
	int r = sdnotify_socket(&s->daemon->passed, &s->fd);

	s->passed = r == SDNOTIFY_E_OK;
	if (r == SDNOTIFY_E_NONE)
		return bind_socket(s);
	if (s->passed)
		note_path(s);
	else
		log_err("the service manager passed something other than one listening UNIX socket "
			"of type SOCK_SEQPACKET");
	return r;
}

int server_open(struct daemon *d, struct server **ret)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s) {
		log_err("socket %s: out of memory", d->cfg.socket.path);
		return -1;
	}
	s->daemon = d;
	s->fd = s->spare = -1;
	timer_init(&s->resume, resume);
	if (take_socket(s)) {
		if (s->fd >= 0)
			close(s->fd);
		free(s);
		return -1;
	}
	if (event_loop_watch(d->worker.loop, s->fd, EVENT_LOOP_READ, incoming, s, &s->watch)) {
		log_err("socket %s: cannot be watched", d->cfg.socket.path);
		server_close(s);
		return -1;
	}
	s->spare = any_descriptor();
	*ret = s;
	return 0;
}

/* Without this the service manager would start the daemon for the same clients again at once. */
void server_refuse_pending(void)
{
	struct sdnotify_fds passed;
	int fd, client;

	sdnotify_fds(&passed);
	if (sdnotify_socket(&passed, &fd))
		return;
	for (int i = 0; i < SOMAXCONN; i++) {
		client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0)
			break;
		close(client);
	}
	close(fd);
}

void server_stop(struct server *s)
{
	event_loop_watch_set(s->watch, 0);
}

struct server *server_close(struct server *s)
{
	if (!s)
		return NULL;
	timer_cancel(&s->daemon->worker.timers, &s->resume);
	event_loop_unwatch(s->watch);
	/* In this order: as soon as no daemon listens, another one may create its socket there. */
	if (!s->passed)
		unlink(s->daemon->cfg.socket.path);
	close(s->fd);
	if (s->spare >= 0)
		close(s->spare);
	free(s);
	return NULL;
}
