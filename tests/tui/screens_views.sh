#!/bin/sh
# screens_views.sh - the screens of home, data, compare and samples must look like tests/golden/home, data, compare and samples.
# "UPDATE=1 make check TESTS=tests/tui/screens_views.sh" rewrites them; look at the difference before you keep it.
set -eu
srcdir=$(cd "${srcdir:-.}" && pwd)
golden=$srcdir/tests/golden
wb=$PWD/werkbank
here=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-views-XXXXXX")
trap 'rm -rf "$here"' EXIT
tmp=$here
mkdir "$here/start"
cd "$here/start"		# screens name the workspace, so it must be called the same everywhere
. "$srcdir/tests/helpers.sh"
HOME=$here XDG_CONFIG_HOME=$here/config XDG_STATE_HOME=$here/state TERM=xterm WERKBANK_NOW=1750000210
export HOME XDG_CONFIG_HOME XDG_STATE_HOME TERM WERKBANK_NOW
unset WERKBANK_HOME WERKBANK_GLYPHS NO_COLOR
mkdir -p w

corpus() {
	mkdir -p "w/corpora/$1"
	cp "$golden"/corpus/* "w/corpora/$1/"
	chmod u+w "w/corpora/$1"/*
	touch -d @1750000000 "w/corpora/$1"/*
}
run() {
	mkdir -p "w/runs/$1"
	cp "$golden"/run/* "w/runs/$1/"
	chmod u+w "w/runs/$1"/*
	touch -d "@$2" "w/runs/$1"/*
}

# screen FILE LOCALE OPTIONS... : draw it and compare. The line that describes this host is masked.
screen() {
	name=$1 locale=$2 file=$golden/${1%%-*}/$1.screen; shift 2
	if ! LC_ALL=$locale "$wb" watch -C w "$@" >raw 2>err; then
		not_ok "$name" "watch $* failed: $(cat err)"
		return
	fi
	sed 's/^  .*: [0-9]* cores*, load .*/  HOST/' raw >out
	if LC_ALL=C grep -q "[$(printf '\001-\010\013-\037\177')]" out; then
		not_ok "$name" "a control character came through"
		return
	fi
	if test -n "${UPDATE:-}"; then cp out "$file"; fi
	if diff -u "$file" out; then ok "$name"; else not_ok "$name" "the screen differs"; fi
}

utf8=
for l in C.UTF-8 C.utf8 en_US.UTF-8; do
	if test "$(LC_ALL=$l locale charmap 2>/dev/null)" = UTF-8; then utf8=$l; break; fi
done

# sizes NAME KEYS : the three sizes, in UTF-8 and ASCII.
sizes() {
	for size in 24x80 40x120 60x200; do
		screen "$1-$size-ascii" C --dump $size --keys "$2"
		test -z "$utf8" || screen "$1-$size" $utf8 --dump $size --keys "$2"
	done
}
# one NAME KEYS : where the layout is that of another pane of the view.
one() {
	screen "$1-24x80-ascii" C --dump 24x80 --keys "$2"
	test -z "$utf8" || screen "$1-40x120" $utf8 --dump 40x120 --keys "$2"
}

one home-empty 1
one data-empty 2
one compare-empty 5
one samples-empty 6

corpus tiny
run first 1750000100
run second 1750000200
cat >w/runs/second/recipe.ini <<-'RECIPE'
	[train]
	steps = 2000
	warmup = 400
	[decode]
	beam = 8
RECIPE
sed -n '1,60p' "$golden/run/journal.jsonl" >w/runs/second/journal.jsonl
printf '{"v":1,"state":"stopped","attempt":1,"exit":75}' >w/runs/second/state.json
touch -d @1750000200 w/runs/second/*
# one that is being prepared by this very process
mkdir -p w/corpora/wmt
cat >w/corpora/wmt/progress.json <<-PROGRESS
	{"v":1,"pid":$$,"host":"$(uname -n)","t":1750000209,"began":1750000150,"stage":"judge","unit":"pairs",
	"done":1250000,"total":4500000,"rate":62500}
PROGRESS
# one whose preparation ended in the middle, on another host
mkdir -p w/corpora/broken
printf '{"v":1,"pid":7,"host":"elsewhere.","t":1749000000,"began":1749000000,"stage":"pack"}' >w/corpora/broken/progress.json

sizes home 1
sizes data '2ctiny<Enter>'
sizes data-working 2
sizes compare 5
sizes samples 6
one home-question '1j<Enter>'
one home-filter '1/fir<Enter><Tab><Tab>'
one home-tune '1jjjjjjjj<Enter>'
screen home-tune-10x40 C --dump 10x40 --keys '1jjjjjjjj<Enter>'
cp w/corpora/tiny/manifest.json manifest.healthy
sed 's/}[[:space:]]*$/,"verdicts":[{"rule":"shifted","confidence":"clear"},{"rule":"entities","confidence":"likely"}]}/' \
	manifest.healthy >w/corpora/tiny/manifest.json
touch -d @1750000000 w/corpora/tiny/manifest.json
one home-verdicts 1
cp manifest.healthy w/corpora/tiny/manifest.json
touch -d @1750000000 w/corpora/tiny/manifest.json
cp w/corpora/tiny/stats.json stats.healthy
sed 's/}[[:space:]]*$/,"verdicts":[{"rule":"shifted","confidence":"clear","set":"train","text":"my.de","first":1025,"last":3000,"what":"Targets stand 1 line after their sources: by words that occur together, the target there fits better than the one of the same line in 96 % of the pairs.","cure":"Find the line that one side lacks, and add or remove it."},{"rule":"entities","confidence":"likely","set":"train","what":"60 of 3,000 lines (2 %) have XML entities.","cure":"Replace entities by their characters."}]}/' \
	stats.healthy >w/corpora/tiny/stats.json
touch -d @1750000000 w/corpora/tiny/stats.json
one data-verdicts '2ctiny<Enter>'
cp stats.healthy w/corpora/tiny/stats.json
touch -d @1750000000 w/corpora/tiny/stats.json
one data-dropped '2ctiny<Enter><Tab><Tab><Tab>j<Right><Right><Right>'
one data-dropped-search '2ctiny<Enter><Tab><Tab><Tab>/teacher<Enter>'
one data-vocabulary '2ctiny<Enter><Shift-Tab><Shift-Tab>/an<Enter>j'
one data-split '2ctiny<Enter>iThe old teachers are reading.<Esc><Left>'
one data-broken '2cbroken<Enter>'
one compare-bleu '5mma<Tab>'
one compare-none '5 j j '
one data-dropped-rule '2ctiny<Enter><Tab><Tab><Tab><Right>'
one compare-one '5/sec<Enter><Space>ssl'
one samples-reference '6jd<Left><Left>'
one samples-search '6/dog<Enter><Tab>'
one samples-worst '6oj'

# Fetching: an archive with a bar, one that waits.
cat >w/corpora/wmt/progress.json <<-PROGRESS
	{"v":1,"pid":$$,"host":"$(uname -n)","t":1750000209,"began":1750000150,"stage":"fetch","unit":"bytes",
	"archives":[{"name":"europarl.tgz","done":94371840,"total":188743680,"rate":4718592},
	{"name":"dev\\u001b[2J.tgz","done":0,"total":-1,"rate":0,"words":"waiting"}],"done":94371840,"total":0,"rate":4718592}
PROGRESS
one data-fetching 2

# A sample of 5,000 characters and one of 700 words: cut, with a sign, and not lost.
words=$(seq -s ' ' 1 700) long=$(printf '%05000d' 0)
for step in 250 500; do
	printf '{"v":1,"kind":"sample","step":%d,"id":0,"source":"%s","reference":"%s","hypothesis":"%s"}\n' $step "$words" "$long" "$long"
	printf '{"v":1,"kind":"sample","step":%d,"id":1,"source":"a b","reference":"c","hypothesis":"%s"}\n' $step "$words"
done >w/runs/second/samples.jsonl
one samples-long 6
one samples-long-words 6j

# Hostile files: control characters and impossible numbers are shown as text.
printf '{"v":2,"pairs":{"read":-9e99,"train":1e300},"stages":[7,{"name":"read","seconds":1e308,"pairs_in":-5}],"source_language":"\\u001b[2J\\u202e"}' \
	>w/corpora/tiny/manifest.json
{ printf 'x\n\033[2J\t\302\t\t\n\tlong\n'; printf '%05000d\t3\tratio\ta\tb\n' 0; printf 'no line end'; } >w/corpora/tiny/ledger.tsv
printf '{"dropped":{"long":1e300,"\\u001b]0;x\\u0007":5},"verdicts":[{"set":"\\u001b[2J","first":-5,"what":"\\u202eabc"},7],"source":{"words_a_line":{"step":-7,"lines":[-1,1e300,"x"]}}}' \
	>w/corpora/tiny/stats.json
printf '{"v":1,"kind":"sample","step":5,"id":0,"source":"\\u001b[2J a","reference":"\\u202e","hypothesis":"\\u0007 b"}\n' \
	>w/runs/second/samples.jsonl
one data-hostile '2ctiny<Enter>'
one data-hostile-ledger '2ctiny<Enter><Tab><Tab><Tab>jj'
one data-hostile-pairs '2ctiny<Enter><Tab>'
one samples-hostile 6
rm w/runs/second/samples.jsonl
one samples-missing 6

# A prepared corpus with its work folder: repeats, held-out sentences in training, long, foreign and unequal pairs.
rm -rf w
mkdir -p w text
awk 'function words(n, from,   i, s) { for (i = 0; i < n; i++) s = s (i ? " " : "") W[(from * 7 + i * i + i) % 16]; return s }
	BEGIN {
		split("a red house the old garden we see two dogs run over green hills slowly home", V, " ")
		for (i = 1; i <= 16; i++) W[i - 1] = V[i]
		for (i = 0; i < 900; i++) {
			n = 3 + (i * 13) % 11 + (i % 17 == 0 ? 14 : 0); m = n + i % 3 + (i % 41 == 0 ? 9 * n : 0)
			s = words(n, i) " " i; t = words(m, i + 3) " " i
			if (i % 45 == 44) { s = "hello again"; t = "hallo noch einmal" }
			if (i % 60 == 59) s = "\320\277\321\200\320\270\320\262\320\265\321\202 \320\274\320\270\321\200 " i
			if (i % 100 == 99) s = "\033[2J\302\233 evil " i
			print s >"text/train.en"; print t >"text/train.de"
			if (i % 30 == 10) { print s >"text/dev.en"; print (i % 60 == 10 ? t : "anders " i) >"text/dev.de" }
		}
	}'
cat >pairs.ini <<-'RECIPE'
	[data]
	source_language = en
	target_language = de
	train_source = text/train.en
	train_target = text/train.de
	dev_source = text/dev.en
	dev_target = text/dev.de
	test_source = text/dev.en
	test_target = text/dev.de
	max_words = 20
	max_ratio = 3
	max_foreign = 0.3
	merges = 50
RECIPE
"$wb" prep -C w ./pairs.ini --quiet >prep.out 2>&1 || cat prep.out
sizes data-pairs '2<Tab>'
one data-pairs-zoom '2<Tab><Right><Right><Right>z'
one data-limits '2<Tab><Tab>'
one data-limits-help '2<Tab><Tab>?'
sizes data-tour '2<Tab><Alt-t>'
sizes data-limits-tried '2<Tab><Tab><Left><Left>jj<Enter><Ctrl-U>2<Enter>'
sizes data-repeats '2<Tab><Tab><Tab><Tab>jjj'
one data-reason '2<Tab><Tab><Tab><Left><Left><Left><Left><Left>'
one data-reason-zoom '2<Tab><Tab><Tab><Right><Right><Right><Right>jz'
# without the work folder, the panes say why they are empty
rm -rf w/corpora/*/work
one data-no-work '2<Tab><Tab>'
tally
