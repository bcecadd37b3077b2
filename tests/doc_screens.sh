#!/bin/sh
# doc_screens.sh - screens in documents equal the recorded screens of the workbench. A comment before the block names the
# file: <!-- screen tests/golden/frame/run-24x80.screen -->. UPDATE=1 copies the recorded screens into the documents.
set -eu
cd "${srcdir:-.}"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-screens-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
status=0
for doc in README.md share/doc/*.md; do
	awk '
		/^<!-- screen / { print; screen = $3; next }
		screen && /^```/ {
			print
			while ((getline line <screen) > 0) { print line; n++ }
			if (!n) print "no such screen: " screen
			close(screen)
			screen = ""; n = 0; inside = 1
			next
		}
		inside && /^```/ { inside = 0 }
		!inside { print }' "$doc" >"$tmp/doc"
	cmp -s "$doc" "$tmp/doc" && continue
	if [ -n "${UPDATE:-}" ]; then
		cat "$tmp/doc" >"$doc"
	else
		diff -u "$doc" "$tmp/doc" || :
		echo "^ $doc shows another screen than the workbench: UPDATE=1 sh tests/doc_screens.sh"
		status=1
	fi
done
exit $status
