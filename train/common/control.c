/* control.c - see control.h */
#include "train/common/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/base/file.h"

static void read_requests(const char *path, struct control *c)
{
	FILE *f = file_open_stream(path, &(struct err){ 0 });
	char word[32];

	while (f && fscanf(f, "%31s", word) == 1) {
		c->save |= !strcmp(word, "save");
		c->evaluate |= !strcmp(word, "evaluate");
		c->stop |= !strcmp(word, "stop");
	}
	if (f)
		fclose(f);
}

struct control control_read_requests(const char *run_folder)
{
	struct err ignored;
	struct control c = { 0 };
	char *path = file_path(&ignored, "%s/control", run_folder);
	char *taken = path ? file_path(&ignored, "%s.taken", path) : NULL;

	/* rename first, so that a request written meanwhile is not lost */
	if (taken && rename(path, taken) == 0) {
		read_requests(taken, &c);
		unlink(taken);
	}
	free(taken);
	free(path);
	return c;
}
