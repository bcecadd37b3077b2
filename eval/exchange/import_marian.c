#include <string.h>
#include "eval/exchange/import_format.h"
static bool recognise_marian(const struct import_source *s)
{
	return zip_recognise(s->bytes, s->n) && memmem(s->bytes, s->n, "special:model.yml", 17);
}
const struct import_format import_marian = { "Marian", recognise_marian, NULL, NULL };
