#!/bin/sh
# wmt_size.sh MOSES DATA FOLDER [PAIRS [SAMPLE]] - WMT16-sized preparation, archive to shards, beside the classic chain.
#
# MOSES    the folder scripts/ of Moses (tokenizer/, training/)
# DATA     the real data: mixed/ newstest/
# FOLDER   an empty folder or one of an earlier run, with some 12 GB of room
# PAIRS    4500000
# SAMPLE   200000: pairs given to the classic chain, whose time is extrapolated
#
# Run it in a build folder; subword-nmt must be in the PATH. The corpus is grown from the real one by tests/grow and
# packed into archives that look like WMT16's. Ours is one command. The classic chain unpacks, runs tokenizer.perl with
# two threads on each side, clean-corpus-n.perl, subword-nmt learn-bpe on both sides and apply-bpe on each with two
# workers. Its time for PAIRS is that for SAMPLE times PAIRS / SAMPLE; for learning, whose time does not grow in
# proportion, the straight line through the times of SAMPLE / 2 and SAMPLE.
set -eu
[ $# -ge 3 ] || { sed -n '2,/^set/p' "$0" | sed '$d;s/^# \{0,1\}//'; exit 64; }
moses=$1 data=$2 work=$3 pairs=${4:-4500000} sample=${5:-200000}
program=$PWD/werkbank-data grow=$PWD/tests/grow
mkdir -p "$work/archives"

now() { date +%s.%N; }
# seconds COMMAND... : how long it takes
seconds() { began=$(now); "$@"; echo "$began $(now)" | awk '{ printf "%.2f\n", $2 - $1 }'; }

# ---- the corpus ---------------------------------------------------------
# part NAME FIRST LAST : lines of both sides as an archive
part() {
	mkdir -p "$work/raw/$(dirname "$1")"
	for l in en de; do
		tail -n "+$2" "$work/train.$l" | head -n $(($3 - $2 + 1)) >"$work/raw/$1.$l"
	done
}
# sgm FILE KIND : a test set as WMT writes it
sgm() {
	printf '<%s setid="x" srclang="any">\n<doc docid="1">\n<p>\n' "$2"
	awk '{ printf "<seg id=\"%d\">%s</seg>\n", NR, $0 }' "$1"
	printf '</p>\n</doc>\n</%s>\n' "$2"
}
make_archives() {
	for l in en de; do
		[ -e "$work/mixed.$l" ] || xz -dc "$data/mixed/train.$l.xz" >"$work/mixed.$l"
	done
	"$grow" "$work/mixed.en" "$work/mixed.de" "$pairs" "$work/train.en" "$work/train.de"
	a=$((pairs * 42 / 100)) b=$((pairs * 95 / 100))
	part europarl-v7.de-en 1 $a
	part commoncrawl.de-en $((a + 1)) $b
	part training-parallel-nc-v11/news-commentary-v11.de-en $((b + 1)) "$pairs"
	mkdir -p "$work/raw/dev" "$work/raw/test"
	for set in dev/newstest2013:2013 dev/newstest2015:2015 test/newstest2016:2017; do
		to=${set%%:*} from=$data/newstest/newstest${set##*:}
		ende=-ende; [ "$to" != dev/newstest2013 ] || ende=
		sgm "$from.en" srcset >"$work/raw/$to$ende-src.en.sgm"
		sgm "$from.de" refset >"$work/raw/$to$ende-ref.de.sgm"
	done
	sgm "$data/newstest/newstest2014.en" refset >"$work/raw/dev/newstest2014-deen-ref.en.sgm"
	sgm "$data/newstest/newstest2014.de" srcset >"$work/raw/dev/newstest2014-deen-src.de.sgm"
	(cd "$work/raw" &&
		tar cf - europarl-v7.de-en.* | gzip -3 >"$work/archives/de-en.tgz" &&
		tar cf - commoncrawl.de-en.* | gzip -3 >"$work/archives/training-parallel-commoncrawl.tgz" &&
		tar cf - training-parallel-nc-v11 | gzip -3 >"$work/archives/training-parallel-nc-v11.tgz" &&
		tar cf - dev | gzip -3 >"$work/archives/dev.tgz" && tar cf - test | gzip -3 >"$work/archives/test.tgz")
	rm -r "$work/raw"
}
[ -e "$work/archives/test.tgz" ] || make_archives
echo "corpus: $pairs pairs, $(cat "$work/train.en" "$work/train.de" | wc -c) bytes of text," \
	"archives of $(cat "$work"/archives/*.tgz | wc -c) bytes"

# ---- ours ---------------------------------------------------------------
rm -rf "$work/ours"
/usr/bin/time -f "%e %U %S %M" -o "$work/ours.time" \
	"$program" prep wmt16-en-de -C "$work/ours" --from "$work/archives"
read -r ours user system memory <"$work/ours.time"
disk=$(du -sm "$work/ours" | cut -f1)
shards=$(du -cm "$work"/ours/corpora/*/*.shard | tail -n 1 | cut -f1)
echo "ours: $ours s ($user s user, $system s system), $((memory / 1024)) MB of memory at the peak," \
	"$disk MB of disk with its work folder, $shards MB of shards"

# ---- the classic chain --------------------------------------------------
classic=$work/classic
rm -rf "$classic"
mkdir -p "$classic"
unpack() { for f in "$work"/archives/*.tgz; do tar xOzf "$f" >/dev/null; done; }
tokenize() {
	for l in en de; do
		perl "$moses/tokenizer/tokenizer.perl" -q -l $l -threads 2 <"$classic/train.$l" >"$classic/tok.$l"
	done
}
clean() { perl "$moses/training/clean-corpus-n.perl" "$classic/tok" en de "$classic/clean" 1 80 2>/dev/null; }
learn() {	# LINES
	for l in de en; do head -n "$1" "$classic/clean.$l"; done >"$classic/both"
	subword-nmt learn-bpe -s 32000 --num-workers 2 -i "$classic/both" -o "$classic/codes" >/dev/null 2>&1
}
apply() {
	for l in en de; do
		subword-nmt apply-bpe -c "$classic/codes" --num-workers 2 -i "$classic/clean.$l" -o "$classic/bpe.$l" \
			>/dev/null 2>&1
	done
}
for l in en de; do
	awk -v step=$((pairs / sample)) -v n="$sample" 'NR % step == 0 && k++ < n' "$work/train.$l" >"$classic/train.$l"
done
t_unpack=$(seconds unpack)
t_tokenize=$(seconds tokenize)
t_clean=$(seconds clean)
t_half=$(seconds learn $((sample / 2)))
t_learn=$(seconds learn "$sample")
t_apply=$(seconds apply)
echo "$pairs $sample $t_unpack $t_tokenize $t_clean $t_half $t_learn $t_apply $ours" | awk '{
	f = $1 / $2
	learn = $7 + ($7 - $6) * ($1 - $2) / ($2 / 2)
	total = $3 + ($4 + $5 + $8) * f + learn
	printf "classic, %d pairs: tokenise %s s, clean %s s, learn %s s (half of them %s s), apply %s s; unpacking all %s s\n",
		$2, $4, $5, $7, $6, $8, $3
	printf "classic, %d pairs: %.0f s (tokenise %.0f, clean %.0f, learn %.0f, apply %.0f)\n",
		$1, total, $4 * f, $5 * f, learn, $8 * f
	printf "ratio: %.1f\n", total / $9
}'
