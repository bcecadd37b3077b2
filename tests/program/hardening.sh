#!/bin/sh
# hardening.sh - the flags of share/m4/werkbank_hardening.m4 show in the built programs. Last line: the tally.
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-hardening-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
LC_ALL=C; export LC_ALL
if ! command -v readelf >/dev/null || ! command -v objdump >/dev/null; then
	skip "hardening" "no readelf or objdump"
	tally
	exit
fi
setting() { sed -n "s/^$1 = *//p" Makefile; }
if [ -z "$(setting HARDENING_CFLAGS)$(setting HARDENING_LDFLAGS)" ]; then
	skip "hardening" "configured with --disable-hardening"
	tally
	exit
fi

for program in werkbank werkbank-data werkbank-launch werkbank-train werkbank-eval; do
	readelf -hlWd "$program" >"$tmp/facts"
	readelf -W --dyn-syms "$program" >"$tmp/symbols"
	case " $(setting CFLAGS) $(setting LDFLAGS) " in
	*-static* | *-no-pie* | *-fno-pie* | *-fno-PIE*) skip "$program: PIE" "the user's flags are against it" ;;
	*)
		holds "$program: position-independent" 'Type:.*DYN' "$tmp/facts"
		holds "$program: bound at the start" 'BIND_NOW|FLAGS.*NOW' "$tmp/facts"
		;;
	esac
	holds "$program: read-only relocations" 'GNU_RELRO' "$tmp/facts"
	holds "$program: a stack without code" 'GNU_STACK.* RW ' "$tmp/facts"
	if grep -qE 'LOAD.* RWE ' "$tmp/facts"; then
		not_ok "$program: no segment for both code and data" "$(grep -E 'LOAD.* RWE ' "$tmp/facts")"
	fi
	# only werkbank-data downloads and unpacks; werkbank-eval reads and writes packages of models, which are ZIP archives
	case $program:$(setting HARDENING_LDFLAGS) in
	werkbank-data:*) ;;
	werkbank-eval:*--as-needed*) same "$program: loads no libraries that it does not call" \
		"$(grep -E 'NEEDED.*lib(curl|archive)\.' "$tmp/facts")" '' ;;
	*--as-needed*) same "$program: loads no libraries that it does not call" \
		"$(grep -E 'NEEDED.*lib(curl|archive|z)\.' "$tmp/facts")" '' ;;
	esac
	if [ -s "$tmp/symbols" ]; then
		holds "$program: stack protector" '__stack_chk_fail' "$tmp/symbols"
		[ -z "$(setting HARDENING_CPPFLAGS)" ] ||
			holds "$program: checked functions of the C library" '__[a-z]*(printf|memcpy|read|fgets)_chk' "$tmp/symbols"
	else
		skip "$program: stack protector, checked functions" "a static program does not list what it imports"
	fi
	case $(setting HARDENING_CFLAGS) in
	*-fcf-protection*)
		# the C library's own start files bring a few
		landings=$(objdump -d --no-show-raw-insn "$program" | grep -cE 'endbr(64|32)')
		if [ "$landings" -gt 100 ]; then
			ok "$program: indirect jumps land on endbr"
		else
			not_ok "$program: indirect jumps land on endbr" "$landings of them"
		fi
		;;
	esac
done
tally
