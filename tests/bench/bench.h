/*
 * bench.h - the command line of a bench: --name value, --flag, and what is left over.
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
	const char **text; /* one of these three is set: where the value goes */
	int64_t *number;   /* must be at least 0 */
	bool *flag;
	const char *help;
};

/*
 * Take the options out of argv; what remains are argv[0 … result - 1], the program's
 * name first. After --help, or a mistake, usage has been printed and the program ends.
 */
int bench_parse(const char *usage, const struct bench_option *options, size_t n, int argc,
		char **argv);

#endif
