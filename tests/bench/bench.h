/*
 * bench.h - the command line of a benchmark: --name value, --flag, and operands.
 *
 *	struct bench_option options[] = {
 *		{ "size", &size, NULL, NULL, "tiny|base|big" },
 *		{ "tokens", NULL, &tokens, NULL, "tokens a side of a batch" },
 *		{ "json", NULL, NULL, &json, "print one JSON object" },
 *	};
 *	argc = bench_parse("bench_train [SOURCE TARGET]", options, ARRAY_LEN(options), argc, argv);
 */
#ifndef WERKBANK_TESTS_BENCH_BENCH_H
#define WERKBANK_TESTS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_option {
	const char *name;
	const char **text; /* one of text, number, flag is set: the variable that gets the value */
	int64_t *number;   /* must be at least 0 */
	bool *flag;
	const char *help;
};

/*
 * Remove the options from argv; argv[0 … result - 1] remain, the program's name first. After --help or
 * a wrong option it prints the usage and ends the program.
 */
int bench_parse(const char *usage, const struct bench_option *options, size_t n, int argc,
		char **argv);

#endif
