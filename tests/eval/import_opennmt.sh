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
