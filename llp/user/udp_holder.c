/* SPDX-License-Identifier: BSD-2-Clause */
#include "llp/user/udp_holder.h"

#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct holder {
	unsigned uid;
	unsigned long inode;
};

/* ---- the socket: proc_pid_net(5) ---- */

/* The file has the words of the address as hexadecimal numbers in the order of the host. False: it
 * is none. */
static bool read_words(const char *hex, unsigned n, uint32_t ret[4])
{
	char word[9] = "";

	if (strlen(hex) != 8 * (size_t)n)
		return false;
	for (unsigned i = 0; i < n; i++) {
		memcpy(word, hex + 8 * (size_t)i, 8);
		ret[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	return true;
}

/* The address keeps others from binding to `want`. */
static bool is_there(const char *hex, const struct sockaddr_storage *want)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)want;
	const struct sockaddr_in *in = (const struct sockaddr_in *)want;
	uint32_t w[4] = {0};

	if (read_words(hex, 1, w))
		return want->ss_family == AF_INET && (w[0] == 0 || w[0] == in->sin_addr.s_addr);
	if (!read_words(hex, 4, w))
		return false;
	if ((w[0] | w[1] | w[2] | w[3]) == 0)
		return true; /* of IPv4, too, with few exceptions */
	if (want->ss_family == AF_INET6)
		return memcmp(w, &in6->sin6_addr, sizeof(w)) == 0;
	return w[0] == 0 && w[1] == 0 && w[2] == htonl(0xffff) && w[3] == in->sin_addr.s_addr;
}

static bool read_holder(const char *line, const struct sockaddr_storage *addr, uint16_t port,
			struct holder *ret)
{
	char hex[33];
	unsigned p;

	return sscanf(line, "%*u: %32[0-9A-F]:%x %*s %*s %*s %*s %*s %u %*u %lu", hex, &p,
		      &ret->uid, &ret->inode) == 4 &&
	       p == port && is_there(hex, addr);
}

static bool find_socket(const char *file, const struct sockaddr_storage *addr, uint16_t port,
			struct holder *ret)
{
	FILE *f = fopen(file, "re");
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f))
		found = read_holder(line, addr, port, ret);
	if (f)
		fclose(f);
	return found;
}

/* ---- its process ---- */

static bool has_socket(const char *pid, unsigned long inode)
{
	char path[64], link[64], want[64];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		found = strcmp(link, want) == 0;
	}
	if (d)
		closedir(d);
	return found;
}

static void read_name(const char *pid, char *ret, size_t len)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(ret, (int)len, f))
		snprintf(ret, len, "?");
	ret[strcspn(ret, "\n")] = '\0';
	if (f)
		fclose(f);
}

/* "": not found, or hidden. */
static void find_process(unsigned long inode, char ret[32], char name[24])
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	ret[0] = '\0';
	while (d && !*ret && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) && has_socket(e->d_name, inode)) {
			snprintf(ret, 32, "%.16s", e->d_name);
			read_name(ret, name, 24);
		}
	if (d)
		closedir(d);
}

const char *udp_holder_text(const struct sockaddr_storage *addr, uint16_t port,
			    char ret[UDP_HOLDER_MAX])
{
	char pid[32], name[24];
	struct holder h;

	ret[0] = '\0';
	if (!find_socket("/proc/net/udp", addr, port, &h) &&
	    !find_socket("/proc/net/udp6", addr, port, &h))
		return ret;
	find_process(h.inode, pid, name);
	if (*pid)
		snprintf(ret, UDP_HOLDER_MAX, " by process %s (%s) of uid %u", pid, name, h.uid);
	else
		snprintf(ret, UDP_HOLDER_MAX, " by a process of uid %u", h.uid);
	return ret;
}
