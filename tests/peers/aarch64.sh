#!/bin/sh
# aarch64.sh - translations on aarch64 (emulated by qemu) equal those of this machine. Run it in a build folder:
#	tests/peers/aarch64.sh FOLDER MODEL FILE
# FOLDER is what share/packaging/aarch64.sh made, MODEL a model folder, FILE raw source text. Scores may differ by
# 0.001 (sums are rounded in another order), with int8 by 0.02; of the translations none may. (An input of a product that
# is rounded to the other int8 moves a score of -8.1 by 0.0103; int8 itself moved that one by 0.055.)
set -eu
folder=$1 model=$2 file=$3
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-aarch64-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
arm() { qemu-aarch64 -L "$folder/root" "$folder/build/werkbank-eval" "$@"; }
status=0
for precision in fp32 int8; do
	for beam in 1 4; do
		set -- translate --model "$model" --precision $precision --beam $beam --scores --threads 1 --quiet "$file"
		./werkbank-eval "$@" >"$tmp/here"
		arm "$@" >"$tmp/there"
		limit=0.001
		[ $precision = fp32 ] || limit=0.02
		paste "$tmp/here" "$tmp/there" | awk -F '\t' -v limit=$limit -v what="$precision beam $beam" '
			{ n++; d = $1 - $3; if (d < 0) d = -d; if (d > worst) worst = d; if ($2 != $4) other++ }
			END { printf "%s: %d lines, %d translated otherwise, scores differ by at most %.6f (may: %s)\n",
				what, n, other, worst, limit
				exit !(n > 0 && !other && worst <= limit) }' || status=1
	done
done
exit $status
