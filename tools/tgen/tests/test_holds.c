/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */

/* Real processes, held and let go on. */

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holds.h"

#define SIDES 2

static pid_t child[SIDES];
static struct turns_request request;
static struct holds holds;
static struct error error;

static pid_t
start(void)
{
	pid_t process = fork();

	assert_true(process >= 0);
	while (process == 0)
		pause();
	return process;
}

/* The kernel tells each stop and each going on once, whenever it is asked. */
static bool
becomes(pid_t process, bool held)
{
	int status = 0;

	assert_int_equal(waitpid(process, &status, WUNTRACED | WCONTINUED), process);
	return held ? WIFSTOPPED(status) : WIFCONTINUED(status);
}

static int
begin(void **state)
{
	unsigned int i;

	(void)state;
	memset(&request, 0, sizeof(request));
	memset(&error, 0, sizeof(error));
	request.sides = SIDES;
	for (i = 0; i < SIDES; i++) {
		child[i] = start();
		request.side[i].process[request.side[i].processes++] = child[i];
	}
	return 0;
}

static int
end(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < SIDES; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	return 0;
}

static void
assert_not_opened(const char *code)
{
	assert_true(holds_open(&holds, &request, &error) < 0);
	assert_string_equal(error.code, code);
}

static void
test_a_side_is_held_and_goes_on_and_the_other_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(holds_open(&holds, &request, &error), 0);
	assert_true(holds_stop(&holds, 1));
	assert_true(becomes(child[1], true));
	assert_int_equal(waitpid(child[0], NULL, WUNTRACED | WNOHANG), 0);
	assert_true(holds_continue(&holds, 1));
	assert_true(becomes(child[1], false));
	assert_true(holds_complete(&holds));
	holds_close(&holds);
}

static void
test_all_go_on_at_the_end(void **state)
{
	unsigned int i;

	(void)state;
	assert_int_equal(holds_open(&holds, &request, &error), 0);
	for (i = 0; i < SIDES; i++) {
		assert_true(holds_stop(&holds, i));
		assert_true(becomes(child[i], true));
	}
	holds_close(&holds);
	for (i = 0; i < SIDES; i++)
		assert_true(becomes(child[i], false));
}

static void
test_nobody_is_held_once_all_are_released(void **state)
{
	(void)state;
	assert_int_equal(holds_open(&holds, &request, &error), 0);
	holds_release(&holds);
	assert_false(holds_stop(&holds, 0));
	assert_int_equal(waitpid(child[0], NULL, WUNTRACED | WNOHANG), 0);
	assert_int_equal(holds.ended_process, 0);
	holds_close(&holds);
}

static void *
hold_for_ever(void *argument)
{
	(void)argument;
	while (holds_stop(&holds, 0))
		;
	return NULL;
}

static void
test_all_go_on_however_busy_somebody_is_with_holding_them(void **state)
{
	pthread_t thread;
	int status = 0;

	(void)state;
	assert_int_equal(holds_open(&holds, &request, &error), 0);
	assert_int_equal(pthread_create(&thread, NULL, hold_for_ever, NULL), 0);
	assert_true(becomes(child[0], true));
	holds_release(&holds);
	pthread_join(thread, NULL);
	/* Whatever came before, the last word is that it goes on. */
	assert_int_equal(waitpid(child[0], &status, WCONTINUED), child[0]);
	assert_true(WIFCONTINUED(status));
	assert_int_equal(waitpid(child[0], NULL, WUNTRACED | WNOHANG), 0);
	holds_close(&holds);
}

/* Another process that holds all of them, and dies by a signal when it is told to; it leaves no core. */
static pid_t
start_holder(int number, int *tell)
{
	const struct rlimit none = { 0 };
	int ends[2];
	pid_t holder;
	char byte;

	assert_int_equal(pipe(ends), 0);
	holder = fork();
	assert_true(holder >= 0);
	*tell = ends[1];
	if (holder != 0) {
		close(ends[0]);
		return holder;
	}
	close(ends[1]);
	setrlimit(RLIMIT_CORE, &none);
	signal(number, SIG_DFL); /* not what cmocka does about it */
	if (holds_open(&holds, &request, &error) != 0 || !holds_stop(&holds, 0) ||
			!holds_stop(&holds, 1))
		_exit(EXIT_FAILURE);
	(void)!read(ends[0], &byte, 1);
	raise(number);
	_exit(EXIT_SUCCESS);
}

static void
test_all_go_on_where_who_holds_them_dies_of_an_error(void **state)
{
	static const int numbers[] = { SIGSEGV, SIGBUS, SIGABRT, SIGQUIT, SIGXCPU, SIGUSR1, SIGALRM };
	unsigned int i, j;

	(void)state;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int tell = -1, status = 0;
		pid_t holder = start_holder(numbers[i], &tell);

		for (j = 0; j < SIDES; j++)
			assert_true(becomes(child[j], true));
		close(tell);
		assert_int_equal(waitpid(holder, &status, 0), holder);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), numbers[i]);
		for (j = 0; j < SIDES; j++)
			assert_true(becomes(child[j], false));
	}
}

static void
test_what_signals_do_is_as_before_when_nobody_is_held_any_more(void **state)
{
	struct sigaction before, after;

	(void)state;
	signal(SIGQUIT, SIG_IGN);
	sigaction(SIGSEGV, NULL, &before);
	assert_int_equal(holds_open(&holds, &request, &error), 0);
	raise(SIGQUIT); /* ignored as it was */
	sigaction(SIGSEGV, NULL, &after);
	assert_true(after.sa_handler != before.sa_handler);
	holds_close(&holds);
	sigaction(SIGSEGV, NULL, &after);
	assert_true(after.sa_handler == before.sa_handler);
	signal(SIGQUIT, SIG_DFL);
}

static void
test_a_process_that_ended_is_noticed_whether_it_was_waited_for_or_not(void **state)
{
	siginfo_t info;

	(void)state;
	assert_int_equal(holds_open(&holds, &request, &error), 0);
	kill(child[1], SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child[1], &info, WEXITED | WNOWAIT), 0);
	assert_false(holds_complete(&holds));
	assert_int_equal(holds.ended_process, child[1]);
	assert_int_equal(holds.ended_side, 1);
	holds.ended_process = 0;
	assert_int_equal(waitpid(child[1], NULL, 0), child[1]);
	assert_false(holds_stop(&holds, 1));
	assert_int_equal(holds.ended_process, child[1]);
	holds_close(&holds);
}

static void
test_who_is_not_there_is_refused(void **state)
{
	siginfo_t info;

	(void)state;
	kill(child[1], SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child[1], &info, WEXITED | WNOWAIT), 0);
	assert_not_opened("no-process");
	assert_int_equal(waitpid(child[1], NULL, 0), child[1]);
	assert_not_opened("no-process");
}

static void
test_who_holds_and_who_started_it_are_refused(void **state)
{
	(void)state;
	request.side[1].process[0] = getpid();
	assert_not_opened("bad-value");
	assert_non_null(strstr(error.text, "this tgen"));
	request.side[1].process[0] = getppid();
	assert_not_opened("bad-value");
	assert_non_null(strstr(error.text, "parent"));
}

static void
test_a_process_is_on_one_side(void **state)
{
	(void)state;
	request.side[1].process[0] = child[0];
	assert_not_opened("bad-value");
	assert_non_null(strstr(error.text, "twice"));
}

static void
test_a_side_without_processes_is_always_held_and_always_goes_on(void **state)
{
	(void)state;
	request.side[1].processes = 0;
	assert_int_equal(holds_open(&holds, &request, &error), 0);
	assert_true(holds_stop(&holds, 1));
	assert_true(holds_continue(&holds, 1));
	assert_true(holds_complete(&holds));
	holds_close(&holds);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_side_is_held_and_goes_on_and_the_other_is_left_alone, begin, end),
		cmocka_unit_test_setup_teardown(test_all_go_on_at_the_end, begin, end),
		cmocka_unit_test_setup_teardown(test_nobody_is_held_once_all_are_released, begin,
			end),
		cmocka_unit_test_setup_teardown(
			test_all_go_on_however_busy_somebody_is_with_holding_them, begin, end),
		cmocka_unit_test_setup_teardown(
			test_all_go_on_where_who_holds_them_dies_of_an_error, begin, end),
		cmocka_unit_test_setup_teardown(
			test_what_signals_do_is_as_before_when_nobody_is_held_any_more, begin,
			end),
		cmocka_unit_test_setup_teardown(
			test_a_process_that_ended_is_noticed_whether_it_was_waited_for_or_not,
			begin, end),
		cmocka_unit_test_setup_teardown(test_who_is_not_there_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(test_who_holds_and_who_started_it_are_refused,
			begin, end),
		cmocka_unit_test_setup_teardown(test_a_process_is_on_one_side, begin, end),
		cmocka_unit_test_setup_teardown(
			test_a_side_without_processes_is_always_held_and_always_goes_on, begin,
			end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
