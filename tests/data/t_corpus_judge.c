/* t_corpus_judge.c - healthy and sick corpora, made of the built-in one: each sickness has its verdict, and no other */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/demo/demo.h"
#include "data/judge/corpus_judge.h"
#include "data/judge/word_marks.h"
#include "share/base/hash.h"
#include "share/base/text.h"
#include "share/base/util.h"
#include "tests/test.h"

#define N_LINES 3000

enum sickness {
	HEALTHY,
	SHUFFLED,
	HALF_SHUFFLED,
	SHIFTED,
	PARTLY_SHIFTED,
	SWAPPED,
	PARTLY_SWAPPED,
	COPIED,
	FRENCH,
	RUSSIAN,
	ONE_PAIR,
	ONE_TARGET,
	SCATTERED,
	SORTED,
	QUOTED,
	ENTITIES,
	MARKUP,
	CAPITALS,
	TINY,
	N_SICKNESSES
};

static const struct {
	const char *name, *rule; /* NULL: no verdict is expected */
} sicknesses[N_SICKNESSES] = {
	[HEALTHY] = { "healthy", NULL },
	[SHUFFLED] = { "shuffled", "misaligned" },
	[HALF_SHUFFLED] = { "half shuffled", "misaligned" },
	[SHIFTED] = { "shifted", "shifted" },
	[PARTLY_SHIFTED] = { "partly shifted", "shifted" },
	[SWAPPED] = { "swapped", "swapped" },
	[PARTLY_SWAPPED] = { "partly swapped", "swapped" },
	[COPIED] = { "copied", "copies" },
	[FRENCH] = { "French", "target-language" },
	[RUSSIAN] = { "Russian", "target-script" },
	[ONE_PAIR] = { "one pair", "repeats" },
	[ONE_TARGET] = { "one target", "one-line" },
	[SCATTERED] = { "scattered wrong targets", "misaligned" },
	[SORTED] = { "sorted targets", "misaligned" },
	[QUOTED] = { "quoted", "quoted" },
	[ENTITIES] = { "entities", "entities" },
	[MARKUP] = { "markup", "markup" },
	[CAPITALS] = { "capitals", "capitals" },
	[TINY] = { "100 shuffled lines", NULL }, /* too few for a verdict */
};

static const char french[] = "Le chien de la voisine est dans le jardin avec les enfants";
static const char russian[] = "Собака соседки сидит в саду и ждёт детей";

/* Lines of both sides; owned. */
struct made_text {
	char *sides[2][N_LINES];
	int n;
};

static void make_text(struct made_text *t)
{
	struct err e = { 0 };
	struct demo *d = demo_open(7, &e);
	struct buf lines[2] = { { 0 }, { 0 } };

	t->n = N_LINES;
	for (int i = 0; d && i < t->n; i++) {
		buf_clear(&lines[0]);
		buf_clear(&lines[1]);
		check_int(demo_next(d, &lines[0], &lines[1], &e), 0);
		for (int side = 0; side < 2; side++)
			t->sides[side][i] = strdup(buf_text(&lines[side]));
	}
	check(d != NULL);
	demo_close(d);
	buf_free(&lines[0]);
	buf_free(&lines[1]);
}

static void free_text(struct made_text *t)
{
	for (int i = 0; i < N_LINES; i++) {
		free(t->sides[0][i]);
		free(t->sides[1][i]);
	}
}

/* A pseudo-random number below n; the same for the same i. */
static int pick_line(int i, int n)
{
	return (int)(hash_integer((uint64_t)i * 2654435761u + 12345) >> 33) % n;
}

static void shuffle_targets(struct made_text *t, int from)
{
	for (int i = t->n - 1; i > from; i--) {
		const int with = from + pick_line(i, i - from + 1);
		char *target = t->sides[1][i];

		t->sides[1][i] = t->sides[1][with];
		t->sides[1][with] = target;
	}
}

static void shift_targets(struct made_text *t, int from)
{
	free(t->sides[1][from]);
	memmove(&t->sides[1][from], &t->sides[1][from + 1],
		(size_t)(N_LINES - 1 - from) * sizeof(char *));
	t->sides[1][N_LINES - 1] = strdup("Ende");
	t->n--;
}

static void replace_line(struct made_text *t, int side, int i, const char *text)
{
	char *copy = strdup(text);

	free(t->sides[side][i]);
	t->sides[side][i] = copy;
}

/* Put words before and after both sides. */
static void wrap_line(struct made_text *t, int i, const char *before, const char *after)
{
	for (int side = 0; side < 2; side++) {
		char line[4000];

		snprintf(line, sizeof(line), "%s%s%s", before, t->sides[side][i], after);
		replace_line(t, side, i, line);
	}
}

static void in_capitals(struct made_text *t, int i)
{
	for (char *at = t->sides[1][i]; *at; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
}

/* Changes of a single line; of the others in make_sick(). */
static void make_line_sick(struct made_text *t, enum sickness s, int i)
{
	char *source = t->sides[0][i];

	if (s == SWAPPED || (s == PARTLY_SWAPPED && i >= 2000 && i < 2300)) {
		t->sides[0][i] = t->sides[1][i];
		t->sides[1][i] = source;
	} else if (s == COPIED && i % 3 == 0) {
		replace_line(t, 1, i, source);
	} else if ((s == FRENCH || s == RUSSIAN) && i % 5 == 0) {
		char line[200];

		snprintf(line, sizeof(line), "%s %d", s == FRENCH ? french : russian, i);
		replace_line(t, 1, i, line);
	} else if (s == ONE_TARGET && i % 2) {
		replace_line(t, 1, i, "Bitte wenden .");
	} else if (s == ONE_PAIR && i % 3) {
		replace_line(t, 0, i, t->sides[0][0]);
		replace_line(t, 1, i, t->sides[1][0]);
	} else if (s == QUOTED) {
		wrap_line(t, i, "&quot; ", " &quot;");
	} else if (s == MARKUP) {
		wrap_line(t, i, "&lt; seg &gt; ", " &lt; / seg &gt;");
	} else if (s == ENTITIES && i % 10 == 0) {
		wrap_line(t, i, "", " &amp; # 39 ;");
	} else if (s == CAPITALS && i % 2) {
		in_capitals(t, i);
	}
}

static int cmp_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Three of five targets change places with another one. */
static void scatter_targets(struct made_text *t)
{
	for (int i = 0; i < t->n; i++) {
		const int with = pick_line(i, t->n);
		char *target = t->sides[1][i];

		if (i % 5 > 2)
			continue;
		t->sides[1][i] = t->sides[1][with];
		t->sides[1][with] = target;
	}
}

static void make_sick(struct made_text *t, enum sickness s)
{
	if (s == SCATTERED)
		scatter_targets(t);
	if (s == SORTED)
		qsort(t->sides[1], (size_t)t->n, sizeof(char *), cmp_text);
	if (s == TINY)
		t->n = 100;
	if (s == SHUFFLED || s == TINY)
		shuffle_targets(t, 0);
	if (s == HALF_SHUFFLED)
		shuffle_targets(t, t->n / 2);
	if (s == SHIFTED || s == PARTLY_SHIFTED)
		shift_targets(t, s == SHIFTED ? 0 : 1000);
	for (int i = 0; i < t->n; i++)
		make_line_sick(t, s, i);
}

/* Split a line at blanks; ids: room for 500 words. */
static void intern_line(struct intern *words, const char *text, int32_t *ids, struct judge_side *s)
{
	struct err e = { 0 };

	*s = (struct judge_side){ .hash = hash_bytes(text, strlen(text)), .words = ids };
	for (const char *at = text; *at;) {
		const size_t n = strcspn(at, " ");

		if (n && s->n < 500)
			check_int(intern_add(words, at, n, &ids[s->n++], &e), 0);
		at += n + (at[n] == ' ');
	}
	s->characters = (uint32_t)utf8_count(text, strlen(text));
	s->letters = s->characters - s->n;
	s->foreign = strstr(text, "Соб") ? s->letters : 0;
}

static void intern_all(struct intern *words, const struct made_text *t)
{
	int32_t ids[500];
	struct judge_side s;

	for (int i = 0; i < t->n; i++)
		for (int side = 0; side < 2; side++)
			intern_line(words, t->sides[side][i], ids, &s);
}

static struct corpus_judge *judge_text(const struct made_text *t, struct intern *words,
				       struct err *e)
{
	const struct judge_options o = { words, t->n, "en", "de", true };
	int32_t ids[2][500];
	struct corpus_judge *j;

	intern_all(words, t);
	j = corpus_judge_new(&o, e);
	for (int i = 0; j && i < t->n; i++) {
		struct judge_pair pair = { .text = 0, .line = i + 1 };

		for (int side = 0; side < 2; side++)
			intern_line(words, t->sides[side][i], ids[side], &pair.sides[side]);
		check_int(corpus_judge_add(j, i, &pair, e), 0);
	}
	return j;
}

TEST(judge_knows_sick_corpora)
{
	for (int s = 0; s < N_SICKNESSES; s++) {
		struct made_text t;
		struct intern words = { 0 };
		struct err e = { 0 };
		struct corpus_judge *j;
		const struct corpus_verdict *v;
		int n, found = 0;

		make_text(&t);
		make_sick(&t, (enum sickness)s);
		j = judge_text(&t, &words, &e);
		check_int(corpus_judge_run(j, &e), 0);
		v = corpus_judge_verdicts(j, &n);
		for (int i = 0; i < n; i++) {
			if (sicknesses[s].rule &&
			    !strcmp(judge_rule_name(v[i].rule), sicknesses[s].rule))
				found++;
			else
				test_fail(__FILE__, __LINE__, "%s: %s: %s", sicknesses[s].name,
					  judge_rule_name(v[i].rule), v[i].what);
		}
		if (sicknesses[s].rule && !found)
			test_fail(__FILE__, __LINE__, "%s: no verdict", sicknesses[s].name);
		corpus_judge_free(j);
		intern_free(&words);
		free_text(&t);
	}
}

TEST(judge_names_the_bad_stretch)
{
	struct made_text t;
	struct intern words = { 0 };
	struct err e = { 0 };
	struct corpus_judge *j;
	const struct corpus_verdict *v;
	int n;

	make_text(&t);
	make_sick(&t, PARTLY_SWAPPED);
	j = judge_text(&t, &words, &e);
	check_int(corpus_judge_run(j, &e), 0);
	v = corpus_judge_verdicts(j, &n);
	if (check_int(n, 1)) {
		check(v->is_clear && v->text == 0);
		check(v->first > 2000 && v->first < 2040 && v->last > 2260 && v->last <= 2300);
		check(v->n_bad > 270 && v->n_bad <= 300);
		check_int(v->n_examples, JUDGE_EXAMPLES);
		check(v->examples[0].line >= v->first && strlen(v->examples[0].source) > 0);
	}
	corpus_judge_free(j);
	intern_free(&words);
	free_text(&t);
}

/* Add lines of t to the set, changed by `how`: 0 as they are, 1 swapped, 2 lower case, 3 half targets, 4 shuffled */
static void add_set(struct corpus_judge *j, struct made_text *t, const char *name, int how)
{
	struct err e = { 0 };

	corpus_judge_begin_set(j, name);
	for (int i = 0; i < 400; i++) {
		char source[4000], target[4000];

		snprintf(source, sizeof(source), "%s", t->sides[how == 1][i]);
		snprintf(target, sizeof(target), "%s",
			 t->sides[how != 1][how == 4 ? (i * 7 + 3) % 400 : i]);
		for (char *at = target; how == 2 && *at; at++)
			*at = *at >= 'A' && *at <= 'Z' ? (char)(*at - 'A' + 'a') : *at;
		if (how == 3)
			target[strlen(target) / 2 -
			       (((unsigned char)target[strlen(target) / 2] & 0xc0) == 0x80)] = 0;
		check_int(
			corpus_judge_add_set(j, source, strlen(source), target, strlen(target), &e),
			0);
	}
}

TEST(judge_compares_held_out_sets)
{
	static const char *const rules[] = { NULL, "swapped", "case", "lengths", "misaligned" };

	for (int how = 0; how < (int)ARRAY_LEN(rules); how++) {
		struct made_text t;
		struct intern words = { 0 };
		struct err e = { 0 };
		struct corpus_judge *j;
		const struct corpus_verdict *v;
		int n;

		make_text(&t);
		j = judge_text(&t, &words, &e);
		add_set(j, &t, "dev", 0);
		add_set(j, &t, "test", how);
		check_int(corpus_judge_run(j, &e), 0);
		v = corpus_judge_verdicts(j, &n);
		check_int(n, rules[how] != NULL);
		for (int i = 0; i < n; i++) {
			check_str(v[i].set, "test");
			check_str(judge_rule_name(v[i].rule), rules[how] ? rules[how] : "none");
		}
		corpus_judge_free(j);
		intern_free(&words);
		free_text(&t);
	}
}

TEST(judge_words_have_marks)
{
	struct word_marks m;
	struct err e = { 0 };
	int32_t the, street, chinese, capitals;

	check_int(word_marks_open(&m, true, &e), 0);
	the = word_marks_add(&m, "The", 3, &e);
	street = word_marks_add(&m, "Straßenbahn", strlen("Straßenbahn"), &e);
	chinese = word_marks_add(&m, "我爱你", strlen("我爱你"), &e);
	capitals = word_marks_add(&m, "NATO", 4, &e);
	check_int(word_marks_add(&m, "The", 3, &e), the);
	check(m.marks[the].languages >> language_row("en") & 1);
	check_int(m.marks[street].n_terms, 1);
	check_int(word_marks_add(&m, "Straßenbahnen", strlen("Straßenbahnen"), &e), 4);
	check_int(m.term_lists[m.marks[4].first_term], m.term_lists[m.marks[street].first_term]);
	check_int(m.marks[chinese].n_terms, 3);
	check(m.marks[capitals].flags & WORD_CAPITALS && !(m.marks[the].flags & WORD_CAPITALS));
	check_int(language_row("no"), language_row("nb"));
	check_int(language_row("xx"), -1);
	word_marks_free(&m);
}
