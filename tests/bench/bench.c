/* bench.c - command line of benchmarks; see bench.h */
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/base/text.h"

static void print_usage(FILE *to, const char *usage, const struct bench_option *options, size_t n)
{
	fprintf(to, "usage: %s [OPTION]...\n", usage);
	for (size_t i = 0; i < n; i++)
		fprintf(to, "  --%-12s %s\n", options[i].name, options[i].help);
}

static const struct bench_option *find(const char *name, const struct bench_option *options,
				       size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(options[i].name, name))
			return &options[i];
	return NULL;
}

int bench_parse(const char *usage, const struct bench_option *options, size_t n, int argc,
		char **argv)
{
	int kept = 1;

	for (int i = 1; i < argc; i++) {
		const struct bench_option *o;
		bool good;

		if (strncmp(argv[i], "--", 2) != 0) {
			argv[kept++] = argv[i];
			continue;
		}
		if (!strcmp(argv[i], "--help")) {
			print_usage(stdout, usage, options, n);
			exit(0);
		}
		o = find(argv[i] + 2, options, n);
		good = o && (o->flag || i + 1 < argc);
		if (good && o->flag)
			*o->flag = true;
		else if (good && o->text)
			*o->text = argv[++i];
		else if (good)
			good = text_to_int(argv[++i], o->number) && *o->number >= 0;
		if (!good) {
			fprintf(stderr, "%s: not understood\n", argv[i]);
			print_usage(stderr, usage, options, n);
			exit(64);
		}
	}
	return kept;
}
