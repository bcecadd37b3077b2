#!/bin/sh
# install.sh - what make install leaves: a program that works by itself wherever it lies, and nothing after uninstall.
# Last line: the tally, which tests/tally.sh counts.
set -u
srcdir=${srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-install-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_SHARE WERKBANK_RUN MAKEFLAGS MAKELEVEL MFLAGS DESTDIR
# nothing of the user's own records
WERKBANK_RUNTIME=$tmp/runtime; export WERKBANK_RUNTIME
make=${MAKE:-make}
make=${make%% *}
commands=$(sed -n 's/^CMD("\([a-z][^"]*\)".*/\1/p' "$srcdir/share/conf/commands.def")

says "make install" 0 '' "$make" install DESTDIR="$tmp/to"
prefix=$(find "$tmp/to" -type f -name werkbank-data | head -n 1)
prefix=${prefix%/bin/werkbank-data}
[ -n "$prefix" ] || { not_ok "programs" "none below $tmp/to"; tally; exit 1; }
for program in werkbank werkbank-data werkbank-launch werkbank-train werkbank-eval; do
	present "bin/$program" "$prefix/bin/$program"
done
present "recipes" "$prefix/share/werkbank/recipes/demo.ini"
present "manifests" "$prefix/share/werkbank/corpora/wmt16-en-de.manifest"
present "grammar" "$prefix/share/werkbank/demo/patterns.txt"
if grep -q '^CAN_RUN_TRUE = #' Makefile; then
	skip "manual pages and completion" "not made in a cross-build"
else
	for page in werkbank $(for command in $commands launch; do echo "werkbank-$command"; done); do
		[ -s "$prefix/share/man/man1/$page.1" ] || not_ok "manual" "no $page.1"
	done
	for page in checkpoint corpus journal manifest recipe run shard; do
		present "werkbank-$page(5)" "$prefix/share/man/man5/werkbank-$page.5"
	done
	present "werkbank(7)" "$prefix/share/man/man7/werkbank.7"
	present "completion of bash" "$prefix/share/bash-completion/completions/werkbank"
	present "completion of zsh" "$prefix/share/zsh/site-functions/_werkbank"
	present "completion of fish" "$prefix/share/fish/vendor_completions.d/werkbank.fish"
fi

# ---- moved to where nothing was compiled for, in another folder, with nothing of the source tree ----
mv "$prefix" "$tmp/moved"
mkdir -p "$tmp/empty" && cd "$tmp/empty" || exit 1
wb=$tmp/moved/bin/werkbank
says "--version" 0 '^werkbank [0-9]' "$wb" --version
says "shipped recipes are found" 0 '^demo$' "$wb" _names recipes
cat >small.ini <<'END'
[recipe]
include = demo
[data]
demo_pairs = 600
merges = 200
[model]
d_model = 32
d_ff = 64
heads = 2
encoder_layers = 1
decoder_layers = 1
[train]
steps = 12
threads = 1
eval_every = 12
eval_sentences = 8
samples = 2
END
says "prep" 0 'small is ready' "$wb" prep small.ini
says "train" 0 '' "$wb" train small.ini --quiet
says "translate" 0 '' sh -c "echo 'The man reads.' | '$wb' translate --run small --quiet"
same "one line came back" "$(wc -l <"$tmp/out" | tr -d ' ')" 1
says "status" 0 'small: finished' "$wb" status
says "report" 0 'too early to judge|fully trained' "$wb" report small
for command in $commands; do
	"$wb" "$command" --help >"$tmp/out" 2>&1 && grep -q '^Usage' "$tmp/out" || not_ok "$command --help" "$(head -n 1 "$tmp/out")"
done
cd - >/dev/null || exit 1

mv "$tmp/moved" "$prefix"
says "make uninstall" 0 '' "$make" uninstall DESTDIR="$tmp/to"
same "nothing is left" "$(find "$tmp/to" ! -type d | head -n 3)" ''
tally
