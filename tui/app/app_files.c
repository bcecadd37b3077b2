/*
 * app_files.c - files of the user; see app_internal.h.
 *
 *	$XDG_CONFIG_HOME/werkbank/keys		key map (keys.h)
 *	$XDG_CONFIG_HOME/werkbank/NAME.theme	themes (theme.h)
 *	$XDG_STATE_HOME/werkbank/workbench	saved state (saved_state.h)
 *	$XDG_STATE_HOME/werkbank/commands	latest items of the palette (line_history.h)
 *	$XDG_STATE_HOME/werkbank/sentences	history of the translate console (line_history.h)
 *
 * Defaults of the variables: ~/.config, ~/.local/state.
 */
#include "tui/app/app_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/file.h"
#include "share/workspace/paths.h"

#define MAX_FILE 100000 /* largest file read, in bytes */

static char *config_path(const char *name, const char *suffix)
{
	struct err ignored;
	char *file = file_path(&ignored, "%s%s", name, suffix), *path = NULL;

	if (file)
		path = paths_user_file("XDG_CONFIG_HOME", ".config", file, &ignored);
	free(file);
	return path;
}

int app_load_keymap(struct app *a, struct err *e)
{
	char *path = config_path("keys", "");
	struct buf text = { 0 };
	int status = 0;

	if (path && file_exists(path)) {
		status = file_read_all(path, MAX_FILE, &text, e);
		if (!status)
			status = keymap_read(&a->keymap, path, buf_text(&text), e);
	}
	free(path);
	buf_free(&text);
	return status;
}

int app_load_theme(struct app *a, const char *name, struct err *e)
{
	bool is_path = strchr(name, '/') != NULL;
	struct theme theme;
	struct buf text = { 0 };
	struct err ignored;
	char *path, all[120];
	int status;

	if (theme_builtin(&theme, name)) {
		a->theme = theme;
		app_suit_ground(a);
		return 0;
	}
	path = is_path ? file_path(&ignored, "%s", name) : config_path(name, ".theme");
	if (!path || !file_exists(path)) {
		theme_list_names(all, sizeof(all));
		status = err_set(e, ERR_USAGE,
				 "--theme: no theme is called \"%.60s\"; use %s, or a file %.200s",
				 name, all, path ? path : "~/.config/werkbank/NAME.theme");
		free(path);
		return status;
	}
	theme_builtin(&theme, "auto");
	status = file_read_all(path, MAX_FILE, &text, e);
	if (!status)
		status = theme_read(&theme, path, buf_text(&text), e);
	if (!status) {
		a->theme = theme;
		snprintf(a->theme.name, sizeof(a->theme.name), "%s", name);
	}
	free(path);
	buf_free(&text);
	return status;
}

/* ---- saved state ---- */

void app_load_state(struct app *a)
{
	struct buf text = { 0 };
	struct err ignored;
	char *path;

	a->requests->state_folder = paths_user_file("XDG_STATE_HOME", ".local/state", "", &ignored);
	path = context_state_path(&a->context, "workbench");
	if (path && file_exists(path) && !file_read_all(path, MAX_FILE, &text, &ignored))
		saved_state_read(&a->requests->saved, buf_text(&text));
	buf_free(&text);
	free(path);
}

/* Failures are ignored: the saved state is a convenience. */
void app_save_state(struct app *a)
{
	char *path;
	struct buf text = { 0 };
	struct err ignored;

	if (!a->requests->saved.changed)
		return;
	path = context_state_path(&a->context, "workbench");
	saved_state_write(&a->requests->saved, &text);
	if (path && !file_make_folders(a->requests->state_folder, &ignored))
		file_write_all(path, buf_text(&text), text.len, &ignored);
	buf_free(&text);
	free(path);
}
