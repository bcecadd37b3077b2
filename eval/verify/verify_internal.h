/* verify_internal.h - the result of a check, shared by verify.c and verify_checks.c. */
#ifndef WERKBANK_EVAL_VERIFY_VERIFY_INTERNAL_H
#define WERKBANK_EVAL_VERIFY_VERIFY_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "share/base/buf.h"
#include "share/base/err.h"

struct verify_fault {
	char *text; /* owned: names the file, says what is wrong */
	char *cure; /* owned: a sentence */
};

struct verified_folder {
	const char *folder;	     /* borrowed */
	struct verify_fault *faults; /* (n) owned */
	size_t n, cap;
	int64_t files; /* that were checked */
};

void verified_folder_free(struct verified_folder *v);

/* Each checks the folder v->folder and adds its faults; a returned failure is not of the folder. */
int verify_model(struct verified_folder *v, struct err *e);
int verify_corpus(struct verified_folder *v, struct err *e);
int verify_run_folder(struct verified_folder *v, struct err *e);

#endif
