#!/bin/sh
# import_opennmt.sh - imports small models of OpenNMT-py 3.5.1 and eole 0.6.4, whose encoders do not read </s>.
# tests/golden/import has them with random weights, and what those programs translate and score; written by
# tests/peers/import_opennmt.py --golden. Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
golden=$(cd "${srcdir:-.}" && pwd)/tests/golden/import
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-opennmt-XXXXXX")
wb=$top/werkbank
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
. "$(dirname "$0")/../helpers.sh"

# serve MODEL OPTIONS... : lines of the MODEL's table: number, tokens, log-probabilities, their total
serve() {
	model=$1
	shift
	awk -F '\t' '{ printf "{\"id\":%d,\"text\":\"%s\",\"beam\":1,\"whole\":true}\n", NR, $1 }' "$golden/$model.tsv" |
		"$wb" translate -m "$tmp/$model.model" --serve --one-a-line --threads 1 --max-length-factor 0.1 --max-length-extra 12 "$@" |
		sed -n 's/^{"id":\([0-9]*\),.*"log_prob":\([^,]*\),"tokens":\[\([^]]*\)\],"token_log_probs":\[\([^]]*\)\].*/\1	\3	\4	\2/p' |
		sort -n | tr -d '"' >"$tmp/served"
}
# compare MODEL : lines whose tokens are those of the table, and log-probabilities that agree with it
compare() {
	cut -f 2- "$golden/$1.tsv" | paste "$tmp/served" - | awk -F '\t' '
		function off(a, b) { a = a < b ? b - a : a - b; good += a <= 1e-4 }
		{
			n_want = split($5, want, " "); n_got = split($2, got, ","); n_p = split($6, p, " "); split($3, q, ",")
			is_same = n_want <= n_got && (n_p == n_want || n_got == n_want)
			for (i = 1; i <= n_want; i++) is_same = is_same && want[i] == got[i]
			same += is_same
			total = $4
			for (i = 1; i <= n_want; i++) { off(p[i], q[i]); total -= q[i] }
			if (n_p > n_want) off(p[n_p], total)
		}
		END { printf "%d lines and %d log-probabilities\n", same, good }'
}
# the model is imported and translates like its program
check() {
	says "$1: import" 0 "$2: d_model 16, d_ff 24, 4 heads, 2 and 1 layers" "$wb" import "$golden/$1" -o "$tmp/$1.model" --tokenize=no
	for backend in cpu ref; do
		serve "$1" --precision fp32 --backend $backend
		same "$1, $backend: all tokens and log-probabilities" "$(compare "$1")" \
			"$(wc -l <"$golden/$1.tsv") lines and $(($(cut -f 3 "$golden/$1.tsv" | wc -w))) log-probabilities"
	done
	serve "$1" --precision int8
	same "$1: int8 translates all lines" "$(wc -l <"$tmp/served")" "$(wc -l <"$golden/$1.tsv")"
	holds "$1: the encoder reads no </s>" '^source_end *= no' "$tmp/$1.model/recipe.ini"
	holds "$1: rotary positions" '^positions *= rotary' "$tmp/$1.model/recipe.ini"
	holds "$1: a vocabulary of each side" '^vocabularies *= separate' "$tmp/$1.model/recipe.ini"
	says "$1: export as CTranslate2 names what it lacks" 69 'positions is rotary' "$wb" export -m "$tmp/$1.model" --format ctranslate2 -o "$tmp/none"
}
# refuses MODEL NAME STATUS WORDS FILE SCRIPT : the import of a copy with a file changed by sed
refuses() {
	cp -R "$golden/$1" "$tmp/bad"
	chmod u+w "$tmp/bad/"*
	LC_ALL=C sed "$6" "$golden/$1/$5" >"$tmp/bad/$5"
	says "$1: $2" "$3" "$4" "$wb" import "$tmp/bad" -o "$tmp/none" --tokenize=no
	rm -rf "$tmp/bad"
	same "$1: $2: nothing is left" "$(ls -d "$tmp/none"* 2>/dev/null)" ""
}

check opennmt OpenNMT-py
pt=$(cd "$golden/opennmt" && echo *.pt)
refuses opennmt "another activation" 65 'the activation = "salu" of OpenNMT-py' "$pt" 's/silu/salu/g'
refuses opennmt "another attention" 65 'self_attn_type = "averag-dot"' "$pt" 's/scaled-dot/averag-dot/'
refuses opennmt "another decoder" 65 '(en|de)coder_type = "transfurmer"' "$pt" 's/transformer/transfurmer/g'
refuses opennmt "a name twice" 65 'two tensors "encoder.transformer.0' "$pt" 's/encoder.transformer.1/encoder.transformer.0/g'
mkdir "$tmp/both" && cp "$golden/opennmt/bpecodes" "$tmp/both" && cp "$golden/opennmt/$pt" "$tmp/both/model.pt"
cp "$golden/eole/model.00.safetensors" "$tmp/both/model.safetensors"
says "opennmt: model.pt beside model.safetensors" 0 'OpenNMT-py: d_model 16' "$wb" import "$tmp/both" -o "$tmp/both.model" --tokenize=no
equal "opennmt: its weights" "$tmp/both.model/model.safetensors" "$tmp/opennmt.model/model.safetensors"
cp -R "$golden/opennmt" "$tmp/bad" && rm "$tmp/bad/bpecodes"
says "opennmt: without codes" 66 'has neither bpecodes or code of subword-nmt' "$wb" import "$tmp/bad" -o "$tmp/none"
rm -rf "$tmp/bad"

# ---- training on: the encoder goes on without </s> ----
cut -f 1 "$golden/opennmt.tsv" | awk '{ line[NR] = $0 } END { for (i = 1; i <= NR; i++) for (k = 1; k <= 6; k++) print line[i], "a" line[(i * k) % NR + 1] }' >"$tmp/a.en"
tr 'aei' 'eia' <"$tmp/a.en" >"$tmp/a.de"
for side in en de; do sed -n 1,8p "$tmp/a.$side" >"$tmp/d.$side"; done
texts="--train-source $tmp/a.en --train-target $tmp/a.de --dev-source $tmp/d.en --dev-target $tmp/d.de --test-source $tmp/d.en --test-target $tmp/d.de"
training="-C $tmp/w --eval-every 1 --save-every 1 --keep 10 --batch-tokens 200 --warmup 2 --threads 1 --backend cpu"
printf '[data]\ntokenize = no\nnormalize = no\nvocabularies = separate\n' >"$tmp/on.ini"
# shellcheck disable=SC2086 # lists of options
{
	says "prep with its pieces" 0 'taken from' "$top/werkbank-data" prep -C "$tmp/w" "$tmp/on.ini" $texts --corpus on --pieces-from "$tmp/opennmt.model"
	says "a step from it" 0 'started with the weights of' "$wb" train $training "$tmp/on.ini" --corpus on --start-from "$tmp/opennmt.model" --run on --steps 1
	says "resumed" 0 'finished: step 2' "$wb" train $training "$tmp/on.ini" --corpus on --start-from "$tmp/opennmt.model" --run on --steps 2
	says "tuned" 0 'Did tuning help' "$wb" tune "$tmp/opennmt.model" $texts $training --run tuned --steps 2
}
equal "the run begins with its weights" "$tmp/opennmt.model/model.safetensors" "$tmp/w/runs/on/checkpoints/0/model.safetensors"
for run in on tuned; do
	holds "$run: two steps" '"kind":"train",.*"step":2,"loss":[0-9.]+,' "$tmp/w/runs/$run/journal.jsonl"
	holds "$run: the encoder reads no </s>" '^source_end *= no' "$tmp/w/runs/$run/checkpoints/2/recipe.ini"
done
# training and score read the source alike: the loss before the first step is the mean of what score sums up
says "score of the development set" 0 '' "$wb" score -m "$tmp/opennmt.model" --precision fp32 --threads 1 "$tmp/d.en" "$tmp/d.de"
nll=$(sed -n 's/.*"kind":"eval",.*"step":0,.*"dev_nll":\([0-9.]*\),.*/\1/p' "$tmp/w/runs/tuned/journal.jsonl" | head -n 1)
same "the loss before the first step, of 217 tokens" "$(awk -v nll="$nll" '{ sum -= $1 } END { printf "%.2f", sum / nll }' "$tmp/out")" 217.00
check eole eole
refuses eole "another activation" 65 'the activation = "mish" of eole' config.json 's/"gated-silu"/"mish"/'
refuses eole "another norm" 65 'layer_norm = "gemma-rms" of eole' config.json 's/"layer_norm": "rms"/"layer_norm": "gemma-rms"/'
refuses eole "parallel sublayers" 65 'parallel_residual' config.json 's/"layer_norm": "rms"/"layer_norm": "rms", "parallel_residual": true/'
refuses eole "relative positions" 65 'position_encoding_type = "Relative"' config.json 's/"Rotary"/"Relative"/g'
refuses eole "another language model" 65 'architecture = "transformer_lm"' config.json 's/"architecture": "transformer"/"architecture": "transformer_lm"/'
refuses eole "sizes of which the files have no weights" 65 'tensors have [0-9]* numbers, but a model of the sizes' config.json 's/"transformer_ff": 24/"transformer_ff": 65536/'
refuses eole "a token too many" 65 'rows' vocab.json 's/"tgt": \[/"tgt": ["x",/'
refuses eole "no JSON" 66 'vocab.json is missing or not JSON' vocab.json 's/\[/(/'
refuses eole "damaged weights" 65 'model.00.safetensors' model.00.safetensors 's/F16/F99/'
tally
