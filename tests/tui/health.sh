#!/bin/sh
# health.sh - each recorded sick run (tests/runs) shows its sickness on Home, in the header and in status; healthy runs show none.
set -u
runs=$(cd "${srcdir:-..}/tests/runs" && pwd)
wb=$PWD/werkbank
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-health-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
HOME=$tmp XDG_CONFIG_HOME=$tmp XDG_STATE_HOME=$tmp TERM=xterm
export HOME XDG_CONFIG_HOME XDG_STATE_HOME TERM
unset WERKBANK_HOME WERKBANK_RUN WERKBANK_GLYPHS
w=$tmp/w
# shellcheck source=tests/helpers.sh
. "$runs/../helpers.sh"
utf8=
for l in C.UTF-8 C.utf8 en_US.UTF-8; do
	if test "$(LC_ALL=$l locale charmap 2>/dev/null)" = UTF-8; then utf8=$l; break; fi
done
if [ -z "$utf8" ]; then skip "health of recorded runs" "no UTF-8 locale"; tally; exit; fi
LC_ALL=$utf8
export LC_ALL

# made NAME : the run and the facts of its corpus, as in tests/eval/report_runs.sh.
made() {
	mkdir -p "$w/runs/$1" "$w/corpora/$1"
	cp "$runs/$1.jsonl" "$w/runs/$1/journal.jsonl"
	printf '[data]\ncorpus = %s\n' "$1" >"$w/runs/$1/recipe.ini"
	awk -F '\t' -v name="$1" '$1 == name {
		printf "{\"pairs\":{\"train\":%d,\"dev\":%d},\"held_out_in_train\":{\"dev\":%d}}\n", $2, $3, $4
	}' "$runs/overlap.tsv" >"$w/corpora/$1/manifest.json"
	awk -F '\t' -v name="$1" '$1 == name && NF >= 10 {
		printf "{\"source\":{\"words\":%d,\"tokens\":%d},\"target\":{\"words\":%d,\"tokens\":%d},", $5, $6, $7, $8
		printf "\"texts\":[{\"source_bytes\":%d,\"target_bytes\":0,\"source_words\":%d,\"target_words\":0}]}\n", $9, $10
	}' "$runs/overlap.tsv" >"$w/corpora/$1/stats.json"
}

# A run is sick if the report says so of it, healthy if its name says so.
awk -F '\t' '
	/^#/ || $5 == "miss" { next }
	$3 == "healthy" && $4 == "no" || $3 ~ /bound$|^stragglers$/ && $4 == "yes" { kind[$1] = "sick" }
	$3 == "healthy" && $4 == "yes" && $1 ~ /healthy/ && !kind[$1] { kind[$1] = "healthy" }
	$3 == "diverged" && $4 == "yes" { diverged[$1] = 1 }
	END { for (name in kind) print name, name in diverged ? "diverged" : kind[name] }' "$runs/expected.tsv" |
	sort >"$tmp/kinds"
while read -r name kind; do made "$name"; done <"$tmp/kinds"
"$wb" watch -C "$w" --view home --dump 200x176 >"$tmp/home" 2>"$tmp/err" || not_ok "Home" "$(head -c 300 "$tmp/err")"
"$wb" status -C "$w" >"$tmp/status" 2>"$tmp/err" || not_ok "status" "$(head -c 300 "$tmp/err")"

while read -r name kind; do
	head=$("$wb" watch -C "$w" "$name" --dump 24x160 2>&1 | head -n 1)
	row=$(sed '1,/─ runs ─/d' "$tmp/home" | grep -F " $name " | head -n 1)
	said=$(sed -n "/^$name: /,/health/p" "$tmp/status" | grep health)
	case $kind in
	diverged) wanted='✗ .*diverged' unwanted='✓' ;;
	sick) wanted='[!✗] ' unwanted='✓' ;;
	healthy) wanted='✓ ' unwanted='[!✗]' ;;
	esac
	for place in Home header; do
		if [ $place = Home ]; then text=$row; else text=${head##*settings}; fi
		if echo "$text" | grep -q "$wanted" && ! echo "$text" | grep -q "$unwanted"; then
			ok "$name ($kind): $place"
		else
			not_ok "$name ($kind): $place" "$text"
		fi
	done
	case $kind,$said in
	diverged,*diverged* | healthy,*learning,* | healthy,*fully* | healthy,*healthy*) ok "$name: status" ;;
	sick,*learning,* | sick,*fully* | sick,*healthy* | *,) not_ok "$name ($kind): status" "$said" ;;
	sick,*) ok "$name: status" ;;
	*) not_ok "$name ($kind): status" "$said" ;;
	esac
done <"$tmp/kinds"
if grep -q 'Translate with \(spike-stays\|rate-40\|nan\|explodes\)' "$tmp/home"; then
	not_ok "next steps" "a diverged model is offered to translate"
else
	ok "no diverged model is offered to translate"
fi
n=$(wc -l <"$tmp/kinds")
if [ "$n" -gt 40 ]; then ok "$n runs were looked at"; else not_ok "the library" "only $n runs"; fi
tally
