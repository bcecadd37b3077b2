#!/bin/sh
# import.sh - imports models of other programs: translations and log-probabilities, training on from them, refusals.
# tests/golden/import has a MarianMT folder of transformers 5.24 and an .npz for Marian 1.12 (SSRU decoder), with random
# weights and text, and what those programs translate and score; written by tests/peers/import_hugging_face.py --golden
# and marian_run.py golden. openseq2seq and fairseq are checkpoints with what the reference's formulas and fairseq 0.12.2 translate:
# import_openseq2seq.py --golden, import_fairseq.py --golden; m2m100 and mbart are of transformers 4.57: import_multilingual.py --golden. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
golden=$(cd "${srcdir:-.}" && pwd)/tests/golden/import
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-import-XXXXXX")
wb=$top/werkbank
data=$top/werkbank-data
w=$tmp/w
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
. "$(dirname "$0")/../helpers.sh"

# folder TO : a copy of the MarianMT folder, which a test may damage.
folder() { mkdir "$tmp/$1" && cp "$golden/marianmt/"* "$tmp/$1/" && chmod u+w "$tmp/$1/"*; }
# serve MODEL OPTIONS... : greedy translations of the lines of the MODEL's table, at least 12 tokens
serve() {
	model=$1
	shift
	awk -F '\t' '{ printf "{\"id\":%d,\"text\":\"%s\",\"beam\":1,\"whole\":true}\n", NR, $1 }' "$golden/$model.tsv" |
		"$wb" translate -m "$tmp/$model.model" --serve --one-a-line --threads 1 --max-length-factor 0.1 --max-length-extra 12 "$@" |
		sed -n 's/^{"id":\([0-9]*\),.*"log_prob":\([^,]*\),"tokens":\[\([^]]*\)\],"token_log_probs":\[\([^]]*\)\].*/\1	\3	\4	\2/p' |
		sort -n | tr -d '"' >"$tmp/served"
}
# compare MODEL ALLOWED : lines whose tokens are those of the table; the largest difference of a log-probability, within ALLOWED?
# A translation with an end has one log-probability more than tokens: here it is the total less those of the tokens.
compare() {
	cut -f 2- "$golden/$1.tsv" | paste "$tmp/served" - | awk -F '\t' -v allowed="$2" '
		function off(a, b) { a = a < b ? b - a : a - b; if (!(a <= worst)) worst = a; n++ }
		{
			n_want = split($5, want, " "); n_got = split($2, got, ","); n_p = split($6, p, " "); split($3, q, ",")
			is_same = n_want <= n_got && (n_p == n_want || n_got == n_want)
			for (i = 1; i <= n_want; i++) is_same = is_same && want[i] == got[i]
			same += is_same
			total = $4
			for (i = 1; i <= n_want; i++) { off(p[i], q[i]); total -= q[i] }
			if (n_p > n_want) off(p[n_p], total)
		}
		END { printf "%d of %d, %d log-probabilities %s\n", same, NR, n, worst <= allowed ? "agree" : "differ by " worst }'
}

# ---- translations and log-probabilities of the other programs ----------------------
folder marianmt
mkdir "$tmp/marian"
cp "$golden/marian/"* "$golden/marianmt/"*.spm "$tmp/marian/"
chmod u+w "$tmp/marian/"*
says "a MarianMT folder" 0 'MarianMT of Hugging Face: d_model 16, d_ff 24, 4 heads, 2 and 2 layers' \
	"$wb" import "$tmp/marianmt" -o "$tmp/marianmt.model"
says "an .npz of Marian" 0 'Marian: d_model 8, d_ff 16, 2 heads, 1 and 2 layers' "$wb" import "$tmp/marian" --protect '>>deu<<' --protect '>>nld<<' -o "$tmp/marian.model"
for model in marianmt marian; do
	n=$(wc -l <"$golden/$model.tsv")
	n_probs=$(cut -f 3 "$golden/$model.tsv" | wc -w)
	for backend in cpu ref; do
		serve $model --precision fp32 --backend $backend
		same "$model, $backend: tokens and log-probabilities" "$(compare $model 1e-4)" \
			"$n of $n, $((n_probs)) log-probabilities agree"
	done
	serve $model --precision int8
	same "$model: int8 translates all lines" "$(cut -f 1 "$tmp/served" | tr '\n' ' ')" "$(seq -s ' ' "$n") "
	cp "$tmp/served" "$tmp/$model.int8"
	cut -f 1 "$golden/$model.tsv" >"$tmp/in"
	says "$model: translate" 0 '' "$wb" translate -q -m "$tmp/$model.model" --one-a-line "$tmp/in"
	same "$model: a line of output for each" "$(wc -l <"$tmp/out")" "$n"
	holds "$model: unigram pieces" '^segmentation *= unigram' "$tmp/$model.model/recipe.ini"
	holds "$model: its tags" '^protect *= >>deu<< >>nld<<' "$tmp/$model.model/recipe.ini"
done

# models of other kinds: tokens and log-probabilities on both backends, and int8
# other MODEL WORDS OPTIONS... : imports the folder MODEL of $golden; the message has the WORDS
other() {
	model=$1
	words=$2
	shift 2
	says "$model: import" 0 "$words" "$wb" import "$golden/$model" -o "$tmp/$model.model" "$@"
	n=$(wc -l <"$golden/$model.tsv")
	n_probs=$(cut -f 3 "$golden/$model.tsv" | wc -w)
	for backend in cpu ref; do
		serve "$model" --precision fp32 --backend $backend
		same "$model, $backend: tokens and log-probabilities" "$(compare "$model" 1e-4)" "$n of $n, $((n_probs)) log-probabilities agree"
	done
	serve "$model" --precision int8
	same "$model: int8 translates all lines" "$(cut -f 1 "$tmp/served" | tr '\n' ' ')" "$(seq -s ' ' "$n") "
	cut -f 1 "$golden/$model.tsv" >"$tmp/in"
	says "$model: translate" 0 '' "$wb" translate -q -m "$tmp/$model.model" --one-a-line "$tmp/in"
	same "$model: a line of output for each" "$(wc -l <"$tmp/out")" "$n"
}
other openseq2seq 'OpenSeq2Seq: d_model 16, d_ff 24, 4 heads, 2 and 1 layers' --heads 4
holds "openseq2seq: both sides begin with <s>" '^source_first_token *= <s>' "$tmp/openseq2seq.model/recipe.ini"
other fairseq 'fairseq: d_model 16, d_ff 24, 4 heads, 2 and 1 layers' --tokenize=no
holds "fairseq: its start" '^decoder_start *= end' "$tmp/fairseq.model/recipe.ini"
holds "fairseq: a vocabulary of each side" '^vocabularies *= separate' "$tmp/fairseq.model/recipe.ini"

# models of many languages: the options choose two of them
other m2m100 'M2M100 or NLLB of Hugging Face: d_model 16' --source-language de --target-language en
holds "m2m100: the encoder reads its language first" '^source_first_token *= __de__' "$tmp/m2m100.model/recipe.ini"
other mbart 'mBART of Hugging Face: d_model 16' --source-first-token de_DE --target-first-token en_XX
holds "mbart: its target" '^target_first_token *= en_XX' "$tmp/mbart.model/recipe.ini"
holds "mbart: the language by the token" '^source_language *= de' "$tmp/mbart.model/recipe.ini"
says "m2m100: languages of the folder" 0 '' "$wb" import -q "$golden/m2m100" -o "$tmp/m2m100.en"
holds "m2m100: its languages" '^source_first_token *= __en__' "$tmp/m2m100.en/recipe.ini"
equal "m2m100: the same weights" "$tmp/m2m100.en/model.safetensors" "$tmp/m2m100.model/model.safetensors"

# ---- the beam search of the program -------------------------------------------------
# searches MODEL RULES BEAM ALPHA : what the recipe of the imported model says
searches() {
	same "$1: its beam search" "$(sed -n 's/^\(beam\|alpha\|beam_rules\) *= \([^ ]*\) .*/\2/p' "$tmp/$1.model/recipe.ini" | tr '\n' ' ')" "$3 $4 $2 "
}
searches marianmt transformers 4 1
searches m2m100 transformers 4 1
searches fairseq fairseq 5 1
searches marian werkbank 4 0.6
searches openseq2seq werkbank 4 0.6
cut -f 1 "$golden/fairseq.tsv" | awk '{ print; print $0, $0; print "a" $0 }' >"$tmp/in"
says "by default" 0 '' "$wb" translate -m "$tmp/fairseq.model" --one-a-line --scores "$tmp/in"
cp "$tmp/out" "$tmp/default"
says "the same by options" 0 '' "$wb" translate -m "$tmp/fairseq.model" --one-a-line --scores --beam-rules fairseq --beam 5 --alpha 1 "$tmp/in"
equal "the program's search is the default" "$tmp/default" "$tmp/out"
says "other rules" 0 '' "$wb" translate -m "$tmp/fairseq.model" --one-a-line --scores --beam-rules werkbank "$tmp/in"
same "an option wins" "$(cmp -s "$tmp/default" "$tmp/out" || echo differs)" differs
folder early
sed 's/"num_beams": 4/"num_beams": 6, "early_stopping": true, "length_penalty": 0.5/' "$golden/marianmt/generation_config.json" >"$tmp/early/generation_config.json"
says "a folder with early_stopping" 0 "follows the beam search of its program: beam 6, length penalty 0.5" "$wb" import "$tmp/early" -o "$tmp/early.model"
searches early fairseq 6 0.5
says "to transformers" 0 '' "$wb" export -m "$tmp/early.model" --format huggingface -o "$tmp/early.hf"
holds "its beam search" '"num_beams":6,"length_penalty":0.5,"early_stopping":true' "$tmp/early.hf/generation_config.json"
says "and back" 0 '' "$wb" import -q "$tmp/early.hf" -o "$tmp/again.model"
searches again fairseq 6 0.5
rm "$tmp/early.hf/recipe.ini" 2>/dev/null
says "and back without Werkbank's files" 0 '' "$wb" import -q "$tmp/early.hf" -o "$tmp/bare.model"
searches bare fairseq 6 0.5
sed 's/^{/{"no_repeat_ngram_size": 0, "repetition_penalty": 1.0, "min_length": null,/' "$golden/marianmt/generation_config.json" >"$tmp/early/generation_config.json"
says "facts of the search that change nothing" 0 '' "$wb" import -q "$tmp/early" -o "$tmp/usual.model"
searches usual transformers 4 1
sed 's/"num_beams": 4/"num_beams": 100/' "$golden/marianmt/generation_config.json" >"$tmp/early/generation_config.json"
says "a beam that is too wide" 64 'early: its beam search by default.*beam.*from 1 to 64' "$wb" import "$tmp/early" -o "$tmp/none"

# ---- what is downloaded in place of a model -------------------------------------------
folder pointer
echo 'version https://git-lfs.github.com/spec/v1' >"$tmp/pointer/model.safetensors"
says "a pointer of Git LFS" 65 'model.safetensors is a pointer of Git LFS, not the weights themselves: fetch them with git lfs pull' \
	"$wb" import "$tmp/pointer" -o "$tmp/none"
says "a folder that is not imported" 65 'no SHA256SUMS; a model of another program needs werkbank import first' "$wb" translate -m "$tmp/pointer" "$tmp/in"

# ---- training on ---------------------------------------------------------------------
cut -f 1 "$golden/marianmt.tsv" >"$tmp/in"
awk '{ line[NR] = $0 } END { for (i = 1; i <= NR; i++) for (k = 1; k <= 6; k++) print line[i], "a" line[(i * k) % NR + 1] }' "$tmp/in" >"$tmp/a.en"
tr 'aei' 'eia' <"$tmp/a.en" | sed 's/>>[a-z]*<<//g' >"$tmp/a.de"
for side in en de; do sed -n 1,8p "$tmp/a.$side" >"$tmp/d.$side"; done
cat >"$tmp/on.ini" <<END
[data]
train_source = $tmp/a.en
train_target = $tmp/a.de
dev_source = $tmp/d.en
dev_target = $tmp/d.de
tokenize = no
normalize = no
segmentation = unigram
vocabularies = merged
protect = >>deu<< >>nld<<
[train]
steps = 1
batch_tokens = 200
warmup = 2
eval_every = 1
save_every = 1
keep = 10
threads = 1
backend = cpu
END
for model in marianmt marian; do
	options="-C $w $tmp/on.ini --corpus $model"
	# shellcheck disable=SC2086 # lists of options
	{
		says "$model: prep with its pieces" 0 'taken from' "$data" prep $options --pieces-from "$tmp/$model.model"
		says "$model: a step from it" 0 'started with the weights of' "$wb" train $options --start-from "$tmp/$model.model" --run $model
		says "$model: resumed" 0 'finished: step 2' "$wb" train $options --start-from "$tmp/$model.model" --run $model --steps 2
	}
	equal "$model: the run begins with its weights" "$tmp/$model.model/model.safetensors" "$w/runs/$model/checkpoints/0/model.safetensors"
	holds "$model: the second step follows the first" '"kind":"train",.*"step":2,"loss":[0-9.]+,' "$w/runs/$model/journal.jsonl"
	if cmp -s "$w/runs/$model/checkpoints/1/model.safetensors" "$w/runs/$model/checkpoints/2/model.safetensors"; then
		not_ok "$model: and changes the weights" "they are as before"
	else
		ok "$model: and changes the weights"
	fi
done

# the tokens that begin both sides are in the shards: a step from a model with them sees the same sentences
grep -v '^protect' "$tmp/on.ini" >"$tmp/first.ini"
options="-C $w $tmp/first.ini --corpus openseq2seq --vocabularies joint --segmentation sentencepiece --source-first-token <s> --target-first-token <s>"
# shellcheck disable=SC2086 # lists of options
{
	says "openseq2seq: prep with its pieces" 0 'taken from' "$data" prep $options --pieces-from "$tmp/openseq2seq.model"
	says "openseq2seq: a pair of the corpus" 0 'source' "$data" data show -C "$w" openseq2seq 1
	same "openseq2seq: both sides of a pair begin with <s>" "$(grep -c '^ *<s> ' "$tmp/out")" 2
	says "openseq2seq: a step from it" 0 'started with the weights of' "$wb" train $options --start-from "$tmp/openseq2seq.model" --run openseq2seq
}
equal "openseq2seq: the run begins with its weights" "$tmp/openseq2seq.model/model.safetensors" "$w/runs/openseq2seq/checkpoints/0/model.safetensors"

# ---- refusals; nothing is left behind ----------------------------------------------------
before=$(ls -A "$tmp")
# refuses NAME STATUS WORDS OPTIONS... : the import of the damaged folder $tmp/bad
refuses() {
	what=$1
	status=$2
	words=$3
	shift 3
	says "$what" "$status" "$words" "$wb" import "$tmp/bad" -o "$tmp/none" "$@"
	rm -rf "$tmp/bad"
	same "$what: nothing is left" "$(ls -A "$tmp")" "$before"
}
# edit NAME STATUS WORDS FILE SCRIPT : the import with a file changed by sed
edit() {
	folder bad
	sed "$5" "$golden/marianmt/$4" >"$tmp/bad/$4"
	refuses "$1" "$2" "$3"
}
for name in vocab.json source.spm target.spm; do
	folder bad
	rm "$tmp/bad/$name"
	refuses "without $name" 66 "$name"
done
folder bad
rm "$tmp/bad/model.safetensors"
refuses "without weights" 64 'is neither a file nor a folder with model.bin'
for n in 100 5000 50000; do
	folder bad
	head -c $n "$golden/marianmt/model.safetensors" >"$tmp/bad/model.safetensors"
	refuses "the first $n bytes of the weights" 65 'model.safetensors'
done
edit "another type of model" 65 '"t5" cannot be imported: its positions' config.json 's/"marian"/"t5"/'
edit "M2M100 of another shape" 65 'decoder_start_token_id is [0-9]* and eos_token_id is 0: only models whose decoder' config.json 's/"marian"/"m2m_100"/'
edit "an unknown type" 65 '"xyz" cannot be imported: its architecture is not known' config.json 's/"marian"/"xyz"/'
edit "an unknown activation" 65 'config.json: the activation "mish" is not known' config.json 's/"swish"/"mish"/'
edit "a norm that MarianMT lacks" 65 '"add_final_layer_norm" is true' config.json 's/^{/{"add_final_layer_norm": true,/'
edit "a width of 20" 65 'q_proj.weight" is 16 x 16, but 20 x 20 was expected' config.json 's/"d_model": 16/"d_model": 20/'
edit "another feed-forward width" 65 'fc1.weight" is 32 x 16, but 40 x 16 was expected' config.json 's/"decoder_ffn_dim": 32/"decoder_ffn_dim": 40/'
edit "a layer too many" 65 'layers' config.json 's/"encoder_layers": 2/"encoder_layers": 3/'
edit "heads that do not divide" 78 'heads' config.json 's/"encoder_attention_heads": 4/"encoder_attention_heads": 3/'
edit "no size" 65 '"d_model" must be a number from 1 to 65536' config.json 's/"d_model": 16/"d_model": "x"/'
edit "config.json ends early" 65 '' config.json '$d'
edit "the decoder starts elsewhere" 65 "decoder_start_token_id is 0, but MarianMT's decoder starts from padding" \
	generation_config.json 's/"decoder_start_token_id": [0-9]*/"decoder_start_token_id": 0/'
edit "a damaged generation_config.json" 65 'generation_config.json: not an object of JSON: download' generation_config.json '$d'
edit "a list as generation_config.json" 65 'generation_config.json: not an object of JSON' generation_config.json '1,$c\
[]'
for beam in 0 2.5 '"x"' 1e30; do
	edit "$beam beams" 65 'num_beams of .* is not a whole number of at least 1' generation_config.json "s/\"num_beams\": 4/\"num_beams\": $beam/"
done
for fact in no_repeat_ngram_size:3 repetition_penalty:1.2 min_length:20 num_beam_groups:2 encoder_no_repeat_ngram_size:true; do
	edit "a search with $fact" 65 "${fact%:*} of generation_config.json or config.json changes translations" \
		generation_config.json "s/^{/{\"${fact%:*}\": ${fact#*:},/"
done
edit "a number twice" 65 'vocab.json: the token ".*" has the number 5, which is no row, or that of another' vocab.json 's/: 6,/: 5,/'
edit "a token without a row" 65 'vocab|row' vocab.json 's/: 6,/: 600,/'
cp -R "$tmp/marian" "$tmp/bad"
rm "$tmp/bad/vocab.yml"
refuses "an .npz without vocabulary" 66 'has 0 vocabularies'
cp -R "$tmp/marian" "$tmp/bad"
head -c 12000 "$golden/marian/model.npz" >"$tmp/bad/model.npz"
refuses "half an .npz" 65 "an archive without Marian's special:model.yml"
cp -R "$tmp/marian" "$tmp/bad"
LC_ALL=C sed 's/dec-cell: ssru/dec-cell: gruu/' "$golden/marian/model.npz" >"$tmp/bad/model.npz"
refuses "another cell" 65 'transformer-decoder-autoreg = "rnn" of Marian'
# changed NAME STATUS WORDS FILE OFFSET BYTES : the import of openseq2seq with other bytes in a file
changed() {
	cp -R "$golden/openseq2seq" "$tmp/bad"
	chmod u+w "$tmp/bad/"*
	printf "$6" | dd of="$tmp/bad/$4" bs=1 seek="$5" conv=notrunc 2>"$tmp/dd"
	rm "$tmp/dd"
	refuses "$1" "$2" "$3" --heads 4
}
changed "a damaged weight" 65 'the checksum of "ForwardPass/.*" differs: the data file is damaged' model.ckpt-300.data-00000-of-00001 64 '\377'
changed "a damaged index" 65 'model.ckpt-300.index is damaged: the checksum of a block differs' model.ckpt-300.index 100 '\377'
changed "another vocabulary" 65 'm_common.vocab: piece 0 is "<paq>", but that of the SentencePiece model is "<pad>"' m_common.vocab 3 'q'
cp -R "$golden/openseq2seq" "$tmp/bad"
refuses "unknown heads" 64 'the checkpoint does not show the number of attention heads: give --heads'
cp -R "$golden/openseq2seq" "$tmp/bad"
refuses "heads that do not divide the width" 78 'heads' --heads 3
cp -R "$golden/openseq2seq" "$tmp/bad"
rm "$tmp/bad/m_common.model"
refuses "without m_common.model" 66 'm_common.model is missing, the SentencePiece model that OpenSeq2Seq' --heads 4
cp -R "$golden/openseq2seq" "$tmp/bad"
rm "$tmp/bad/"*.data-*
refuses "without data file" 66 'data-00000-of-00001' --heads 4
# fairseq NAME STATUS WORDS FILE SCRIPT : the import of fairseq with a file changed by sed
fairseq() {
	cp -R "$golden/fairseq" "$tmp/bad"
	chmod u+w "$tmp/bad/"*
	LC_ALL=C sed "$5" "$golden/fairseq/$4" >"$tmp/bad/$4"
	refuses "$1" "$2" "$3"
}
fairseq "a dictionary that is too short" 65 'but the dictionary and its special tokens have' dict.de.txt '5,12d'
fairseq "a dictionary without counts" 65 'dict.en.txt: line 3 is not a token, a blank and a count' dict.en.txt '3s/ .*//'
fairseq "an architecture of another kind" 65 'the option arch = "transfurmer" of fairseq' model.pt 's/transformer/transfurmer/'
fairseq "another activation" 65 'the option activation_fn = "rolu" of fairseq' model.pt 's/relu/rolu/'
cp -R "$golden/fairseq" "$tmp/bad"
rm "$tmp/bad/bpecodes"
refuses "fairseq without codes" 66 'has neither bpecodes or code of subword-nmt nor sentencepiece.bpe.model'
cp -R "$golden/fairseq" "$tmp/bad"
rm "$tmp/bad/dict.en.txt"
refuses "fairseq without dictionary" 66 'dict.en.txt'
# multilingual NAME FILE SCRIPT STATUS WORDS OPTIONS... : the import of m2m100 with a file changed by sed
multilingual() {
	what=$1
	status=$4
	words=$5
	cp -R "$golden/m2m100" "$tmp/bad"
	chmod u+w "$tmp/bad/"*
	sed "$3" "$golden/m2m100/$2" >"$tmp/bad/$2"
	shift 5
	refuses "$what" "$status" "$words" "$@"
}
multilingual "m2m100: no target language" tokenizer_config.json 's/"tgt_lang": "de"/"tgt_lang": null/' 64 \
	'the files do not name the target language: give --target-language or --target-first-token. Language tokens of the model: __af__ __am__'
multilingual "m2m100: a language that it lacks" config.json '' 64 '"xx" is not one language token for the source language' --source-language xx
multilingual "m2m100: a token that it lacks" config.json '' 64 '"__xx__" is not one language token for the target' --target-first-token __xx__
multilingual "m2m100: another tokenizer" tokenizer_config.json 's/M2M100Tokenizer/SMALL100Tokenizer/' 65 'the tokenizer "SMALL100Tokenizer" is not known'
multilingual "m2m100: the language after </s>" tokenizer_config.json 's/M2M100Tokenizer",/NllbTokenizer","legacy_behaviour": true,/' 65 \
	'NllbTokenizer and legacy_behaviour reads its language after </s>'
multilingual "m2m100: other lists of languages" tokenizer_config.json 's/"m2m100"/"m2m200"/' 65 'the language_codes "m2m200" are not known'
multilingual "m2m100: more tokens than rows" tokenizer_config.json 's/"added_tokens_decoder": {/&"900": {"content": "__xx__"},/' 65 \
	'the token "__xx__" has the number 900, but the embedding table has'
multilingual "m2m100: a number of two tokens" tokenizer_config.json 's/"added_tokens_decoder": {/&"50": {"content": "__xx__"}, "050": {"content": "__yy__"},/' 65 \
	'the tokens "__xx__" and "__yy__" have one number, 50'
multilingual "m2m100: a number without piece" vocab.json 's/: 9,/: 400,/' 65 'vocab.json: no token has the number 9'
multilingual "m2m100: the decoder starts elsewhere" generation_config.json 's/"decoder_start_token_id": 2/"decoder_start_token_id": 0/' 65 \
	'only models whose decoder starts with </s>'
multilingual "m2m100: quantised weights" config.json 's/^{/{"quantization_config": {},/' 65 'the weights are quantised'
multilingual "m2m100: mixtures of experts" config.json 's/m2m_100/nllb-moe/' 65 'mixtures of experts'
cp -R "$golden/m2m100" "$tmp/bad"
rm "$tmp/bad/sentencepiece.bpe.model"
refuses "m2m100 without pieces" 66 'sentencepiece.bpe.model is missing'
cp -R "$golden/mbart" "$tmp/bad"
chmod u+w "$tmp/bad/"*
sed 's/MBart50Tokenizer/MBartTokenizer/' "$golden/mbart/tokenizer_config.json" >"$tmp/bad/tokenizer_config.json"
refuses "mbart: the language after </s>" 65 'MBartTokenizer reads its language after </s>'
edit "a forced first token" 65 'forced_bos_token_id of generation_config.json or config.json is 7' generation_config.json 's/^{/{"forced_bos_token_id": 7,/'

# a file: the sandbox lets import read the plain files beside it
says "a file, with its vocabulary beside it" 0 'Marian: d_model 8' "$wb" import "$tmp/marian/model.npz" -o "$tmp/alone"
holds "no language in the files" 'the files do not name the languages; the model is taken for one from en to de' "$tmp/err"
says "a file of a folder of transformers" 0 'M2M100 or NLLB of Hugging Face' "$wb" import "$golden/m2m100/model.safetensors" -o "$tmp/beside" --target-language fr
says "a file of a folder of fairseq" 0 'fairseq: d_model 16' "$wb" import "$golden/fairseq/model.pt" -o "$tmp/beside.fairseq"
tally
