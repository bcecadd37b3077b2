/* records_svg.h - the curves of a run as one picture: export --format svg. */
#ifndef WERKBANK_EVAL_EXPORT_RECORDS_SVG_H
#define WERKBANK_EVAL_EXPORT_RECORDS_SVG_H

#include "share/base/buf.h"
#include "share/base/err.h"

/*
 * Append an SVG page with the plots of a journal: NLL, BLEU, learning rate, gradient norm, speed,
 * time of a step; with marks of restarts, warnings and errors. Plots without values are left out.
 * ERR_NOINPUT, ERR_IO, ERR_NOMEM.
 */
int records_svg_page(const char *run, const char *journal, struct buf *out, struct err *e);

#endif
