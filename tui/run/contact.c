/* contact.c - see contact.h */
#include "tui/run/contact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/base/number_format.h"
#include "share/base/util.h"
#include "tui/run/record_fields.h"

#define CONTACTS_MAX 64
#define FILE_BYTES   8192

/* The file of one address; false: there is none. */
static bool add_contact_file(struct contact *c, const char *workspace, int number, double now)
{
	struct err ignored;
	char *path = file_path(&ignored, "%s/contact-%d.json", workspace, number);
	struct json *root = path ? record_read_file(path, FILE_BYTES) : NULL;
	size_t n = strlen(c->addresses);
	const char *address, *trouble;
	char since[NUMBER_TEXT_BYTES];

	free(path);
	if (!root)
		return false;
	address = json_text(json_get(root, "address"), "?");
	trouble = json_text(json_get(root, "trouble"), "");
	snprintf(c->addresses + n, sizeof(c->addresses) - n, "%s%s", n ? ", " : "", address);
	if (*trouble && !*c->trouble)
		snprintf(c->trouble, sizeof(c->trouble), "no contact for %s: %.400s",
			 format_duration(since,
					 MAX(now - json_number(json_get(root, "since"), now), 0)),
			 trouble);
	json_free(root);
	return true;
}

bool contact_update(struct contact *c, const char *workspace, double now)
{
	struct contact before = *c;

	*c = (struct contact){ 0 };
	for (int i = 0; i < CONTACTS_MAX && add_contact_file(c, workspace, i, now); i++)
		;
	return strcmp(before.addresses, c->addresses) != 0 ||
	       strcmp(before.trouble, c->trouble) != 0;
}
