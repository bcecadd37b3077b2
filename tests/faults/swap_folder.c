/*
 * swap_folder.c - what another user does who can write in a folder: he renames each temporary folder
 * that appears there, and puts something else in its place, until a file "stop" appears.
 *
 *	swap_folder link|copy FOLDER TARGET	link: a symbolic link to TARGET
 *						copy: the folder TARGET itself, renamed
 *
 * inotify tells him of a new folder at once. Prints how many folders he has replaced.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static int replaced;

static void swap_one(bool by_link, const char *target, const char *name)
{
	char taken[300];

	snprintf(taken, sizeof(taken), "%s.taken", name);
	if (rename(name, taken))
		return;
	if (by_link ? symlink(target, name) : rename(target, name))
		return;
	replaced++;
}

/* false: "stop" has appeared */
static bool handle_event(bool by_link, const char *target, const struct inotify_event *event)
{
	const size_t n = event->len ? strlen(event->name) : 0;

	if (n == 4 && !strcmp(event->name, "stop"))
		return false;
	if (event->mask & IN_ISDIR && event->mask & IN_CREATE && n > 4 && n < 250 &&
	    !strcmp(event->name + n - 4, ".tmp"))
		swap_one(by_link, target, event->name);
	return true;
}

int main(int argc, char **argv)
{
	_Alignas(struct inotify_event) char events[8192];
	const int in = inotify_init1(IN_CLOEXEC);
	bool goes_on;
	ssize_t n;

	if (argc != 4 || chdir(argv[2]) || in < 0 || inotify_add_watch(in, ".", IN_CREATE) < 0) {
		perror("swap_folder");
		return EXIT_FAILURE;
	}
	goes_on = access("stop", F_OK) != 0; /* it may be older than the watch */
	puts("ready");
	fflush(stdout);
	while (goes_on && ((n = read(in, events, sizeof(events))) > 0 || errno == EINTR)) {
		for (char *at = events; goes_on && at < events + n;) {
			const struct inotify_event *event = (struct inotify_event *)at;

			goes_on = handle_event(!strcmp(argv[1], "link"), argv[3], event);
			at += sizeof(*event) + event->len;
		}
	}
	printf("%d\n", replaced);
	return EXIT_SUCCESS;
}
