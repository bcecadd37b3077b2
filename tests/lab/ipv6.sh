#!/bin/sh
# ipv6.sh - check and training on hosts that have IPv6 addresses only, in a lab (lab.sh). Each host also has a bridge of
# containers with the same IPv4 address, through which Open MPI must not try to reach other hosts.
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wbipv6-XXXXXX")
export ws="$tmp/ws" LAB_FAMILY=6
unset WERKBANK_HOME WERKBANK_RUN
. "$(dirname "$0")/../helpers.sh"
. "$(dirname "$0")/lab.sh"
. "$(dirname "$0")/lab_runs.sh"
# shellcheck disable=SC2317 # the trap calls it
finish() {
	lab_down
	rm -rf "$tmp"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
runs_need || exit 77
recipe "$tmp/tiny.ini"

lab_up 2 || exit 1
says "corpus" 0 '' wb prep "$tmp/tiny.ini" -q
says "check" 0 '^network between the hosts: fd98::/64' wb hosts check h1,h2
says "check: the addresses" 0 'fd98::2' wb hosts check h1,h2
before=$(lab_bytes h2 | cut -d ' ' -f 1)
# shellcheck disable=SC2154 # share and top: lab_runs.sh
says "a training" 0 '' lab_on h1 env WERKBANK_SHARE="$share" timeout 150 "$top/werkbank" train "$tmp/tiny.ini" -C "$ws" --run six \
	--steps 20 --hosts h1,h2 --quiet
same "... ranks, steps" "$(records six start ranks) $(last_step six)" "2 20"
bytes=$(($(lab_bytes h2 | cut -d ' ' -f 1) - before))
if [ $bytes -gt 100000 ]; then ok "... over the network"; else not_ok "... over the network" "only $bytes bytes came"; fi
same "... heartbeats and telemetry find their network" "$(records six event text | grep -iE 'network|interface|heartbeat')" ""
nobody_left "after training"

# Open MPI without IPv6: refused before the start
mkdir "$tmp/bin"
printf '#!/bin/sh\necho options:ipv6:no\n' >"$tmp/bin/ompi_info"
chmod 755 "$tmp/bin/ompi_info"
ln -s "$(command -v mpirun)" "$tmp/bin/mpirun"
says "Open MPI without IPv6" 69 'was built without IPv6' lab_on h1 env PATH="$tmp/bin:$PATH" WERKBANK_SHARE="$share" "$top/werkbank" train \
	"$tmp/tiny.ini" -C "$ws" --run none --steps 20 --hosts h1,h2
tally
