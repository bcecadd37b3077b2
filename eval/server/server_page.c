/* server_page.c - the page for browsers at "/": files of the folder page, which are built into the program */
#include <string.h>

#include "eval/server/page_files.h"
#include "eval/server/server_api.h"
#include "share/base/util.h"

void page_send(struct server_state *s, struct api_call *call, struct api_answer *a)
{
	static const struct {
		const char *path, *name, *type;
	} files[] = {
		{ "/", "index", "text/html; charset=utf-8" },
		{ "/style.css", "style", "text/css; charset=utf-8" },
		{ "/script.js", "script", "text/javascript; charset=utf-8" },
	};

	(void)s;
	(void)call;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		for (size_t k = 0; k < ARRAY_LEN(page_files) && !strcmp(files[i].path, a->path);
		     k++)
			if (!strcmp(page_files[k].name, files[i].name)) {
				a->status = 200;
				a->type = files[i].type;
				a->is_page = true;
				buf_add_str(&a->body, page_files[k].text);
			}
}
