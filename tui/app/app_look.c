/* app_look.c - theme, mouse and pictures of the terminal; see app_internal.h. */
#include "tui/app/app_internal.h"

#include <string.h>

#include "share/base/util.h"

void app_set_look(struct app *a)
{
	term_set_look(a->term, &(struct term_look){ &a->theme, a->colours, a->mouse });
	term_set_tones(a->term, &a->grid);
}

void app_suit_ground(struct app *a)
{
	if (!a->term)
		return;
	if (!strcmp(a->theme.name, "auto"))
		term_ask_ground(a->term);
	theme_suit_ground(&a->theme, term_ground(a->term));
}

void app_preview_theme(struct app *a, const char *name)
{
	struct err ignored;

	if (!a->has_preview && !name)
		return;
	if (!a->has_preview)
		a->before_preview = a->theme;
	a->has_preview = name != NULL;
	/* the settings show the chosen theme, not the one that is tried */
	a->context.theme = name ? a->before_preview.name : a->theme.name;
	if (!name)
		a->theme = a->before_preview;
	else if (app_load_theme(a, name, &ignored))
		return;
	if (a->term)
		app_set_look(a);
}

void app_apply_look(struct app *a)
{
	struct view_requests *requests = a->requests;
	struct err e = { 0 };

	if (*requests->new_theme && app_load_theme(a, requests->new_theme, &e))
		context_notify(&a->context, STYLE_BAD, "%s", e.text);
	else if (*requests->new_theme)
		saved_state_set(&requests->saved, "theme", requests->new_theme);
	*requests->new_theme = 0;
	if (requests->mouse >= 0) {
		a->mouse = requests->mouse;
		saved_state_set(&requests->saved, "mouse", a->mouse ? "yes" : "no");
	}
	requests->mouse = -1;
	if (a->term) {
		app_set_look(a);
		term_describe(a->term, a->terminal_text, sizeof(a->terminal_text));
	}
	a->context.mouse = a->mouse;
}

void app_show_picture_state(struct app *a)
{
	static const char *const words[] = {
		[TERM_PICTURES_OFF] = "off",
		[TERM_PICTURES_ASKED] = "the terminal is being asked",
		[TERM_PICTURES_KITTY] = "shown by the kitty graphics protocol",
		[TERM_PICTURES_SIXEL] = "shown as sixels",
		[TERM_PICTURES_NONE] = "not shown: this terminal answers that it cannot",
		[TERM_PICTURES_SILENT] = "not shown: this terminal does not answer",
		[TERM_PICTURES_SLOW] = "not shown: the line to this terminal is too slow",
		[TERM_PICTURES_INSIDE] = "not shown: not inside tmux or screen",
	};
	enum term_pictures now = a->term ? term_pictures(a->term) : TERM_PICTURES_OFF;

	if (a->context.pictures != words[now] && now > TERM_PICTURES_ASKED)
		context_notify(&a->context, now > TERM_PICTURES_SIXEL ? STYLE_WARN : STYLE_GOOD,
			       "pictures of plots: %s", words[now]);
	a->context.pictures = words[now];
}

void app_apply_pictures(struct app *a)
{
	struct app_context *w = &a->context;

	w->wants_pictures = a->requests->pictures;
	a->requests->pictures = -1;
	saved_state_set(&a->requests->saved, "pictures", w->wants_pictures ? "yes" : "no");
	if (a->term)
		term_want_pictures(a->term, w->wants_pictures);
	app_show_picture_state(a);
}
