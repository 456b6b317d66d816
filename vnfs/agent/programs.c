/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#define _GNU_SOURCE /* with glibc's checks of what is written */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "files.h"
#include "programs.h"

#define NANOSECONDS 1000000000
#define NOT_RUN 126 /* its exit code where it becomes nothing */
#define PATIENCE_MS 1000
#define LOOK_EACH_MS 2
#define NAME_LENGTH 64
#define FOLDERS_OPEN 8

void
programs_init(struct programs *programs, const char *folder)
{
	memset(programs, 0, sizeof(*programs));
	programs->folder = folder;
}

/* The number that a request is about; 0 and why where that is none. */
static unsigned int
number_of(const struct json *json, unsigned int request, struct text *wrong)
{
	int64_t number = json_number(json, json_member(json, request, "program"), 0);

	if (number >= 1 && number <= PROGRAMS)
		return (unsigned int)number;
	text_format(wrong, "\"program\" is no number from 1 to %d", PROGRAMS);
	return 0;
}

/* The same of one that was started. */
static unsigned int
known_number(const struct programs *programs, const struct json *json, unsigned int request,
	struct text *wrong)
{
	unsigned int number = number_of(json, request, wrong);

	if (number != 0 && !programs->programs[number - 1].started) {
		text_format(wrong, "there is no program %u", number);
		return 0;
	}
	return number;
}

static void
path_of(const struct programs *programs, unsigned int number, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/program-%u", programs->folder, number);
}

/* The folder that it runs in. */
static void
home_of(const struct programs *programs, unsigned int number, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/home-%u", programs->folder, number);
}

static bool
make_home(const char *home, struct text *wrong)
{
	if (mkdir(home, 0700) == 0 || errno == EEXIST)
		return true;
	text_format(wrong, "no folder to run in: %s", strerror(errno));
	return false;
}

static int
remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
	(void)about;
	(void)kind;
	(void)where;
	remove(path);
	return 0;
}

/* What it wrote, and what was written for it. */
static void
remove_files(const struct programs *programs, unsigned int number)
{
	char path[PATH_MAX];

	path_of(programs, number, path);
	unlink(path);
	home_of(programs, number, path);
	nftw(path, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
}

bool
programs_file(struct programs *programs, const struct json *json, unsigned int request,
	struct text *wrong)
{
	const char *name = json_string(json, json_member(json, request, "name"));
	const char *content = json_string(json, json_member(json, request, "text"));
	unsigned int number = number_of(json, request, wrong);
	char path[PATH_MAX + NAME_LENGTH + 2];
	char home[PATH_MAX];
	FILE *file;
	bool done;

	if (number == 0)
		return false;
	if (name == NULL || name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL ||
			strlen(name) > NAME_LENGTH || content == NULL) {
		text_format(wrong, "\"name\" is no name of a file, or \"text\" is no string");
		return false;
	}
	if (programs->programs[number - 1].started) {
		text_format(wrong, "there is a program %u already", number);
		return false;
	}
	home_of(programs, number, home);
	if (!make_home(home, wrong))
		return false;
	programs->programs[number - 1].known = true;
	snprintf(path, sizeof(path), "%s/%s", home, name);
	file = fopen(path, "ae");
	done = file != NULL && fputs(content, file) >= 0;
	if (file != NULL && fclose(file) != 0)
		done = false;
	if (!done)
		text_format(wrong, "no room for %s: %s", name, strerror(errno));
	return done;
}

static bool
read_words(const struct json *json, unsigned int request, const char *words[PROGRAM_WORDS + 1],
	struct text *wrong)
{
	unsigned int list = json_member(json, request, "argv");
	unsigned int count = 0;

	if (!json_is(json, list, JSON_ARRAY) || json->values[list].count < 1 ||
			json->values[list].count > PROGRAM_WORDS) {
		text_format(wrong, "\"argv\" is no list of 1 to %d strings", PROGRAM_WORDS);
		return false;
	}
	for (unsigned int i = json->values[list].first; i != 0; i = json->values[i].next) {
		words[count] = json_string(json, i);
		if (words[count++] == NULL) {
			text_format(wrong, "\"argv\" holds something that is no string");
			return false;
		}
	}
	words[count] = NULL;
	if (words[0][0] != '/') {
		text_format(wrong, "\"argv\" begins with no whole path");
		return false;
	}
	return true;
}

static void
wait_until(int64_t instant_ns)
{
	struct timespec instant = {
		.tv_sec = instant_ns / NANOSECONDS,
		.tv_nsec = instant_ns % NANOSECONDS,
	};

	/* One that has passed is not waited for. */
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &instant, NULL) == EINTR)
		continue;
}

/* In the new process. The words are those of its own copy of the request. */
static void __attribute__((noreturn))
become(const char *const words[], const char *home, int output, int64_t instant_ns)
{
	const struct rlimit room = {.rlim_cur = PROGRAM_OUTPUT + 1, .rlim_max = PROGRAM_OUTPUT + 1};
	const struct rlimit open_files = {.rlim_cur = PROGRAM_FILES, .rlim_max = PROGRAM_FILES};
	int nothing = open("/dev/null", O_RDONLY);
	sigset_t none;

	setpgid(0, 0);
	if (nothing >= 0)
		dup2(nothing, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	setrlimit(RLIMIT_FSIZE, &room);
	setrlimit(RLIMIT_NOFILE, &open_files);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	wait_until(instant_ns);
	if (chdir(home) == 0)
		execv(words[0], (char *const *)words);
	dprintf(STDERR_FILENO, "vsperf: cannot run %s: %s\n", words[0], strerror(errno));
	_exit(NOT_RUN);
}

bool
programs_run(struct programs *programs, const struct json *json, unsigned int request,
	struct text *wrong)
{
	int64_t instant_ns = json_number(json, json_member(json, request, "instant_ns"), 0);
	const char *words[PROGRAM_WORDS + 1];
	unsigned int number = number_of(json, request, wrong);
	struct program *program;
	char path[PATH_MAX];
	char home[PATH_MAX];
	int output;
	pid_t pid;

	if (number == 0 || !read_words(json, request, words, wrong))
		return false;
	program = &programs->programs[number - 1];
	if (program->started) {
		text_format(wrong, "there is a program %u already", number);
		return false;
	}
	if (instant_ns < 0) {
		text_format(wrong, "\"instant_ns\" is no time");
		return false;
	}
	home_of(programs, number, home);
	if (!make_home(home, wrong))
		return false;
	program->known = true;
	path_of(programs, number, path);
	output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (output < 0) {
		text_format(wrong, "no room for what it writes: %s", strerror(errno));
		return false;
	}
	pid = fork();
	if (pid == 0)
		become(words, home, output, instant_ns);
	close(output);
	if (pid < 0) {
		text_format(wrong, "no process: %s", strerror(errno));
		return false;
	}
	/* Both sides see to it, so that the group is there whoever is first. */
	setpgid(pid, pid);
	program->pid = pid;
	program->started = true;
	return true;
}

bool
programs_output(const struct programs *programs, const struct json *json, unsigned int request,
	struct text *answer, struct text *wrong)
{
	int64_t from = json_number(json, json_member(json, request, "from"), 0);
	unsigned int number = known_number(programs, json, request, wrong);
	char piece[PROGRAM_PIECE];
	char path[PATH_MAX];
	struct stat about;
	ssize_t got;
	int output;

	if (number == 0)
		return false;
	if (from < 0 || from > PROGRAM_OUTPUT + 1) {
		text_format(wrong, "\"from\" is no number from 0 to %d", PROGRAM_OUTPUT + 1);
		return false;
	}
	path_of(programs, number, path);
	output = open(path, O_RDONLY | O_CLOEXEC);
	if (output < 0 || fstat(output, &about) != 0 ||
			(got = pread(output, piece, sizeof(piece), (off_t)from)) < 0) {
		text_format(wrong, "what it wrote cannot be read: %s", strerror(errno));
		if (output >= 0)
			close(output);
		return false;
	}
	close(output);
	text_format(answer, ",\"size\":%lld,\"text\":", (long long)about.st_size);
	text_quote(answer, piece, (size_t)got);
	return true;
}

bool
programs_end(struct programs *programs, const struct json *json, unsigned int request,
	struct text *wrong)
{
	unsigned int number = number_of(json, request, wrong);
	int64_t deadline = now_ms() + PATIENCE_MS;
	struct program *program;
	int status;

	if (number == 0)
		return false;
	program = &programs->programs[number - 1];
	if (!program->known) {
		text_format(wrong, "there is no program %u", number);
		return false;
	}
	while (program->pid != 0) {
		pid_t ended;

		kill(-program->pid, SIGKILL);
		ended = waitpid(program->pid, &status, WNOHANG);
		if (ended != 0) {
			programs_ended(programs, program->pid);
		} else if (now_ms() >= deadline) {
			text_format(wrong, "program %u does not end", number);
			return false;
		} else {
			wait_ms(LOOK_EACH_MS);
		}
	}
	remove_files(programs, number);
	program->known = false;
	program->started = false;
	return true;
}

unsigned int
programs_ended(struct programs *programs, pid_t pid)
{
	for (unsigned int i = 0; i < PROGRAMS; i++) {
		struct program *program = &programs->programs[i];

		if (program->pid != 0 && program->pid == pid) {
			/* What it left running answers to nobody; its group has no other's number yet. */
			kill(-pid, SIGKILL);
			program->pid = 0;
			return i + 1;
		}
	}
	return 0;
}
