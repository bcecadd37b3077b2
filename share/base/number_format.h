/*
 * number_format.h - numbers in a form for people.
 *
 * Each function writes into a buffer of NUMBER_TEXT_BYTES and returns it. An unknown value
 * (NaN, a negative count) is "-", never 0.
 */
#ifndef WERKBANK_SHARE_BASE_NUMBER_FORMAT_H
#define WERKBANK_SHARE_BASE_NUMBER_FORMAT_H

#include <stdint.h>

#define NUMBER_TEXT_BYTES 32
#define FORMAT_LARGEST	  1e30 /* series clamp larger values, so they are shown as ">=1e30" */

/* 1234567 → "1,234,567"; negative: "-" */
const char *format_count(char out[NUMBER_TEXT_BYTES], int64_t n);
/* The same for a count that is kept as a real number; rounded. Not finite, or 1e15 and more: "-". */
const char *format_real_count(char out[NUMBER_TEXT_BYTES], double n);
/*
 * The macros are for arguments of a call, such as printf(): their text lives until the end of the
 * enclosing block.
 */
#define COUNT_TEXT(n) format_real_count((char[NUMBER_TEXT_BYTES]){ 0 }, (double)(n))
/* 12345 → "12.3k", 0.000612 → "6.12e-4", 61.4237 → "61.42": about four characters of digits */
const char *format_value(char out[NUMBER_TEXT_BYTES], double value);
#define VALUE_TEXT(value) format_value((char[NUMBER_TEXT_BYTES]){ 0 }, value)
/* With a fixed number of decimals, for metrics such as BLEU. */
const char *format_fixed(char out[NUMBER_TEXT_BYTES], double value, int decimals);
#define FIXED_TEXT(value, decimals) format_fixed((char[NUMBER_TEXT_BYTES]){ 0 }, value, decimals)
/* The perplexity exp(nll): "12.34", of a diverged run "1.97e163"; more than a double holds: ">1e308" */
const char *format_perplexity(char out[NUMBER_TEXT_BYTES], double nll);
#define PERPLEXITY_TEXT(nll) format_perplexity((char[NUMBER_TEXT_BYTES]){ 0 }, nll)
/* 29612345 → "29.6 MB" */
const char *format_bytes(char out[NUMBER_TEXT_BYTES], double bytes);
#define BYTES_TEXT(bytes) format_bytes((char[NUMBER_TEXT_BYTES]){ 0 }, bytes)
/* 151 → "2:31", 3751 → "1:02:31", 273600 → "3d 04:00" */
const char *format_duration(char out[NUMBER_TEXT_BYTES], double seconds);
#define DURATION_TEXT(seconds) format_duration((char[NUMBER_TEXT_BYTES]){ 0 }, seconds)

/*
 * A round step, 1, 2, 2.5 or 5 times a power of ten, that divides range into at most n parts (2.5
 * only below 1 or from 25 on). range > 0, n >= 1.
 */
double round_tick_step(double range, int n);
/*
 * The label of a tick at value; step is the distance of ticks, largest the axis' largest absolute
 * value.
 */
const char *format_tick(char out[NUMBER_TEXT_BYTES], double value, double step, double largest);

#endif
