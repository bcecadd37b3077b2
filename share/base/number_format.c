/* number_format.c - numbers as text, round ticks; see number_format.h. */
#include "share/base/number_format.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "share/base/util.h"

static const char *format_unknown(char out[NUMBER_TEXT_BYTES])
{
	return memcpy(out, "-", 2);
}

const char *format_count(char out[NUMBER_TEXT_BYTES], int64_t n)
{
	char digits[NUMBER_TEXT_BYTES];
	int len, at = 0;

	if (n < 0)
		return format_unknown(out);
	len = snprintf(digits, sizeof(digits), "%" PRId64, n);
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = 0;
	return out;
}

const char *format_real_count(char out[NUMBER_TEXT_BYTES], double n)
{
	return isfinite(n) && n < 1e15 ? format_count(out, n < 0 ? -1 : (int64_t)llround(n))
				       : format_unknown(out);
}

/* Shorten "6.12e-04" to "6.12e-4". */
static void shorten_exponent(char *text)
{
	char *e = strchr(text, 'e');
	char *from, *to;

	if (!e)
		return;
	from = to = e + 1;
	if (*from == '-')
		from = ++to;
	while (*from == '+' || (*from == '0' && from[1]))
		from++;
	memmove(to, from, strlen(from) + 1);
}

const char *format_value(char out[NUMBER_TEXT_BYTES], double v)
{
	static const char units[] = { 0, 'k', 'M', 'G', 'T' };
	double a = fabs(v);
	size_t unit = 0;
	int decimals;

	if (!isfinite(v))
		return format_unknown(out);
	/* a clamped value, perhaps rounded to a float */
	if (fabs(a / FORMAT_LARGEST - 1) < 1e-6) {
		snprintf(out, NUMBER_TEXT_BYTES, v > 0 ? ">=1e30" : "<=-1e30");
		return out;
	}
	if (a >= 1e15 || (a > 0 && a < 0.01)) {
		snprintf(out, NUMBER_TEXT_BYTES, "%.2e", v);
		shorten_exponent(out);
		return out;
	}
	if (a >= 9999.5)
		for (; a >= 999.5 && unit + 1 < sizeof(units); a /= 1000, v /= 1000)
			unit++;
	if (a >= 99.95)
		decimals = unit || a == floor(a) ? 0 : 1;
	else if (a >= 9.995)
		decimals = unit ? 1 : 2;
	else
		decimals = unit ? 2 : 3;
	snprintf(out, NUMBER_TEXT_BYTES, "%.*f%s", decimals, v,
		 unit ? (char[]){ units[unit], 0 } : "");
	return out;
}

const char *format_fixed(char out[NUMBER_TEXT_BYTES], double v, int decimals)
{
	if (!isfinite(v))
		return format_unknown(out);
	if (fabs(v) >= 1e7)
		return format_value(out, v);
	snprintf(out, NUMBER_TEXT_BYTES, "%.*f", decimals, v);
	return out;
}

const char *format_perplexity(char out[NUMBER_TEXT_BYTES], double nll)
{
	if (isfinite(nll) && isinf(exp(nll))) {
		snprintf(out, NUMBER_TEXT_BYTES, ">1e308");
		return out;
	}
	return format_fixed(out, exp(nll), 2);
}

const char *format_bytes(char out[NUMBER_TEXT_BYTES], double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	size_t unit = 0;

	if (!isfinite(bytes) || bytes < 0)
		return format_unknown(out);
	for (; bytes >= 999.5 && unit + 1 < ARRAY_LEN(units); bytes /= 1000)
		unit++;
	if (bytes >= 1e6)
		return format_unknown(out);
	snprintf(out, NUMBER_TEXT_BYTES, "%.*f %s", unit && bytes < 99.95 ? 1 : 0, bytes,
		 units[unit]);
	return out;
}

const char *format_duration(char out[NUMBER_TEXT_BYTES], double s)
{
	long long n;

	if (!isfinite(s) || s < 0 || s > 1e12)
		return format_unknown(out);
	n = (long long)s;
	if (n >= 86400)
		snprintf(out, NUMBER_TEXT_BYTES, "%lldd %02lld:%02lld", n / 86400, n / 3600 % 24,
			 n / 60 % 60);
	else if (n >= 3600)
		snprintf(out, NUMBER_TEXT_BYTES, "%lld:%02lld:%02lld", n / 3600, n / 60 % 60,
			 n % 60);
	else
		snprintf(out, NUMBER_TEXT_BYTES, "%lld:%02lld", n / 60, n % 60);
	return out;
}

double round_tick_step(double range, int n)
{
	static const double nice[] = { 1, 2, 2.5, 5, 10 };
	double raw = range / n, power = pow(10, floor(log10(raw)));

	assert(range > 0 && n >= 1);
	for (size_t i = 0; i < ARRAY_LEN(nice); i++)
		if (nice[i] * power >= raw * (1 - 1e-9) && !(nice[i] == 2.5 && power == 1))
			return nice[i] * power;
	return 10 * power;
}

/* Decimals that multiples of step need. */
static int decimals_of(double step)
{
	int n = 0;

	for (; n < 6 && fabs(step - round(step)) > 1e-6 * step; step *= 10)
		n++;
	return n;
}

const char *format_tick(char out[NUMBER_TEXT_BYTES], double value, double step, double largest)
{
	static const struct {
		double from, unit;
		const char *letter;
	} units[] = {
		{ 1e9, 1e9, "G" },
		{ 1e6, 1e6, "M" },
		{ 1e4, 1e3, "k" },
	};
	double power;

	if (!isfinite(value) || !(step > 0))
		return format_unknown(out);
	if (fabs(value) < step * 1e-6)
		return memcpy(out, "0", 2);
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (largest >= units[i].from * (1 - 1e-9) && largest < 1e12) {
			snprintf(out, NUMBER_TEXT_BYTES, "%.*f%s",
				 decimals_of(step / units[i].unit), value / units[i].unit,
				 units[i].letter);
			return out;
		}
	if (largest < 1e4 && step >= 1 && step == floor(step) && value > 0)
		return format_count(out, (int64_t)llround(value));
	if (largest < 1e4 && largest >= 0.0999999) {
		snprintf(out, NUMBER_TEXT_BYTES, "%.*f", decimals_of(step), value);
		return out;
	}
	/* the same number of digits for all ticks of an axis: 2.5e-3, 5.0e-3 */
	power = pow(10, floor(log10(fabs(value)) + 1e-9));
	snprintf(out, NUMBER_TEXT_BYTES, "%.*e", MIN(decimals_of(step / power), 2), value);
	shorten_exponent(out);
	return out;
}
