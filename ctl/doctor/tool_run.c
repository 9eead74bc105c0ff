/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/doctor/tool_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start(const char *folder, char *const argv[], int out, pid_t *ret)
{
	posix_spawn_file_actions_t fa;
	char path[PATH_MAX];
	int r = posix_spawn_file_actions_init(&fa);

	if (r)
		return -r;
	r = posix_spawn_file_actions_adddup2(&fa, out, STDOUT_FILENO);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&fa, out, STDERR_FILENO);
	if (!r)
		r = posix_spawnp(ret, argv[0], &fa, NULL, argv, environ);
	if (r == ENOENT && snprintf(path, sizeof(path), "%s/%s", folder, argv[0]) < PATH_MAX)
		r = posix_spawn(ret, path, &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	return -r;
}

/* Reads to the end, so that the program never waits for a reader. */
static void read_all(int fd, char *ret, size_t len)
{
	char more[512];
	size_t have = 0;
	ssize_t n;

	do {
		n = have < len - 1 ? read(fd, ret + have, len - 1 - have)
				   : read(fd, more, sizeof(more));
		if (n > 0 && have < len - 1)
			have += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	ret[have] = '\0';
}

static int wait_for_end(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int tool_run(const char *folder, char *const argv[], char *ret, size_t len)
{
	int fds[2], r;
	pid_t pid;

	*ret = '\0';
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	r = start(folder, argv, fds[1], &pid);
	close(fds[1]);
	if (r == 0) {
		read_all(fds[0], ret, len);
		r = wait_for_end(pid);
	}
	close(fds[0]);
	return r;
}
