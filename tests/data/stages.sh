#!/bin/sh
# stages.sh - stages of preparation: which stages other options, texts and lost files repeat; rules; the data command.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-stages-XXXXXX")
data=$top/werkbank-data
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME MULTI30K
. "$(dirname "$0")/../helpers.sh"

# ---- a corpus of two texts ----------------------------------------------------
"$data" demo-corpus --demo-pairs 700 "$tmp/en" "$tmp/de" || not_ok "demo-corpus" "it failed"
for l in en de; do
	sed -n 1,400p "$tmp/$l" >"$tmp/one.$l"
	sed -n 401,600p "$tmp/$l" >"$tmp/two.$l"
	sed -n 601,650p "$tmp/$l" >"$tmp/dev.$l"
	sed -n 651,700p "$tmp/$l" >"$tmp/test.$l"
done
words() { i=0; while [ $i -lt "$1" ]; do printf '%s ' "$2"; i=$((i + 1)); done; echo; }
# bad pairs at the end of the second text, lines 201 to 207
{
	echo; words 81 house; words 40 house; echo "The same line twice."
	sed -n 7p "$tmp/one.en"; sed -n 3p "$tmp/test.en"; echo "A house, Москва, дом."
} >>"$tmp/two.en"
{
	echo "Leere Zeile."; words 81 Haus; words 4 Haus; echo "The same line twice."
	sed -n 7p "$tmp/one.de"; sed -n 3p "$tmp/test.de"; echo "Ein Haus, Moskau, ein Haus."
} >>"$tmp/two.de"
cat >"$tmp/my.ini" <<END
[data]
train_source = $tmp/one.en $tmp/two.en
train_target = $tmp/one.de $tmp/two.de
dev_source = $tmp/dev.en
dev_target = $tmp/dev.de
test_source = $tmp/test.en
test_target = $tmp/test.de
merges = 200
END
sed 's/test_.*//' "$tmp/my.ini" >"$tmp/untested.ini"
{ cat "$tmp/my.ini"; printf '[train]\nseed = 2\n'; } >"$tmp/seed.ini"
sed "s,$tmp/two,$tmp/too," "$tmp/my.ini" >"$tmp/renamed.ini"
cp "$tmp/two.en" "$tmp/too.en"
cp "$tmp/two.de" "$tmp/too.de"

corpus=$tmp/ws/corpora/my
prep() { "$data" prep "$tmp/my.ini" -C "$tmp/ws" --corpus my "$@"; }
# would_run OPTION... : the stages that would run, as --dry-run says
would_run() {
	recipe=my
	case ${1-} in *.ini) recipe=${1%.ini}; shift ;; esac
	"$data" prep "$tmp/$recipe.ini" -C "$tmp/ws" --corpus my --dry-run --json "$@" 2>"$tmp/err" |
		grep -o '"name":"[a-z]*","run":true' | sed 's/"name":"//;s/",.*//' | tr '\n' ' '
}
all="read judge learn encode pack ledger "

# ---- before the preparation ------------------------------------------------------
same "all stages would run" "$(would_run)" "$all"
says "a plan in words" 0 'read +to run +never run' prep --dry-run
says "and what it needs" 0 'needs at most .*B of memory and .*B of disk' prep --dry-run
absent "a plan leaves nothing behind" "$tmp/ws"
says "prepared" 0 'is ready' prep
same "nothing would run" "$(would_run)" ""
says "it is ready" 0 'is ready, with the same options' prep --dry-run
sha() { grep -o "\"name\":\"$1\",\"bytes\":[0-9]*,\"sha256\":\"[0-9a-f]*\"" "$corpus/manifest.json"; }
first=$(sha train.shard)

# ---- --keep-text, also later --------------------------------------------------
says "a prepared corpus gives its texts" 0 'kept: read judge learn encode pack ledger' prep --keep-text
"$data" bpe-apply -c "$corpus/bpe.codes" <"$corpus/text/train.tok.clean.de" >"$tmp/split"
equal "which are split as the codes say" "$tmp/split" "$corpus/text/train.tok.clean.bpe.200.de"
same "and nothing else changes" "$(sha train.shard)" "$first"

# ---- what each option repeats ----------------------------------------------------
find "$corpus" -type f -newer "$corpus/manifest.json" >"$tmp/newer"
for o in --normalize --no-tokenize --no-escape --aggressive "--protect <n>" "--dev-tags <2de>" "--test-tags <2de>" \
    "--train-tags - --train-tags <BT>" \
    "--dev-tags <2de> --tag-languages <2de>=fr-de" "--source-language de --target-language en" --hold-out=10 \
    "--general-source $tmp/too.en --general-target $tmp/too.de" --general-share=0.5 \
    "--general-test-source $tmp/too.en --general-test-target $tmp/too.de"; do
	# shellcheck disable=SC2086 # a list of options
	same "$o redoes all" "$(would_run $o)" "$all"
done
for o in "--min-words 2" "--max-words 50" "--max-ratio 3" "--max-word-chars 20" --drop-duplicates --drop-copies \
	"--max-foreign 0.2" "--max-char-ratio 2" "--overlap drop"; do
	# shellcheck disable=SC2086
	same "$o redoes judging and what follows" "$(would_run $o)" "judge learn encode pack ledger "
done
mkdir "$tmp/pieces"
cp "$corpus/recipe.ini" "$corpus/vocab.tsv" "$corpus/bpe.codes" "$tmp/pieces"
for o in "--vocabularies separate" "--vocabularies merged --source-merges 100" "--vocabularies separate --source-vocabulary-size 99"; do
	# shellcheck disable=SC2086
	same "$o redoes judging and what follows" "$(would_run $o)" "judge learn encode pack ledger "
done
same "--source-tokenize redoes all" "$(would_run --vocabularies separate --source-tokenize no)" "$all"
same "--source-segmentation redoes what --vocabularies does" \
	"$(would_run --vocabularies separate --source-segmentation sentencepiece)" "judge learn encode pack ledger "
same "--source-segmentation unigram, too" \
	"$(would_run --vocabularies separate --source-segmentation unigram)" "judge learn encode pack ledger "
for o in "--merges 100" "--min-frequency 3" "--segmentation sentencepiece" "--segmentation unigram" "--pieces-from $tmp/pieces"; do
	# shellcheck disable=SC2086
	same "$o redoes learning and what follows" "$(would_run $o)" "learn encode pack ledger "
done
says "pieces of elsewhere: why" 0 'learn +to run +pieces_from is new' prep --dry-run --pieces-from "$tmp/pieces"
says "a corpus has no pieces for itself" 78 'is the corpus itself' prep --dry-run --pieces-from "$corpus"
same "--max-tokens redoes encoding and what follows" "$(would_run --max-tokens 40)" "encode pack ledger "
same "--vocabulary-size redoes nothing without SentencePiece" "$(would_run --vocabulary-size 99)" ""
same "--encoding redoes all" "$(would_run --encoding utf8)" "$all"
printf 'a\tb\n' >"$tmp/both.tsv"
same "--train-pairs redoes all" "$(would_run --train-pairs "$tmp/both.tsv")" "$all"
same "--dev-pairs redoes all" "$(would_run --dev-pairs "$tmp/both.tsv")" "$all"
same "--test-pairs redoes all" "$(would_run --test-pairs "$tmp/both.tsv")" "$all"
same "--pair-columns redoes all" "$(would_run --pair-columns 1,2)" "$all"
same "--repair redoes nothing" "$(would_run --repair)" ""
same "a seed redoes packing and what follows" "$(would_run seed.ini)" "pack ledger "
same "other names of the same texts redo the ledger" "$(would_run renamed.ini)" "ledger "
same "a set less redoes all" "$(would_run untested.ini)" "$all"
says "it says which option" 0 'judge +to run +option max_words was 80, is 50' prep --dry-run --max-words 50
says "and what reads from it" 0 'pack +to run +reads from encode' prep --dry-run --max-words 50
same "plans change nothing" "$(find "$corpus" -type f -newer "$corpus/manifest.json")" "$(cat "$tmp/newer")"
# every option of [data] belongs to a stage, or is listed here as known
cat >"$tmp/known" <<END
aggressive
corpus
demo-pairs
dev-pairs
dev-source
dev-tags
dev-target
drop-copies
drop-duplicates
encoding
escape
general-share
general-source
general-target
general-test-source
general-test-target
hold-out
manifest
max-char-ratio
max-foreign
max-ratio
max-tokens
max-word-chars
max-words
merges
min-frequency
min-words
normalize
overlap
pair-columns
pieces-from
protect
repair
segmentation
source-first-token
source-language
source-merges
source-segmentation
source-tokenize
source-vocabulary-size
tag-languages
target-first-token
target-language
test-pairs
test-source
test-tags
test-target
tokenize
train-pairs
train-source
train-tags
train-target
vocabularies
vocabulary-size
END
data_options=$(sed -n 's/^OPT_[A-Z]* *(data, \([a-z_]*\),.*/\1/p' "${srcdir:-.}/share/conf/options.def" |
	tr _ - | sort)
same "every option of [data] is tried here" "$data_options" "$(cat "$tmp/known")"

# ---- running ----------------------------------------------------------------------
says "a language without rules: said" 0 'no tokenizer rules for the language "es": using' prep --dry-run --target-language es
says "a language with a rule for apostrophes only" 0 'no abbreviations for the language "fr": using the English' \
	prep --dry-run --target-language fr
says "a language by its name: the code is asked for" 0 'language "german" .a code like en was expected' \
	prep --dry-run --target-language german
says "other options: asks for --force" 78 'max_words = 80, but this recipe has .50.: give --force.*--dry-run' prep --max-words 50
says "only what depends on it" 0 'done already and kept: read' prep --max-words 50 --force
says "another seed: asks for --force" 78 'prepared with seed 1, but this recipe has 2' \
	"$data" prep "$tmp/seed.ini" -C "$tmp/ws" --corpus my --max-words 50
says "and back" 0 'done already and kept: read' prep --force
same "back at the same bytes" "$(sha train.shard)" "$first"
says "--force with nothing to do" 0 'kept: read judge learn encode pack ledger' prep --force
rm "$corpus/work/side-0.source"
same "a lost file redoes its stage only" "$(would_run --force)" "read "
says "it is made again" 0 'kept: judge learn encode pack ledger' prep --force
printf 'x' | dd of="$corpus/train.shard" bs=1 seek=200 conv=notrunc 2>"$tmp/dd"
same "damage is found with --force" "$(would_run --force)" "pack "
says "and mended" 0 'kept: read judge learn encode ledger' prep --force
same "mended: the same bytes" "$(sha train.shard)" "$first"
sed 's/house/home/' "$tmp/one.en" >"$tmp/changed" && cp "$tmp/one.en" "$tmp/kept.en" && cp "$tmp/changed" "$tmp/one.en"
same "a changed text redoes all" "$(would_run --force)" "$all"
says "and says which" 0 'sources changed: .*one.en' prep --force --dry-run
says "also without --force" 0 'sources changed: .*one.en' prep --dry-run
says "and does them again" 0 'judge: ' prep
same "with the bytes of the other text" "$([ "$(sha train.shard)" = "$first" ] && echo the same)" ""
cp "$tmp/kept.en" "$tmp/one.en"
says "a text that is as it was" 0 'is ready in .*/my: ' prep
same "... gives the first bytes" "$(sha train.shard)" "$first"
cp "$tmp/dev.en" "$tmp/kept.en"
sed '1s/$/ !/' "$tmp/kept.en" >"$tmp/dev.en"
touch -d '2001-01-01' "$tmp/dev.en"
says "a changed dev set with an old date: seen by its size" 0 'sources changed: .*dev.en' prep --dry-run
cp "$tmp/kept.en" "$tmp/dev.en"
says "a text that was only touched keeps all stages" 0 'kept: read judge learn encode pack ledger' prep
says "... and is not read the next time" 0 'is ready in .* already' prep
mv "$tmp/dev.en" "$tmp/away.en"
says "a ready corpus does not need its texts" 0 'is ready in .* already' prep
mv "$tmp/away.en" "$tmp/dev.en"
says "a set less" 0 'is ready' "$data" prep "$tmp/untested.ini" -C "$tmp/ws" --corpus my --force
absent "its shard is gone" "$corpus/test.shard"
absent "its text is gone" "$corpus/test.en"
says "--no-keep-work" 0 'is ready' prep --force --no-keep-work
absent "work is gone" "$corpus/work"
same "the same bytes once more" "$(sha train.shard)" "$first"
says "ready without work" 0 'is ready, with the same options' prep --dry-run
says "one thread" 0 '"name":"train.shard"' "$data" prep "$tmp/my.ini" -C "$tmp/one" --threads 1 -q --json
same "one thread: the same bytes" "$(grep -o '"name":"train.shard"[^}]*' "$tmp/out")," "$first,"
equal "equal corpora have equal statistics" "$tmp/one/corpora/my/stats.json" "$corpus/stats.json"
# a corpus of an earlier version is prepared again; its obsolete files are removed
mkdir -p "$tmp/old/corpora/my"
: >"$tmp/old/corpora/my/other.shard"
echo '{"v":1,"files":[{"name":"other.shard","bytes":0},{"name":"vocab.tsv","bytes":0}]}' >"$tmp/old/corpora/my/manifest.json"
says "of an earlier version: prepared again" 0 'is ready' "$data" prep "$tmp/my.ini" -C "$tmp/old"
absent "a file of the earlier version is gone" "$tmp/old/corpora/my/other.shard"
# a failed preparation continues with other options, without --force
says "stopped by a limit" 65 'no training pair has at most' "$data" prep "$tmp/my.ini" -C "$tmp/stopped" --max-tokens 8 --no-tokenize --min-words 12
says "goes on with other options" 0 'kept: read judge learn' "$data" prep "$tmp/my.ini" -C "$tmp/stopped" --no-tokenize --min-words 12

# ---- filters -------------------------------------------------------------------
prep --force -q
dropped() { grep -o '"dropped":{[^}]*}' "$corpus/manifest.json" | tr -d '"{}' | sed 's/dropped://' | tr , '\n' | grep -v ':0' | tr '\n' ' '; }
same "without filters" "$(dropped)" "empty:1 long:1 ratio:1 "
prep --force -q --drop-copies --drop-duplicates --max-foreign 0.4 --overlap drop
same "with filters" "$(dropped)" "empty:1 long:1 ratio:1 copy:1 script:1 overlap:1 duplicate:1 "
cut -f 2,3 "$corpus/ledger.tsv" | tr '\t\n' ' ,' >"$tmp/rows"
same "the ledger names them" "$(cat "$tmp/rows")" \
	"line rule,201 empty,202 long,203 ratio,204 copy,205 duplicate,206 overlap,207 script,"

# ---- the data command -------------------------------------------------------------------
ask() { "$data" data "$@" -C "$tmp/ws"; }
says "stats" 0 '^my: en to de, bpe, vocabulary of [0-9]*, 200 merges' ask stats my
says "stats: a text" 0 ' 207 +200 +7 .*two.en$' ask stats my
says "stats: a rule" 0 "dropped by 'script': 1 \(too many letters" ask stats my
says "stats: stages" 0 '^judge +[0-9.]+ +607 +600 ' ask stats my
says "stats as JSON: a stage" 0 '"stages":[^]]*"kept":(true|false),"pairs_in":607' ask stats my --json
says "stats as JSON" 0 '"stages":\[\{"name":"read"' ask stats my --json
says "why: dropped" 0 "two.en:204: dropped by the rule 'copy': both sides are the same text" ask why my two.en:204
same "why: the text" "$(sed -n 2p "$tmp/out")" "  source  The same line twice ."
says "why: dropped, as JSON" 0 '"line":202,"kept":false,"rule":"long","meaning":"a side has more' ask why my two.en:202 --json
says "why: the end of a name is enough" 0 'two.en:203: dropped' ask why my wo.en:203
says "why: not this one" 64 'n:5 is the end of 2 names|n is the end of 2 names' ask why my n:5
says "why: no such text" 64 'no text of the corpus is called three.en' ask why my three.en:5
says "why: no such line" 64 'two.en has no line 208: it has lines 1 to 207' ask why my two.en:208
says "why: no line at all" 64 'expected FILE:LINE' ask why my two.en
# every pair of the shard is the line that "data show" names
says "show: 600 pairs" 0 'pair 599 of train.shard: ' ask show my 0 1000
awk '/^pair/ { n = split($5, part, ":"); line = part[n]; file = $5; sub(/:[0-9]*$/, "", file) }
	/^  source/ { sub(/^  source  /, ""); print file "\t" line "\t" $0 }' "$tmp/out" | sort -k 1,1 -k 2,2n | cut -f 3 >"$tmp/shown"
{ cat "$tmp/one.en"; sed -n 1,200p "$tmp/two.en"; } >"$tmp/wanted"
equal "show: all lines, each from where it says" "$tmp/shown" "$tmp/wanted"
ask show my 17 --json >"$tmp/out"
where=$(sed 's/.*"file":"\([^"]*\)","line":\([0-9]*\),"pair":17.*/\1:\2/' "$tmp/out")
says "why: kept" 0 "$where: kept, as pair 17 of train.shard" ask why my "$where"
says "show: past the end" 64 'has no pair 600: it holds pairs 0 to 599' ask show my 600
says "show: no number" 64 "N must be a whole number of at least 0, not 'x'" ask show my x
says "show: nothing to show" 64 'data show needs CORPUS and N' ask show my
says "no such corpus" 66 'there is no prepared corpus' ask stats nothing
says "no such question" 64 'unknown question .what.: data answers list, stats, show, why, dropped, vocab and split' ask what my
says "list" 0 '^my: en to de, 600 pairs of 607 read, vocabulary of [0-9]+' ask list
says "list --json" 0 '"name":"my","ready":true,.*"train":600' ask list --json
says "dropped" 0 'two.en:204  copy: both sides are the same text' ask dropped my copy
says "dropped --json" 0 '"dropped":\{.*"copy":1,.*"line":"204","rule":"copy"' ask dropped my all 100 --json
says "dropped: nothing" 0 "the rule 'characters' dropped no pair" ask dropped my characters
says "vocab: nothing" 0 "no entry contains 'qqqq'" ask vocab my qqqq
says "split: nothing" 0 'the sentence has no words' ask split my ''
says "dropped: no such rule" 64 "there is no rule 'cpy'" ask dropped my cpy
says "vocab" 0 '^[0-9]+	the	[0-9]+$' ask vocab my the
says "split" 0 '^ +[0-9]+  .*\(t \+ h\)' ask split my 'the house'
says "split: pieces are those of the shard" 0 '"word":"house","pieces":\[\{"piece":"' ask split my 'the house' --json
says "no corpus named" 64 'data vocab needs CORPUS' ask vocab
cp "$corpus/ledger.tsv" "$tmp/ledger"
sed 2d "$tmp/ledger" >"$corpus/ledger.tsv"
says "a ledger that does not fit" 65 'ledger.tsv:[0-9]*: does not match stats.json' ask why my one.en:5

tally
