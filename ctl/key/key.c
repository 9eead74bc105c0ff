/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/key/key.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "ctl/key/certificate.h"
#include "util/cleanup.h"

#define FOLDER SYSCONFDIR "/ddpsctpd"
#define SERVICE_USER "ddpsctpd"

/* Of names of rules (ddpsctpd.yaml(5)); paths of these need no quotes there. */
#define NAME_CHARACTERS                                                                            \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"                                     \
	"0123456789._-"

enum {
	UDP_PORT = 9900, /* for the line; any other one is as good */
	NAME_MAX_BYTES = 32,
	PATH_BYTES = 256, /* of a path in the configuration */
	ADDRESSES = 2,
	LINE = 512,
};

struct paths {
	char key[PATH_BYTES], cert[PATH_BYTES];
};

/* Reports the fault of a file, and returns the exit status. */
static enum ctl_exit fail_file(const char *path, int err)
{
	query_error("%s: %s", path, strerror(err));
	return err == EACCES || err == EPERM ? CTL_EXIT_PERMISSION : CTL_EXIT_FAILED;
}

/* ---- lines of the configuration ---- */

/* The address with which this host reaches others of that family. No packet is sent. */
static bool find_address(const char *somebody, int family, char ret[INET6_ADDRSTRLEN])
{
	autoclose int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(UDP_PORT)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(UDP_PORT)};
	bool is_four = family == AF_INET;
	struct sockaddr *a = is_four ? (void *)&four : (void *)&six;
	socklen_t len = is_four ? sizeof(four) : sizeof(six);
	void *ip = is_four ? (void *)&four.sin_addr : (void *)&six.sin6_addr;

	inet_pton(family, somebody, ip);
	if (fd < 0 || connect(fd, a, len) < 0 || getsockname(fd, a, &len) < 0)
		return false;
	return inet_ntop(family, ip, ret, INET6_ADDRSTRLEN) != NULL;
}

/* "192.0.2.1 2001:db8::1"; ADDRESS if this host has no route. */
static void put_addresses(FILE *f)
{
	/* Those of documents, which no site has, take the default route. */
	static const struct {
		const char *somebody;
		int family;
	} far[ADDRESSES] = {{"192.0.2.1", AF_INET}, {"2001:db8::1", AF_INET6}};
	char text[INET6_ADDRSTRLEN];
	unsigned n = 0;

	for (unsigned i = 0; i < ADDRESSES; i++)
		if (find_address(far[i].somebody, far[i].family, text))
			fprintf(f, "%s%s", n++ ? " " : "", text);
	if (n == 0)
		fputs("ADDRESS", f);
}

static void put_fingerprint(const struct certificate *c, FILE *f)
{
	for (unsigned i = 0; i < CERTIFICATE_FINGERPRINT; i++)
		fprintf(f, "%s%02X", i ? ":" : "", c->fingerprint[i]);
}

/* The rule that other hosts need. */
static void rule_text(const struct certificate *c, char ret[LINE])
{
	bool named = *c->name && !c->name[strspn(c->name, NAME_CHARACTERS)] &&
		     strlen(c->name) < NAME_MAX_BYTES;
	FILE *f = fmemopen(ret, LINE, "w");

	*ret = '\0';
	if (!f)
		return;
	put_addresses(f);
	if (named)
		fprintf(f, " name=%s", c->name);
	fputs(" security=require fingerprint=", f);
	put_fingerprint(c, f);
	fclose(f);
}

static void fingerprint_text(const struct certificate *c, char ret[LINE])
{
	FILE *f = fmemopen(ret, LINE, "w");

	*ret = '\0';
	if (!f)
		return;
	put_fingerprint(c, f);
	fclose(f);
}

/* ---- output ---- */

static void print_as_json(const struct certificate *c, const struct paths *p,
			  const char *fingerprint, const char *rule)
{
	struct json_object *list = json_object_new_array(), *o = json_object_new_object();
	const char *key = *p->key ? p->key : NULL;

	json_object_object_add(o, "certificate", json_object_new_string(p->cert));
	json_object_object_add(o, "key", key ? json_object_new_string(key) : NULL);
	json_object_object_add(o, "name", json_object_new_string(c->name));
	json_object_object_add(o, "fingerprint", json_object_new_string(fingerprint));
	json_object_object_add(o, "expires", json_object_new_string(c->expires));
	json_object_object_add(o, "rule", json_object_new_string(rule));
	json_object_array_add(list, o);
	printf("%s\n", json_object_to_json_string_ext(
			       list, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(list);
}

/* Others may have made the certificate: its name must not control a terminal. */
static const char *printable(char *name)
{
	for (char *s = name; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
	return name;
}

static enum ctl_exit print_certificate(const struct ddpctl *ctl, struct certificate *c,
				       const struct paths *p)
{
	char fingerprint[LINE], rule[LINE];

	printable(c->name);
	fingerprint_text(c, fingerprint);
	rule_text(c, rule);
	if (ctl->opts.print.json) {
		print_as_json(c, p, fingerprint, rule);
		return CTL_EXIT_OK;
	}
	printf("certificate  %s\n", p->cert);
	if (*p->key)
		printf("key          %s\n", p->key);
	printf("name         %s\nfingerprint  %s\nexpires      %s\n", c->name, fingerprint,
	       c->expires);
	if (*p->key)
		printf("\nFor ddpsctpd.yaml of this host:\n"
		       "security: {udp_port: %d, certificate: %s, key: %s}\n",
		       UDP_PORT, p->cert, p->key);
	printf("\nFor ddpsctpd.yaml of other hosts, a rule of peers:\n  - %s\n", rule);
	return CTL_EXIT_OK;
}

static enum ctl_exit show_certificate(const struct ddpctl *ctl, const struct paths *p)
{
	autoclose int fd = open(p->cert, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct certificate c;

	if (fd < 0)
		return fail_file(p->cert, errno);
	if (certificate_read(fd, &c) < 0) {
		query_error("%s: has no certificate in PEM", p->cert);
		return CTL_EXIT_FAILED;
	}
	return print_certificate(ctl, &c, p);
}

/* ---- making files ---- */

/* Absolute paths of both files, which need no quotes in the configuration. */
static enum ctl_exit find_paths(const char *folder, struct paths *ret)
{
	char path[PATH_MAX];

	/* The service has to reach its key, whatever the umask is. */
	if (mkdir(folder, 0755) == 0 ? chmod(folder, 0755) < 0 : errno != EEXIST)
		return fail_file(folder, errno);
	if (!realpath(folder, path))
		return fail_file(folder, errno);
	if (path[strspn(path, NAME_CHARACTERS "/")]) {
		query_error("%s: the path has characters other than letters, digits and /._-",
			    path);
		return CTL_EXIT_FAILED;
	}
	if (strlen(path) + sizeof("/cert.pem") > PATH_BYTES)
		return fail_file(folder, ENAMETOOLONG);
	snprintf(ret->key, sizeof(ret->key), "%.240s/key.pem", path);
	snprintf(ret->cert, sizeof(ret->cert), "%.240s/cert.pem", path);
	return CTL_EXIT_OK;
}

/* The host's name without its domain. */
static void host_name(char ret[NAME_MAX_BYTES])
{
	char name[HOST_NAME_MAX + 1] = "";

	(void)gethostname(name, sizeof(name) - 1);
	name[strcspn(name, ".")] = '\0';
	snprintf(ret, NAME_MAX_BYTES, "%.31s", *name ? name : "host");
}

/* The daemon reads the key as the user of its service, if this host has that user. */
static int give_to_service(int fd)
{
	const struct passwd *pw = geteuid() == 0 ? getpwnam(SERVICE_USER) : NULL;

	return pw && fchown(fd, pw->pw_uid, (gid_t)-1) < 0 ? -errno : 0;
}

/* A file that was not there before, whatever the umask. */
static int create_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0 && fchmod(fd, mode) < 0) {
		int err = errno;

		close(fd);
		unlink(path);
		errno = err;
		return -1;
	}
	return fd;
}

static enum ctl_exit write_key(const struct paths *p, int key, int cert)
{
	char name[NAME_MAX_BYTES];
	int r = give_to_service(key);

	host_name(name);
	if (r == 0)
		r = certificate_make(name, key, cert);
	return r == 0 ? CTL_EXIT_OK : fail_file(p->key, -r);
}

/* Both files, or none. */
static enum ctl_exit make_files(const struct paths *p)
{
	autoclose int key = create_file(p->key, 0600), cert = -1;
	enum ctl_exit e;

	if (key < 0)
		return fail_file(p->key, errno);
	cert = create_file(p->cert, 0644);
	if (cert < 0) {
		e = fail_file(p->cert, errno);
		unlink(p->key);
		return e;
	}
	e = write_key(p, key, cert);
	if (e != CTL_EXIT_OK) {
		unlink(p->cert);
		unlink(p->key);
	}
	return e;
}

static enum ctl_exit make_key(const struct ddpctl *c, const char *folder)
{
	struct paths p;
	enum ctl_exit e = find_paths(folder, &p);

	if (e == CTL_EXIT_OK)
		e = make_files(&p);
	return e == CTL_EXIT_OK ? show_certificate(c, &p) : e;
}

static enum ctl_exit show_key(const struct ddpctl *c, const char *file)
{
	struct paths p = {.key = ""};

	if (strlen(file) >= sizeof(p.cert))
		return fail_file(file, ENAMETOOLONG);
	strcpy(p.cert, file);
	return show_certificate(c, &p);
}

enum ctl_exit key_run(struct ddpctl *c, int n, char **args)
{
	if (n && strcmp(args[0], "show") == 0)
		return show_key(c, n > 1 ? args[1] : FOLDER "/cert.pem");
	if (n < 2)
		return make_key(c, n ? args[0] : FOLDER);
	query_error("usage: ddpctl key [FOLDER] | show [FILE]");
	return args_hint();
}
