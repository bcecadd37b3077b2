/* import_formats.c - the table of formats, and what recognises a file; see import_format.h */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/sentencepiece/sp.h"
#include "data/words/vocab.h"
#include "eval/import/import_format.h"
#include "share/base/mem.h"
#include "share/base/text.h"
#include "share/conf/text_sides.h"
#include "share/workspace/model_files.h"

#define MAX_CONFIG (1u << 22)

/* In the order in which they are tried. */
static const struct import_format *const formats[] = {
	&import_m2m100,	     &import_mbart,   &import_eole,	   &import_hugging_face,
	&import_ctranslate2, &import_opennmt, &import_safetensors, &import_marian,
	&import_openseq2seq, &import_fairseq, &import_argos,	   &import_pickle,
};

/*
 * Names of weights in a folder, then the ends of names of which it may have one. model.pt comes before model.safetensors:
 * OpenNMT-py writes both, and only model.pt names the other one's facts.
 */
static const char *const weight_names[] = {
	"model.bin",	     "model.pt",  "model.safetensors",	"model.00.safetensors",
	"pytorch_model.bin", "model.npz", "checkpoint_best.pt",
};
static const char *const weight_ends[] = { ".npz", ".index", ".pt" };

/* Sets s->file to FOLDER/NAME if the file exists. */
static int try_file(struct import_source *s, const char *folder, const char *name, struct err *e)
{
	char *path = file_path(e, "%s/%s", folder, name);

	if (!path)
		return e->code;
	if (file_exists(path))
		s->file = path;
	else
		free(path);
	return 0;
}

/* The only file of the folder whose name has this end; none if there are several. */
static int try_end(struct import_source *s, const char *folder, const char *end, struct err *e)
{
	DIR *d = opendir(folder);
	const struct dirent *f;
	char name[FILE_NAME_BYTES] = "";
	int n = 0;

	while (d && (f = readdir(d)) != NULL)
		if (text_ends_with(f->d_name, end) && f->d_name[0] != '.') {
			n++;
			snprintf(name, sizeof(name), "%s", f->d_name);
		}
	if (d)
		closedir(d);
	if (n > 1)
		return err_set(e, ERR_USAGE,
			       "%s has %d files whose names end in %s: give one of them", folder, n,
			       end);
	return n ? try_file(s, folder, name, e) : 0;
}

/* The checkpoint that the file "checkpoint" of TensorFlow's Saver names first. */
static int try_latest(struct import_source *s, const char *folder, struct err *e)
{
	static const char key[] = "model_checkpoint_path: \"";
	char *path = file_path(e, "%s/checkpoint", folder);
	char text[FILE_NAME_BYTES + sizeof(key)] = "", name[FILE_NAME_BYTES + 16];
	const char *base;
	size_t n = 0;
	int rc = path ? 0 : e->code;

	if (!rc && file_exists(path) && !file_is_folder(path))
		rc = file_read_head(path, text, sizeof(text) - 1, &n, e);
	free(path);
	if (rc || !text_starts_with(text, key))
		return rc;
	text[sizeof(key) - 1 + strcspn(text + sizeof(key) - 1, "\"\n")] = '\0';
	base = strrchr(text + sizeof(key) - 1, '/');
	snprintf(name, sizeof(name), "%s.index", base ? base + 1 : text + sizeof(key) - 1);
	return try_file(s, folder, name, e);
}

static int find_file(struct import_source *s, const char *path, struct err *e)
{
	struct stat st;
	int rc = 0;

	if (stat(path, &st) != 0)
		return err_set_errno(e, ERR_NOINPUT, "cannot read %s", path);
	if (S_ISREG(st.st_mode)) {
		const char *slash = strrchr(path, '/');

		s->file = mem_strdup(path, e);
		s->folder = slash ? file_path(e, "%.*s", (int)MAX(slash - path, 1), path)
				  : mem_strdup(".", e);
		return s->file && s->folder ? 0 : e->code;
	}
	for (size_t i = 0; S_ISDIR(st.st_mode) && i < ARRAY_LEN(weight_names) && !rc && !s->file;
	     i++)
		rc = try_file(s, path, weight_names[i], e);
	if (S_ISDIR(st.st_mode) && !rc && !s->file)
		rc = try_latest(s, path, e);
	for (size_t i = 0; S_ISDIR(st.st_mode) && i < ARRAY_LEN(weight_ends) && !rc && !s->file;
	     i++)
		rc = try_end(s, path, weight_ends[i], e);
	if (!rc && !s->file)
		return err_set(e, ERR_USAGE,
			       "%s is neither a file nor a folder with model.bin, "
			       "model.safetensors, pytorch_model.bin, one .npz, one .pt or one "
			       ".index of TensorFlow: give weights, or nohup.out of an OpenSeq2Seq "
			       "training",
			       path);
	s->folder = rc ? NULL : mem_strdup(path, e);
	return rc || s->folder ? rc : e->code;
}

/* Refuses downloaded files that are not weights: pointers of Git LFS, and archives. */
static int check_is_weights(const struct import_source *s, const char *path, struct err *e)
{
	static const char pointer[] = "version https://git-lfs.github.com/spec/";
	const size_t n = sizeof(pointer) - 1;

	if (s->n >= n && !memcmp(s->bytes, pointer, n))
		return err_set(e, ERR_DATA,
			       "%s is a pointer of Git LFS, not the weights themselves: fetch them "
			       "with git lfs pull, or download the file",
			       s->file);
	if (s->n > 4 && !memcmp(s->bytes, "PK\3\4", 4))
		return err_set(
			e, ERR_DATA,
			"%s: an archive without Marian's special:model.yml, PyTorch's data.pkl or "
			"Argos Translate's metadata.json: expected weights of a known program; if "
			"it is a downloaded folder, unpack it and give the folder",
			path);
	return 0;
}

int import_find_format(const char *path, struct import_source *s,
		       const struct import_format **format, struct err *e)
{
	struct map map = { 0 };
	char *config;
	int rc;

	*format = NULL;
	*s = (struct import_source){ .file = NULL };
	rc = find_file(s, path, e);
	if (!rc)
		rc = map_open(&map, s->file, e);
	config = rc ? NULL : file_path(e, "%s/config.json", s->folder);
	if (!rc)
		rc = config ? json_read_optional(&s->config, config, MAX_CONFIG, e) : e->code;
	free(config);
	s->bytes = map.data;
	s->n = map.len;
	for (size_t i = 0; i < ARRAY_LEN(formats) && !rc && !*format; i++)
		if (formats[i]->recognise(s))
			*format = formats[i];
	if (!rc && !*format)
		rc = check_is_weights(s, path, e);
	s->bytes = NULL;
	map_close(&map);
	return rc;
}

void import_source_close(struct import_source *s)
{
	json_free(s->config);
	free(s->file);
	free(s->folder);
	*s = (struct import_source){ .file = NULL };
}

/* ---- help for formats -------------------------------------------------- */

bool import_option_given(const struct conf *c, const char *option)
{
	return strcmp(conf_origin(c, option), "default") != 0;
}

int import_set_options(struct import_job *m, const char *const *options, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; !rc && options[i]; i += 2)
		rc = conf_set(m->c, options[i], options[i + 1], "imported weights", e);
	return rc;
}

int import_set_languages(struct import_job *m, const struct json *root, const char *source_key,
			 const char *target_key, struct err *e)
{
	const char *const keys[] = { source_key, target_key };
	static const char *const options[] = { "source_language", "target_language" };
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(keys); i++) {
		const char *const set[] = { options[i], json_text(json_get(root, keys[i]), ""),
					    NULL };

		if (strlen(set[1]) == 2 && !import_option_given(m->c, options[i]))
			rc = import_set_options(m, set, e);
	}
	return rc;
}

int import_set_search(struct import_job *m, const char *rules, int64_t beam, double alpha,
		      struct err *e)
{
	char width[24], exponent[24];
	const char *set[] = { "beam_rules", rules, "alpha", exponent, "beam", width, NULL };

	snprintf(width, sizeof(width), "%lld", (long long)beam);
	snprintf(exponent, sizeof(exponent), "%.9g", alpha);
	if (!beam)
		set[4] = NULL;
	return m->has_recipe || !import_set_options(m, set, e)
		       ? 0
		       : err_prefix(e, "%s: its beam search by default", m->folder);
}

int import_set_text_options(struct import_job *m, const char *vocabularies, struct err *e)
{
	const char *const options[] = { "tokenize",
					"no",
					"normalize",
					"no",
					"segmentation",
					"sentencepiece",
					"source_tokenize",
					"same",
					"source_segmentation",
					"same",
					"vocabularies",
					vocabularies,
					NULL };

	return import_set_options(m, options, e);
}

int import_find_segmentations(struct import_job *m, struct err *e)
{
	const int n = text_subword_models(m->c);
	const char *kinds[2];
	int rc = 0;

	for (int side = 0; !rc && side < n; side++) {
		char *path =
			file_path(e, "%s/%s", m->staging.temporary, text_codes_file(m->c, side));
		struct sp *s = path ? sp_open(path, e) : NULL;

		rc = s ? 0 : e->code;
		if (s)
			kinds[side] = sp_is_unigram(s) ? "unigram" : "sentencepiece";
		sp_close(s);
		free(path);
	}
	if (!rc) {
		const char *const options[] = { "segmentation", kinds[n - 1], "source_segmentation",
						strcmp(kinds[0], kinds[n - 1]) != 0 ? kinds[0]
										    : "same",
						NULL };

		rc = import_set_options(m, options, e);
	}
	return rc;
}

int import_shape_of_options(struct import_job *m, struct err *e)
{
	struct model_shape shape = { .vocabulary = 0 };

	conf_apply_size(m->c);
	arch_set_options(&shape, m->c);
	if (m->t.table->rows > INT32_MAX / 8)
		return err_set(e, ERR_DATA, "%s: \"%s\" has %lld rows", m->file, m->t.table->name,
			       (long long)m->t.table->rows);
	shape.vocabulary = shape.real_vocabulary = (int32_t)m->t.table->rows;
	m->t.shape = shape;
	return 0;
}

void import_skip_position_rows(struct import_tensor *t)
{
	if (!text_ends_with(t->name, ".embed_positions.weight") || t->n_dims != 2 || t->rows < 3)
		return;
	t->data += (size_t)(2 * t->cols) * import_type_bytes(t->type);
	t->rows -= 2;
}

int import_find_piece(const struct import_job *m, const char *name, char **path, struct err *e)
{
	*path = file_path(e, "%s/%s", m->pieces, name);
	if (!*path)
		return e->code;
	if (!file_exists(*path)) {
		free(*path);
		*path = NULL;
	}
	return 0;
}

int import_stage_file(const struct import_job *m, const char *name, const char *to, struct err *e)
{
	char *from = file_path(e, "%s/%s", m->folder, name),
	     *at = from ? file_path(e, "%s/%s", m->staging.temporary, to) : NULL;
	int rc = at ? 0 : e->code;

	if (!rc && !file_exists(from))
		rc = err_set(e, ERR_NOINPUT,
			     "%s is missing: the model's text cannot be split "
			     "without it",
			     from);
	if (!rc)
		rc = file_copy(from, at, e);
	free(from);
	free(at);
	return rc;
}

int import_protect_tags(struct import_job *m, const struct token_list *w, struct err *e)
{
	struct buf all = { 0 };
	int rc = 0;

	for (size_t i = 0; i < w->n; i++)
		if (w->items[i] && text_starts_with(w->items[i], ">>") &&
		    text_ends_with(w->items[i], "<<") && strlen(w->items[i]) > 4)
			buf_printf(&all, "%s%s", all.len ? " " : "", w->items[i]);
	if (all.len) {
		const char *const set[] = { "protect", buf_text(&all), NULL };

		rc = buf_check(&all, e);
		if (!rc)
			rc = import_set_options(m, set, e);
	}
	buf_free(&all);
	return rc;
}

/* Are two files of the folder equal? */
static int compare_spm_files(const struct import_job *m, const char *a, const char *b,
			     bool *are_equal, struct err *e)
{
	char *paths[] = { file_path(e, "%s/%s", m->folder, a),
			  file_path(e, "%s/%s", m->folder, b) };
	struct map x = { 0 }, y = { 0 };
	int rc = paths[0] && paths[1] ? 0 : e->code;

	*are_equal = false;
	if (!rc && file_exists(paths[0]) && file_exists(paths[1])) {
		rc = map_open(&x, paths[0], e);
		if (!rc)
			rc = map_open(&y, paths[1], e);
		*are_equal = !rc && x.len == y.len && x.len && !memcmp(x.data, y.data, x.len);
	}
	map_close(&x);
	map_close(&y);
	free(paths[0]);
	free(paths[1]);
	return rc;
}

int import_stage_pair(struct import_job *m, bool is_separate, struct err *e)
{
	bool is_joint = !is_separate && import_option_given(m->c, "vocabularies") &&
			m->c->vocabularies == VOCABULARIES_JOINT;

	if (is_joint && compare_spm_files(m, "source.spm", "target.spm", &is_joint, e))
		return e->code;
	if (import_set_text_options(m, is_separate ? "separate" : is_joint ? "joint" : "merged", e))
		return e->code;
	if (is_joint)
		return import_stage_file(m, "source.spm", SENTENCEPIECE_FILE, e);
	return import_stage_file(m, "source.spm", SOURCE_SENTENCEPIECE_FILE, e) ||
			       import_stage_file(m, "target.spm", TARGET_SENTENCEPIECE_FILE, e)
		       ? e->code
		       : 0;
}

void import_silence_missing(struct import_job *m)
{
	for (int i = 0; m->rows.target && i < N_SPECIAL_TOKENS; i++)
		if (m->rows.target[i] < 0)
			m->t.shape.output_bias = 1;
}

/* Replaces a staged vocabulary by that of the folder if both have the same tokens. */
static int keep_vocabulary(const struct import_job *m, const char *name, struct err *e)
{
	char *from = file_path(e, "%s/%s", m->folder, name);
	char *to = from ? file_path(e, "%s/%s", m->staging.temporary, name) : NULL;
	struct vocab *a = NULL, *b = NULL;
	struct err ignored = { 0 };
	bool are_equal = false;
	int rc = to ? 0 : e->code;

	/* the sandbox may permit the file of weights alone: then the staged vocabulary stays */
	if (!rc && file_exists(from) && file_exists(to) && (a = vocab_open(from, &ignored))) {
		b = vocab_open(to, e);
		rc = b ? 0 : e->code;
		are_equal = b && vocab_size(a) == vocab_size(b);
	}
	for (int32_t i = 0; are_equal && i < vocab_size(a); i++)
		are_equal = !strcmp(vocab_piece(a, i), vocab_piece(b, i));
	if (are_equal && strcmp(vocab_sha256(a), vocab_sha256(b)) != 0 && !unlink(to))
		rc = file_copy(from, to, e); /* a file of the staging folder is written once */
	vocab_close(a);
	vocab_close(b);
	free(from);
	free(to);
	return rc;
}

int import_keep_frequencies(const struct import_job *m, struct err *e)
{
	static const char *const names[] = { VOCABULARY_FILE, SOURCE_VOCABULARY_FILE,
					     TARGET_VOCABULARY_FILE };
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++)
		rc = keep_vocabulary(m, names[i], e);
	return rc;
}

int import_list_pieces(struct token_list *w, const struct sp *s, struct err *e)
{
	const struct intern *all = sp_pieces(s);
	const char *at;

	for (int32_t i = 0; i < all->n;
	     i++) { /* the texts of an intern table have no NUL at their ends */
		size_t n;
		const char *piece = intern_text(all, i, &n);

		buf_add(&w->text, piece, n);
		buf_add_char(&w->text, 0);
	}
	w->items = mem_alloc((size_t)all->n, sizeof(*w->items), e);
	if (!w->items || buf_check(&w->text, e))
		return e->code;
	w->cap = (size_t)all->n;
	at = buf_text(&w->text);
	for (int32_t i = 0; i < all->n; i++, at += strlen(at) + 1)
		w->items[w->n++] = at;
	return 0;
}
