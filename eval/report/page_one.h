/*
 * page_one.h - what a report begins with: the result of the run, samples, and the next command.
 *
 *	page_one_open(&p, &v, &answers, e); write the report; page_one_close(&p)
 *
 * Reads the kept score of the test set (werkbank-run(5)) together with the evidence.
 */
#ifndef WERKBANK_EVAL_REPORT_PAGE_ONE_H
#define WERKBANK_EVAL_REPORT_PAGE_ONE_H

#include "eval/report/answers.h"
#include "share/base/buf.h"

#define PAGE_SAMPLES	  10 /* pairs of the newest evaluation, the first ones */
#define PAGE_SAMPLES_TEXT 3  /* on a terminal: ten would push the problems off the screen */

/* A BLEU score; numbers are NAN and tok is "" if there is none. */
struct page_score {
	double bleu, step, nll;
	char tok[16];
	double t, sentences, beam, alpha; /* of a kept score: unix seconds, and how it was made */
};

struct page_one {
	struct page_score dev, test; /* dev: the best evaluation */
	bool has_test_set;	     /* of the corpus of the training */
	double ended;		     /* unix seconds of the last record; NAN: unknown */
	double pairs, trained_s;
	char format[40];      /* number format and backend: "bf16 on cuda" */
	char host[96];	      /* and how many more */
	struct answer result; /* the same in words: a sentence and facts */
	char *score_command;  /* owned: scores the test set; NULL: it has a score, or is missing */
	char *command;	      /* owned: the next one to type */
	const char *command_why; /* a constant */
};

/* Call page_one_close() after a failure too. A missing or damaged file is no failure. */
int page_one_open(struct page_one *p, const struct evidence *v, const struct answers *a,
		  struct err *e);
void page_one_close(struct page_one *p);

/* page_next.c: the next command for the run, owned by the caller, and why. NULL: out of memory. */
char *page_next_command(const struct page_one *p, const struct evidence *v, const struct answers *a,
			const char **why, struct err *e);
/* page_next.c: the command that scores the test set; as above. */
char *page_score_command(const struct evidence *v, struct err *e);

#endif
