/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/private.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/base/event_loop.h"
#include "daemon/base/log.h"
#include "util/addr.h"

/* ---- the folder ---- */

static bool may_hold(const char *folder)
{
	return folder && *folder == '/' && strlen(folder) < 48 && access(folder, W_OK | X_OK) == 0;
}

int private_make_folder(struct private_folder *ret)
{
	const char *in = getenv("XDG_RUNTIME_DIR");

	if (!may_hold(in))
		in = getenv("TMPDIR");
	if (!may_hold(in))
		in = "/tmp";
	snprintf(ret->path, sizeof(ret->path), "%s/ddpsctpd.XXXXXX", in);
	if (mkdtemp(ret->path))
		return 0;
	log_err("--private: no folder for the socket in %s: %s", in, strerror(errno));
	ret->path[0] = '\0';
	return -1;
}

static int remove_inside(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	(void)remove(path);
	return 0;
}

void private_remove_folder(const struct private_folder *f)
{
	if (f->path[0])
		nftw(f->path, remove_inside, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- the configuration ---- */

void private_configure(struct config *cfg, uint16_t join)
{
	memset(cfg->listen, 0, sizeof(cfg->listen));
	strcpy(cfg->listen[0], "127.0.0.1");
	cfg->nlisten = 1;
	cfg->transport = CONFIG_TRANSPORT_USER;
	cfg->user.udp_port = join;
	cfg->socket.mode = 0600;
	if (geteuid() != 0 && cfg->nadmin < CONFIG_MAX_ADMINS)
		principal_of_uid(geteuid(), &cfg->admin[cfg->nadmin++]);
	cfg->private = true;
}

void private_keep(const struct daemon *d, struct config *cfg)
{
	memcpy(cfg->listen, d->said.listen, sizeof(cfg->listen));
	cfg->user.udp_port = d->said.user.udp_port;
}

/* ---- its line ---- */

/* Those for whom it was started are gone: no session is worth waiting for. */
static void end_now(void *user, unsigned what)
{
	struct daemon *d = user;

	(void)what;
	log_info("--private: the pipe of standard output was closed");
	event_loop_stop(d->worker.loop);
}

static bool is_pipe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

int private_announce(struct daemon *d, struct event_loop_watch **ret)
{
	char text[ADDR_TEXT_MAX];

	addr_host_text(&d->worker.own.a[0], text);
	printf("DDP_SOCKET=%s DDP_ADDRESS=%s DDP_PORT=%u\n", d->cfg.socket.path, text, d->udp_port);
	fflush(stdout);
	if (!is_pipe(STDOUT_FILENO))
		return 0;
	return event_loop_watch(d->worker.loop, STDOUT_FILENO, EVENT_LOOP_READ, end_now, d, ret);
}
