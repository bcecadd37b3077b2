#!/bin/sh
# prep.sh - from archives and files to shards: a WMT-like corpus from a local web server, and bad input.
# Last line: the tally, which tests/tally.sh counts.
set -u
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-prep-XXXXXX")
data=$top/werkbank-data
server_pid=
killed_pid=
small=
finish() {
	[ -z "$killed_pid" ] || kill -9 "$killed_pid" 2>/dev/null
	[ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null
	[ -z "$small" ] || umount "$small" 2>/dev/null
	chmod -R u+w "$tmp"
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
unset WERKBANK_HOME MULTI30K
. "$(dirname "$0")/../helpers.sh"

# ---- a WMT-like set of archives -------------------------------------------
raw=$tmp/raw
mkdir -p "$raw/training-parallel-nc-v11" "$raw/dev" "$raw/test" "$tmp/www"
"$data" demo-corpus --demo-pairs 1700 "$tmp/en" "$tmp/de" || not_ok "demo-corpus" "it failed"
slice() { sed -n "$1" "$tmp/en" >"$2.en"; sed -n "$1" "$tmp/de" >"$2.de"; }
slice 1,900p "$raw/europarl-v7.de-en"
slice 901,1300p "$raw/commoncrawl.de-en"
slice 1301,1600p "$raw/training-parallel-nc-v11/news-commentary-v11.de-en"
slice 1601,1650p "$tmp/dev"
slice 1651,1700p "$tmp/test"
# three bad pairs at the end of the second text: an empty side, too long, too different
words() { i=0; while [ $i -lt "$1" ]; do printf '%s ' "$2"; i=$((i + 1)); done; echo; }
{ echo; words 81 house; words 40 house; } >>"$raw/commoncrawl.de-en.en"
{ echo "Leere Zeile."; words 81 Haus; words 4 Haus; } >>"$raw/commoncrawl.de-en.de"
# and one training pair that is also a test pair
sed -n 1p "$tmp/test.en" >>"$raw/commoncrawl.de-en.en"
sed -n 1p "$tmp/test.de" >>"$raw/commoncrawl.de-en.de"
# sgm FILE KIND : the lines of a file as an .sgm test set of WMT
sgm() {
	printf '<%s setid="x" srclang="any">\n<doc docid="1">\n<p>\n' "$2"
	awk '{ printf "<seg id=\"%d\">%s</seg>\n", NR, $0 }' "$1"
	printf '</p>\n</doc>\n</%s>\n' "$2"
}
sgm "$tmp/dev.en" srcset >"$raw/dev/newstest2013-src.en.sgm"
sgm "$tmp/dev.de" refset >"$raw/dev/newstest2013-ref.de.sgm"
sgm "$tmp/test.en" refset >"$raw/dev/newstest2014-deen-ref.en.sgm"
sgm "$tmp/test.de" srcset >"$raw/dev/newstest2014-deen-src.de.sgm"
sgm "$tmp/dev.en" srcset >"$raw/test/newstest2016-ende-src.en.sgm"
sgm "$tmp/dev.de" refset >"$raw/test/newstest2016-ende-ref.de.sgm"
echo "not asked for" >"$raw/README"
ln -s /etc/passwd "$raw/link.en"
(cd "$raw" &&
	tar czf "$tmp/www/de-en.tgz" README europarl-v7.de-en.de europarl-v7.de-en.en &&
	tar czf "$tmp/www/training-parallel-commoncrawl.tgz" commoncrawl.de-en.de commoncrawl.de-en.en README &&
	tar czf "$tmp/www/training-parallel-nc-v11.tgz" training-parallel-nc-v11 &&
	tar czf "$tmp/www/dev.tgz" dev && tar czf "$tmp/www/test.tgz" test) || not_ok "archives" "tar failed"
(cd "$raw" && tar czf "$tmp/www/link.tgz" link.en commoncrawl.de-en.de)

"$top/tests/http_server" "$tmp/www" "$tmp/port" &
server_pid=$!
tries=0
while [ ! -s "$tmp/port" ] && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
web=http://127.0.0.1:$(cat "$tmp/port")
wmt() { # wmt WORKSPACE OPTION... : later --url win
	ws=$1
	shift
	"$data" prep wmt16-en-de -C "$ws" --merges 500 --retry-wait 0.01 \
		--url "de-en.tgz=$web/moved/de-en.tgz" \
		--url "training-parallel-commoncrawl.tgz=$web/training-parallel-commoncrawl.tgz" \
		--url "training-parallel-nc-v11.tgz=$web/training-parallel-nc-v11.tgz" \
		--url "dev.tgz=file://$tmp/www/dev.tgz" --url "test.tgz=$web/test.tgz" "$@"
}

corpus=$tmp/ws/corpora/wmt16-en-de
says "wmt16 from a web server" 0 'is ready' wmt "$tmp/ws"
if grep -q "note: .* should have 918311367; used all the same" "$tmp/err"; then
	ok "an archive of one's own may differ from the published one, and that is said"
else
	not_ok "an archive of one's own may differ from the published one, and that is said" "$(cat "$tmp/err")"
fi
manifest=$corpus/manifest.json
same "pairs" "$(grep -o '"pairs":{[^}]*}' "$manifest")" \
	'"pairs":{"read":1604,"train":1601,"dev":50,"test":50,"newstest2016":50}'
equal "the text of an .sgm, source" "$tmp/dev.en" "$corpus/dev.en"
equal "the text of an .sgm, target" "$tmp/test.de" "$corpus/test.de"
same "a test pair in training is counted" \
	"$(grep -o '"held_out_in_train":{[^}]*}' "$manifest")" '"held_out_in_train":{"dev":0,"test":1,"newstest2016":0}'
printf 'file\tline\trule\n' >"$tmp/ledger"
{
	printf 'training-parallel-commoncrawl.tgz:commoncrawl.de-en.en\t401\tempty\n'
	printf 'training-parallel-commoncrawl.tgz:commoncrawl.de-en.en\t402\tlong\n'
	printf 'training-parallel-commoncrawl.tgz:commoncrawl.de-en.en\t403\tratio\n'
} >>"$tmp/ledger"
cut -f 1-3 "$corpus/ledger.tsv" >"$tmp/reasons"
equal "the ledger names archive, member, line and rule" "$tmp/ledger" "$tmp/reasons"
same "and shows the text" "$(sed -n 4p "$corpus/ledger.tsv" | cut -f 5)" "Haus Haus Haus Haus"
same "what stages left for each other is kept" "$(find "$corpus/work" -name '*.json' | wc -l)" 6

# reference: the same with the pipe tools
for l in en de; do
	cat "$raw/europarl-v7.de-en.$l" "$raw/commoncrawl.de-en.$l" \
		"$raw/training-parallel-nc-v11/news-commentary-v11.de-en.$l" | "$data" tokenize -l $l >"$tmp/tok.$l"
done
"$data" clean -q "$tmp/tok.en" "$tmp/tok.de" "$tmp/clean.en" "$tmp/clean.de"
cat "$tmp/clean.en" "$tmp/clean.de" | "$data" bpe-learn -q -s 500 >"$tmp/codes"
equal "the same merges as the pipe tools" "$tmp/codes" "$corpus/bpe.codes"
same "the same number of tokens" "$(sed -n 's/.*"tokens":{"train":{"source":\([0-9]*\),.*/\1/p' "$manifest")" \
	"$("$data" bpe-apply -c "$tmp/codes" "$tmp/clean.en" | wc -w)"
same "every file is listed with its hash" "$(grep -o '"sha256":"[0-9a-f]*"' "$manifest" | wc -l)" 19

says "prepared already" 0 'ready in .* already' wmt "$tmp/ws"
says "other options: says which" 78 'prepared with max_words = 80, but this recipe has .70' wmt "$tmp/ws" --max-words 70
mv "$tmp/www" "$tmp/gone"
cp "$manifest" "$tmp/first.json"
says "again from archives that are here" 0 'is ready' wmt "$tmp/ws" --force
same "the same bytes again" "$(grep -o '"name":"train.shard"[^}]*' "$manifest")" \
	"$(grep -o '"name":"train.shard"[^}]*' "$tmp/first.json")"
find "$tmp/ws/archives" -name '*.tgz' -exec rm {} +
says "archives are gone: said to be fetched where they must be read" 0 '^to fetch: test.tgz' wmt "$tmp/ws" --dry-run --normalize
says "archives are gone: not needed for other merges" 0 'kept: read judge' wmt "$tmp/ws" --merges 400 --force
says "archives are gone: needed for other tokens" 69 'the server answers 404' wmt "$tmp/ws" --normalize --force
same "that is known before anything is changed" "$(find "$manifest" | wc -l)" 1
mv "$tmp/gone" "$tmp/www"
says "a plan fetches nothing" 0 '^to fetch: de-en.tgz' wmt "$tmp/ws5" --dry-run
absent "a plan leaves nothing" "$tmp/ws5"
says "from a folder, where sums are published: said" 0 'training-parallel-commoncrawl.tgz: has [0-9]* bytes, should have 918311367; used all the same' \
	wmt "$tmp/ws2" --from "$tmp/www"
absent "from a folder: used where it lies" "$tmp/ws2/archives/wmt16-en-de/dev.tgz"
mkdir "$tmp/bad-from"
cp "$tmp/www/dev.tgz" "$tmp/www/test.tgz" "$tmp/www"/training* "$tmp/bad-from"
cp "$tmp/en" "$tmp/bad-from/de-en.tgz"
says "from a folder, where something is no archive" 65 'de-en.tgz: is not an archive' wmt "$tmp/ws2" --from "$tmp/bad-from" --force
says "from a folder that has not got it" 66 'no such archive' wmt "$tmp/ws4" --from "$tmp/raw"

# ---- bad archives ----------------------------------------------------------
head -c 15000 "$tmp/www/de-en.tgz" >"$tmp/www/short.tgz"
says "a truncated archive" 65 'short.tgz: damaged or cut short at member europarl-v7.de-en' \
	wmt "$tmp/ws3" --url "de-en.tgz=$web/short.tgz"
absent "a truncated archive: nothing looks finished" "$tmp/ws3/corpora/wmt16-en-de/manifest.json"
says "an answer cut short" 76 'de-en.tgz: cannot be fetched' \
	wmt "$tmp/ws3" --url "de-en.tgz=$web/cut/de-en.tgz"
says "not found" 69 'nothing.tgz: the server answers 404' wmt "$tmp/ws3" --url "de-en.tgz=$web/nothing.tgz"
says "busy" 69 'the server answers 503' wmt "$tmp/ws3" --url "de-en.tgz=$web/busy/de-en.tgz"
says "a web page" 65 'is a web page, not an archive' \
	wmt "$tmp/ws3" --url "de-en.tgz=$web/page/de-en.tgz"
says "text" 65 'is not an archive' wmt "$tmp/ws3" --url "de-en.tgz=file://$tmp/en"
says "no server" 68 'cannot be fetched' wmt "$tmp/ws3" --url "de-en.tgz=http://127.0.0.1:1/x.tgz"
says "another scheme" 64 'cannot be fetched' wmt "$tmp/ws3" --url "de-en.tgz=gopher://127.0.0.1/x.tgz"
says "a name that the manifest has not" 64 'no archive called de.tgz' wmt "$tmp/ws3" --url "de.tgz=$web/x.tgz"
says "an archive without the member" 65 'de-en.tgz: holds no member newstest2013-src.en.sgm' \
	wmt "$tmp/ws3" --url "dev.tgz=$web/de-en.tgz"
same "no .part is left" "$(find "$tmp/ws3" -name '*.part' | wc -l)" 0
cat >"$tmp/link.manifest" <<END
[archive link.tgz]
url = $web/link.tgz
train.en = link.en
train.de = commoncrawl.de-en.de
END
printf '[data]\nmanifest = %s\n' "$tmp/link.manifest" >"$tmp/link.ini"
says "a link in an archive is not followed" 65 'member link.en is a symbolic link, a plain file was expected' "$data" prep "$tmp/link.ini" -C "$tmp/ws3"
printf '[archive a.tgz]\nurl = http://x/\nsize = 7\n' >"$tmp/bad.manifest"
printf '[data]\nmanifest = %s\n' "$tmp/bad.manifest" >"$tmp/bad.ini"
says "a manifest with an unknown key" 78 "bad.manifest:3: 'size' is none of" "$data" prep "$tmp/bad.ini" -C "$tmp/ws3"

# ---- local files, good and bad ----------------------------------------------
# recipe NAME SOURCE TARGET [LINE...] : writes NAME.ini
recipe() {
	{ printf '[data]\ntrain_source = %s\ntrain_target = %s\nmerges = 100\n' "$2" "$3"; shift 3; printf '%s\n' "$@"; } >"$tmp/my.ini"
}
prep() { "$data" prep "$tmp/my.ini" -C "$tmp/local" --force "$@"; }
recipe my "$tmp/dev.en" "$tmp/dev.de" "dev_source = $tmp/test.en" "dev_target = $tmp/test.de"
says "local files" 0 'is ready' prep
says "the next command is what can be typed here" 0 'next: .*/werkbank train -C' prep
says "... also in an error" 66 'werkbank is here: .*/werkbank' "$data" data stats nothing -C "$tmp/local"
says "the manifest on standard output" 0 '' prep --json -q
equal "the manifest on standard output is the file" "$tmp/out" "$tmp/local/corpora/my/manifest.json"
same "quiet" "$(wc -c <"$tmp/err")" 0
data=$(cd "$(dirname "$data")" && pwd)/$(basename "$data")
says "a recipe in the current folder" 0 'is ready' sh -c 'cd "$1" && "$2" prep ./my.ini -C local --force' sh "$tmp" "$data"
says "the manifest names the recipe for any current folder" 0 "\"recipe\":\"$tmp/my.ini\"" \
	cat "$tmp/local/corpora/my/manifest.json"
absent "no test set, no test files" "$tmp/local/corpora/my/test.shard"
recipe my "$tmp/dev.en" "$tmp/missing.de"
rm -rf "$tmp/local/corpora/my"
says "a missing file" 66 'missing.de: no such file' prep
absent "a failed preparation leaves no corpus" "$tmp/local/corpora/my"
recipe my "$tmp/dev.en" "$tmp/en"
says "sides of different length" 65 'dev.en has 50 lines, but .*/en has 1700' prep
recipe my "$tmp/dev.en $tmp/test.en" "$tmp/dev.de"
says "a side without its other" 78 'train_source names 2 files and train_target 1' prep
: >"$tmp/empty"
recipe my "$tmp/empty" "$tmp/empty"
says "an empty corpus" 65 'empty: the training text is empty' prep
words 90 x >"$tmp/long"
words 90 y >"$tmp/long.de"
recipe my "$tmp/long" "$tmp/long.de"
says "nothing left" 65 'the rules dropped all 1 training pairs' prep
absent "nothing left: nothing looks finished" "$tmp/local/corpora/my/manifest.json"
recipe my "$tmp/dev.en" "$tmp/dev.de" "dev_source = $tmp/empty" "dev_target = $tmp/empty"
says "an empty dev set" 65 'empty: is empty' prep
printf '[data]\nmerges = 100\n' >"$tmp/my.ini"
says "no text at all" 78 'names no training text' prep
recipe my "$tmp/dev.en" "$tmp/dev.de" "demo_pairs = 100"
says "two kinds of text" 78 'exclude each other' prep
{ sed -n 1,9p "$tmp/dev.de"; printf 'K\344se\n'; sed -n 11,50p "$tmp/dev.de"; } >"$tmp/latin.de"
recipe my "$tmp/dev.en" "$tmp/latin.de"
rm -rf "$tmp/local/corpora/my"
says "invalid UTF-8 names its line and the encoding" 65 'latin.de:10: byte 2 .* perhaps --encoding ISO-8859-1 ' prep
same "... and leaves no file of a corpus" "$(ls -A "$tmp/local/corpora/my" 2>/dev/null)" ""
says "... and no corpus" 66 "there is no prepared corpus" "$data" data stats my -C "$tmp/local"
says "invalid UTF-8, repaired: counted" 0 'warning: --repair replaced invalid UTF-8 in 1 line, the last one in .*latin.de: .* another encoding' prep --repair
for side in en de; do
	{ echo '<srcset setid="x" srclang="any"><doc docid="d">'; sed 's/.*/<seg id="1">&<\/seg>/' "$tmp/dev.$side"; echo '</doc></srcset>'; } >"$tmp/latin.$side.sgm"
done
LC_ALL=C sed '4s/<seg id="1">/&K\xe4se \xe4 /' "$tmp/latin.de.sgm" >"$tmp/latin-1.de.sgm"
recipe my "$tmp/dev.en" "$tmp/latin.de" "dev_source = $tmp/latin.en.sgm" "dev_target = $tmp/latin-1.de.sgm"
says "... also in an SGM file" 0 '--repair replaced invalid UTF-8 in 2 lines, the last one in ' prep --repair
{ sed -n 1,9p "$tmp/dev.de"; printf 'K\344se \226 \204gut\223\n'; sed -n 11,50p "$tmp/dev.de"; } >"$tmp/latin.de"
says "Windows-1252" 65 '--encoding WINDOWS-1252 ' prep
{ sed -n 1,9p "$tmp/dev.de"; printf 'K\212se\n'; sed -n 11,50p "$tmp/dev.de"; } >"$tmp/latin.de"
says "Mac Roman" 65 '--encoding MACINTOSH ' prep
# ---- the same text in other encodings becomes the same corpus ----
recipe my "$tmp/dev.en" "$tmp/dev.de" "dev_source = $tmp/test.en" "dev_target = $tmp/test.de"
says "UTF-8, to compare with" 0 'is ready' prep
utf8=$(cat "$tmp/local/corpora/my/train.shard" "$tmp/local/corpora/my/dev.de" | sha256sum)
says "UTF-8 by name" 0 'is ready' prep --encoding utf8 --force
mkdir "$tmp/other"
# convert ENCODING : all files of the corpus, into the folder other
convert() {
	for file in dev.en dev.de test.en test.de; do
		iconv -f UTF-8 -t "$1" "$tmp/$file" >"$tmp/other/$file" || echo 'iconv failed' >"$tmp/other/$file"
	done
}
other=$tmp/other
recipe my "$other/dev.en" "$other/dev.de" "dev_source = $other/test.en" "dev_target = $other/test.de"
for encoding in ISO-8859-1:latin1 WINDOWS-1252:cp1252 MACINTOSH:macroman GB18030:GB18030 UTF-16:utf-16 \
	UTF-16LE:UTF-16LE UTF-16BE:utf16be UTF-32:UTF-32; do
	convert "${encoding%:*}"
	rm -rf "$tmp/local/corpora/my"
	says "${encoding%:*}: converted" 0 'is ready' prep --encoding "${encoding#*:}"
	same "... the same corpus" "$(cat "$tmp/local/corpora/my/train.shard" "$tmp/local/corpora/my/dev.de" | sha256sum)" "$utf8"
done
says "UTF-16: the encoding belongs to the corpus" 78 'was prepared with encoding = UTF-32' \
	"$data" prep "$tmp/my.ini" -C "$tmp/local" --encoding UTF-16BE
convert UTF-16LE
rm -rf "$tmp/local/corpora/my"
says "UTF-16 without a byte order mark" 65 'dev.en: is UTF-16LE text, not UTF-8: give --encoding UTF-16LE' prep
says "UTF-16, the other byte order" 65 'dev.en: is UTF-16LE text, not UTF-16BE' prep --encoding UTF-16BE
convert UTF-16
says "UTF-16 with a byte order mark" 65 'is UTF-16 text, not UTF-8: give --encoding UTF-16$' prep
convert UTF-8
says "UTF-8, said to be Latin-1" 65 'dev.de: is UTF-8 text, but the option encoding says latin1' prep --encoding latin1
says "an unknown encoding" 78 'no encoding is called latin-7b .did you mean latin1..; common ones are UTF-16' prep --encoding latin-7b
printf 'encoding = cp1253x\n' >>"$tmp/my.ini"
says "an unknown encoding in a recipe" 78 'no encoding is called cp1253x .did you mean cp1253..' prep
convert ISO-8859-1
says "bytes that do not exist" 65 'other/dev.de:[0-9]*: the bytes 0x[8-F][0-9A-F]* are no character of us-ascii: .*--repair' prep --encoding us-ascii
says "... repaired and counted" 0 'warning: --repair replaced [0-9,]* characters by U.FFFD, also in .*test.de: their bytes do not exist in us-ascii' \
	prep --encoding us-ascii --repair
sgm "$other/test.en" srcset >"$other/latin-src.sgm"
sgm "$other/test.de" refset >"$other/latin-ref.sgm"
recipe my "$other/dev.en" "$other/dev.de" "dev_source = $other/latin-src.sgm" "dev_target = $other/latin-ref.sgm"
rm -rf "$tmp/local/corpora/my"
says "an .sgm in Latin-1" 0 'is ready' prep --encoding ISO-8859-1
same "... the same corpus" "$(cat "$tmp/local/corpora/my/train.shard" "$tmp/local/corpora/my/dev.de" | sha256sum)" "$utf8"
rm -rf "$tmp/local/corpora/my"
# ---- a byte order mark is no text ----
for file in dev.en dev.de test.en test.de; do { printf '\357\273\277'; cat "$tmp/$file"; } >"$other/$file"; done
recipe my "$other/dev.en" "$other/dev.de" "dev_source = $other/test.en" "dev_target = $other/test.de"
says "UTF-8 with byte order marks" 0 'is ready' prep
same "... the same corpus" "$(cat "$tmp/local/corpora/my/train.shard" "$tmp/local/corpora/my/dev.de" | sha256sum)" "$utf8"
rm -rf "$tmp/local/corpora/my"
# ---- files that are no text of one sentence a line ----
paste "$tmp/dev.en" "$tmp/dev.de" >"$tmp/both.tsv"
recipe my "$tmp/both.tsv" "$tmp/dev.de"
says "a table of columns" 65 'both.tsv: each line has 1 tab, .*cut -f 1' prep
printf '[data]\nmerges = 100\n' >"$tmp/my.ini"
says "a table of columns, as the only file" 65 'both.tsv: each line has 1 tab, .*cut -f 1' prep --train-source "$tmp/both.tsv"
says "one side only" 78 'train_source names 1 file and train_target 0' prep --train-source "$tmp/dev.en"
recipe my "$tmp/dev.en" "$tmp/dev.en"
says "one file as both sides" 65 'dev.en: is given as source and as target' prep
cp "$tmp/dev.en" "$tmp/copy.en"
recipe my "$tmp/dev.en" "$tmp/copy.en"
says "a copy as the other side" 65 'dev.en and .*copy.en: have the same text' prep
tr '\n' '\r' <"$tmp/dev.de" >"$tmp/mac.de"
recipe my "$tmp/dev.en" "$tmp/mac.de"
says "lines that end in CR alone" 65 "mac.de: its lines end in CR alone.*tr '.r' '.n'" prep
sed 's/.*/"&","x"/' "$tmp/dev.de" >"$tmp/cells.csv"
recipe my "$tmp/dev.en" "$tmp/cells.csv"
says "quoted cells" 65 'cells.csv: lines have quoted cells' prep
printf '<?xml version="1.0"?>\n<tmx version="1.4">\n<body/>\n</tmx>\n' >"$tmp/a.tmx"
recipe my "$tmp/dev.en" "$tmp/a.tmx"
says "a TMX file" 65 'a.tmx: is XML .TMX or XLIFF' prep
sed 's/"//g; s/.*/{"de":"&"}/' "$tmp/dev.de" >"$tmp/lines.json"
recipe my "$tmp/dev.en" "$tmp/lines.json"
says "JSON Lines" 65 'lines.json: each line is a JSON object' prep
printf '[data]\ntrain_source = ${NO_SUCH_VARIABLE}/x\n' >"$tmp/my.ini"
says "a variable that is not set" 78 'NO_SUCH_VARIABLE' prep
says "multi30k says what it needs" 78 'MULTI30K' "$data" prep multi30k -C "$tmp/local"
says "an unknown recipe" 66 'did you mean demo' "$data" prep demoo -C "$tmp/local"

# ---- the machine ------------------------------------------------------------
recipe my "$tmp/en" "$tmp/de"
says "full disk (file size limit)" 74 'cannot be written' sh -c \
	"trap '' XFSZ; ulimit -f 64; exec '$data' prep '$tmp/my.ini' -C '$tmp/limit'"
absent "full disk: nothing looks finished" "$tmp/limit/corpora/my/manifest.json"
mkdir "$tmp/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=200k none "$tmp/small" 2>/dev/null; then
	small=$tmp/small
	says "full disk (small file system), known before" 74 'are free: make room' \
		"$data" prep "$tmp/my.ini" -C "$small"
	same "known before: nothing is written" "$(find "$small" -size +0 -type f ! -name progress.json | wc -l)" 0
	says "full disk (small file system)" 74 'No space left' "$data" prep demo -C "$small"
	umount "$small" && small=
else
	skip "full disk (small file system)" "it takes root to mount one"
fi
mkdir "$tmp/closed"
chmod 555 "$tmp/closed"
chmod 755 "$tmp"
if [ "$(id -u)" != 0 ]; then
	says "read-only folder" 77 'Permission denied' "$data" prep "$tmp/my.ini" -C "$tmp/closed"
elif setpriv --reuid 65534 --clear-groups "$data" --version >/dev/null 2>&1; then
	says "read-only folder" 77 'Permission denied' setpriv --reuid 65534 --clear-groups \
		"$data" prep "$tmp/my.ini" -C "$tmp/closed"
else
	skip "read-only folder" "root may write anywhere, and setpriv is not here"
fi

# ---- SentencePiece -----------------------------------------------------------
sp_demo() { "$data" prep demo -C "$tmp/sp" --demo-pairs 600 --no-tokenize --segmentation sentencepiece "$@"; }
says "a SentencePiece vocabulary" 0 'vocabulary of 400' sp_demo --vocabulary-size 397 --keep-text
corpus=$tmp/sp/corpora/demo
text=$corpus/text
"$data" sp-learn -q -s 397 -o "$tmp/sp-model" "$text/train.clean.en" "$text/train.clean.de"
equal "the same model as the pipe tools" "$tmp/sp-model.model" "$corpus/sentencepiece.model"
same "the vocabulary is the model's, in its order" "$(cut -f 1 "$tmp/sp-model.vocab")" \
	"$(head -n 397 "$corpus/vocab.tsv" | cut -f 1)"
absent "and there are no codes" "$corpus/bpe.codes"
"$data" sp-apply -m "$tmp/sp-model.model" "$text/train.clean.de.shuffled" >"$tmp/sp-pieces"
equal "the same pieces as the pipe tools" "$tmp/sp-pieces" "$text/train.clean.de.shuffled.BPE_common.397.tok"
"$data" sp-undo -m "$tmp/sp-model.model" "$tmp/sp-pieces" >"$tmp/sp-undone"
equal "and back" "$tmp/sp-undone" "$text/train.clean.de.shuffled"
says "too small a vocabulary says what it takes" 78 'ask for at least .* entries .--vocabulary-size' \
	"$data" sp-learn -s 20 -o "$tmp/sp-small" "$tmp/en"
absent "and writes nothing" "$tmp/sp-small.model"
says "no model" 64 'give it with -m FILE.model' "$data" sp-apply "$tmp/en"
says "no name" 64 'give it with -o PREFIX' "$data" sp-learn "$tmp/en"
says "codes are no model" 65 'no SentencePiece model' "$data" sp-apply -m "$tmp/codes" "$tmp/en"

# the recipe named for training suits the number of pairs
sized() { # RECIPE PAIRS OPTIONS...
	recipe=$1 lines=$2; shift 2
	head -n "$lines" "$tmp/many.en" >"$tmp/sized.en"
	head -n "$lines" "$tmp/many.de" >"$tmp/sized.de"
	"$data" prep "$recipe" -C "$tmp/sized" --corpus sized --train-source "$tmp/sized.en" --train-target "$tmp/sized.de" --dev-source "$tmp/dev.en" \
		--dev-target "$tmp/dev.de" --test-source "$tmp/test.en" --test-target "$tmp/test.de" --merges 100 --force "$@"
}
"$data" demo-corpus --demo-pairs 200300 "$tmp/many.en" "$tmp/many.de" || not_ok "demo-corpus" "it failed"
says "few pairs: the same recipe" 0 'next: .* small --corpus sized --run sized' sized small 2000
says "many pairs: said" 0 'recipe small is for at most 200,000 training pairs' sized small 200300
says "many pairs: a larger recipe" 0 'next: .* medium --corpus sized --run sized' sized small 200300
says "few pairs for a larger recipe" 0 'next: .* small --corpus sized --run sized' sized medium 2000

# killed in the middle: the corpus is not ready, and the next run completes it
"$data" prep demo -C "$tmp/killed" --demo-pairs 400000 -q &
killed_pid=$!
tries=0
while [ ! -d "$tmp/killed/corpora/demo/work" ] && [ $tries -lt 200 ]; do tries=$((tries + 1)); sleep 0.02; done
says "one preparation at a time" 75 'another preparation of this corpus is running' "$data" prep demo -C "$tmp/killed" --demo-pairs 500
kill -9 $killed_pid
wait $killed_pid 2>/dev/null
killed_pid=
: >"$tmp/killed/corpora/demo/vocab.tsv.1.tmp"
absent "killed: nothing looks finished" "$tmp/killed/corpora/demo/manifest.json"
says "prepared after a kill" 0 'demo is ready' "$data" prep demo -C "$tmp/killed" --demo-pairs 500
absent "and what it was writing" "$tmp/killed/corpora/demo/vocab.tsv.1.tmp"
rm "$tmp/killed/corpora/demo/vocab.tsv"
says "a file was removed: prepared again, no more than it takes" 0 'kept: read judge learn pack ledger' "$data" prep demo -C "$tmp/killed" --demo-pairs 500

tally
