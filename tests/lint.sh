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
	if awk 'length($0) > 120 { print FILENAME ":" FNR ": " length($0) " characters"; bad = 1 } END { exit !bad }' \
	    $sources; then complain "lines have at most 120 characters"; fi
	if grep -nE '[[:blank:]]+$' $sources; then complain "no blanks at the end of a line"; fi
	for file in $sources; do
		n=$(wc -l <"$file")
		if [ "$n" -gt 800 ]; then echo "$file: $n lines"; complain "a file has at most 800 lines"; fi
	done
}
if command -v shellcheck >/dev/null 2>&1; then
	shellcheck -S warning quickstart autogen.sh .ci/run tests/*.sh || complain "shellcheck"
fi
exit $status
