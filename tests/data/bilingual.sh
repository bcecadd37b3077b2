#!/bin/sh
# shellcheck disable=SC3045 # ulimit -v, which dash and bash have
# bilingual.sh - translation memories as a user meets them: prep of TMX, XLIFF, PO and tables, the command pairs, XML bombs.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-bilingual-XXXXXX")
data=$top/werkbank-data
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME
. "$(dirname "$0")/../helpers.sh"

# ---- the same pairs as two texts and in each format ---------------------------------
"$data" demo-corpus --demo-pairs 300 "$tmp/all.en" "$tmp/all.de" || not_ok "demo-corpus" "it failed"
for l in en de; do
	sed -n 1,200p "$tmp/all.$l" >"$tmp/train.$l"
	sed -n 201,250p "$tmp/all.$l" >"$tmp/dev.$l"
done
# pairs NAME FORMAT : text pairs of $tmp/NAME.en and .de, in lines of a format; no text of the demo has a quote or a separator
pairs() {
	paste "$tmp/$1.en" "$tmp/$1.de" | sed 's/&/\&amp;/g' | awk -F '\t' -v format="$2" '
	BEGIN {
		if (format == "tmx") print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE tmx SYSTEM \"tmx14.dtd\">\n<tmx version=\"1.4\"><header/><body>"
		if (format == "xliff") print "<xliff version=\"1.2\"><file source-language=\"en-US\" target-language=\"de-DE\"><body>"
		if (format == "csv") print "id,en,de"
		if (format == "po") print "msgid \"\"\nmsgstr \"Language: de\\n\"\n"
	}
	format == "tmx" { print "<tu><tuv xml:lang=\"EN-US\"><seg>" $1 "</seg></tuv><tuv xml:lang=\"de\"><seg>" $2 "</seg></tuv></tu>" }
	format == "xliff" { print "<trans-unit id=\"" NR "\"><source>" $1 "</source><target>" $2 "</target></trans-unit>" }
	format == "csv" { print NR ",\"" $1 "\",\"" $2 "\"" }
	format == "tsv" { print $1 "\t" $2 }
	format == "po" { print "msgctxt \"" NR "\"\nmsgid \"" $1 "\"\nmsgstr \"" $2 "\"\n" }
	END {
		if (format == "tmx") print "</body></tmx>"
		if (format == "xliff") print "</body></file></xliff>"
	}'
}
# recipe NAME LINE... : a recipe with these lines
recipe() {
	name=$1
	shift
	{ printf '[data]\nmerges = 100\n'; printf '%s\n' "$@"; } >"$tmp/$name.ini"
}
prep() { name=$1; shift; "$data" prep "$tmp/$name.ini" -C "$tmp/ws" "$@"; }
corpus=$tmp/ws/corpora

recipe texts "train_source = $tmp/train.en" "train_target = $tmp/train.de" "dev_source = $tmp/dev.en" "dev_target = $tmp/dev.de"
says "prep of two texts" 0 '' prep texts
xml="tmx xliff"
printf '<tmx/>\n' >"$tmp/empty.tmx"
if "$data" pairs "$tmp/empty.tmx" 2>&1 | grep -q 'without expat'; then
	skip "TMX and XLIFF" "built without expat"
	xml=
fi
for format in $xml po csv tsv; do
	pairs train $format >"$tmp/train.$format"
	pairs dev $format >"$tmp/dev.$format"
	recipe $format "train_pairs = $tmp/train.$format" "dev_pairs = $tmp/dev.$format"
	says "prep of $format" 0 '' prep $format
	equal "$format: the same shard as two texts" "$corpus/texts/train.shard" "$corpus/$format/train.shard"
	equal "$format: the same development text" "$corpus/texts/dev.de" "$corpus/$format/dev.de"
	"$data" pairs -q "$tmp/train.$format" >"$tmp/pairs.tsv"
	paste "$tmp/train.en" "$tmp/train.de" | equal "$format: the command pairs prints them" - "$tmp/pairs.tsv"
done

# ---- compressed, and beside texts, with tags -----------------------------------------
gzip -c "$tmp/train.csv" >"$tmp/packed.csv.gz"
recipe packed "train_pairs = $tmp/packed.csv.gz" "dev_pairs = $tmp/dev.tsv"
says "prep of a compressed table" 0 '' prep packed
equal "... the same shard" "$corpus/texts/train.shard" "$corpus/packed/train.shard"
head -c 2000 "$tmp/packed.csv.gz" >"$tmp/cut.csv.gz"
says "a file that is cut" 65 'cut.csv.gz: damaged or cut short' "$data" pairs "$tmp/cut.csv.gz"
tar -C "$tmp" -cf "$tmp/folder.tar" train.csv
says "an archive" 65 'folder.tar: is an archive of files: unpack it' "$data" pairs "$tmp/folder.tar"
recipe mixed "train_source = $tmp/train.en" "train_target = $tmp/train.de" "train_pairs = $tmp/dev.tsv" \
	"train_tags = - <TM>"
says "texts and pairs together" 0 '' prep mixed
says "... the pairs have their tag" 0 '<TM>' "$data" data show mixed -C "$tmp/ws" 0 250
recipe untagged "train_source = $tmp/train.en" "train_target = $tmp/train.de" "train_pairs = $tmp/dev.tsv" "train_tags = <TM>"
says "a tag for each file" 78 'train_tags names 1 tag, but train_source and train_pairs name 2 files' prep untagged

# the languages of a tag are those of its file
printf 'en,de,fr\nHello,Hallo,Bonjour\nGood day,Guten Tag,Bonne journ\303\251e\n' >"$tmp/three.csv"
recipe tagged "train_pairs = $tmp/three.csv $tmp/three.csv" 'train_tags = <2de> <2fr>' 'tag_languages = <2fr>=en-fr <2de>=en-de'
says "pairs of several languages" 0 '' prep tagged
says "... by the languages of the tags" 0 'Bonjour' "$data" data show tagged -C "$tmp/ws" 0 4

# ---- units that are no pairs, and where a pair comes from ------------------------------
{
	echo 'number;German;English'
	sed -n 1,3p "$tmp/all.en" | sed 's/.*/1;Satz &;"Sentence ""&"""/'
	echo '2;nur Deutsch;'
	sed -n 4,60p "$tmp/all.en" | sed 's/.*/1;Satz &;"Sentence ""&"""/'
} >"$tmp/units.csv"
recipe units "train_pairs = $tmp/units.csv" 'pair_columns = English,German' 'tokenize = no'
says "units without a side" 0 'units.csv: 60 of 61 units are pairs of en and de; not used: 1 without text in en' prep units
says "... are in the ledger with their number" 0 'units.csv	4	empty' cat "$corpus/units/ledger.tsv"
says "data why finds a unit" 0 'Sentence "' "$data" data why units -C "$tmp/ws" units.csv:5
says "data why finds a unit that is no pair" 0 'empty' "$data" data why units -C "$tmp/ws" units.csv:4
says "nothing to do again" 0 '' prep units
recipe names "train_pairs = $tmp/units.csv" 'tokenize = no'
says "columns named English and German need no pair_columns" 0 'units.csv: 60 of 61 units are pairs' prep names
sed '1s/.*/number;Satz;sentence/' "$tmp/units.csv" >"$tmp/columns.csv"
recipe columns "train_pairs = $tmp/columns.csv"
says "columns that are not clear" 78 'columns.csv: its first row has 3 columns .* give pair_columns' prep columns
if [ "$xml" ]; then
	says "no such language" 65 'none of its 200 units is a pair of en and fr: 200 without text in fr; the languages of the file are EN-US, de ' \
		"$data" pairs --target-language fr "$tmp/train.tmx"
fi
says "no such columns" 78 'train.csv: has no column 9' "$data" pairs --pair-columns 1,9 "$tmp/train.csv"
says "XML as plain text" 65 'is XML .TMX or XLIFF.*: give a file of both sides with train_pairs' \
	prep texts --force --train-source "$tmp/empty.tmx"
touch -d '+1 hour' "$tmp/units.csv"
says "a changed file is noticed" 0 '' prep units --dry-run

# ---- bombs end with a sentence, within bounded memory and time ---------------------------
# within NAME WORDS FILE : pairs refuses FILE in 300 MB and 20 seconds
within() {
	got=0
	(ulimit -v "${limit:-400000}" && timeout 20 "$data" pairs "$3") >/dev/null 2>"$tmp/err" || got=$?
	if [ $got = 65 ] && grep -qE "$2" "$tmp/err"; then ok "$1"; else not_ok "$1" "status $got, $(head -c 300 "$tmp/err")"; fi
}
# an address sanitizer reserves more
if [ "$xml" ] && (ulimit -v 400000 && "$data" pairs -q "$tmp/train.tmx") >/dev/null 2>&1; then
	{
		printf '<!DOCTYPE tmx [<!ENTITY a "ha">'
		for i in a:b b:c c:d d:e e:f f:g g:h; do
			printf '<!ENTITY %s "' "${i#*:}"
			for _ in 1 2 3 4 5 6 7 8 9 10; do printf '&%s;' "${i%:*}"; done
			printf '">'
		done
		printf ']><tmx><body><tu><tuv xml:lang="en"><seg>&h;</seg></tuv></tu></body></tmx>'
	} >"$tmp/laughs.tmx"
	within "a billion laughs" 'laughs.tmx:1: the DOCTYPE declares entities' "$tmp/laughs.tmx"
	printf '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx>&a;</tmx>' >"$tmp/external.tmx"
	within "an external entity" 'the DOCTYPE declares entities' "$tmp/external.tmx"
	{ printf '<tmx>'; yes '<a>' | head -n 1000000; } >"$tmp/deep.tmx"
	within "deep nesting" 'nested more than 100 deep' "$tmp/deep.tmx"
	{ printf '<tmx a="'; head -c 100000000 /dev/zero | tr '\0' x; } >"$tmp/wide.tmx"
	within "a huge attribute" 'a tag or comment is longer than 16 MiB' "$tmp/wide.tmx"
	{ printf '<tmx><!--'; head -c 100000000 /dev/zero | tr '\0' x; } >"$tmp/wide.tmx"
	within "a huge comment" 'a tag or comment is longer than 16 MiB' "$tmp/wide.tmx"
	{ printf '<tmx><body><tu><tuv lang="en"><seg>'; head -c 100000000 /dev/zero | tr '\0' x; } >"$tmp/wide.tmx"
	within "a huge segment" 'a segment has more than 16 MiB of text' "$tmp/wide.tmx"
	{ printf '<tmx>'; awk 'BEGIN { for (i = 0; i < 2000000; i++) printf "<a%d/>", i }'; } >"$tmp/names.tmx"
	within "millions of names" 'more than 10000 different names' "$tmp/names.tmx"
	{ printf '<tmx>'; head -c 300000000 /dev/zero | tr '\0' ' '; } | gzip -1 >"$tmp/bomb.tmx.gz"
	within "a small file that unpacks to a large one" 'looks like a decompression bomb' "$tmp/bomb.tmx.gz"
	rm -f "$tmp"/wide.tmx "$tmp"/deep.tmx "$tmp"/names.tmx
	# a file of any size in the same memory
	{ echo '<tmx><body>'; for _ in 1 2 3 4 5 6 7 8 9 10; do cat "$tmp/train.tmx"; done | grep '<tu>' >"$tmp/part"
	  for _ in $(seq 50); do cat "$tmp/part"; done; echo '</body></tmx>'; } >"$tmp/large.tmx"
	same "100,000 units in bounded memory" "$( (ulimit -v 400000; "$data" pairs "$tmp/large.tmx") | wc -l)" 100000
else
	skip "XML bombs in bounded memory" "this build cannot read XML in 400 MB of addresses"
fi
# files of more than one block; numbers of units also for text that hold_out takes
seq 1 30000 | awk '{ print "The house of the world has number " $1 "\tDas Haus der Welt hat die Nummer " $1 }' >"$tmp/long.tsv"
says "a table of several megabytes" 0 'long is ready in .* 30,000 training pairs of 30,000 read, 30,000 dev' \
	"$data" prep -C "$tmp/w" small --corpus long --train-pairs "$tmp/long.tsv" --dev-pairs "$tmp/long.tsv" --merges 50
says "held-out sets of it" 0 'held is ready in .* 29,000 training pairs of 30,000 read, 500 dev, 500 test' \
	"$data" prep -C "$tmp/w" small --corpus held --train-pairs "$tmp/long.tsv" --hold-out 500 --merges 50
says "the number of a unit" 0 'number 29999$' "$data" data -C "$tmp/w" why held "$tmp/long.tsv:29999"
{ printf 'a,b\n"'; head -c 100000000 /dev/zero | tr '\0' x; } >"$tmp/quote.csv"
limit=800000 within "a quote that is never closed" 'quote.csv' "$tmp/quote.csv"
tally
