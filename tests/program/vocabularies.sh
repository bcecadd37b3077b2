#!/bin/sh
# vocabularies.sh - a vocabulary for each side: preparation, training, resuming, translating, files that do not belong together.
# Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-vocabularies-XXXXXX")
trap 'cd /; rm -rf "$tmp"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN
WERKBANK_SHARE=$(cd "$srcdir/share" && pwd); export WERKBANK_SHARE
PATH=$top:$PATH; export PATH
cd "$tmp" || exit 1

# ---- a corpus ------------------------------------------------------------------
werkbank-data demo-corpus --demo-pairs 1300 all.en all.de -q || not_ok "demo-corpus" "it failed"
for l in en de; do
	sed 1200q all.$l >train.$l
	sed -n 1201,1240p all.$l >dev.$l
done
cat >my.ini <<END
[data]
train_source = $tmp/train.en
train_target = $tmp/train.de
dev_source = $tmp/dev.en
dev_target = $tmp/dev.de
merges = 150
[model]
d_model = 32
d_ff = 64
heads = 2
encoder_layers = 1
decoder_layers = 1
[train]
steps = 60
save_every = 30
eval_every = 60
eval_sentences = 8
batch_tokens = 400
warmup = 20
threads = 1
END
separate="--vocabularies separate --source-merges 90"
prep() { werkbank-data prep -q -C ws my.ini "$@"; }
files() { (cd "ws/corpora/$1" && echo *.codes *.model vocab*.tsv | sed 's/\*[^ ]* //g'); }
corpus=ws/corpora/my
# shellcheck disable=SC2086 # the options of separate
says "prep" 0 '' prep $separate
same "files of each side" "$(files my)" "bpe.source.codes bpe.target.codes vocab.source.tsv vocab.target.tsv"
for side in source:en:90 target:de:150; do
	s=${side%%:*} rest=${side#*:}
	werkbank-data tokenize -q "train.${rest%:*}" -l "${rest%:*}" >tok
	werkbank-data bpe-learn -q -s "${rest#*:}" -o codes tok
	equal "the codes of the $s are those of its text alone" codes "$corpus/bpe.$s.codes"
	werkbank-data bpe-apply -q -c codes tok | tr ' ' '\n' | sort | uniq -c | awk '{ print $2 "\t" $1 }' | sort >counts
	grep -v '^<\(pad\|/s\|s\|unk\|unused[0-9]*\)>	' "$corpus/vocab.$s.tsv" | sort >vocab
	equal "the vocabulary of the $s counts its pieces" counts vocab
done
same "shard version 3" "$(od -An -tu4 -j12 -N4 $corpus/train.shard | tr -d ' ')" 3
same "its hashes" "$(dd if=$corpus/train.shard bs=1 skip=48 count=64 2>/dev/null) $(dd if=$corpus/train.shard bs=1 skip=176 count=64 2>/dev/null)" \
	"$(sha256sum <$corpus/vocab.target.tsv | cut -d' ' -f1) $(sha256sum <$corpus/vocab.source.tsv | cut -d' ' -f1)"
same "no unknown tokens" "$(grep -c '"unknown_tokens": *0' $corpus/stats.json)" "$(grep -c unknown_tokens $corpus/stats.json)"
piece=$(sed -n '6s/	.*//p' $corpus/vocab.target.tsv)
same "data vocab of a side" "$(werkbank-data data -C ws vocab my "$piece" target | sed -n 1p | cut -f 2,3)" \
	"$(grep -F "$piece" $corpus/vocab.target.tsv | sed 1q)"
werkbank-data data -C ws show my 3 >shown
same "data show: pieces of each side" "$(sed -n '/^  target/{n;p;}' shown | tr -s ' ' | sed 's/@@ //g;s/^ //')" \
	"$(sed -n 's/^  target  //p' shown | werkbank-data tokenize -q -l de)"
said=ws/corpora/my/manifest.json says "the manifest has both sizes" 0 '"source_merges": ?90,.*"source_vocabulary": ?[0-9]' true
says "again: nothing to do" 0 'is ready' werkbank-data prep -C ws my.ini $separate --dry-run
says "other merges of the source" 0 'learn .*source_merges was 90, is 80' werkbank-data prep -C ws my.ini --vocabularies separate --source-merges 80 --force --dry-run
says "options of the source without its own model" 78 'source_merges is set, but both sides share one subword model' \
	prep --corpus bad --source-merges 90

# ---- training ---------------------------------------------------------------------
run() { run=$1; shift; werkbank train my.ini -C ws --run "$run" -q "$@"; }
says "tables in common" 78 'set tied_embeddings to output or none' run bad --tied-embeddings all --steps 1
same "its sentence comes once" "$(grep -c 'set tied_embeddings to' "$tmp/err")" 1
says "training" 0 '' run my
says "... a part" 0 '' run parts --steps 30
says "... resumed" 0 '' run parts --steps 60
for f in model optimizer; do
	equal "resumed with equal bits: $f" ws/runs/my/checkpoints/60/$f.safetensors ws/runs/parts/checkpoints/60/$f.safetensors
done
m=ws/runs/my/checkpoints/60
present "the checkpoint has both vocabularies" $m/vocab.source.tsv
same "the shape has both sizes" "$(sed 's/.*"source_vocabulary": *\([0-9]*\).*/\1/' $m/state.json)" "$(wc -l <$corpus/vocab.source.tsv | tr -d ' ')"
same "the model has a table for each" "$(werkbank model -C ws --run my | awk '/embed / { print $2 }' | sort -n | tr '\n' ' ')" \
	"$(wc -l <$corpus/vocab.source.tsv | tr -d ' ') $(wc -l <$corpus/vocab.target.tsv | tr -d ' ') "
says "another run with BPE-dropout and an average" 0 '' run drop --bpe-dropout 0.2 --ema 0.9 --steps 30 --seed 3
says "start from the run" 0 '' run next --start-from ws/runs/my/checkpoints/60 --steps 2 --eval-every 2
says "verify" 0 '' werkbank verify -C ws my
says "report" 0 'vocabulary' werkbank report -C ws --run my
says "average" 0 '' werkbank average -C ws --run my --last 2 -o avg

# ---- translating --------------------------------------------------------------------
sed 6q dev.en >in
echo "zzqq ☃ the dog" >>in
translate() { werkbank translate -q -C ws --run my "$@" in; }
translate >plain || not_ok "translate" "it failed"
same "a line for each line" "$(wc -l <plain | tr -d ' ')" 7
translate --backend ref >ref && equal "the reference translates the same" plain ref
werkbank shortlist my -C ws -q -o list || not_ok "shortlist" "it failed"
same "shortlist version 2" "$(od -An -tu4 -j12 -N4 list | tr -d ' ')" 2
says "with a shortlist" 0 '' translate --shortlist list
says "int8" 0 '' translate --precision int8
says "int8 and a shortlist" 0 '' translate --precision int8 --shortlist list
same "n-best" "$(translate --n-best 3 | wc -l | tr -d ' ')" 21
says "alignments" 0 '0-' translate --alignments
# Words of the source are counted by its own pieces: no number is beyond the end of the sentence.
sed 6q in | werkbank tokenize -l en -q | awk '{ print NF }' >words
translate --alignments | sed 6q | cut -f 2 | paste words - | awk '{ for (i = 2; i <= NF; i++) if ($i + 0 > $1) print }' >beyond
same "alignments count words of the source" "$(cat beyond)" ""
sed 's/$/	Der/' in >with
same "a forced prefix" "$(werkbank translate -q -C ws --run my --prefix with | grep -vc '^Der')" 0
word=$(tr ' ' '\n' <plain | sed 's/[.,]$//' | grep -v '^$' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
same "a forbidden word" "$(translate --forbid "$word" | grep -cw "$word")" 0
printf 'the\tZebra\n' >terms
says "a term" 0 'Zebra' translate --terms terms
says "an ensemble" 0 '' translate --ensemble ws/runs/drop/checkpoints/30
echo '{"text": "the dog"}' | werkbank translate -C ws --run my --serve 2>/dev/null >answer
said=answer says "source pieces by the source's vocabulary" 0 '"source_tokens": ?\["th' true
pieces() { sed -n "s/.*[{,]\"$1\": *\[\([^]]*\)\].*/\1/p" answer | tr -d '" ' | tr ',' '\n' | grep -v '^$'; }
same "... each of them" "$(pieces source_tokens | grep -vxF "$(cut -f 1 $corpus/vocab.source.tsv)")" ''
same "target pieces by the target's vocabulary" "$(pieces tokens | grep -vxF "$(cut -f 1 $corpus/vocab.target.tsv)")" ''
says "eval" 0 'BLEU' werkbank eval -C ws --run my
says "eval with losses" 0 '' werkbank eval -C ws --run my --json
says "export names what it lacks" 69 'tied_embeddings output: export writes only' werkbank export -C ws --run my --format ctranslate2 -o exported

# ---- files that do not belong together -------------------------------------------------
copy() { rm -rf bad && cp -r $m bad && (cd bad && "$@" && sha256sum recipe.ini state.json ./*.safetensors vocab* bpe* | sed 's| \./| |' >SHA256SUMS); }
swap() { mv vocab.source.tsv x && mv vocab.target.tsv vocab.source.tsv && mv x vocab.target.tsv; }
copy rm vocab.source.tsv 2>/dev/null
says "no vocab.source.tsv" 66 'vocab.source.tsv' werkbank translate -q -m bad in
copy swap
says "swapped vocabularies" 65 'vocab.source.tsv has [0-9]* entries, but the model was trained with' werkbank translate -q -m bad in
copy sed -i 's/^the	.*/the	999999/' vocab.source.tsv
says "another vocabulary" 65 'vocab.source.tsv is not the vocabulary that the model was trained with' werkbank translate -q -m bad in
copy sed -i 's/^vocabularies.*/vocabularies = joint/;s/^source_merges.*//' recipe.ini
says "a recipe that says joint" 66 'bpe.codes' werkbank translate -q -m bad in
says "a joint corpus" 0 '' prep --corpus joint --vocabularies joint
same "its files" "$(files joint)" "bpe.codes vocab.tsv"
same "shard version 2" "$(od -An -tu4 -j12 -N4 ws/corpora/joint/train.shard | tr -d ' ')" 2
says "a run of the joint corpus" 0 '' run joint --corpus joint --steps 2 --eval-every 2
says "an ensemble with other vocabularies" 65 'different vocabularies' translate --ensemble ws/runs/joint/checkpoints/2
werkbank shortlist joint -C ws -q -o joint.list
says "a shortlist of another vocabulary" 65 'another vocabulary' translate --shortlist joint.list
cp -r ws/corpora ws/kept && rm -rf $corpus && cp -r ws/corpora/joint $corpus
says "a run whose corpus is prepared again" 78 "had vocabularies 'separate'" run my --steps 70
rm -rf ws/corpora && mv ws/kept ws/corpora
says "a recipe that contradicts the corpus" 78 'the corpus joint has vocabularies = joint' run other --corpus joint --vocabularies separate
says "start from other vocabularies" 65 'start_from' run other --corpus joint --start-from ws/runs/my/checkpoints/60
cp ws/corpora/joint/train.shard swapped.shard
cp -r $corpus ws/corpora/hurt && cp swapped.shard ws/corpora/hurt/train.shard
says "a shard of the joint corpus" 65 'another vocabulary' run hurt --corpus hurt --steps 1
dd if=/dev/zero of=ws/corpora/hurt/train.shard bs=1 seek=240 count=4 conv=notrunc 2>/dev/null
cp $corpus/train.shard ws/corpora/hurt/train.shard && printf '\377' | dd of=ws/corpora/hurt/train.shard bs=1 seek=240 count=1 conv=notrunc 2>/dev/null
says "another size of the source's vocabulary" 65 'damaged' run hurt --corpus hurt --steps 1

# ---- other kinds -------------------------------------------------------------------------
says "merged: two models, one vocabulary" 0 '' prep --corpus merged --vocabularies merged --source-merges 90
same "its files" "$(files merged)" "bpe.source.codes bpe.target.codes vocab.tsv"
equal "its codes are those of separate vocabularies" ws/corpora/merged/bpe.source.codes $corpus/bpe.source.codes
cut -f 1 $corpus/vocab.source.tsv $corpus/vocab.target.tsv | grep -v '^<unused' | sort -u >both
cut -f 1 ws/corpora/merged/vocab.tsv | grep -v '^<unused' | sort >one
equal "its vocabulary is the union" both one
says "a run of it, with tables in common" 0 '' run merged --corpus merged --steps 2 --eval-every 2 --bpe-dropout 0.1
says "... translates" 0 '' werkbank translate -q -C ws --run merged in
sp="--vocabularies separate --source-segmentation sentencepiece --source-tokenize no --source-vocabulary-size 150"
# shellcheck disable=SC2086 # the options of sp
says "SentencePiece of raw text beside BPE" 0 '' prep --corpus mixed $sp
same "its files" "$(files mixed)" "bpe.target.codes sentencepiece.source.model vocab.source.tsv vocab.target.tsv"
same "a line of the source comes back" "$(werkbank-data data -C ws show mixed 5 | sed -n 's/^  source  //p' | grep -cxFf - train.en)" 1
says "a run of it" 0 '' run mixed --corpus mixed --steps 4 --eval-every 4 --bpe-dropout 0.1
says "... translates" 0 '' werkbank translate -q -C ws --run mixed in
says "pieces of another corpus" 0 '' prep --corpus taken $separate --pieces-from ws/corpora/my
equal "... the same vocabulary" ws/corpora/taken/vocab.source.tsv $corpus/vocab.source.tsv
equal "... the same shard" ws/corpora/taken/train.shard $corpus/train.shard
says "pieces of a joint corpus" 78 'vocabularies = joint' prep --corpus other $separate --pieces-from ws/corpora/joint
says "texts after each step" 0 '' prep --corpus texts $separate --keep-text
present "codes of a side" ws/corpora/texts/text/bpe.90.en
says "a corpus that becomes joint loses the files of its sides" 0 '' prep --corpus texts --vocabularies joint --force
same "... its files" "$(files texts)" "bpe.codes vocab.tsv"

# ---- unigram models --------------------------------------------------------------------
differs() { if cmp -s "$2" "$3" || [ ! -s "$2" ]; then not_ok "$1" "$2 and $3 are equal"; else ok "$1"; fi; }
raw="--segmentation unigram --no-tokenize --vocabulary-size 160"
mixed="--vocabularies separate --source-segmentation unigram --source-tokenize no --source-vocabulary-size 150"
# shellcheck disable=SC2086 # the options of raw and mixed
{
	says "unigram for the source, BPE for the target" 0 '' prep --corpus unimix $mixed
	says "unigram models of both sides" 0 '' prep --corpus unitwo $raw --vocabularies separate --source-vocabulary-size 150
	says "unigram models and a merged vocabulary" 0 '' prep --corpus unione $raw --vocabularies merged --source-vocabulary-size 150
}
same "files of a side each" "$(files unimix)" "bpe.target.codes sentencepiece.source.model vocab.source.tsv vocab.target.tsv"
same "files of both sides" "$(files unitwo)" "sentencepiece.source.model sentencepiece.target.model vocab.source.tsv vocab.target.tsv"
same "files of a merged vocabulary" "$(files unione)" "sentencepiece.source.model sentencepiece.target.model vocab.tsv"
for side in source:en:150 target:de:160; do
	s=${side%%:*} rest=${side#*:}
	werkbank-data sp-learn -q --segmentation unigram --vocabulary-size "${rest#*:}" -o alone "train.${rest%:*}"
	equal "the unigram model of the $s is that of its text alone" alone.model "ws/corpora/unitwo/sentencepiece.$s.model"
	equal "... also with a merged vocabulary" alone.model "ws/corpora/unione/sentencepiece.$s.model"
	[ "$s" = target ] || equal "... also beside BPE" alone.model "ws/corpora/unimix/sentencepiece.$s.model"
done
says "the report of learning names both methods" 0 '[0-9]+ pieces of the source, 150 of 150 merges of the target' \
	werkbank-data prep -C ws my.ini --corpus unimix2 $mixed
for corpus in unimix unitwo unione; do
	werkbank-data data -C ws show $corpus 3 >shown
	same "$corpus: a line of the source comes back" "$(sed -n 's/^  source  //p' shown | grep -cxFf - train.en)" 1
	samples="--unigram-sampling 0.2"
	[ $corpus != unimix ] || samples="--unigram-sampling 0.2 --bpe-dropout 0.2"
	# shellcheck disable=SC2086 # the options of samples
	{
		says "$corpus: a run" 0 '' run $corpus --corpus $corpus --steps 12 --save-every 6 --eval-every 12 $samples
		says "$corpus: a part" 0 '' run $corpus.parts --corpus $corpus --steps 6 --save-every 6 --eval-every 12 $samples
		says "$corpus: the rest" 0 '' run $corpus.parts --corpus $corpus --steps 12 --save-every 6 --eval-every 12 $samples
	}
	says "$corpus: without samples" 0 '' run $corpus.plain --corpus $corpus --steps 12 --save-every 6 --eval-every 12
	weights=checkpoints/12/model.safetensors
	equal "$corpus: the same weights" ws/runs/$corpus/$weights ws/runs/$corpus.parts/$weights
	differs "$corpus: other weights than without samples" ws/runs/$corpus/$weights ws/runs/$corpus.plain/$weights
	says "$corpus: translates" 0 '' werkbank translate -q -C ws --run $corpus in
done
# one option alone: the other side keeps its pieces
for o in "--unigram-sampling 0.2" "--bpe-dropout 0.2"; do
	# shellcheck disable=SC2086 # the option and its value
	says "samples of one side: $o" 0 '' run "one${o%% *}" --corpus unimix --steps 12 --save-every 6 --eval-every 12 $o
	for other in unimix unimix.plain; do
		differs "$o: other weights than $other" "ws/runs/one${o%% *}/$weights" ws/runs/$other/$weights
	done
done
says "BPE-dropout without BPE" 78 'use unigram_sampling' run bad --corpus unitwo --steps 1 --bpe-dropout 0.1
says "sampling without a unigram model" 78 'use bpe_dropout' run bad --corpus mixed --steps 1 --unigram-sampling 0.1
# A piece has characters of one script: no word with its punctuation, even if it comes in one form alone.
awk 'BEGIN { for (i = 0; i < 400; i++) { w = sprintf("%c%c%c%c", 97 + i % 26, 97 + int(i / 3) % 26, 97 + int(i / 7) % 26, 97 + int(i / 11) % 26)
	print w w "."; print w w "." } }' >words
werkbank sp-learn -q --segmentation unigram -s 300 words -o one 2>/dev/null || not_ok "sp-learn" "it failed"
same "pieces of one script" "$(cut -f 1 one.vocab | grep -c '[a-z][.]')" 0

tally
