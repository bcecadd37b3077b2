/*
 * round_trip.h - does detokenising restore the text? measured on the development set's target side
 *
 * A model learns from tokens, and translations are detokenised. Where the rules of a language lose
 * how a word is written ("l ' art" becomes "l 'art"), all translations are misspelt.
 *
 * Only prep*.c include this.
 */
#ifndef WERKBANK_DATA_PREP_ROUND_TRIP_H
#define WERKBANK_DATA_PREP_ROUND_TRIP_H

#include "data/prep/prep_stages.h"
#include "share/format/json.h"

struct round_trip {
	int64_t lines;	   /* compared; 0: the corpus has no development set, or tokenize = no */
	int64_t different; /* lines that come back changed, apart from blanks */
};

/* Tokenise and detokenise the lines; warn if too many differ. */
int prep_measure_round_trip(struct prep *p, struct round_trip *r, struct err *e);
/* Member "round_trip" of manifest.json: lines, different. */
void prep_put_manifest_round_trip(struct json_writer *w, const struct round_trip *r);

#endif
