#!/bin/sh
# export.sh - exports models for other programs: round trips lose nothing, sums of the files that those programs read, refusals.
# tests/peers/export_models.py compares such exports with Marian, transformers, CTranslate2 and Argos Translate; a sum that
# changes means that the format of a file has changed: run it. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
golden=$(cd "${srcdir:-.}" && pwd)/tests/golden/import
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-export-XXXXXX")
wb=$top/werkbank
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
. "$(dirname "$0")/../helpers.sh"

# sum NAME FILE SUM : the file has this SHA-256.
sum() { same "$1: its bytes" "$(sha256sum <"$tmp/$2" | cut -c1-16)" "$3"; }
# round MODEL FORMAT : export and import; weights, vocabularies and subword models are those of MODEL.
round() {
	out=$tmp/$1.$2
	[ "$2" = argos ] && out=$out.argosmodel
	says "$1 to $2" 0 '' "$wb" export -m "$tmp/$1" --format "$2" -o "$out"
	says "$1 to $2 and back" 0 'd_model' "$wb" import "$out" -o "$tmp/$1.$2.back"
	for file in "$tmp/$1/"*; do
		case $file in
		*.safetensors | *.tsv | *.model | *.codes) equal "$1 to $2 and back: ${file##*/}" "$file" "$tmp/$1.$2.back/${file##*/}" ;;
		esac
	done
	for option in protect segmentation source_segmentation vocabularies tokenize source_language target_language; do
		same "$1 to $2 and back: $option" "$(sed -n "s/^$option *= \([^#]*[^# ]\) *\(#.*\)*$/\1/p" "$tmp/$1.$2.back/recipe.ini")" \
			"$(sed -n "s/^$option *= \([^#]*[^# ]\) *\(#.*\)*$/\1/p" "$tmp/$1/recipe.ini")"
	done
}
# refuses NAME MODEL FORMAT WORDS
refuses() {
	says "$1" 69 "$4" "$wb" export -m "$tmp/$2" --format "$3" -o "$tmp/none"
	same "$1: nothing is left" "$(ls -d "$tmp"/none* 2>/dev/null)" ''
}

# ---- models of OPUS-MT's kind and of Marian, with translations of those programs (import.sh) ----------
mkdir "$tmp/npz"
cp "$golden/marian/"* "$golden/marianmt/"*.spm "$tmp/npz/"
says "import of a MarianMT folder" 0 'MarianMT' "$wb" import "$golden/marianmt" -o "$tmp/opus"
says "import of an .npz" 0 'Marian' "$wb" import "$tmp/npz" --protect '>>deu<<' --protect '>>nld<<' -o "$tmp/student"
for format in huggingface ctranslate2; do round opus $format; done
round student marian
sum "a MarianMT folder, weights" opus.huggingface/model.safetensors 12a4432a7deb0121
sum "its vocabulary" opus.huggingface/vocab.json 06bb7eb657cdbe33
sum "a folder of CTranslate2, weights" opus.ctranslate2/model.bin fd20ed5f3eabcb91
sum "a folder of Marian, weights" student.marian/model.npz 67f6f9c06355b668
sum "its vocabulary" student.marian/vocab.yml 282804f0ff0f047a
refuses "the recurrent unit in CTranslate2" student ctranslate2 'its decoder_self is ssru: CTranslate2 does not have'
refuses "and in MarianMT" student huggingface "cannot hold this model: its norm_epsilon is 1e-6: MarianMT's norms"
refuses "an epsilon in Marian" opus marian "its norm_epsilon is 1e-5: Marian's norms have 1e-6"
refuses "two SentencePiece models in a package" opus argos 'a package has one SentencePiece model'

# ---- a folder of CTranslate2 without Werkbank's files, as its converters make it ----------------------
mkdir "$tmp/foreign"
cp "$tmp/opus.ctranslate2/"*.json "$tmp/opus.ctranslate2/model.bin" "$golden/marianmt/"*.spm "$tmp/foreign/"
says "a folder of CTranslate2 with source.spm" 0 'CTranslate2: d_model 16' "$wb" import "$tmp/foreign" -o "$tmp/foreign.model"
equal "its weights" "$tmp/opus/model.safetensors" "$tmp/foreign.model/model.safetensors"
equal "its vocabulary" "$tmp/opus/vocab.tsv" "$tmp/foreign.model/vocab.tsv"
holds "its tags" '^protect *= >>deu<< >>nld<<' "$tmp/foreign.model/recipe.ini"
sed 's/"layer_norm_epsilon":[^,]*/"layer_norm_epsilon":null/' "$tmp/opus.ctranslate2/config.json" >"$tmp/foreign/config.json"
says "an epsilon that the file lacks" 0 '' "$wb" import "$tmp/foreign" -o "$tmp/usual.model"
holds "CTranslate2's is 1e-5" '^norm_epsilon *= 1e-5' "$tmp/usual.model/recipe.ini"
sed 's/"layer_norm_epsilon":[^,]*/"layer_norm_epsilon":0.5/' "$tmp/opus.ctranslate2/config.json" >"$tmp/foreign/config.json"
says "another epsilon" 65 'layer_norm_epsilon is 0.5, which the option norm_epsilon does not have' "$wb" import "$tmp/foreign" -o "$tmp/none"

# ---- Werkbank's own models: one text, several architectures -----------------------------------------
awk 'BEGIN { srand(5); for (i = 0; i < 300; i++) { s = ""; n = 3 + int(rand() * 5); for (k = 0; k < n; k++) s = s (k ? " " : "") "wort" int(rand() * 40); print s } }' >"$tmp/a.en"
tr 'aeiou' 'eioua' <"$tmp/a.en" >"$tmp/a.de"
for side in en de; do head -8 "$tmp/a.$side" >"$tmp/d.$side"; done
# train MODEL DATA-OPTIONS MODEL-OPTIONS : a model after one step; options are words KEY=VALUE
train() {
	model=$1
	{
		printf '%s\n' '[data]' "train_source = $tmp/a.en" "train_target = $tmp/a.de" "dev_source = $tmp/d.en" "dev_target = $tmp/d.de" \
			'[model]' 'd_model = 8' 'd_ff = 12' 'heads = 2' 'encoder_layers = 1' 'decoder_layers = 1' '[data]'
		echo "$2" | tr ' ' '\n'
		echo '[model]'
		echo "$3" | tr ' ' '\n'
		printf '%s\n' '[train]' 'steps = 1' 'batch_tokens = 200' 'warmup = 2' 'eval_every = 1' 'threads = 1' 'backend = cpu'
	} >"$tmp/$model.ini"
	says "$model: prepared" 0 '' "$top/werkbank-data" prep -C "$tmp/w" "$tmp/$model.ini" --corpus "$model"
	says "$model: trained" 0 '' "$wb" train -C "$tmp/w" "$tmp/$model.ini" --corpus "$model" --run "$model"
	cp -RL "$tmp/w/runs/$model/checkpoints/last" "$tmp/$model"
	rm "$tmp/$model/optimizer.safetensors"
}
pieces='tokenize=no segmentation=sentencepiece vocabulary_size=64'
opus='norm_place=post norm_epsilon=1e-5 attention_bias=yes output_bias=yes decoder_start=zero activation=silu'
train own "$pieces" ''
train marian "$pieces" 'norm_place=post activation=silu attention_bias=yes output_bias=yes decoder_start=zero'
train words 'merges=60' 'norm_place=post decoder_start=zero decoder_self=ssru attention_bias=yes'
train gated "$pieces" 'gated_ffn=yes activation=gelu norm=rms ffn_bias=no positions=learned max_positions=300 decoder_start=end'
train opus-like "$pieces" "$opus"
for format in ctranslate2 argos; do for model in own marian gated; do round $model $format; done; done
# rows that belong to no token are random after training, and zero after an import
says "words to marian" 0 '' "$wb" export -m "$tmp/words" --format marian -o "$tmp/words.first"
says "words to marian and back" 0 'd_model' "$wb" import "$tmp/words.first" -o "$tmp/pieces"
for model in words pieces; do
	"$wb" translate -q -m "$tmp/$model" --one-a-line --precision fp32 --threads 1 --scores "$tmp/d.en" >"$tmp/$model.out" 2>"$tmp/log"
done
same "the same translations of words" "$(cut -f 2- "$tmp/words.out")" "$(cut -f 2- "$tmp/pieces.out")"
for model in marian pieces; do round $model marian; done
says "a package has its model" 0 '' grep -qa translate-en_de-1_0/model/model.bin "$tmp/own.argos.argosmodel"
holds "Marian reads raw text" '  - vocab.spm' "$tmp/marian.marian/decoder.yml"
holds "or pieces" '  - vocab.yml' "$tmp/pieces.marian/decoder.yml"
refuses "the start <s> in Marian" own marian "its decoder_start is start: Marian's decoder starts from a zero vector"
refuses "pre-norm in MarianMT" own huggingface 'its norm_place is pre: MarianMT normalises after each residual sum'
refuses "a gate in Marian" gated marian 'cannot hold this model: its'
refuses "words in a package" words argos 'the recurrent unit|tokenised'
says "own weights for transformers" 0 '' "$wb" export -m "$tmp/opus-like" --format huggingface -o "$tmp/opus-like.hf"
holds "<pad> has a row of its own" '"<unused_pad>":' "$tmp/opus-like.hf/vocab.json"
holds "what is never generated" '"bad_words_ids":\[\[' "$tmp/opus-like.hf/generation_config.json"
says "and back" 0 '' "$wb" import "$tmp/opus-like.hf" -o "$tmp/opus-like.back"
for model in opus-like opus-like.back; do
	"$wb" translate -q -m "$tmp/$model" --one-a-line --precision fp32 --threads 1 --scores "$tmp/d.en" >"$tmp/$model.out" 2>"$tmp/log"
done
same "the same translations" "$(cut -f 2- "$tmp/opus-like.out")" "$(cut -f 2- "$tmp/opus-like.back.out")"
round opus-like.back huggingface

# ---- packages of others; use ------------------------------------------------------------------------
for n in 100 3000 20000; do
	head -c $n "$tmp/own.argos.argosmodel" >"$tmp/cut.argosmodel"
	says "the first $n bytes of a package" 65 'archive' "$wb" import "$tmp/cut.argosmodel" -o "$tmp/none"
done
LC_ALL=C sed 's/"type":"translate"/"type":"sentence!"/' "$tmp/own.argos.argosmodel" >"$tmp/cut.argosmodel"
says "a package of another type" 65 'the type is "sentence!"' "$wb" import "$tmp/cut.argosmodel" -o "$tmp/none"
LC_ALL=C sed 's/"to_code"/"to_kode"/' "$tmp/own.argos.argosmodel" >"$tmp/cut.argosmodel"
says "a package without its languages" 65 'metadata.json names no languages' "$wb" import "$tmp/cut.argosmodel" -o "$tmp/none"
says "an unknown format" 64 'export needs --format ctranslate2, marian, huggingface, argos, tensorboard, csv, jsonl, prometheus, svg, not onnx' \
	"$wb" export -m "$tmp/own" --format onnx -o "$tmp/none"
says "int8 for Marian" 64 'export --format marian supports --precision fp32 only' "$wb" export -m "$tmp/marian" --format marian --precision int8 -o "$tmp/none"
says "a package needs a name" 64 'export --format argos makes a file: give --output FILE' "$wb" export -m "$tmp/own" --format argos
says "int8 in a package" 0 '' "$wb" export -m "$tmp/own" --format argos --precision int8 -o "$tmp/int8.argosmodel"
says "and back" 0 'CTranslate2|Argos' "$wb" import "$tmp/int8.argosmodel" -o "$tmp/int8.model"
tally
