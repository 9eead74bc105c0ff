/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that loads libibverbs and librdmacm itself, as UCX and NCCL do. Promise: dlopen(),
 * dlsym() and dlvsym() lead to the devices of ddpverbs, and to other libraries as before.
 *
 *   verbs_dl      exit status 0 if it held
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ibv_device;
struct rdma_event_channel;

/* What the dynamic linker must have found. */
#define LOADED(cond)                                                                               \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("FAILED: %s: %s\n", #cond, dlerror());                              \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The first device must be ours. */
static void *check_verbs(const char *path)
{
	struct ibv_device **(*get_list)(int *);
	const char *(*get_name)(struct ibv_device *);
	void (*free_list)(struct ibv_device **);
	struct ibv_device **list;
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int n = 0;

	LOADED(lib);
	*(void **)&get_list = dlvsym(lib, "ibv_get_device_list", "IBVERBS_1.1");
	*(void **)&get_name = dlsym(lib, "ibv_get_device_name");
	*(void **)&free_list = dlsym(lib, "ibv_free_device_list");
	LOADED(get_list && get_name && free_list);
	LOADED(dlsym(lib, "ibv_get_device_list") == *(void **)&get_list);
	LOADED(dlvsym(lib, "ibv_reg_mr_iova2", "IBVERBS_1.8"));
	LOADED(!dlsym(lib, "mlx5dv_open_device"));
	list = get_list(&n);
	LOADED(list && n == 2 && strcmp(get_name(list[0]), "ddpsctp0") == 0 &&
	       strcmp(get_name(list[1]), "ddpsctp1") == 0);
	free_list(list);
	return lib;
}

static void check_rdmacm(void)
{
	struct rdma_event_channel *(*create)(void), *ch;
	void (*destroy)(struct rdma_event_channel *);
	void *lib = dlopen("librdmacm.so.1", RTLD_LAZY | RTLD_GLOBAL);

	LOADED(lib);
	*(void **)&create = dlvsym(lib, "rdma_create_event_channel", "RDMACM_1.0");
	*(void **)&destroy = dlsym(lib, "rdma_destroy_event_channel");
	LOADED(create && destroy);
	LOADED(ch = create());
	destroy(ch);
	LOADED(dlclose(lib) == 0);
}

static void check_others(void)
{
	double (*root)(double);
	void *lib = dlopen("libm.so.6", RTLD_NOW);

	LOADED(lib);
	*(void **)&root = dlsym(lib, "sqrt");
	LOADED(root && root(9) == 3);
	LOADED(dlvsym(RTLD_DEFAULT, "realpath", "GLIBC_2.3"));
	LOADED(!dlvsym(lib, "sqrt", "IBVERBS_1.1"));
	LOADED(!dlopen("libibverbs_is_not_this.so", RTLD_NOW));
	LOADED(dlclose(lib) == 0 && dlopen(NULL, RTLD_NOW));
}

static int first_word(const char *path, const char *expected)
{
	FILE *f = fopen(path, "r");
	char word[32] = "";
	int n = f ? fscanf(f, "%31s", word) : 0;

	if (f)
		fclose(f);
	return n == 1 && strcmp(word, expected) == 0;
}

/* The devices have such files for UCX, and other paths are those of the system. */
static void check_files(void)
{
	LOADED(access("/dev/infiniband/uverbs_ddpsctp1", R_OK | W_OK) == 0);
	LOADED(first_word("/sys/class/infiniband/ddpsctp0/ports/1/gid_attrs/types/0", "RoCE"));
	LOADED(first_word("/sys/class/infiniband/ddpsctp1/ports/1/state", "4:"));
	LOADED(opendir("/sys/class/infiniband/ddpsctp0/device/net"));
	LOADED(!fopen("/sys/class/infiniband/ddpsctp0/ports/2/state", "r"));
	LOADED(access("/sys/class/infiniband/ddpsctp9", F_OK) == -1 && errno == ENOENT);
	LOADED(access("/", F_OK) == 0);
	LOADED(access("/absent", F_OK) == -1 && errno == ENOENT);
}

int main(void)
{
	void *first = check_verbs("libibverbs.so.1");

	LOADED(check_verbs("libibverbs.so") == first);
	LOADED(check_verbs("/usr/lib/x86_64-linux-gnu/libibverbs.so.1") == first);
	printf("ok libibverbs\n");
	check_rdmacm();
	printf("ok librdmacm\n");
	check_others();
	printf("ok other libraries\n");
	check_files();
	printf("ok files of devices\n");
	return 0;
}
