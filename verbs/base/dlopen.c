/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs and libraries that load libibverbs and librdmacm themselves get this library:
 * dlopen() of their names, and dlvsym() of their versions.
 *
 * The real functions look at who calls them, for the search path and for RTLD_NEXT. A compiler that
 * optimizes jumps to them, so that they see the caller of ours.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static struct {
	void *(*dlopen)(const char *path, int flags);
	void *(*dlvsym)(void *handle, const char *name, const char *version);
	const char *path; /* of this library */
} real;

/* ISO C has no conversion from an object pointer to a function pointer; POSIX has. */
static void find_real_functions(void)
{
	Dl_info own;

	*(void **)&real.dlopen = dlsym(RTLD_NEXT, "dlopen");
	*(void **)&real.dlvsym = dlsym(RTLD_NEXT, "dlvsym");
	if (dladdr(&real, &own))
		real.path = own.dli_fname;
}

static void need_real(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_real_functions);
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_replaced(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return begins(name, "libibverbs.so") || begins(name, "librdmacm.so");
}

void *dlopen(const char *path, int flags)
{
	need_real();
	if (path && real.path && is_replaced(path))
		path = real.path;
	return real.dlopen(path, flags);
}

/* Symbols of this library have no version. */
static void *own_symbol(const char *name, const char *version)
{
	void *own, *ret;

	if (!begins(version, "IBVERBS_") && !begins(version, "RDMACM_"))
		return NULL;
	own = real.dlopen(real.path, RTLD_LAZY | RTLD_NOLOAD);
	if (!own)
		return NULL;
	ret = dlsym(own, name);
	dlclose(own);
	return ret;
}

/* musl has none. */
void *dlvsym(void *handle, const char *name, const char *version);

void *dlvsym(void *handle, const char *name, const char *version)
{
	void *own;

	need_real();
	own = real.path ? own_symbol(name, version) : NULL;
	if (own)
		return own;
	return real.dlvsym(handle, name, version);
}
