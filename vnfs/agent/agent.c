/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "agent.h"
#include "boot.h"
#include "files.h"
#include "system.h"

#define PROTOCOL 1
/* Members that the image was built with, as JSON. */
#define IMAGE "/etc/image.json"

static void
add_guest(struct agent *agent)
{
	struct text *answer = &agent->answer;
	struct utsname system;
	struct sysinfo memory;

	uname(&system);
	sysinfo(&memory);
	text_format(answer, "\"event\":\"booted\",\"protocol\":%d,\"kernel\":", PROTOCOL);
	text_quote(answer, system.release, strlen(system.release));
	text_format(answer, ",\"uptime_ms\":%lld,\"cpus\":%ld,\"memory_mb\":%llu,\"nics\":[",
		(long long)now_ms(), sysconf(_SC_NPROCESSORS_ONLN),
		(unsigned long long)memory.totalram * memory.mem_unit >> 20);
	for (unsigned int i = 0; i < agent->nics.count; i++)
		text_format(answer, "%s{\"mac\":\"%s\",\"pci\":\"%s\"}", i > 0 ? "," : "",
			agent->nics.nics[i].mac, agent->nics.nics[i].pci);
	text_format(answer, "],");
	text_read(answer, IMAGE);
}

void
agent_booted(struct agent *agent)
{
	answer_begin(agent);
	add_guest(agent);
	answer_send(agent);
}

static void
add_counters(struct agent *agent)
{
	const struct application *application = &agent->application;
	bool running = application->kind != NULL && application->kind != &kind_none &&
		(!application->kind->has_process || application->child.pid != 0);

	text_format(&agent->answer, ",\"running\":%s,\"nics\":[", running ? "true" : "false");
	if (running && application->kind->counters != NULL)
		application->kind->counters(application, &agent->answer);
	text_add(&agent->answer, "]", 1);
}

static void
add_log(struct agent *agent)
{
	text_format(&agent->answer, ",\"log\":");
	child_read(&agent->application.child);
	child_log(&agent->application.child, &agent->answer);
}

static void
power_off(struct agent *agent)
{
	answer_send(agent);
	control_finish(&agent->control);
	agent_stop(agent);
	boot_power_off();
}

static int64_t
nanoseconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What has to do with programs that exchange data. Returns false where there is no such verb. */
static bool
perform_of_programs(struct agent *agent, const char *verb)
{
	const struct json *json = &agent->request;
	struct text *answer = &agent->answer;
	char bytes[512];
	struct text wrong;
	bool done = true;

	text_init(&wrong, bytes, sizeof(bytes));
	if (strcmp(verb, "clock") == 0)
		text_format(answer, ",\"now_ns\":%lld,\"wall_ns\":%lld",
			(long long)nanoseconds(CLOCK_MONOTONIC),
			(long long)nanoseconds(CLOCK_REALTIME));
	else if (strcmp(verb, "join") == 0)
		done = place_join(&agent->place, &agent->nics, json, 1, answer, &wrong);
	else if (strcmp(verb, "device") == 0)
		done = place_counts(&agent->place, answer, &wrong);
	else if (strcmp(verb, "listens") == 0)
		done = place_listens(json, 1, answer, &wrong);
	else if (strcmp(verb, "file") == 0)
		done = programs_file(&agent->programs, json, 1, &wrong);
	else if (strcmp(verb, "run") == 0)
		done = programs_run(&agent->programs, json, 1, &wrong);
	else if (strcmp(verb, "output") == 0)
		done = programs_output(&agent->programs, json, 1, answer, &wrong);
	else if (strcmp(verb, "end") == 0)
		done = programs_end(&agent->programs, json, 1, &wrong);
	else
		return false;
	if (!done) {
		text_format(answer, ",\"error\":");
		text_quote(answer, wrong.bytes, wrong.length);
	}
	return true;
}

static void
perform(struct agent *agent, const char *verb)
{
	if (verb == NULL)
		text_format(&agent->answer, ",\"error\":\"the request has no verb\"");
	else if (strcmp(verb, "hello") == 0) {
		text_add(&agent->answer, ",", 1);
		add_guest(agent);
	} else if (strcmp(verb, "start") == 0)
		agent_start(agent, 1);
	else if (strcmp(verb, "counters") == 0)
		add_counters(agent);
	else if (strcmp(verb, "system") == 0)
		system_add(&agent->answer);
	else if (strcmp(verb, "log") == 0)
		add_log(agent);
	else if (strcmp(verb, "poweroff") == 0)
		power_off(agent);
	else if (!perform_of_programs(agent, verb))
		text_format(&agent->answer, ",\"error\":\"there is no such verb\"");
}

void
agent_answer(void *context, char *line)
{
	struct agent *agent = context;
	const struct json *json = &agent->request;
	const char *wrong = line == NULL ? "a line too long, or with a zero in it"
		: json_read(&agent->request, line);

	answer_begin(agent);
	if (wrong == NULL && !json_is(json, 1, JSON_OBJECT))
		wrong = "a request that is no object";
	if (wrong != NULL) {
		text_format(&agent->answer, "\"id\":null,\"error\":");
		text_quote(&agent->answer, wrong, strlen(wrong));
	} else {
		agent->answered = json_number(json, json_member(json, 1, "id"), 0);
		agent->has_request = true;
		text_format(&agent->answer, "\"id\":%lld", (long long)agent->answered);
		perform(agent, json_string(json, json_member(json, 1, "verb")));
	}
	answer_send(agent);
}
