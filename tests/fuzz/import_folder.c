/*
 * import_folder.c - a target for folders of transformers: all files that their import reads; see fuzz.h
 *
 * An input is the files, before each a line "== NAME". The line feed before that line belongs to no file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/vocabs.h"
#include "eval/import/import_format.h"
#include "share/base/file.h"
#include "share/base/mem.h"
#include "share/base/util.h"
#include "tests/fuzz/fuzz.h"

#define MOST_FLOATS 100000

static const char *const names[] = {
	"config.json",	  "generation_config.json", "tokenizer_config.json",
	"tokenizer.json", "added_tokens.json",	    "sentencepiece.bpe.model",
	"vocab.json",	  "target_vocab.json",	    "source.spm",
	"target.spm",	  "model.safetensors",
};

/* The name in the line "== NAME" at these bytes; NULL: they are no such line. *length: its bytes, with line feeds. */
static const char *find_name(const uint8_t *at, size_t n, size_t *length)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char line[64];

		*length = (size_t)snprintf(line, sizeof(line), "\n== %s\n", names[i]);
		if (n >= *length && !memcmp(at, line, *length))
			return names[i];
	}
	return NULL;
}

static void write_part(const char *folder, const char *name, const uint8_t *at, size_t n)
{
	struct err e = { 0 };
	char path[FUZZ_FOLDER_BYTES + 40];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	property(!name || !file_write_all(path, at, n, &e));
}

static void write_files(const char *folder, const uint8_t *data, size_t n)
{
	const char *name = NULL, *next;
	size_t start = 0, length;

	for (size_t i = 0; i < n; i++)
		if ((next = find_name(data + i, n - i, &length)) != NULL) {
			if (name)
				write_part(folder, name, data + start, i - start);
			name = next;
			start = i + length;
			i = start - 1;
		}
	if (name)
		write_part(folder, name, data + start, n - start);
}

/* Fills a small model by the staged vocabularies, as an import does. */
static void load_weights(struct import_job *m)
{
	struct err e = { 0 };
	struct model_shape s = m->t.shape;
	struct model_param *params = NULL;
	struct vocabs v;
	int64_t floats = 0;
	size_t n;
	int rc = vocabs_open(&v, m->staging.temporary, m->c, &e);

	if (!rc) {
		s.vocabulary = vocab_size(v.target);
		s.real_vocabulary = vocab_real_size(v.target);
		s.source_vocabulary = vocabs_own_source(&v);
		s.real_source_vocabulary = vocabs_own_real_source(&v);
		rc = model_params(&s, &params, &n, &floats, &e);
	}
	vocabs_close(&v);
	if (!rc && floats <= MOST_FLOATS) {
		float *arena = mem_alloc((size_t)floats, sizeof(*arena), &e);

		if (arena)
			weight_map_load(&m->t, &s, &m->rows, arena, &e);
		free(arena);
	}
	free(params);
}

FUZZ(transformers)
{
	char folder[FUZZ_FOLDER_BYTES], out[FUZZ_FOLDER_BYTES + 8];
	struct err e = { 0 };
	struct import_source source;
	struct conf c;
	struct import_job m = { .c = &c };

	fuzz_make_folder(folder);
	snprintf(out, sizeof(out), "%s/out", folder);
	write_files(folder, data, n);
	property(!conf_init(&c, &e));
	if (!import_find_format(folder, &source, &m.format, &e) && m.format &&
	    m.format != &import_safetensors) {
		m.file = source.file;
		m.folder = source.folder;
		m.pieces = source.folder;
		if (!outfolder_open(&m.staging, out, NULL, &e) && !m.format->open(&m, &e) &&
		    !m.format->stage(&m, &e))
			load_weights(&m);
		outfolder_abandon(&m.staging);
	}
	import_reader_close(&m.f);
	json_free(m.config);
	free(m.rows.target);
	free(m.rows.source);
	import_source_close(&source);
	conf_free(&c);
	property(!file_remove_tree(folder, &e));
	return 0;
}
