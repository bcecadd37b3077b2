/* model_signs.c - dead parts of the model, size of the vocabulary; see model_signs.h */
#include "eval/report/model_signs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/metrics/score_tokenize.h"
#include "share/base/activation.h"
#include "share/base/mem.h"
#include "share/base/statistics.h"
#include "share/base/util.h"
#include "share/conf/text_sides.h"

#define MAX_MATRICES	4096 /* of one evaluation */
#define LEAST_MEDIAN	1e-3 /* of the moves: below, rounding decides what stands still */
#define DEAD_RATIO	0.01 /* of the median matrix */
#define ATTENTION_STILL 0.1
#define FORWARD_STILL	0.9
#define UNITS_STILL	0.25

/* ---- dead parts -------------------------------------------------------- */

/* The points of one evaluation: first .. end - 1, and the median of their moves. */
struct weights_group {
	size_t first, end;
	double median;
};

/* The last evaluations, newest first. Returns their number, at most SIGNS_DEAD_RECORDS. */
static size_t last_weights_groups(struct weights_group groups[SIGNS_DEAD_RECORDS],
				  const struct evidence *v, double *moved)
{
	size_t n = 0;

	for (size_t end = v->n_weights; end > 0 && n < SIGNS_DEAD_RECORDS;) {
		struct weights_group *g = &groups[n++];
		size_t known = 0;

		*g = (struct weights_group){ .first = end - 1, .end = end };
		while (g->first > 0 && end - g->first < MAX_MATRICES &&
		       v->weights[g->first - 1].step == v->weights[end - 1].step)
			g->first--;
		for (size_t i = g->first; i < g->end; i++)
			if (isfinite(v->weights[i].moved))
				moved[known++] = v->weights[i].moved;
		g->median = known ? stat_quantile(moved, known, 0.5) : NAN;
		end = g->first;
	}
	return n;
}

/* The point of this matrix; NULL: none. */
static const struct weights_point *find_matrix(const struct evidence *v,
					       const struct weights_group *g, const char *name)
{
	for (size_t i = g->first; i < g->end; i++)
		if (!strcmp(v->weights[i].matrix, name))
			return &v->weights[i];
	return NULL;
}

static bool is_forward(const char *matrix)
{
	return strstr(matrix, ".ffn.") != NULL;
}

/* The still share from which a part of this matrix counts as dead. */
static double still_limit(const char *matrix)
{
	if (strstr(matrix, ".self.") || strstr(matrix, ".cross."))
		return ATTENTION_STILL;
	return is_forward(matrix) ? FORWARD_STILL : INFINITY;
}

/* The largest move relative to the median, and the least still share, over the records. */
static void follow_matrix(const struct evidence *v, const struct weights_group *groups, size_t n,
			  const char *name, double *moved, double *still)
{
	*moved = 0;
	*still = 1;
	for (size_t k = 0; k < n; k++) {
		const struct weights_point *p = find_matrix(v, &groups[k], name);

		/* unknown: not dead */
		*moved = p && isfinite(p->moved) ? MAX(*moved, p->moved / groups[k].median)
						 : INFINITY;
		*still = p ? MIN(*still, p->still) : 0;
		if (isinf(*moved))
			return;
	}
}

static void add_matrix_name(char *names, size_t size, const char *name)
{
	const size_t n = strlen(names);

	if (n + strlen(name) + 8 < size)
		snprintf(names + n, size - n, "%s%s", n ? ", " : "", name);
	else if (n < 3 || strcmp(names + n - 3, "...") != 0)
		snprintf(names + n, size - n, ", ...");
}

int find_dead_signs(struct dead_signs *s, const struct evidence *v, struct err *e)
{
	struct weights_group groups[SIGNS_DEAD_RECORDS];
	double *moves = mem_alloc(MAX(v->n_weights, 1), sizeof(*moves), e);
	char partly[sizeof(s->names)] = "";

	*s = (struct dead_signs){ .median = NAN };
	if (!moves)
		return e->code;
	s->records = last_weights_groups(groups, v, moves);
	free(moves);
	if (!s->records)
		return 0;
	s->median = groups[0].median;
	s->matrices = groups[0].end - groups[0].first;
	for (size_t k = 0; k < s->records; k++)
		if (!(groups[k].median >= LEAST_MEDIAN)) { /* or damaged records */
			s->median = NAN;
			return 0;
		}
	for (size_t i = groups[0].first; i < groups[0].end; i++) {
		const char *name = v->weights[i].matrix;
		double moved, still;

		follow_matrix(v, groups, s->records, name, &moved, &still);
		if (moved < DEAD_RATIO) {
			s->dead++;
			s->frozen += moved == 0;
			add_matrix_name(s->names, sizeof(s->names), name);
		} else if (still > still_limit(name)) {
			s->partly++;
			s->still = MAX(s->still, still);
			add_matrix_name(partly, sizeof(partly), name);
		} else if (is_forward(name) && still > UNITS_STILL &&
			   v->recipe.activation == ACTIVATION_relu) { /* others have a gradient */
			s->layers++;
			s->units = MAX(s->units, still);
			add_matrix_name(s->layer_names, sizeof(s->layer_names), name);
		}
	}
	if (!s->dead)
		memcpy(s->names, partly, sizeof(partly));
	return 0;
}

/* ---- the vocabulary ---------------------------------------------------- */

static bool has_side_words(const struct evidence *v, int side)
{
	const char *language = side ? v->recipe.target_language : v->recipe.source_language;

	return score_tokenizer_for(language) == SCORE_13A &&
	       v->bytes_a_word[side] <= SIGNS_WORD_BYTES;
}

void find_vocabulary_signs(struct vocabulary_signs *s, const struct evidence *v)
{
	*s = (struct vocabulary_signs){ .pieces_a_word = NAN, .words = NAN };
	for (int side = 0; side < 2; side++) {
		const bool has_words = has_side_words(v, side);
		const double pieces = v->pieces[side] / v->words[side];

		s->has_words = s->has_words || has_words;
		s->by_side[side] = has_words ? pieces : NAN;
		if (!has_words || s->pieces_a_word >= pieces)
			continue;
		s->pieces_a_word = pieces;
		s->words = v->words[side];
		s->is_target = side;
	}
	s->entries = s->is_target ? v->vocabulary : v->source_vocabulary;
	s->uses = text_vocabularies(&v->recipe) == 1 ? (v->pieces[0] + v->pieces[1]) / v->vocabulary
						     : v->pieces[s->is_target] / s->entries;
}
