/* util.h - the few macros everybody may use. */
#ifndef WERKBANK_BASE_UTIL_H
#define WERKBANK_BASE_UTIL_H

#define ARRAY_LEN(a)	  (sizeof(a) / sizeof((a)[0]))
#define CEIL_DIV(n, d)	  (((n) + (d)-1) / (d))
#define MIN(a, b)	  ((a) < (b) ? (a) : (b))
#define MAX(a, b)	  ((a) > (b) ? (a) : (b))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

#endif
