/*
 * product_choices.h - the algorithms of matrix products that a GPU chose by measuring.
 *
 * Another algorithm adds in another order, so a resumed run would continue with other bits if it
 * measured again. Each rank keeps its choices in products.RANK.txt of the run's folder: it reads
 * them before the first step, and writes them before a checkpoint if it has measured more.
 */
#ifndef WERKBANK_TRAIN_TRAINER_PRODUCT_CHOICES_H
#define WERKBANK_TRAIN_TRAINER_PRODUCT_CHOICES_H

#include <stdbool.h>
#include <stdint.h>

#include "train/model/model.h"
#include "train/trainer/run_records.h"

struct product_choices {
	struct model *model; /* borrowed, as all pointers here */
	const char *folder;  /* of the run */
	int rank;
	struct run_records *records;
	int64_t saved; /* choices that the file holds */
};

/*
 * Before the first product. A file that cannot be used is a warning, and so is one that is missing
 * when the run resumes.
 */
int product_choices_load(struct product_choices *p, bool is_resumed, struct err *e);
/* Before a checkpoint. A failure is a warning, and the next checkpoint tries again. */
void product_choices_save(struct product_choices *p);

#endif
