#!/bin/sh
# lint.sh - what no compiler checks: length of lines and files, blanks at line ends, shell scripts.
set -eu
cd "${srcdir:-.}"
status=0
sources=$(find share kernels data train eval tui tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) \
	! -name list.h ! -name '*_embedded.c')

complain() { echo "^ $*"; status=1; }

# shellcheck disable=SC2086 # a list of words
{
	# Comments that hold a picture or a table may be wider.
	for file in $sources; do
		expand "$file" | grep -vE '^ *(/\*|\*)' | awk -v file="$file" 'length($0) > 100 {
			print file ": " length($0) " columns: " $0; bad = 1 } END { exit bad }' ||
			complain "lines of code have at most 100 columns"
	done
	if grep -nE '[[:blank:]]+$' $sources; then complain "no blanks at the end of a line"; fi
	for file in $sources; do
		n=$(wc -l <"$file")
		if [ "$n" -gt 800 ]; then echo "$file: $n lines"; complain "a file has at most 800 lines"; fi
	done
}
# What make runs as a test must be executable in the distribution, too.
for script in $(grep -lE '^TESTS' tests/local.mk tests/*/local.mk | while read -r list; do
	grep -ohE '%D%/[a-z_]+\.sh' "$list" | sed "s|%D%|${list%/local.mk}|"; done | sort -u); do
	if [ -f "$script" ] && ! head -n 1 "$script" | grep -q '^# ' && [ ! -x "$script" ]; then
		echo "$script"; complain "not executable: chmod +x"
	fi
done
if command -v shellcheck >/dev/null 2>&1; then
	shellcheck -S warning quickstart autogen.sh .ci/run tests/*.sh tests/*/*.sh share/packaging/*.sh || complain "shellcheck"
fi
exit $status
