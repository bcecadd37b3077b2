#!/bin/sh
# protect.sh - protected symbols and tags: the pipe tools, a prepared corpus, a trained model, wrong symbols.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-protect-XXXXXX")
data=$top/werkbank-data
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME MULTI30K
. "$(dirname "$0")/../helpers.sh"

# ---- pipe tools ----------------------------------------------------------------
p="--protect <2de> --protect <num> --protect __URL__ --protect (?:a|b)*"
line='<2de> See __URL__, "(?:a|b)*" or x<num>y <num><num>. &'
# shellcheck disable=SC2086 # the options of p
{
	tokens=$(echo "$line" | "$data" tokenize $p)
	text=$(echo "$tokens" | "$data" detokenize $p)
	normal=$(echo '<2de>  „__URL__“ (?:a|b)* ' | "$data" normalize $p)
}
same "tokenize keeps symbols" "$tokens" \
	'<2de> See __URL__ , &quot; (?:a|b)* &quot; or x <num> y <num> <num> . &amp;'
same "detokenize keeps symbols" "$text" '<2de> See __URL__, "(?:a|b)*" or x <num> y <num> <num>. &'
same "normalize keeps symbols" "$normal" '<2de> "__URL__" (?:a|b)* '
same "without --protect" "$(echo '<2de>' | "$data" tokenize)" '&lt; 2de &gt;'
printf 'aa aa <num> <num> aa\n' >"$tmp/words"
"$data" bpe-learn -q -s 5 --protect '<num>' -o "$tmp/codes" "$tmp/words"
same "bpe-learn learns nothing from symbols" "$(grep -c n "$tmp/codes")" 1 # the line of the version
same "bpe-apply does not split symbols" \
	"$(echo '<num> aa<num> <num>aa b<num><num>' | "$data" bpe-apply -c "$tmp/codes" --protect '<num>')" \
	'<num> aa@@ <num> <num>@@ aa b@@ <num>@@ <num>'
"$data" sp-learn -q -s 16 --protect '<num>' --protect '<2de>' -o "$tmp/sp" "$tmp/words" 2>"$tmp/err"
same "sp-learn: symbols after the special tokens" "$(sed -n 5,6p "$tmp/sp.vocab" | tr '\n\t' '  ')" '<num> 0 <2de> 0 '
same "sp-apply" "$(echo 'aa<num> <2de>' | "$data" sp-apply -m "$tmp/sp.model")" '▁aa <num> ▁ <2de>'
same "sp-undo" "$(echo '▁aa <num> ▁ <2de>' | "$data" sp-undo -m "$tmp/sp.model")" 'aa<num> <2de>'

printf '<a|b> y\n<a|b>\n<a|b> x|y <a|b> z\n' >"$tmp/c1"
printf 'u v\nu v\nu v w x\n' >"$tmp/c2"
clean() { "$data" clean "$@" "$tmp/c1" "$tmp/c2" "$tmp/o1" "$tmp/o2"; }
says "clean takes a | for factors" 0 '3 pairs kept' clean
same "and keeps them" "$(tail -n 1 "$tmp/o1")" '<a|b> x|y <a|b> z'
says "clean with symbols" 0 '2 pairs kept, 1 dropped, short 1' clean --protect '<a|b>' --min-words 2
same "clean keeps symbols, and no other |" "$(tail -n 1 "$tmp/o1")" '<a|b> xy <a|b> z'

says "a symbol with a blank" 78 'symbol "a b" has a blank' "$data" tokenize --protect 'a b' "$tmp/words"
says "a name of the vocabulary" 78 'symbol "</s>" is a name' "$data" tokenize --protect '</s>' "$tmp/words"
says "a symbol twice" 78 'given twice' "$data" tokenize --protect a --protect a "$tmp/words"
says "a long symbol" 78 'more than 64 bytes' "$data" tokenize --protect "$(printf '%065d' 0)" "$tmp/words"

# ---- a corpus --------------------------------------------------------------------
"$data" demo-corpus --demo-pairs 360 "$tmp/en" "$tmp/de" || not_ok "demo-corpus" "it failed"
for l in en de; do
	sed -n 1,200p "$tmp/$l" >"$tmp/one.$l"
	sed -n 201,300p "$tmp/$l" | sed '5s/ / <num> /;6s/^/<num>/;7s/$/ <|x|>/' >"$tmp/two.$l"
	sed -n 301,330p "$tmp/$l" >"$tmp/dev.$l"
done
echo >>"$tmp/two.en"; echo "Leer." >>"$tmp/two.de" # an empty line stays empty behind a tag
sed -n 3p "$tmp/dev.en" >>"$tmp/two.en"; sed -n 3p "$tmp/dev.de" >>"$tmp/two.de"
cat >"$tmp/my.ini" <<END
[data]
train_source = $tmp/one.en $tmp/two.en
train_target = $tmp/one.de $tmp/two.de
train_tags = - <BT>
dev_source = $tmp/dev.en
dev_target = $tmp/dev.de
dev_tags = <2de>
protect = <num> <|x|> "#;" <never>
merges = 200
END
prep() { "$data" prep -q -C "$tmp/ws" "$tmp/my.ini" "$@"; }
corpus=$tmp/ws/corpora/my
says "prep" 0 '' prep --drop-duplicates --overlap drop
count() { grep -F "$1	" "$corpus/vocab.tsv" | cut -f 2; }
same "a tag on each pair of its text" "$(count '<BT>')" 100
same "a placeholder" "$(count '<num>')" 4
same "a symbol with |" "$(count '<|x|>')" 2
same "symbols that do not occur" "$(count '<never>') $(count '#;') $(count '<2de>')" "0 0 0"
# the rules see the text without its tag
said=$corpus/manifest.json says "an empty line is dropped" 0 '"empty": ?1[,}]' true
said=$corpus/manifest.json says "a pair of the dev set is dropped" 0 '"overlap": ?1[,}]' true
said=$corpus/manifest.json says "the manifest names the tag" 0 '"tag": ?"<BT>"' true
said=$corpus/recipe.ini says "the corpus keeps the symbols" 0 '^protect = <num> <\|x\|> "#;" <never>' true
said=$corpus/dev.en says "the dev set has its tag" 0 '^<2de> ' true
same "the target has no tag" "$(grep -c '<2de>' "$corpus/dev.de")" 0
split=$("$data" data -C "$tmp/ws" split my 'x<num>: <|x|>' | sed 's/ (id.*//')
same "data split" "$(echo "$split" | grep '<.*[^w]>$' | sed -n '/num/,$p')" '<num>  =  <num>
           <num>
<|x|>  =  <|x|>
           <|x|>'
same "no unknown tokens" "$(grep -c '"unknown_tokens": *0' "$corpus/stats.json")" "$(grep -c unknown_tokens "$corpus/stats.json")"
says "other tags need another preparation" 78 'train_tags = - <BT>' prep --train-tags - --train-tags -
says "a tag for each file" 78 'train_tags names 1 tag and train_source 2 files' prep --force --train-tags '<BT>'
printf '[data]\ntrain_source = a\ntrain_source = b\n' >"$tmp/twice.ini"
says "two lines of files" 78 'twice.ini:3: train_source is set twice, first in line 2: write all of its values in one line' \
	"$data" prep -C "$tmp/ws" "$tmp/twice.ini"
says "a tag with a blank" 78 'has a blank' prep --corpus bad --train-tags - --train-tags 'a b'
says "an entity as a symbol" 78 'tokenizer writes "&amp;"' prep --corpus bad --protect '&amp;'
cp "$tmp/my.ini" "$tmp/plain.ini"
sed -i 's/^protect.*//;s/^.*_tags.*//' "$tmp/plain.ini"
says "without symbols" 0 '' "$data" prep -q -C "$tmp/ws" "$tmp/plain.ini"
says "pieces of a corpus without the symbols" 78 'protect' prep --corpus other --pieces-from "$tmp/ws/corpora/plain"

# ---- there and back ------------------------------------------------------------------------
for how in bpe sentencepiece; do
	m=$tmp/ws/corpora/$how
	options="--segmentation $how --vocabulary-size 200"
	# shellcheck disable=SC2086
	says "prep, $how" 0 '' prep --corpus $how $options --no-tokenize
	grep '^<num>' "$tmp/two.en" >"$tmp/line"
	# the pair of that line, as the shard has it
	i=0
	while [ $i -lt 310 ]; do
		"$data" data -C "$tmp/ws" show $how $i 2>/dev/null | grep -F "source  <BT> <num>" && break
		i=$((i + 1))
	done >"$tmp/found"
	same "a line through $how and back" "$(sed 's/.*source  //' "$tmp/found")" "<BT> $(cat "$tmp/line")"
	present "the vocabulary of $how" "$m/vocab.tsv"
done
tally
