#!/bin/sh
# mutants.sh - mutation test of the kernels with tiles: do the tests on the simulated tile unit notice small mistakes? Each mutant
# is one small change in a copy of a source file; amxsim_shapes or amxsim_ops must fail with it.
#
#	make check-amx-mutants			all mutants, some minutes; not part of "make check"
#	make check-amx-mutants ONLY='zero'	mutants with one of these words in their name
#	CHECK=1 sh tests/amxsim/mutants.sh	only check that each sed script still changes its file; needs no build (lint.sh)
#
# From make: COMPILE_WITH (the compiler), COMPILE (its flags), LINK (with @OUT@), srcdir.
set -u
srcdir=${srcdir:-.}
[ -n "${CHECK:-}" ] || : "${COMPILE_WITH:?run this by make check-amx-mutants}" "${COMPILE:?}" "${LINK:?}"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-mutants.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=tests/helpers.sh
. "$srcdir/tests/helpers.sh"
folder=kernels/cpu

wanted() {
	for word in ${ONLY:-}; do
		case $1 in *"$word"*) return 0 ;; esac
	done
	[ -z "${ONLY:-}" ]
}

# mutant NAME CHANGED COMPILED SED : the file CHANGED of kernels/cpu gets the change, COMPILED is or includes it
mutant() {
	wanted "$1" || return 0
	rm -rf "$tmp/kernels"
	mkdir -p "$tmp/$folder"
	cp "$srcdir/$folder/$3" "$tmp/$folder"
	sed "$4" "$srcdir/$folder/$2" >"$tmp/$folder/$2"
	if cmp -s "$srcdir/$folder/$2" "$tmp/$folder/$2"; then
		not_ok "$1" "no longer changes $2: $4"
		return
	fi
	[ -z "${CHECK:-}" ] || return 0
	if ! eval "$COMPILE_WITH -I'$tmp' $COMPILE -o '$tmp/mutant.o' '$tmp/$folder/$3'" >"$tmp/log" 2>&1; then
		not_ok "$1" "does not compile: $(grep -m 1 error "$tmp/log")"
		return
	fi
	# linked before the library, which has the unchanged object
	if ! eval "$(printf '%s' "$LINK" | sed "s|@OUT@|$tmp/run $tmp/mutant.o|")" >"$tmp/log" 2>&1; then
		not_ok "$1" "does not link: $(tail -n 1 "$tmp/log")"
	elif timeout 600 "$tmp/run" amxsim_shapes >"$tmp/log" 2>&1 &&
	    timeout 600 "$tmp/run" amxsim_ops >"$tmp/log" 2>&1; then
		not_ok "$1" "no test notices it"
	else
		ok "$1: $(grep -m 1 -E "simulated tiles|FAILED" "$tmp/log" | cut -c 1-100)"
	fi
}

if [ -z "${CHECK:-}" ] && ! tests/run amxsim_shapes >"$tmp/log" 2>&1; then
	not_ok "without a mistake" "$(grep -m 1 -i fail "$tmp/log")"
	tally
	exit 1
fi
mutant 'sums are not zeroed' cpu_tiles.h cpu_gemm.c 's/_tile_zero(3);/;/'
mutant 'half of the panel is not zeroed' cpu_tiles.h cpu_linear.c 's/_tile_zero(1);/;/'
mutant 'rows of a panel are too near' cpu_tiles.h cpu_gemm.c 's/_tile_loadd(6, b, 4 \* TILES_SIDE)/_tile_loadd(6, b, 64)/'
mutant 'the second tile of a panel is the first' cpu_tiles.h cpu_linear.c 's/(b) + TILES_SIDE \/ 2/b/'
mutant 'the second tile of rows is the first' cpu_tiles.h cpu_gemm.c 's/(a) + 16 \* (row_bytes)/a/'
mutant 'tiles swapped' cpu_tiles.h cpu_gemm.c 's/multiply(2, 5, 6)/multiply(2, 5, 7)/'
mutant 'one tile as two operands' cpu_tiles.h cpu_gemm.c 's/multiply(3, 5, 7)/multiply(3, 7, 7)/'
mutant 'the end of K is left out' cpu_tiles.h cpu_gemm.c 's/if (rest) {/if (0) {/'
mutant 'the end of K is not filled up' cpu_tiles.h cpu_linear.c 's/memset(last, 0, sizeof(last));/memset(last, 0xFF, sizeof(last));/'
mutant 'row 16 is forgotten' cpu_tiles.h cpu_linear.c 's/o->n_rows > 16/o->n_rows > 17/'
mutant 'a tile has 15 rows' cpu_tiles.h cpu_gemm.c 's/\.rows = { 16, 16,/.rows = { 16, 15,/'
mutant 'rows of 60 bytes' cpu_tiles.h cpu_gemm.c 's/\.row_bytes = { 64,/.row_bytes = { 60,/'
mutant 'palette 0' cpu_tiles.h cpu_gemm.c 's/\.palette = 1/.palette = 0/'
mutant 'bytes of a are unsigned' cpu_tiles.h cpu_linear.c 's/_tile_dpbssd/_tile_dpbusd/'
mutant 'the configuration stays' cpu_tiles.h cpu_linear.c 's/_tile_release();/;/'
mutant 'no configuration in top k' cpu_linear.c cpu_linear.c 's/if (b->l.tile.uses_tiles)/if (0)/'
mutant 'K of odd tiles is read where it lies' cpu_gemm.c cpu_gemm.c 's/p.n_k % (2 \* TILES_STEP) == 0/p.n_k % 2 == 0/'
mutant 'the second pass reads the first' cpu_gemm.c cpu_gemm.c 's/row \* p->a.outer + pass->k)/row * p->a.outer)/'
mutant 'pairs turned round' cpu_gemm_pack.h cpu_gemm.c 's/^\treturn half ? bf16_join_bits(low, high)/\treturn half ? bf16_join_bits(high, low)/'
mutant 'the last odd row of pairs' cpu_gemm_pack.h cpu_gemm.c 's|kk + 1 < n_k, half)|true, half)|'
mutant 'rows of a packed block' cpu_gemm_pack.h cpu_gemm.c 's/vec_store(to + (i + j) \* pitch + u, square\[j\]);/vec_store(to + (i + j) * (pitch - 16) + u, square[j]);/'
mutant 'units behind the last one' cpu_gemm_pack.h cpu_gemm.c 's/memset(to + n, 0, (size_t)(end - n)/memset(to + n, 0xFF, (size_t)(end - n)/'
[ -z "${CHECK:-}" ] || exit $((failed > 0))
tally
