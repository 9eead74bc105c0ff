/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/base/device_tree.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/base/fork.h"
#include "verbs/base/host.h"

#define CLASS "/sys/class/infiniband/"
#define DEVICES CLASS "ddpsctp"

static pthread_mutex_t lock = FORK_LOCK;
static char root[96]; /* "": none */
static pid_t owner;   /* of root */

__attribute__((constructor)) static void hold_tree_lock(void)
{
	fork_hold(FORK_LISTS, &lock);
}

/* ---- the folder ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

__attribute__((destructor)) static void remove_tree(void)
{
	if (root[0] && owner == getpid())
		nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Makes a folder, and those above it. */
static void make_folder(const char *path)
{
	char part[288];

	snprintf(part, sizeof(part), "%s", path);
	for (char *at = part + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(part, 0700);
		*at = '/';
	}
	mkdir(part, 0700);
}

/* A file with one line. It may be missing: as where the kernel has no such file. */
static void make_file(const char *folder, const char *name, const char *line)
{
	char path[320];
	int fd, n;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = (int)openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0)
		return;
	n = dprintf(fd, "%s\n", line);
	(void)n;
	close(fd);
}

/* ---- files of a device ---- */

static void make_gid(const struct gid_table *t, unsigned i, const char *port)
{
	char folder[256], name[16], line[48];
	const uint8_t *raw = t->gid[i].raw;
	size_t n = 0;

	for (unsigned k = 0; k < 16; k += 2)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%02x%02x", k ? ":" : "",
				      raw[k], raw[k + 1]);
	snprintf(name, sizeof(name), "%u", i);
	snprintf(folder, sizeof(folder), "%s/gids", port);
	make_file(folder, name, line);
	snprintf(folder, sizeof(folder), "%s/gid_attrs/types", port);
	make_file(folder, name, gid_table_is_v2(t, i) ? "RoCE v2" : "IB/RoCE v1");
	snprintf(folder, sizeof(folder), "%s/gid_attrs/ndevs", port);
	make_file(folder, name, t->netdev[i]);
}

static void make_port(const struct host *h, const char *device)
{
	static const char *const folders[] = {"gids", "gid_attrs/types", "gid_attrs/ndevs",
					      "pkeys"};
	static const char *const files[][2] = {
		{"state", "4: ACTIVE"},     {"phys_state", "5: LinkUp"},
		{"link_layer", "Ethernet"}, {"rate", "100 Gb/sec (4X EDR)"},
		{"pkeys/0", "0xffff"},      {"lid", "0x0"},
		{"sm_lid", "0x0"},          {"sm_sl", "0"},
		{"lid_mask_count", "0"},    {"cap_mask", "0x04010000"},
	};
	char port[224], path[288];

	snprintf(port, sizeof(port), "%s/ports/1", device);
	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", port, folders[i]);
		make_folder(path);
	}
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make_file(port, files[i][0], files[i][1]);
	for (unsigned i = 0; i < h->gids.n; i++)
		make_gid(&h->gids, i, port);
}

static void make_device(const struct host *h)
{
	const uint64_t guid = be64toh(h->guid);
	char device[192], path[288], line[48];

	snprintf(device, sizeof(device), "%s/%s", root, h->device.name);
	make_port(h, device);
	if (h->gids.netdev[0][0]) {
		snprintf(path, sizeof(path), "%s/device/net/%s", device, h->gids.netdev[0]);
		make_folder(path);
	}
	snprintf(line, sizeof(line), "%04x:%04x:%04x:%04x", (unsigned)(guid >> 48),
		 (unsigned)(guid >> 32 & 0xffff), (unsigned)(guid >> 16 & 0xffff),
		 (unsigned)(guid & 0xffff));
	make_file(device, "node_guid", line);
	make_file(device, "sys_image_guid", line);
	make_file(device, "node_type", h->device.node_type == IBV_NODE_RNIC ? "4: RNIC" : "1: CA");
	make_file(device, "fw_ver", h->caps.version);
	make_file(device, "node_desc", h->device.name);
}

/* A child of fork() makes its own. */
static bool make_tree(void)
{
	const char *own = getenv("DDPVERBS_FOLDER"), *run = own ? own : getenv("XDG_RUNTIME_DIR");
	unsigned n;

	if (root[0] && owner == getpid())
		return true;
	n = host_count();
	snprintf(root, sizeof(root), "%s/ddpverbs.XXXXXX", run && strlen(run) < 72 ? run : "/tmp");
	if (n == 0 || !mkdtemp(root)) {
		root[0] = '\0';
		return false;
	}
	owner = getpid();
	for (unsigned i = 0; i < n; i++)
		make_device(host_at(i));
	return true;
}

const char *device_tree_path(const char *path, char *to, size_t size)
{
	bool made;

	if (!path || strncmp(path, DEVICES, strlen(DEVICES)) != 0)
		return path;
	pthread_mutex_lock(&lock);
	made = make_tree();
	if (made)
		snprintf(to, size, "%s/%s", root, path + strlen(CLASS));
	pthread_mutex_unlock(&lock);
	return made ? to : path;
}
