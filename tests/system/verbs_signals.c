/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/system/verbs_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STILL_MS = 100 };

static volatile sig_atomic_t signals;

static void count(int sig)
{
	(void)sig;
	signals++;
}

/* As programs have it for Ctrl-C, so that a second one ends them. */
static void count_once(int sig)
{
	signal(sig, SIG_DFL);
	signals++;
}

static void handle(const struct sigaction *how)
{
	signals = 0;
	VERB(sigaction(SIGUSR1, how, NULL) == 0);
}

static void *wait_for_event(void *ch)
{
	struct ibv_cq *cq;
	void *user;

	return ibv_get_cq_event(ch, &cq, &user) == 0 ? cq : NULL;
}

static bool was_called(void *thread)
{
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return signals >= 5;
}

struct waiter {
	struct ibv_comp_channel *ch;
	atomic_int tid; /* 0: it has not begun */
};

static void *wait_for_signal(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	VERB(!wait_for_event(w->ch) && errno == EINTR);
	return NULL;
}

/* Of a thread; 0: it has not begun. */
static char state_of(pid_t process, int tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", process, tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	VERB(fscanf(f, "%*d (%*[^)]) %c", &state) == 1);
	fclose(f);
	return state;
}

static bool sleeps(void *arg)
{
	const struct waiter *w = arg;

	return state_of(getpid(), w->tid) == 'S';
}

static bool has_ended(void *thread)
{
	return rig_joined(*(pthread_t *)thread, 10);
}

static void end_wait(struct ibv_comp_channel *ch, const struct sigaction *how)
{
	struct waiter w = {.ch = ch};
	pthread_t thread;

	handle(how);
	VERB(pthread_create(&thread, NULL, wait_for_signal, &w) == 0);
	VERB(rig_eventually(sleeps, &w));
	pthread_kill(thread, SIGUSR1);
	VERB(rig_eventually(has_ended, &thread) && signals == 1);
}

/* Also if the handler is gone after its signal. */
static void end_waits(struct ibv_comp_channel *ch)
{
	static const struct sigaction how[] = {
		{.sa_handler = count},
		{.sa_handler = count, .sa_flags = SA_RESETHAND},
		{.sa_handler = count_once},
	};

	for (unsigned i = 0; i < sizeof(how) / sizeof(how[0]); i++)
		end_wait(ch, &how[i]);
	signal(SIGUSR1, SIG_DFL);
}

void verbs_signals_wait(struct side *a, void (*flush_armed)(struct ibv_cq *cq))
{
	const struct sigaction restarts = {.sa_handler = count, .sa_flags = SA_RESTART};
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq;
	pthread_t thread;
	void *got;

	VERB(ch = ibv_create_comp_channel(a->ctx));
	VERB(cq = ibv_create_cq(a->ctx, 8, NULL, ch, 0));
	handle(&restarts);
	VERB(pthread_create(&thread, NULL, wait_for_event, ch) == 0);
	VERB(rig_eventually(was_called, &thread));
	flush_armed(cq);
	VERB(pthread_join(thread, &got) == 0 && got == cq);
	ibv_ack_cq_events(cq, 1);
	end_waits(ch);
	VERB(ibv_destroy_cq(cq) == 0);
	VERB(ibv_destroy_comp_channel(ch) == 0);
}

static void *wait_and_say(void *arg)
{
	struct waiter *w = arg;

	w->tid = gettid();
	return wait_for_event(w->ch);
}

static bool is_stopped(void *process)
{
	const pid_t pid = *(pid_t *)process;

	return state_of(pid, pid) == 'T';
}

static void be_stopped(void)
{
	pid_t parent = getpid(), child = fork();

	VERB(child >= 0);
	if (child == 0) {
		VERB(rig_eventually(is_stopped, &parent));
		kill(parent, SIGCONT);
		_exit(0);
	}
	kill(parent, SIGSTOP);
	VERB(waitpid(child, NULL, 0) == child);
}

void verbs_signals_stop(struct side *a, void (*flush_armed)(struct ibv_cq *cq))
{
	const struct sigaction ends = {.sa_handler = count};
	struct waiter w = {0};
	struct ibv_cq *cq;
	pthread_t thread;
	void *got;

	VERB(w.ch = ibv_create_comp_channel(a->ctx));
	VERB(cq = ibv_create_cq(a->ctx, 8, NULL, w.ch, 0));
	handle(&ends);
	VERB(pthread_create(&thread, NULL, wait_and_say, &w) == 0);
	VERB(rig_eventually(sleeps, &w));
	be_stopped();
	VERB(!rig_joined(thread, STILL_MS));
	flush_armed(cq);
	VERB(pthread_join(thread, &got) == 0 && got == cq);
	ibv_ack_cq_events(cq, 1);
	signal(SIGUSR1, SIG_DFL);
	VERB(ibv_destroy_cq(cq) == 0);
	VERB(ibv_destroy_comp_channel(w.ch) == 0);
}
