/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ddpcp/ddpcp_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "tools/ddpcp/ddpcp_proto.h"

static const char *component_fault(const char *c, size_t len)
{
	if (len == 0)
		return "the name has an empty component";
	if (len > NAME_MAX)
		return "the name has a component that is too long";
	if (c[0] == '.' && (len == 1 || (len == 2 && c[1] == '.')))
		return "the name has a component . or ..";
	if (len >= strlen(DDPCP_NAME_TEMP) && !memcmp(c, DDPCP_NAME_TEMP, strlen(DDPCP_NAME_TEMP)))
		return "names that begin with .ddpcp- are reserved for temporary files";
	return NULL;
}

const char *ddpcp_name_fault(const char *name)
{
	const char *fault = NULL;

	if (!*name)
		return "the name is empty";
	if (*name == '/')
		return "the name is absolute: names are below the folder that is served";
	if (strnlen(name, DDPCP_NAME_MAX + 1) > DDPCP_NAME_MAX)
		return "the name is too long";
	for (const char *c = name; c && !fault;) {
		const char *end = strchrnul(c, '/');

		fault = component_fault(c, (size_t)(end - c));
		c = *end ? end + 1 : NULL;
	}
	return fault;
}

static unsigned count_slashes(const char *name)
{
	unsigned n = 0;

	for (; *name; name++)
		n += *name == '/';
	return n;
}

const char *ddpcp_name_link_fault(const char *name, const char *target)
{
	unsigned up = count_slashes(name);

	if (!*target || *target == '/')
		return "the link leads out of the folder: its target is absolute";
	while (!strncmp(target, "../", 3) || !strcmp(target, "..")) {
		if (up-- == 0)
			return "the link leads out of the folder";
		target += target[2] ? 3 : 2;
	}
	for (const char *c = target; c; c = strchr(c, '/')) {
		c += *c == '/';
		if (!strncmp(c, "..", 2) && (c[2] == '/' || !c[2]))
			return "the link may lead out of the folder: '..' is not at its beginning";
	}
	return NULL;
}

/* The directory of one component, without following a link. Closes dir. */
static int open_component(int dir, const char *c, size_t len)
{
	char part[NAME_MAX + 1];
	int next;

	memcpy(part, c, len);
	part[len] = '\0';
	next = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		next = -errno;
	close(dir);
	return next;
}

int ddpcp_name_open_dir(int root, const char *name, int *ret_dir, const char **ret_base)
{
	const char *slash;
	int dir;

	if (ddpcp_name_fault(name))
		return -EINVAL;
	dir = fcntl(root, F_DUPFD_CLOEXEC, 0);
	if (dir < 0)
		return -errno;
	while ((slash = strchr(name, '/'))) {
		dir = open_component(dir, name, (size_t)(slash - name));
		if (dir < 0)
			return dir;
		name = slash + 1;
	}
	*ret_dir = dir;
	*ret_base = name;
	return 0;
}

int ddpcp_name_split(const char *arg, char *ret_host, size_t size, const char **ret_name)
{
	const char *host = arg, *colon = strchr(arg, ':');
	size_t len;

	if (*arg == '[') {
		host = arg + 1;
		colon = strchr(arg, ']');
		if (!colon || colon[1] != ':')
			return -EINVAL;
	}
	if (!colon)
		return -EINVAL;
	len = (size_t)(colon - host);
	if (len == 0 || len >= size)
		return -EINVAL;
	memcpy(ret_host, host, len);
	ret_host[len] = '\0';
	*ret_name = *arg == '[' ? colon + 2 : colon + 1;
	return 0;
}

const char *ddpcp_name_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
