/*
 * series_band.h - the mean of several curves, with the spread between them.
 *
 *	struct series band;
 *	series_init(&band);
 *	series_band_make(&band, curves, n, weight, e);
 *	struct plot_line l = { .series = &band, …, .has_band = true };
 */
#ifndef WERKBANK_TUI_PLOT_SERIES_BAND_H
#define WERKBANK_TUI_PLOT_SERIES_BAND_H

#include "tui/plot/series.h"

#define SERIES_BAND_MANY 4 /* curves from which on the band is the standard deviation */

/*
 * Replace the points of band: each has the mean of n >= 1 curves as its value. low and high are
 * the smallest and the largest of the curves; of SERIES_BAND_MANY and more curves, the mean minus
 * and plus one standard deviation (with n - 1 degrees of freedom). Each curve is smoothed by
 * weight first (struct smoother; 0: not).
 *
 * The points lie only where all curves have values, at the x of the curve with the fewest points
 * there; the other curves are interpolated. Where one of the curves has a gap, band has
 * one. band owns its points. ERR_NOMEM: band is empty.
 */
int series_band_make(struct series *band, const struct series *const *curves, size_t n,
		     double weight, struct err *e);

/*
 * Replace the points of tail by those of the longest curve from the end of the common range on, its
 * values smoothed by weight: what a band cannot show while other curves are shorter. Empty if no curve
 * is longer. tail owns its points. ERR_NOMEM: tail is empty.
 */
int series_band_tail(struct series *tail, const struct series *const *curves, size_t n,
		     double weight, struct err *e);

#endif
