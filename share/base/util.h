/* util.h - the few macros everybody may use. */
#ifndef WERKBANK_SHARE_BASE_UTIL_H
#define WERKBANK_SHARE_BASE_UTIL_H

#define ARRAY_LEN(a)	  (sizeof(a) / sizeof((a)[0]))
#define CEIL_DIV(n, d)	  (((n) + (d)-1) / (d))
#define MIN(a, b)	  ((a) < (b) ? (a) : (b))
#define MAX(a, b)	  ((a) > (b) ? (a) : (b))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))

/* 1 in builds with AddressSanitizer. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#define HAS_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define HAS_ADDRESS_SANITIZER 0
#endif

#endif
