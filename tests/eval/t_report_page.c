/* t_report_page.c - the first page of a report: result, samples, the next command. */
#include "tests/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "eval/report/answers.h"
#include "eval/report/report.h"
#include "share/base/buf.h"
#include "share/base/file.h"

static bool write_in_run(const char *run, const char *name, const char *text)
{
	struct err e = { 0 };
	char *folder = file_path(&e, "%s/runs/%s", test_folder(), run),
	     *path = file_path(&e, "%s/%s", folder, name);
	const int rc = file_make_folders(folder, &e) ? e.code
						     : file_write_all(path, text, strlen(text), &e);

	check_int(rc, 0);
	free(folder);
	free(path);
	return !rc;
}

/* A run that learns for 6,000 steps; more: records behind them. */
static bool write_page_run(const char *run, const char *more)
{
	struct buf b = { 0 };
	bool is_done;

	buf_printf(&b,
		   "{\"kind\":\"start\",\"t\":0,\"step\":0,\"run\":\"%s\",\"host\":\"bench\","
		   "\"ranks\":1,\"precision\":\"fp32\",\"backend\":\"cpu\",\"vocabulary\":8000}\n",
		   run);
	for (int i = 1; i <= 60; i++) {
		buf_printf(&b,
			   "{\"kind\":\"train\",\"t\":%d,\"step\":%d,\"nll\":%.4f,\"step_s\":0.5,"
			   "\"lr\":0.001}\n",
			   50 * i, 100 * i, 1 + 60 / sqrt(100 * i));
		if (i % 5 == 0)
			buf_printf(&b,
				   "{\"kind\":\"eval\",\"t\":%d,\"step\":%d,\"bleu\":%.2f,"
				   "\"tok\":\"13a\",\"dev_nll\":%.4f,\"train_nll\":%.4f}\n",
				   50 * i, 100 * i, 0.5 * i, 1.2 + 60 / sqrt(100 * i),
				   1 + 60 / sqrt(100 * i));
	}
	buf_add_str(&b, more);
	is_done =
		write_in_run(run, "journal.jsonl", buf_text(&b)) &&
		write_in_run(run, "recipe.ini", "[data]\ncorpus = none\n[train]\nsteps = 100000\n");
	buf_free(&b);
	return is_done;
}

/* The text report of a run of the test folder. */
static void write_text_report(const char *run, struct buf *text)
{
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct page_one page = { 0 };
	const struct report_content content = { &v, &a, &page };
	struct err e = { 0 };

	buf_clear(text);
	if (check_int(evidence_open(&v, test_folder(), run, &e), 0) &&
	    check_int(answers_find(&a, &v, &e), 0) &&
	    check_int(page_one_open(&page, &v, &a, &e), 0)) {
		answers_choose_problems(&a);
		report_text(&content, text);
		buf_add_str(text, "\n");
		report_json(&content, text);
	}
	page_one_close(&page);
	answers_free(&a);
	evidence_close(&v);
}

static void check_has(const struct buf *text, const char *words)
{
	if (!check(strstr(buf_text(text), words) != NULL))
		fprintf(stderr, "\tnothing like '%s'\n", words);
}

#define SAMPLE(step, id, words)                                                                    \
	"{\"kind\":\"sample\",\"step\":" step ",\"id\":" id ",\"source\":\"source " words          \
	"\",\"reference\":\"reference " words "\",\"hypothesis\":\"hypothesis " words "\"}\n"

/* Result, samples of the newest step, problems and a command come before the questions. */
TEST(report_first_page)
{
	static const char samples[] =
		SAMPLE("500", "0", "old") "damaged\n" SAMPLE("1000", "0", "first")
			SAMPLE("1000", "1", "second") SAMPLE("1000", "2", "third")
				SAMPLE("1000", "3", "fourth") "{\"kind\":\"sample\",\"step\":1500";
	struct buf text = { 0 };

	if (!write_page_run("healthy", "") || !write_in_run("healthy", "samples.jsonl", samples))
		return;
	write_text_report("healthy", &text);
	check_has(&text, "BLEU on the development set is 30.00 (13a), at step 6,000");
	check_has(&text, "Samples of step 1,000\n  - source      source first\n"
			 "    reference   reference first\n    hypothesis  hypothesis first\n");
	check_has(&text, "source third");
	check_has(&text, "\"hypothesis\":\"hypothesis fourth\""); /* JSON has up to ten */
	check(!strstr(buf_text(&text), "source old"));
	check_has(&text, "Next\n  werkbank watch -C ");
	check_has(&text, "\nDoes not apply to this run\n  gpus-used, network-bound, stragglers,");
	check(!strstr(buf_text(&text), "Is the network the bottleneck?  "));
	check_has(&text, "The corpus has no test set.");
	write_in_run("healthy", "eval-test.json",
		     "{\"set\":\"test\",\"bleu\":34.125,\"tok\":\"intl\",\"step\":5500,\"nll\":2.5,"
		     "\"t\":1795720628,\"sentences\":500,\"beam\":4}\n");
	write_text_report("healthy", &text);
	check_has(&text, "BLEU on the test set is 34.12 (intl), at step");
	check_has(&text, "2026-11-26 19:17 UTC");
	check_has(&text, "\"test\":{\"bleu\":34.125,\"tok\":\"intl\",\"step\":5500");
	write_in_run("healthy", "eval-test.json", "{\"bleu\":");
	write_text_report("healthy", &text);
	check_has(&text, "The corpus has no test set.");
	buf_free(&text);
}

/* The next command follows from how the run ended, and from its problems. */
TEST(report_next_command)
{
	static const struct {
		const char *run, *reason, *words;
		bool has_model, nan;
	} cases[] = {
		{ "asked", "\"reason\":\"asked\",\"why\":\"request\"", "--run asked\n", true,
		  false },
		{ "ended", "\"reason\":\"finished\",\"why\":\"steps\"",
		  "--run ended --steps 200000\n", true, false },
		{ "record", "\"reason\":\"finished\",\"why\":\"steps\"", " record all\n", false,
		  false },
		{ "sick", "\"reason\":\"finished\",\"why\":\"steps\"",
		  "--run sick-2 --noam-factor 1\n", true, true },
	};
	struct buf text = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf more = { 0 };

		for (int k = 1; cases[i].nan && k <= 3; k++)
			buf_printf(&more,
				   "{\"kind\":\"train\",\"t\":8000,\"step\":%d,\"loss\":null,"
				   "\"nonfinite\":\"loss\"}\n",
				   6000 + k);
		buf_printf(&more, "{\"kind\":\"stop\",\"t\":9000,\"step\":100000,%s}\n",
			   cases[i].reason);
		write_page_run(cases[i].run, buf_text(&more));
		if (cases[i].has_model) {
			char name[100];

			snprintf(name, sizeof(name), "%s/checkpoints/best", cases[i].run);
			write_in_run(name, "state.json", "{}");
		}
		write_text_report(cases[i].run, &text);
		check_has(&text, cases[i].words);
		buf_free(&more);
	}
	buf_free(&text);
}

/* A run of 12 steps says once that it is too early, and lists no question without an answer. */
TEST(report_too_early)
{
	struct buf text = { 0 };

	write_in_run("young", "recipe.ini", "[data]\ncorpus = none\n[train]\nsteps = 20000\n");
	write_in_run("young", "journal.jsonl",
		     "{\"kind\":\"start\",\"t\":0,\"step\":0,\"ranks\":1,\"vocabulary\":8000}\n"
		     "{\"kind\":\"train\",\"t\":9,\"step\":12,\"nll\":8.985,\"step_s\":1}\n");
	write_text_report("young", &text);
	check_has(&text,
		  "12 of 20,000 steps, 1 training record, 0 evaluations: too early to judge\n");
	check(!strstr(buf_text(&text), "  Does it overfit?"));
	check_has(&text, "The run has no evaluation yet.");
	buf_free(&text);
}

/* Translations in capitals, cut or in small letters: a problem of the data, whose sentence names it. */
TEST(report_data_causes)
{
	static const struct {
		const char *hypothesis, *words;
		bool is_yes;
	} cases[] = {
		{ "The old Man reads a long Book in the green Garden of his House.", "", false },
		{ "THE OLD MAN READS A LONG BOOK IN THE GREEN GARDEN OF HIS HOUSE.",
		  "the best BLEU 30.00, but translations do not look like their references. "
		  "Capitals "
		  "are 100 % of the letters in translations and 10 % in references",
		  true },
		{ "the old man reads a long book in the green garden of his house.",
		  "Capitals are 0 % of the letters in translations", true },
	};
	struct buf samples = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct evidence v = { 0 };
		struct answers a = { 0 };
		struct err e = { 0 };

		buf_clear(&samples);
		for (int k = 0; k < 3; k++)
			buf_printf(&samples,
				   "{\"kind\":\"sample\",\"step\":6000,\"id\":%d,\"source\":\"x\","
				   "\"reference\":\"%s\",\"hypothesis\":\"%s\"}\n",
				   k, cases[0].hypothesis, cases[i].hypothesis);
		write_page_run("causes", "");
		write_in_run("causes", "samples.jsonl", buf_text(&samples));
		if (check_int(evidence_open(&v, test_folder(), "causes", &e), 0) &&
		    check_int(answers_find(&a, &v, &e), 0))
			for (size_t k = 0; k < a.n; k++)
				if (!strcmp(a.all[k].id, "data-problem")) {
					check_int(a.all[k].verdict,
						  cases[i].is_yes ? VERDICT_YES : VERDICT_NO);
					if (!check(strstr(a.all[k].sentence, cases[i].words)))
						fprintf(stderr, "\t%s\n", a.all[k].sentence);
				}
		answers_free(&a);
		evidence_close(&v);
	}
	buf_free(&samples);
}

/* What preparation found follows what the run shows, as a sentence of its own. */
TEST(report_corpus_verdicts)
{
	struct evidence v = { 0 };
	struct answers a = { 0 };
	struct err e = { 0 };
	const char *manifest =
		"{\"v\":2,\"verdicts\":[{\"rule\":\"shifted\",\"confidence\":\"clear\","
		"\"set\":\"train\",\"what\":\"Targets stand 1 line after their sources.\"}]}";

	write_page_run("verdicts", "");
	if (check_int(evidence_open(&v, test_folder(), "verdicts", &e), 0)) {
		json_free(v.manifest);
		v.manifest = json_parse(manifest, strlen(manifest), &e);
		check_int(answers_find(&a, &v, &e), 0);
	}
	for (size_t k = 0; k < a.n; k++)
		if (!strcmp(a.all[k].id, "data-problem") &&
		    !check(strstr(a.all[k].sentence, "epochs). Preparing the corpus found: train: "
						     "Targets stand 1 line after")))
			fprintf(stderr, "\t%s\n", a.all[k].sentence);
	answers_free(&a);
	evidence_close(&v);
}
