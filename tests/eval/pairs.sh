#!/bin/sh
# pairs.sh - one corpus of two language pairs, by tags: text tools, shares by temperature, training, scores of each pair.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-pairs-XXXXXX")
wb=$top/werkbank
data=$top/werkbank-data
w=$tmp/w
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_BEAM WERKBANK_STEPS
. "$(dirname "$0")/../helpers.sh"

# ---- a corpus: English to German, and less German to English --------------------
"$data" demo-corpus -q --demo-pairs 1560 "$tmp/en" "$tmp/de" || not_ok "demo-corpus" "it failed"
for l in en de; do
	sed -n 1,1200p "$tmp/$l" >"$tmp/a.$l"
	sed -n 1201,1499p "$tmp/$l" >"$tmp/b.$l"
	sed -n 1500,1529p "$tmp/$l" >"$tmp/d.$l"
	sed -n 1530,1559p "$tmp/$l" >"$tmp/e.$l"
done
echo "Geht's gut?" >>"$tmp/b.de" # the tokeniser splits an apostrophe by the rules of the language
echo "Don't." >>"$tmp/b.en"
cat >"$tmp/my.ini" <<END
[data]
train_source = $tmp/a.en $tmp/b.de
train_target = $tmp/a.de $tmp/b.en
train_tags = <2de> <2en>
dev_source = $tmp/d.en $tmp/e.de
dev_target = $tmp/d.de $tmp/e.en
dev_tags = <2de> <2en>
tag_languages = <2de>=en-de <2en>=de-en
merges = 200
[model]
d_model = 64
d_ff = 128
heads = 4
encoder_layers = 1
decoder_layers = 1
[train]
steps = 500
noam_factor = 1
warmup = 150
batch_tokens = 600
pair_temperature = 5
eval_every = 250
save_every = 250
eval_sentences = 20
threads = 1
backend = cpu
END
prep() { "$data" prep -q -C "$w" "$tmp/my.ini" "$@"; }
says "prep" 0 '' prep --keep-text
holds "no verdict: each pair has its own order of sides" '"verdicts": ?\[\]' "$w/corpora/my/manifest.json"
text=$w/corpora/my/text
same "the source by the rules of its language" "$(tail -n 1 "$text/train.tok.clean.en")" '<2en> Geht &apos; s gut ?'
same "and the target" "$(tail -n 1 "$text/train.tok.clean.de")" 'Don &apos;t .'
says "without tag_languages" 0 '299 of 1,500 judged lines \(20 %\) have source and target the other way round' \
	"$data" prep -C "$w" "$tmp/my.ini" --corpus plain --tag-languages '<2de>=en-de'
says "not a pair of languages" 78 '"<2en>=de" is not TAG=SOURCE-TARGET' prep --corpus bad --tag-languages '<2en>=de'
says "one language" 78 '"<2en>=en-en" is not TAG=SOURCE-TARGET' prep --corpus bad --tag-languages '<2en>=en-en'
says "an unknown tag" 78 '<2fr> is neither a tag of a text .* nor a symbol of protect' \
	prep --corpus bad --tag-languages '<2fr>=en-fr'
says "a symbol that is no tag" 78 'no text has the tag <2fr>' \
	prep --corpus bad --protect '<2fr>' --tag-languages '<2fr>=en-fr'
says "a tag twice" 78 'the tag <2en> is given twice' \
	prep --corpus bad --tag-languages '<2en>=en-de' --tag-languages '<2en>=de-en'

# ---- training ------------------------------------------------------------------
train() { "$wb" train -C "$w" "$tmp/my.ini" "$@"; }
says "train" 0 'pair_temperature 5: <2de>: 1,200 pairs, 56.9 % of the sampled ones \(each 0.71 times an epoch\); <2en>: 300 pairs, 43.1 %' \
	train --run r
journal=$w/runs/r/journal.jsonl
holds "the journal has the shares" '"kind":"start".*"tags":\[\{"tag":"<2de>","pairs":1200,"share":0.568' "$journal"
holds "and the scores of each pair, on equal numbers of sentences" \
	'"kind":"eval".*"tags":\[\{"tag":"<2de>","sentences":10,"bleu":[^}]*"nll":[0-9.]+\},\{"tag":"<2en>","sentences":10,.*"nll":[0-9.]+\}\]' "$journal"
says "eval by pair" 0 '<2en>: BLEU [0-9.]+, chrF2 [0-9.]+, NLL [0-9.]+ \(30 sentences\)' "$wb" eval -q -C "$w" --run r --set dev
says "eval --json" 0 '"tags":\[\{"tag":"<2de>","sentences":30,' "$wb" eval -q -C "$w" --run r --set dev --json
nll=$(sed 's/.*"tag":"<2de>"[^}]*"nll":\([0-9.]*\).*"tag":"<2en>"[^}]*"nll":\([0-9.]*\).*"nll":\([0-9.]*\),"ppl".*/\1 \2 \3/' "$tmp/out")
same "the NLL of the set lies between those of its pairs" "$(echo "$nll" | awk '{ print ($1 < $3 && $3 < $2) }')" 1

# ---- the tag chooses the language ------------------------------------------------------
translate() { "$wb" translate -q -C "$w" --run r "$@"; }
chrf() { "$wb" chrf -b "$@"; }
for l in de en; do
	if [ $l = de ]; then source=en set=d; else source=de set=e; fi
	sed "s/^/<2$l> /" "$tmp/$set.$source" | translate >"$tmp/to.$l"
	same "into $l: nearer to the reference than to the source" \
		"$(echo "$(chrf -r "$tmp/$set.$l" "$tmp/to.$l") $(chrf -r "$tmp/$set.$source" "$tmp/to.$l")" | awk '{ print ($1 > $2) }')" 1
done
one=$(sed -n 1p "$tmp/e.de") two=$(sed -n 2p "$tmp/e.de")
says "a line without a tag" 0 'warning: 2 lines without a tag of the training text, the first is line 2: begin each line with one of <' \
	sh -c "printf '<2en> eins\n\nzwei\n<2xx> drei\n' | sed 2d | '$wb' translate -C '$w' --run r"
same "a tag alone is an empty line" "$(echo '<2en>' | translate)" ""
same "each sentence of a line has its tag" "$(echo "<2en> $one $two" | translate)" \
	"$(printf '<2en> %s\n<2en> %s\n' "$one" "$two" | translate | paste -d ' ' - -)"
words=$(echo "$one $two" | wc -w)
most=$(echo "<2en> $one $two" | translate --alignments | cut -f 2 | tr ' ' '\n' | sed 's/-.*//' | sort -n | tail -n 1)
same "alignments count the words of the line" "$([ "$most" -le $((words + 4)) ] && echo yes)" yes # and two full stops, a comma each
printf '{"text":"<2en> %s %s"}\n' "$one" "$two" | "$wb" translate -C "$w" --run r --serve 2>/dev/null >"$tmp/served"
holds "the service, too" "\"text\": ?\"$(echo "<2en> $one $two" | translate)\"" "$tmp/served"

# ---- sentences that are longer than the model's positions ----------------------------
for l in en de; do
	head -n 3 "$tmp/d.$l" | sed 's/.*/& & & & & &/' | cat - "$tmp/d.$l" >"$tmp/long.$l"
done
sed "s|^dev_source.*|dev_source = $tmp/long.en|;s|^dev_target.*|dev_target = $tmp/long.de|;s|^dev_tags.*|max_tokens = 60|" \
	"$tmp/my.ini" >"$tmp/long.ini"
says "long sentences in the dev set" 0 '' "$data" prep -q -C "$w" "$tmp/long.ini"
says "64 positions" 0 '' "$wb" train -q -C "$w" "$tmp/long.ini" --run long --steps 5 --positions learned --max-positions 64
said=$tmp/text
"$wb" eval -q -C "$w" --run long --set dev >"$said"
says "eval counts long sources" 0 '^[23] sources are longer than 63 tokens: the model translated only the first 63 of each$' true
says "and pairs without NLL" 0 '^[23] pairs have a side longer than 63 tokens: not part of the NLL$' true
said=
says "eval --json, too" 0 '"nll_left_out":[23],"truncated":[23]' "$wb" eval -q -C "$w" --run long --set dev --json

# ---- resume: bit by bit; SentencePiece, and text without tokeniser ------------------------------------
hash() { sha256sum <"$w/runs/$1/checkpoints/$2/model.safetensors"; }
short="--warmup 10 --eval-every 100 --save-every 100"
for how in bpe sentencepiece; do
	options="--segmentation $how --vocabulary-size 250 --no-tokenize"
	# shellcheck disable=SC2086 # lists of options
	{
		says "prep, $how" 0 '' prep --corpus $how $options
		says "straight on, $how" 0 '<2en>: 300 pairs, 43.1 %' train --corpus $how --run $how $short --steps 40
		says "in parts, $how" 0 '' train --corpus $how --run parts-$how $short --steps 17
		says "resumed, $how" 0 '' train --corpus $how --run parts-$how $short --steps 40
		same "the same bits, $how" "$(hash $how 40)" "$(hash parts-$how 40)"
		says "eval, $how" 0 '<2en>: BLEU .* NLL ' "$wb" eval -q -C "$w" --run $how --set dev
	}
done
says "the temperature is part of the run" 78 "began with --pair-temperature '5'" train --corpus bpe --run bpe --steps 50 --pair-temperature 2
says "other shares give another run" 0 '' train --corpus bpe --run even $short --steps 40 --pair-temperature 1
if [ "$(hash even 40)" = "$(hash bpe 40)" ]; then not_ok "shares matter" "the runs are equal"; else ok "shares matter"; fi
sed 's/^.*_tags.*//;s/^tag_.*//' "$tmp/my.ini" >"$tmp/untagged.ini"
says "a corpus without tags" 0 '' "$data" prep -q -C "$w" "$tmp/untagged.ini"
says "has no shares" 78 'all training pairs have no tag: prepare the corpus with train_tags' \
	"$wb" train -C "$w" "$tmp/untagged.ini" --run none --steps 1
tally
