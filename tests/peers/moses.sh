#!/bin/sh
# moses.sh MOSES DATA [PROGRAM] - compare werkbank-data with Moses on every line of the real data, and race them.
#
# MOSES    the folder scripts/ of Moses (tokenizer/, training/, ems/)
# DATA     the real data: newstest/ multi30k/ mixed/ noisy/ systems/
# PROGRAM  werkbank-data (default: the one of the current folder)
# RECORD=1 prints the SHA-256 of Moses' outputs instead, as tests/data/t_text.c holds them.
# RACE=1  only races.
#
# Exits with 1 when any line differs. Some minutes on one core.
set -eu
[ $# -ge 2 ] || { sed -n '2,/^set/p' "$0" | sed '$d;s/^# \{0,1\}//'; exit 64; }
moses=$1
data=$2
program=${3:-./werkbank-data}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0 files=0 lines=0

peer() {	# TOOL LANGUAGE: Moses' answer to standard input
	case $1 in
	tokenize)      perl "$moses/tokenizer/tokenizer.perl" -q -l "$2" ;;
	tokenize-a)    perl "$moses/tokenizer/tokenizer.perl" -q -a -l "$2" ;;
	tokenize-n)    perl "$moses/tokenizer/tokenizer.perl" -q -no-escape -l "$2" ;;
	detokenize)    perl "$moses/tokenizer/detokenizer.perl" -q -l "$2" 2>/dev/null ;;
	normalize)     perl "$moses/tokenizer/normalize-punctuation.perl" -l "$2" ;;
	esac
}

ours() {	# TOOL LANGUAGE FILE
	case $1 in
	tokenize-a)    "$program" tokenize --aggressive -l "$2" "$3" ;;
	tokenize-n)    "$program" tokenize --no-escape -l "$2" "$3" ;;
	*)             "$program" "$1" -l "$2" "$3" ;;
	esac
}

# compare NAME A B: count the lines that differ
compare() {
	n=$(wc -l <"$2")
	files=$((files + 1)) lines=$((lines + n))
	if ! cmp -s "$2" "$3"; then
		echo "DIFFERS $1: $(diff "$2" "$3" | grep -c '^<') of $n lines; the first (< Moses, > Werkbank):"
		diff "$2" "$3" | sed -n 2,4p
		bad=$((bad + 1))
	fi
}

check() {	# TOOL LANGUAGE FILE NAME
	peer "$1" "$2" <"$3" >"$work/peer"
	if [ "${RECORD:-}" ]; then
		echo "	{ \"$1\", \"$2\", \"$4\", \"$(sha256sum <"$work/peer" | cut -c1-64)\" },"
		return
	fi
	ours "$1" "$2" "$3" >"$work/ours"
	compare "$1 -l $2 $4" "$work/peer" "$work/ours"
}

check_text() {	# LANGUAGE FILE NAME
	for tool in tokenize tokenize-a tokenize-n detokenize normalize; do
		check $tool "$1" "$2" "$3"
	done
	[ "${RECORD:-}" ] && return
	peer tokenize "$1" <"$2" >"$work/tokens"
	check detokenize "$1" "$work/tokens" "$3, tokenised"
}

check_clean() {	# NAME SOURCE TARGET MIN MAX
	ln -sf "$2" "$work/in.s"; ln -sf "$3" "$work/in.t"
	perl "$moses/training/clean-corpus-n.perl" "$work/in" s t "$work/peer" "$4" "$5" 2>/dev/null
	"$program" clean -q --min-words "$4" --max-words "$5" "$2" "$3" "$work/ours.s" "$work/ours.t" "$work/ledger"
	compare "clean $1, source" "$work/peer.s" "$work/ours.s"
	compare "clean $1, target" "$work/peer.t" "$work/ours.t"
	all=$(wc -l <"$2") kept=$(wc -l <"$work/ours.s") dropped=$(($(wc -l <"$work/ledger") - 1))
	[ "$all" -eq $((kept + dropped)) ] || { echo "DIFFERS clean $1: $all pairs, $kept kept, $dropped in the ledger"; bad=$((bad + 1)); }
}

# CPU seconds of a shell command, so that other work on the machine counts little
cpu_seconds() { perl -e 'system("sh", "-c", $ARGV[0]) and exit 1; my @t = times; printf "%.3f\n", $t[2] + $t[3]' "$1"; }

race() {	# NAME LANGUAGE FILE PEER-COMMAND OUR-COMMAND: the better of three each, in turns
	for _ in 1 2 3; do
		echo "$(cpu_seconds "$4 <$3 >/dev/null 2>&1") $(cpu_seconds "$5 <$3 >/dev/null")"
	done | awk -v n="$(wc -l <"$3")" -v what="$1 -l $2" '
		NR == 1 || $1 < p { p = $1 }
		NR == 1 || $2 < o { o = $2 }
		END { printf "%-17s Moses %9.0f lines/s   Werkbank %9.0f lines/s   %.1f times (of CPU time)\n",
			what, n / p, n / o, p / o }'
}

compare_all() {
	for language in en de; do
		xz -dc "$data/mixed/train.$language.xz" >"$work/mixed.$language"
		for file in "$data"/newstest/*."$language" "$data"/multi30k/*."$language" "$data"/mixed/*."$language" \
		    "$data"/noisy/*."$language"; do
			check_text $language "$file" "${file#"$data"/}"
		done
		[ "${RECORD:-}" ] || check_text $language "$work/mixed.$language" mixed/train.$language
	done
	for file in "$data"/systems/*.txt; do
		check_text de "$file" "${file#"$data"/}"
	done
	[ "${RECORD:-}" ] && exit 0
	for limits in "1 80" "5 30"; do
		# shellcheck disable=SC2086 # two numbers
		check_clean "noisy $limits" "$data/noisy/train10k.en" "$data/noisy/train10k.de" $limits
		# shellcheck disable=SC2086
		check_clean "mixed $limits" "$work/mixed.en" "$work/mixed.de" $limits
	done
	echo "$files outputs, $lines lines compared: $bad differ"
}

[ "${RACE:-}" ] || compare_all
tools=$moses/tokenizer
for l in en de; do
	text=$work/mixed.$l
	xz -dc "$data/mixed/train.$l.xz" >"$text"
	race tokenize $l "$text" "perl $tools/tokenizer.perl -q -l $l" "$program tokenize -l $l"
	race normalize $l "$text" "perl $tools/normalize-punctuation.perl -l $l" "$program normalize -l $l"
	peer tokenize $l <"$text" >"$work/tokens"
	race detokenize $l "$work/tokens" "perl $tools/detokenizer.perl -q -l $l" "$program detokenize -l $l"
done
[ "$bad" -eq 0 ]
