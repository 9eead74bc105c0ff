/* SPDX-License-Identifier: BSD-2-Clause */
#include "ctl/command/top.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "ctl/command/top_order.h"
#include "ctl/field/rates.h"
#include "util/cleanup.h"

/* The objects of a sample. */
enum { STATUS, ASSOC, QP, PARTS };

static const char *const names[PARTS] = {"status", "assoc", "qp"};

struct part {
	const struct field_object *obj;
	struct query_reply now, before;
};

struct top {
	const struct ddpctl *c;
	struct part parts[PARTS];
	double seconds; /* between the last two samples */
	double at;      /* of the last one */
	unsigned rows;  /* of the terminal; 0: none */
	int columns;
	enum top_order order;
	bool users; /* in place of the queue pairs */
	int signals;
	bool keys; /* stdin is a terminal */
	struct termios saved;
};

static double clock_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- the samples ---- */

/* Records with totals become records with rates. */
static enum ctl_exit take_sample(struct top *t)
{
	double now = clock_now();
	enum ctl_exit e = CTL_EXIT_OK;

	t->seconds = now - t->at;
	t->at = now;
	for (unsigned i = 0; e == CTL_EXIT_OK && i < PARTS; i++) {
		struct part *p = &t->parts[i];

		free(p->now.recs);
		p->now = (struct query_reply){0};
		e = query_show(t->c->opts.socket, args_timeout_ms(t->c), p->obj->number, &p->now);
		if (e != CTL_EXIT_OK)
			break;
		rates_apply(p->obj, &p->now, &p->before, t->seconds);
		top_order_sort(&p->now, t->order);
	}
	return e;
}

/* ---- text ---- */

/* "1.5 MB" per second, with three digits. */
static const char *rate_text(uint64_t n, char ret[16])
{
	static const char *const units[] = {"", "k", "M", "G", "T"};
	double v = (double)n;
	unsigned i = 0;

	for (; v >= 999.5 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		v /= 1000;
	snprintf(ret, 16, "%.*f%s", i && v < 99.95 ? 1 : 0, v, units[i]);
	return ret;
}

static void print_status(FILE *f, const struct part *p, double seconds)
{
	const struct ctl_status *s = &p->now.recs[0].status;
	char tx[16], rx[16], again[16];

	fprintf(f, "%u associations, %u sessions, %u queue pairs, %u programs\n", s->assocs,
		s->sessions, s->qps, s->clients);
	fprintf(f, "per second, over %.1f s: %sB sent, %sB received, %s retransmissions\n", seconds,
		rate_text(s->tx_bytes, tx), rate_text(s->rx_bytes, rx),
		rate_text(s->retransmits, again));
}

static const char *field_of(const struct part *p, const char *key, const struct ctl_record *rec,
			    char ret[FIELD_TEXT])
{
	field_text(field_find(p->obj, key), &rec->status, false, ret);
	return ret;
}

static void print_assoc(FILE *f, const struct part *p, const struct ctl_record *rec)
{
	char remote[FIELD_TEXT], state[FIELD_TEXT], srtt[FIELD_TEXT], tx[16], rx[16];

	fprintf(f, "%6u  %-28.48s %-12.12s %9s %9u %8u %9s %9s\n", rec->assoc.id,
		field_of(p, "remote", rec, remote), field_of(p, "state", rec, state),
		field_of(p, "srtt_us", rec, srtt), rec->assoc.cwnd, rec->assoc.sessions,
		rate_text(rec->assoc.tx_segments, tx), rate_text(rec->assoc.rx_segments, rx));
}

static void print_qp(FILE *f, const struct part *p, const struct ctl_record *rec)
{
	char comm[FIELD_TEXT], n[4][16];

	fprintf(f, "%6u  %-16.16s %8u %6u %6u %9s %9s %9s %9s\n", rec->qp.qp_num,
		field_of(p, "comm", rec, comm), rec->qp.pid, rec->qp.assoc, rec->qp.stream,
		rate_text(rec->qp.tx_msgs, n[0]), rate_text(rec->qp.rx_msgs, n[1]),
		rate_text(rec->qp.tx_bytes, n[2]), rate_text(rec->qp.rx_bytes, n[3]));
}

/* Of all queue pairs of a user. */
static void print_user(FILE *f, const struct part *p, const struct ctl_record *rec)
{
	const struct field *uid = field_find(p->obj, "uid");
	char name[FIELD_TEXT], n[4][16];

	field_note(uid, &rec->status, name);
	fprintf(f, "%6u  %-16.16s %8u %6s %6s %9s %9s %9s %9s\n", rec->qp.uid, name, rec->qp.qp_num,
		"", "", rate_text(rec->qp.tx_msgs, n[0]), rate_text(rec->qp.rx_msgs, n[1]),
		rate_text(rec->qp.tx_bytes, n[2]), rate_text(rec->qp.rx_bytes, n[3]));
}

/* Prints as many as fit. */
static void print_part(FILE *f, const struct part *p, size_t room,
		       void (*print)(FILE *f, const struct part *p, const struct ctl_record *rec))
{
	size_t n = p->now.n < room ? p->now.n : room;

	for (size_t i = 0; i < n; i++)
		print(f, p, &p->now.recs[i]);
	if (n < p->now.n)
		fprintf(f, "        and %zu more\n", p->now.n - n);
}

static void print_users(FILE *f, const struct top *t, size_t room)
{
	struct part users = {.obj = t->parts[QP].obj};

	fprintf(f, "\n%6s  %-16s %8s %6s %6s %9s %9s %9s %9s\n", "UID", "USER", "QPS", "", "",
		"TX_MSG/S", "RX_MSG/S", "TX_B/S", "RX_B/S");
	if (!top_order_by_user(&t->parts[QP].now, t->order, &users.now))
		return;
	print_part(f, &users, room, print_user);
	free(users.now.recs);
}

/* The keys that can be typed. */
static void print_keys(FILE *f, const struct top *t)
{
	fprintf(f, "by %s; s: by %s, u: %s, q: end\n", top_order_name(t->order),
		top_order_name((t->order + 1) % TOP_ORDERS), t->users ? "queue pairs" : "users");
}

static void print_tables(FILE *f, const struct top *t)
{
	/* Three lines of status, three headings and gaps each, two lines "and more". */
	size_t room = t->rows > 17 ? (t->rows - 11) / 2 : t->rows ? 3 : SIZE_MAX;

	print_status(f, &t->parts[STATUS], t->seconds);
	if (t->rows)
		print_keys(f, t);
	fprintf(f, "\n%6s  %-28s %-12s %9s %9s %8s %9s %9s\n", "ASSOC", "REMOTE", "STATE",
		"SRTT_US", "CWND", "SESSIONS", "TX_SEG/S", "RX_SEG/S");
	print_part(f, &t->parts[ASSOC], room, print_assoc);
	if (t->users) {
		print_users(f, t, room);
		return;
	}
	fprintf(f, "\n%6s  %-16s %8s %6s %6s %9s %9s %9s %9s\n", "QP", "PROGRAM", "PID", "ASSOC",
		"STREAM", "TX_MSG/S", "RX_MSG/S", "TX_B/S", "RX_B/S");
	print_part(f, &t->parts[QP], room, print_qp);
}

/* Prints the part of the text that fits the terminal; the cursor stays below it. */
static void print_cut(const struct top *t, const char *text)
{
	const char *end;

	for (unsigned row = 1; *text && row < t->rows; row++, text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		printf("%.*s\n", end - text < t->columns ? (int)(end - text) : t->columns, text);
	}
}

static enum ctl_exit print_screen(const struct top *t)
{
	autofree char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f)
		print_tables(f, t);
	if (!f || fclose(f) != 0) {
		query_error("out of memory");
		return CTL_EXIT_FAILED;
	}
	fputs("\033[H\033[J", stdout);
	print_cut(t, text);
	return CTL_EXIT_OK;
}

static enum ctl_exit print_sample(const struct top *t)
{
	if (t->rows)
		return print_screen(t);
	print_tables(stdout, t);
	putchar('\n');
	return CTL_EXIT_OK;
}

/* ---- JSON ---- */

static enum ctl_exit print_json(const struct top *t)
{
	struct json_object *o = json_object_new_object();
	const char *line = NULL;
	bool ok = o;

	if (ok)
		json_object_object_add(o, "seconds", json_object_new_double(t->seconds));
	for (unsigned i = 0; ok && i < PARTS; i++) {
		const struct part *p = &t->parts[i];
		struct json_object *array =
			print_json_array(p->obj, p->now.recs, p->now.n, t->c->opts.print.numeric);

		ok = array && json_object_object_add(o, names[i], array) == 0;
	}
	if (ok)
		line = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
								 JSON_C_TO_STRING_NOSLASHESCAPE);
	if (line)
		printf("%s\n", line);
	else
		query_error("out of memory");
	json_object_put(o);
	return line ? CTL_EXIT_OK : CTL_EXIT_FAILED;
}

/* ---- the terminal ---- */

static void measure_terminal(struct top *t)
{
	struct winsize size;

	t->rows = 0;
	if (!t->c->opts.print.json && isatty(STDOUT_FILENO) &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		t->rows = size.ws_row;
	t->columns = t->rows && size.ws_col ? size.ws_col : INT_MAX;
}

static void begin_keys(struct top *t)
{
	struct termios raw;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC);
	t->keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &t->saved) == 0;
	if (!t->keys)
		return;
	raw = t->saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static void end_keys(struct top *t)
{
	if (t->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->saved);
	cleanup_close(&t->signals);
}

/* True after a key that ends the program, or if the terminal is gone. The others show at once. */
static bool key_ends(struct top *t)
{
	char key = 0;

	if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q')
		return true;
	if (key == 'u')
		t->users = !t->users;
	if (key == 's')
		t->order = (t->order + 1) % TOP_ORDERS;
	if ((key == 'u' || key == 's') && t->rows) {
		top_order_sort(&t->parts[ASSOC].now, t->order);
		top_order_sort(&t->parts[QP].now, t->order);
		print_screen(t);
		fflush(stdout);
	}
	return false;
}

/* Waits until the next sample. False: the user ends the program. */
static bool wait_for_next(struct top *t)
{
	double every = t->c->opts.every > 0 ? t->c->opts.every : 1, end = t->at + every;
	struct pollfd p[2] = {{.fd = t->signals, .events = POLLIN},
			      {.fd = t->keys ? STDIN_FILENO : -1, .events = POLLIN}};

	for (;;) {
		double left = end - clock_now();

		if (left <= 0)
			return true;
		if (poll(p, 2, (int)(left * 1000) + 1) < 0 && errno != EINTR)
			return false;
		if (p[0].revents || (p[1].revents && key_ends(t)))
			return false;
	}
}

static enum ctl_exit repeat_samples(struct top *t)
{
	enum ctl_exit e = take_sample(t);

	for (uint32_t i = 0; e == CTL_EXIT_OK && wait_for_next(t);) {
		e = take_sample(t);
		if (e != CTL_EXIT_OK)
			break;
		measure_terminal(t);
		if (t->c->opts.print.json)
			e = print_json(t);
		else
			e = print_sample(t);
		if (fflush(stdout) != 0 || ++i == t->c->opts.count)
			break;
	}
	return e;
}

/* [users] [sort ORDER] */
static enum ctl_exit parse_words(struct top *t, int n, char **args)
{
	for (int i = 0; i < n; i++) {
		if (!strcmp(args[i], "users")) {
			t->users = true;
		} else if (!strcmp(args[i], "sort") && i + 1 < n) {
			if (!top_order_parse(args[++i], &t->order)) {
				query_error("top: '%s' is not one of: " TOP_ORDER_WORDS, args[i]);
				return args_hint();
			}
		} else {
			query_error("top: '%s' is not users or sort ORDER", args[i]);
			return args_hint();
		}
	}
	return CTL_EXIT_OK;
}

enum ctl_exit top_run(struct ddpctl *c, int n, char **args)
{
	struct top t = {.c = c, .at = clock_now()};
	enum ctl_exit e;

	e = parse_words(&t, n, args);
	if (e != CTL_EXIT_OK)
		return e;
	for (unsigned i = 0; i < PARTS; i++)
		t.parts[i].obj = args_object(names[i]);
	begin_keys(&t);
	e = repeat_samples(&t);
	end_keys(&t);
	for (unsigned i = 0; i < PARTS; i++) {
		free(t.parts[i].now.recs);
		free(t.parts[i].before.recs);
	}
	return e;
}
