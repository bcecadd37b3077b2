/* main.c - werkbank-eval: decoding, scores, the translation service. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "eval/score_tools.h"
#include "share/base/conf.h"

static int bleu(struct conf *c, struct err *e)
{
	return score_tools_bleu(c, stdout, e);
}

static int chrf(struct conf *c, struct err *e)
{
	return score_tools_chrf(c, stdout, e);
}

static const struct {
	const char *name;
	int (*run)(struct conf *c, struct err *e);
} commands[] = {
	{ "bleu", bleu },
	{ "chrf", chrf },
};

static int print_help(const struct conf *c, struct err *e)
{
	struct buf text = { 0 };
	int code;

	conf_help(c->command, &text);
	code = buf_check(&text, e);
	if (!code)
		fputs(buf_text(&text), stdout);
	buf_free(&text);
	return code;
}

static int run(struct conf *c, int argc, char **argv, struct err *e)
{
	if (conf_init(c, e) || conf_parse_command(c, "eval", argc, argv, e))
		return e->code;
	if (c->version) {
		printf("werkbank-eval %s\n", PACKAGE_VERSION);
		return 0;
	}
	if (c->help || !c->command)
		return print_help(c, e);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, c->command))
			return commands[i].run(c, e);
	return err_set(e, ERR_INTERNAL, "werkbank-eval does not do %s", c->command);
}

int main(int argc, char **argv)
{
	struct conf c = { 0 };
	struct err e = { 0 };
	int code = run(&c, argc, argv, &e);

	if (code)
		fprintf(stderr, "werkbank: %s\n", e.text);
	conf_free(&c);
	return err_exit_status(code);
}
