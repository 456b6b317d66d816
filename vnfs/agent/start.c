/* SPDX-License-Identifier: Apache-2.0
 * Copyright(c) 2026 The vsperf authors
 */
/* The verb `start`: checks what was asked for, starts it, and waits until it forwards. */
#include <poll.h>
#include <string.h>

#include "agent.h"
#include "files.h"

#define DEADLINE_MS 20000
#define LONGEST_MS 600000
#define LARGEST 65535
#define LOOK_EACH_MS 5

static const struct kind *const kinds[] = {
	&kind_testpmd,
	&kind_linux_bridge,
	&kind_l2fwd,
	&kind_tgen,
	&kind_stress,
	&kind_none,
};

static const struct kind *
find_kind(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	}
	return NULL;
}

/* Keeps a string of the request, whose text will be overwritten. */
static const char *
keep(struct application *application, const char *string)
{
	struct text *storage = &application->storage;
	size_t before = storage->length;

	text_add(storage, string, strlen(string) + 1);
	return storage->bytes + before;
}

static bool
read_number(const struct json *json, unsigned int request, const char *name, unsigned int *number,
	unsigned int most, struct text *wrong)
{
	unsigned int value = json_member(json, request, name);
	int64_t wanted = json_number(json, value, value == 0 ? (int64_t)*number : -1);

	if (wanted < 1 || wanted > (int64_t)most) {
		text_format(wrong, "\"%s\" is no number from 1 to %u", name, most);
		return false;
	}
	*number = (unsigned int)wanted;
	return true;
}

static bool
read_nics(struct agent *agent, unsigned int request, struct text *wrong)
{
	struct settings *settings = &agent->application.settings;
	const struct json *json = &agent->request;
	unsigned int list = json_member(json, request, "nics");

	if (list != 0 && (!json_is(json, list, JSON_ARRAY) || json->values[list].count > SIDES)) {
		text_format(wrong, "\"nics\" is no list of one or two MAC addresses");
		return false;
	}
	for (unsigned int i = list == 0 ? 0 : json->values[list].first; i != 0;
			i = json->values[i].next) {
		const char *mac = json_string(json, i);
		const struct nic *nic = mac == NULL ? NULL : nics_by_mac(&agent->nics, mac);

		if (nic == NULL || (settings->sides == 1 && settings->nics[0] == nic)) {
			text_format(wrong, "\"nics\": this guest has no %sNIC %s",
				nic == NULL ? "" : "second ", mac == NULL ? "without a name" : mac);
			return false;
		}
		settings->nics[settings->sides++] = nic;
	}
	if (settings->sides == 0 && !agent->application.kind->needs_no_nic) {
		text_format(wrong, "\"nics\" names none, and %s needs one or two",
			agent->application.kind->name);
		return false;
	}
	return true;
}

/* A list of strings; null in it stands for "not said". */
static bool
read_strings(struct agent *agent, unsigned int request, const char *name, const char **strings,
	unsigned int *count, unsigned int most, struct text *wrong)
{
	const struct json *json = &agent->request;
	unsigned int list = json_member(json, request, name);

	if (list == 0 || json_is(json, list, JSON_NULL))
		return true;
	if (!json_is(json, list, JSON_ARRAY) || json->values[list].count > most) {
		text_format(wrong, "\"%s\" is no list of at most %u strings", name, most);
		return false;
	}
	for (unsigned int i = json->values[list].first; i != 0; i = json->values[i].next) {
		const char *string = json_string(json, i);

		if (string == NULL && !json_is(json, i, JSON_NULL)) {
			text_format(wrong, "\"%s\" holds something that is no string", name);
			return false;
		}
		strings[(*count)++] = string == NULL ? NULL : keep(&agent->application, string);
	}
	return true;
}

static bool
read_settings(struct agent *agent, unsigned int request, struct text *wrong)
{
	struct settings *settings = &agent->application.settings;
	const struct json *json = &agent->request;
	unsigned int forward = json_member(json, request, "forward");
	unsigned int peers = 0;

	*settings = (struct settings){
		.forward = "io",
		.queues = 1,
		.rx_descriptors = 512,
		.tx_descriptors = 512,
		.burst = 32,
		.mtu = 1500,
		.memory_mb = 256,
	};
	if (json_string(json, forward) != NULL)
		settings->forward = keep(&agent->application, json_string(json, forward));
	if (!read_nics(agent, request, wrong) ||
			!read_number(json, request, "queues", &settings->queues, LARGEST, wrong) ||
			!read_number(json, request, "rx_descriptors", &settings->rx_descriptors,
				LARGEST, wrong) ||
			!read_number(json, request, "tx_descriptors", &settings->tx_descriptors,
				LARGEST, wrong) ||
			!read_number(json, request, "burst", &settings->burst, LARGEST, wrong) ||
			!read_number(json, request, "mtu", &settings->mtu, LARGEST, wrong) ||
			!read_number(json, request, "memory", &settings->memory_mb, LARGEST,
				wrong) ||
			!read_strings(agent, request, "peers", settings->peers, &peers, SIDES, wrong) ||
			!read_strings(agent, request, "arguments", settings->words,
				&settings->word_count, WORDS / 2, wrong))
		return false;
	if (agent->application.storage.overflown) {
		text_format(wrong, "\"forward\", \"peers\" and \"arguments\" are too long together");
		return false;
	}
	return true;
}

static bool
wait_until_ready(struct agent *agent, int64_t deadline, struct text *wrong)
{
	struct application *application = &agent->application;
	const struct kind *kind = application->kind;

	while (kind->ready != NULL && !kind->ready(application)) {
		struct pollfd output = {.fd = application->child.terminal, .events = POLLIN};

		if (kind->has_process && application->child.pid == 0) {
			text_format(wrong, "%s ended at once: ", kind->name);
			child_how(&application->child, wrong);
			return false;
		}
		if (now_ms() >= deadline) {
			text_format(wrong, "%s was not ready in time", kind->name);
			return false;
		}
		poll(&output, 1, LOOK_EACH_MS);
		child_read(&application->child);
		agent_reap(agent);
	}
	return true;
}

static void
add_started(struct agent *agent)
{
	struct text *answer = &agent->answer;
	const struct application *application = &agent->application;

	text_format(answer, ",\"ready\":true,\"app\":\"%s\",\"argv\":[", application->kind->name);
	for (unsigned int i = 0; i < application->argc; i++) {
		text_add(answer, ",", i > 0);
		text_quote(answer, application->argv[i], strlen(application->argv[i]));
	}
	text_format(answer, "],\"nics\":[");
	for (unsigned int i = 0; i < application->settings.sides; i++) {
		char driver[64];

		nic_driver(application->settings.nics[i], driver, sizeof(driver));
		text_format(answer, "%s{\"mac\":\"%s\",\"driver\":\"%s\"}", i > 0 ? "," : "",
			application->settings.nics[i]->mac, driver);
	}
	text_format(answer, "]");
}

void
agent_start(struct agent *agent, unsigned int request)
{
	struct application *application = &agent->application;
	const struct json *json = &agent->request;
	const char *name = json_string(json, json_member(json, request, "app"));
	unsigned int deadline_ms = DEADLINE_MS;
	int64_t began = now_ms();
	char bytes[512];
	struct text wrong;

	agent_stop(agent);
	application->forwards = false;
	text_init(&wrong, bytes, sizeof(bytes));
	child_init(&application->child);
	application->argc = 0;
	application->memory = NULL;
	text_init(&application->storage, application->bytes, sizeof(application->bytes));
	application->kind = find_kind(name);
	if (application->kind == NULL)
		text_format(&wrong, "\"app\" is none of testpmd, linux_bridge, l2fwd, tgen, stress, "
			"none");
	else if (read_number(json, request, "deadline_ms", &deadline_ms, LONGEST_MS, &wrong) &&
			read_settings(agent, request, &wrong) &&
			application->kind->start(application, &wrong) &&
			wait_until_ready(agent, began + deadline_ms, &wrong)) {
		application->forwards = true;
		add_started(agent);
		return;
	}
	agent_stop(agent);
	text_format(&agent->answer, ",\"error\":");
	text_quote(&agent->answer, wrong.bytes, wrong.length);
	text_format(&agent->answer, ",\"log\":");
	child_log(&application->child, &agent->answer);
}
