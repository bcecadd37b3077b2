#!/bin/sh
# tally.sh BUILD-FOLDER - count the results of the last "make check" in it: each test of tests/run and of each script.
# Prints "N passed, N failed, N skipped"; fails if a test failed or none ran.
set -eu
cd "$1"
passed=0 failed=0 skipped=0
for result in tests/*.trs tests/*/*.trs; do
	[ -f "$result" ] || continue
	verdict=$(sed -n 's/^:test-result: \([A-Z]*\).*/\1/p' "$result")
	line=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "${result%.trs}.log" | tail -n 1)
	if [ -n "$line" ]; then
		read -r p f s <<-END
		$line
		END
		# a program that failed without a failed test died before its end, or at it
		case $verdict in
		PASS | SKIP) ;;
		*) [ "$f" -gt 0 ] || f=1 ;;
		esac
	else
		p=0 f=0 s=0
		case $verdict in
		PASS) p=1 ;;
		SKIP) s=1 ;;
		*) f=1 ;;
		esac
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
