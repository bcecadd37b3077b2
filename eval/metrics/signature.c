/* signature.c - the common parts of signatures; see signature.h */
#include "config.h"
#include "eval/metrics/signature.h"

void signature_begin(size_t references, const struct signature_trials *t, struct buf *out)
{
	buf_printf(out, "nrefs:%zu", references);
	signature_add_trials(t, out);
}

void signature_add_trials(const struct signature_trials *t, struct buf *out)
{
	if (t->bs)
		buf_printf(out, "|bs:%lld", (long long)t->bs);
	if (t->ar)
		buf_printf(out, "|ar:%lld", (long long)t->ar);
	if (t->bs || t->ar)
		buf_printf(out, "|seed:%llu", (unsigned long long)t->seed);
}

void signature_end(struct buf *out)
{
	buf_printf(out, "|version:%s-%s", PACKAGE_TARNAME, PACKAGE_VERSION);
}

int signature_check_references(int64_t segments, size_t n_before, size_t n, struct err *e)
{
	if (n > 0 && (segments == 0 || n == n_before))
		return 0;
	if (n == 0)
		return err_set(e, ERR_DATA, "segment %lld has no reference",
			       (long long)segments + 1);
	return err_set(e, ERR_DATA,
		       "segment %lld has %zu references, but the segments before it have %zu",
		       (long long)segments + 1, n, n_before);
}
