#!/bin/sh
# lint.sh - checks format, lengths of lines, functions and files, unique names, and shell scripts.
set -eu
cd "${srcdir:-.}"
status=0
sources=$(find share kernels data train eval tui tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) \
	! -name list.h ! -name '*_embedded.c')

complain() { echo "^ $*"; status=1; }

# shellcheck disable=SC2086 # a list of words
{
	# Comments that hold a picture or a table may be wider. A tab ends at a multiple of 8; a character of UTF-8 is one column.
	LC_ALL=C awk '{ line = $0; gsub(/[\200-\277]/, "", line)
		while ((at = index(line, "\t")) > 0)
			line = substr(line, 1, at - 1) substr("        ", 1, 8 - (at - 1) % 8) substr(line, at + 1)
		if (length(line) > 100 && line !~ /^ *(\/\*|\*)/) { print FILENAME ": " length(line) " columns: " line; bad = 1 } }
		END { exit bad }' $sources || complain "lines of code have at most 100 columns"
	if grep -nE '[[:blank:]]+$' $sources; then complain "no blanks at the end of a line"; fi
	wc -l $sources | awk '$1 > 800 && $2 != "total" { print $2 ": " $1 " lines"; bad = 1 } END { exit bad }' ||
		complain "a file has at most 800 lines"
}
# Only clang-format 14 counts: other versions break lines differently.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	# shellcheck disable=SC2046,SC2086 # a list of words
	clang-format --dry-run -Werror $(echo "$sources" | grep -v /golden/) $(find tests -name '*.cc') ||
		complain "clang-format -i formats them"
fi
# A function has at most 80 lines: from its brace in the first column to the closing one.
# shellcheck disable=SC2046 # a list of words
awk 'FNR == 1 { from = 0 } /^{/ { from = FNR } /^}/ && from {
	if (FNR - from - 1 > 80) { print FILENAME ":" from ": a function of " FNR - from - 1 " lines"; bad = 1 }
	from = 0 } END { exit bad }' $(echo "$sources" | grep -v '^tests/') || complain "a function has at most 80 lines"
# Words of tests/words.txt, each with its plain form, in comments, messages and documents.
words_folders='share data eval tui train kernels README.md NEWS.md SECURITY.md HACKING.md'
tab=$(printf '\t')
# shellcheck disable=SC2086 # a list of folders
grep -v '^#' tests/words.txt | while IFS=$tab read -r word plain right; do
	grep -rnE --include='*.[chd15789]*' --include='*.cu*' --include='*.md' "$word" $words_folders /dev/null |
		grep -vE "${right:-^\$}" | sed "s/\$/   [plain: $plain]/"
done >"${TMPDIR:-/tmp}/lint.$$"
if [ -s "${TMPDIR:-/tmp}/lint.$$" ]; then cat "${TMPDIR:-/tmp}/lint.$$"; complain "write the plain form (tests/words.txt)"; fi
# A note of the manual is for one option; of two notes only one would be printed.
names=$(sed -n 's/^OPTION_NOTE("\([a-z_0-9]*\)".*/\1/p' share/help/manual.def | sort | uniq -d)
if [ -n "$names" ]; then echo "$names"; complain "several notes for one option in share/help/manual.def"; fi
# Function names are unique, so that a search finds one place.
names=$(find share kernels data train eval tui \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -exec \
	sed -s -n 's/^static [^=;(]*[ *]\([a-z][a-z_0-9]*\)(.*[^;]$/\1/p; $!d; s/.*/---/p' {} + |
	awk '/^---/ { for (name in here) delete here[name]; next } !(name = $0) { next }
		!($0 in here) { here[$0] = 1; if (seen[$0]++ == 1) print }')
if [ -n "$names" ]; then echo "$names"; complain "static functions of several files that share a name"; fi
# The headers of one block of the project's includes are in alphabetical order.
git ls-files '*.c' '*.h' '*.cu' '*.cuh' 2>/dev/null | xargs awk 'FNR == 1 { last = "" } !/^#include "[a-z0-9_]+\/[^"]*\.(h|cuh)"$/ { last = ""; next }
	$0 < last { print FILENAME ":" FNR ": " $0; bad = 1 } { last = $0 } END { exit bad }' ||
	complain "sort the includes of each block"
# Each kernel begins with kernel_begin(), without which it may run before the kernel in front of it has ended.
for file in kernels/cuda/*.cu; do
	awk -v file="$file" '/__global__/ { kernel = FNR } kernel && last == "{" {
		if ($0 != "\tkernel_begin();") { print file ":" FNR ": " $0; bad = 1 }
		kernel = 0 } { last = $0 } END { exit bad }' "$file" || complain "the first statement of a kernel is kernel_begin();"
done
# Each sed script of a mutation test must still change its file.
for mutants in tests/cudasim/mutants.sh tests/amxsim/mutants.sh; do
	CHECK=1 srcdir=. sh $mutants || complain "repair the patterns of $mutants"
done
# Each file or folder that a document names in backquotes is in the tree: "share/doc", "prep_plan.c", "term.c".
files=$(find . -name .git -prune -o -type f -print | grep -vE '^\./(build|bcuda|autom4te)')
for document in README.md HACKING.md $(find share/doc -name '*.md'); do
	grep -oE '`[^`]+`|\]\([^):]+\)' "$document" | tr -d '`]()' | tr ' ' '\n' |
		grep -E '^(share|data|train|eval|tui|kernels|tests)/[a-z0-9_/.-]+$|^[a-z0-9_/-]+\.(c|h|cu|def|sh|md)$' | sort -u |
		while read -r name; do
			case $name in
			tests/run | tests/bench_* | tests/product_race | job.sh) continue ;; # made by make, or by the reader
			esac
			echo "$files" | grep -qE "/${name%/}(/|\$)" || echo "$document: $name"
		done
done >"${TMPDIR:-/tmp}/lint.$$"
if [ -s "${TMPDIR:-/tmp}/lint.$$" ]; then
	cat "${TMPDIR:-/tmp}/lint.$$"
	complain "documents name files that do not exist"
fi
# Each function that a document names in backquotes, with (), is in the tree.
for document in README.md HACKING.md $(find share/doc -name '*.md'); do
	grep -oE '`[^`]+`' "$document" | grep -oE '[a-z_][a-z_0-9]*\(\)' | sort -u | while read -r name; do
		grep -rqE --include='*.[ch]' --include='*.cu*' "(^|[^a-z_0-9])${name%()}\(" share kernels data train eval tui tests ||
			echo "$document: $name"
	done
done >"${TMPDIR:-/tmp}/lint.$$"
if [ -s "${TMPDIR:-/tmp}/lint.$$" ]; then cat "${TMPDIR:-/tmp}/lint.$$"; complain "documents name functions that do not exist"; fi
rm -f "${TMPDIR:-/tmp}/lint.$$"
# kill() with a pid of -1 ends every process of the user: test_kill() and proc_signal() refuse it.
if git grep -nE '(^|[^_[:alnum:]])kill\(' -- '*.c' 2>/dev/null | grep -vE ', 0\)|^share/base/proc\.c|^tests/test\.c|/\*.*kill\('; then
	complain "call proc_signal(), proc_signal_group() or test_kill()"
fi
# What make runs as a test must be executable in the distribution, too.
for script in $(grep -lE '^(TESTS|long_tests)' tests/local.mk tests/*/local.mk | while read -r list; do
	grep -ohE '%D%/[a-z_]+\.sh' "$list" | sed "s|%D%|${list%/local.mk}|"; done | grep -v '^tests/fuzz/' | sort -u); do
	if [ -f "$script" ] && ! head -n 1 "$script" | grep -q '^# ' && [ ! -x "$script" ]; then
		echo "$script"; complain "not executable: chmod +x"
	fi
done
sh tests/doc_screens.sh || complain "screens in documents"
if command -v shellcheck >/dev/null 2>&1; then
	shellcheck -x -S warning quickstart autogen.sh .ci/run tests/*.sh tests/*/*.sh share/packaging/*.sh || complain "shellcheck"
fi
exit $status
