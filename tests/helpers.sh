# helpers.sh - functions for shell tests: . "$(dirname "$0")/helpers.sh", after setting tmp to a folder of the script.
# shellcheck shell=sh disable=SC2154 # tmp
#
#	ok NAME; not_ok NAME WHY; skip NAME WHY       report the result of a test
#	says NAME STATUS WORDS COMMAND...   test: COMMAND exits with STATUS, and WORDS (an extended regular expression;
#	                                    '': any) match in the file $said (default: its output, $tmp/out and $tmp/err)
#	same NAME A B; equal NAME FILE FILE; absent NAME PATH; present NAME PATH
#	losses RUN                          step and loss of all steps of $w/runs/RUN; of a repeated step, the last
#	near A B TOLERANCE STEPS            do both runs have STEPS steps, with losses within TOLERANCE?
#	tiny_recipe FILE PAIRS MERGES KEY=VALUE...    write a recipe of a tiny model and a corpus with the file's name; the keys
#	                                    are those of its section [train]
#	tally                               print the last line for tests/tally.sh; fails if a test failed

passed=0 failed=0 skipped=0
said=

ok() { passed=$((passed + 1)); echo "ok       $1"; }
not_ok() { failed=$((failed + 1)); echo "FAILED   $1: $2"; }
skip() { skipped=$((skipped + 1)); echo "skipped  $1: $2"; }

heard() { if [ -n "$said" ]; then cat "$said"; else cat "$tmp/out" "$tmp/err"; fi; }
says() {
	name=$1 want=$2 words=$3
	shift 3
	got=0
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
	if [ "$got" -ne "$want" ]; then
		not_ok "$name" "exit status $got, not $want; it said: $(tail -n 2 "$tmp/err" | head -c 600)"
	elif [ -n "$words" ] && ! heard | grep -qE -- "$words"; then
		not_ok "$name" "nothing like '$words' in: $(heard | tail -n 6 | head -c 900)"
	else
		ok "$name"
	fi
}
same() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "'$2' is not '$3'"; fi; }
equal() { if cmp -s "$2" "$3"; then ok "$1"; else not_ok "$1" "$2 and $3 differ"; fi; }
absent() { if [ -e "$2" ]; then not_ok "$1" "$2 is there"; else ok "$1"; fi; }
present() { if [ -e "$2" ]; then ok "$1"; else not_ok "$1" "$2 is not there"; fi; }

losses() {
	# shellcheck disable=SC2154 # w
	sed -n 's/.*"kind":"train",.*"step":\([0-9]*\),"loss":\([^,]*\),.*/\1 \2/p' "$w/runs/$1/journal.jsonl" |
		awk '{ loss[$1] = $2 } END { for (step in loss) print step, loss[step] }' | sort
}
near() {
	losses "$1" >"$tmp/a"
	losses "$2" >"$tmp/b"
	worst=$(join "$tmp/a" "$tmp/b" | awk '{ d = $2 - $3; if (d < 0) d = -d; if (d > m) m = d; n++ }
		END { printf "%d %.3g %d\n", n, m, m <= '"$3"' }')
	case $worst in
	"$4 "*" 1") ok "$2: losses as $1's over $4 steps (off by $(echo "$worst" | cut -d ' ' -f 2), allowed $3)" ;;
	*) not_ok "$2: losses as $1's" "steps, largest difference, near: $worst" ;;
	esac
}

tiny_recipe() {
	recipe_file=$1 recipe_name=${1##*/} recipe_pairs=$2 recipe_merges=$3
	shift 3
	printf '%s\n' "[data]" "corpus=${recipe_name%.ini}" "demo_pairs=$recipe_pairs" "merges=$recipe_merges" \
		"[model]" d_model=32 d_ff=64 heads=2 encoder_layers=1 decoder_layers=1 "[train]" "$@" | sed 's/=/ = /' >"$recipe_file"
}

tally() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}

# holds NAME WORDS FILE : the file has a line like the words.
holds() {
	if grep -qE -- "$2" "$3"; then ok "$1"; else not_ok "$1" "nothing like '$2' in $3"; fi
}
