#!/bin/sh
# layers.sh [rooms] - checks which room may include headers of which other rooms. The table is the architecture.
# With "rooms" it prints the table, "room FOLDER ALLOWED..." lines, for layers_symbols.sh.
set -eu
cd "${srcdir:-.}"
status=0
print=${1:-}
rooms=''	# declared so far, one a line

complain() { echo "^ $*"; status=1; }

# room FOLDER ALLOWED... : the files of FOLDER itself (not of the rooms below it) include only from FOLDER and from
# rooms that are listed above this line, so there is no cycle. FOLDER/... means all of its rooms.
room() {
	if [ "$print" ]; then
		echo "room $*"
		return
	fi
	from=$1
	shift
	rooms="$rooms
$from"
	pattern="\"$from/[^/]*\"|\"config\.h\""
	for allowed; do
		case $allowed in
		*/...) folder=${allowed%/...} pattern="$pattern|\"$folder/.*\"" ;;
		*) folder=$allowed pattern="$pattern|\"$allowed/[^/]*\"" ;;
		esac
		echo "$rooms" | grep -qE "^$folder(/|\$)" || complain "$from: $allowed stands below it in the table"
	done
	# shellcheck disable=SC2046 # names of files, without blanks
	if grep -nE '^[[:space:]]*#[[:space:]]*include "' $(files_of "$from") /dev/null | grep -vE "include ($pattern)"; then
		complain "$from may include only: $*"
	fi
}
# interface ROOM ABOVE... : what the headers of ROOM declare, rooms ABOVE may define: who may use ROOM may use it.
interface() {
	if [ "$print" ]; then echo "interface $*"; fi
}
files_of() { find "$1" -maxdepth 1 -name '*.[ch]' -o -maxdepth 1 -name '*.cu' -o -maxdepth 1 -name '*.cuh'; }

# only HEADER FILES... : no other file includes this foreign header.
only() {
	header=$1
	shift
	allowed=$(printf '%s|' "$@")
	if grep -rnE "include <$header" share kernels data train eval tui --include='*.[ch]' --include='*.cu' --include='*.cuh' |
	    grep -vE "^(${allowed%|})"; then
		complain "only $* may include <$header>"
	fi
}


room share/base
room share/format             share/base
room share/guard              share/base
room share/workspace          share/base share/format
room share/conf               share/base share/format share/guard share/workspace
room share/help               share/base share/conf

room kernels/ops              share/base
room kernels/cuda             share/base kernels/ops
room kernels/ref              share/base kernels/ops
room kernels/cpu              share/base kernels/ops kernels/ref
room kernels                  share/base share/format kernels/ops
interface kernels/ops         kernels kernels/ref kernels/cpu kernels/cuda

room data/demo                share/base share/workspace share/conf
room data/text                share/base
room data/bilingual           share/base share/format data/text
room data/source              share/... data/demo data/text
room data/words               share/base
room data/subword             share/base data/text data/words
room data/sentencepiece       share/base share/format share/workspace share/conf data/text data/words data/subword
room data/pipeline            share/base share/workspace share/conf data/text data/words data/subword data/sentencepiece
room data/shard               share/base share/conf data/words data/subword data/sentencepiece data/pipeline
room data/judge               share/base share/format data/text data/words
room data/prep                share/... data/text data/bilingual data/source data/words data/subword data/sentencepiece data/pipeline data/shard data/judge
room data/inspect             share/base share/format share/workspace share/conf data/text data/words data/shard data/prep
room data                     share/... data/demo data/text data/bilingual data/source data/words data/subword data/sentencepiece data/pipeline data/shard data/judge data/prep data/inspect

room train/common             share/base share/format share/workspace share/conf
room train/host               share/base
room train/comm               share/base kernels/ops kernels/cuda train/host
room train/launch/remote      share/...
room train/launch/preflight   share/... train/common train/launch/remote
room train/launch/hosts       share/... train/common train/launch/remote train/launch/preflight
room train/launch/plan        share/... train/common
room train/launch/follow      share/... train/launch/remote
room train/launch/run         share/... train/common train/launch/remote train/launch/preflight
room train/launch/job         share/base share/workspace share/conf train/launch/remote train/launch/run
room train/launch/tune        share/...
room train/launch             share/base share/guard share/conf share/help train/launch/remote train/launch/preflight train/launch/hosts train/launch/plan train/launch/follow train/launch/run train/launch/job train/launch/tune
room train/model              share/base share/conf kernels/ops data/shard
room train/optim              share/base share/conf kernels/ops train/comm train/model
room train/ckpt               share/... data/shard train/model train/optim
room train/record             share/... data/words train/common train/optim
room train/watch              share/base share/format share/guard share/workspace train/common train/host train/comm
room train/trainer            share/... kernels/ops kernels data/source data/words data/subword data/sentencepiece data/pipeline data/shard train/common train/host train/comm train/model train/optim train/ckpt train/record train/watch
room train                    share/... kernels/ops kernels train/common train/host train/comm train/model train/ckpt train/trainer

room eval/decode              share/base share/conf kernels/ops data/words data/subword data/sentencepiece data/pipeline data/shard train/model
room eval/weights             share/... kernels/ops data/shard train/model train/ckpt
room eval/import              share/... kernels/ops data/text data/words data/subword data/sentencepiece data/pipeline data/shard train/model train/ckpt train/record eval/weights
room eval/export              share/... data/text data/words data/subword data/sentencepiece data/pipeline train/model train/ckpt train/record eval/weights
room eval/metrics             share/base share/conf
room eval/report              share/... data/source train/common train/model train/optim train/ckpt train/record eval/metrics
room eval/verify              share/... train/common train/ckpt train/record
room eval/document            share/... data/text data/bilingual eval/weights
room eval/translate           share/... kernels/ops data/text data/words data/subword data/sentencepiece data/pipeline data/shard train/model train/ckpt eval/decode eval/metrics eval/document
room eval/evaluate            share/... data/text data/source data/subword data/sentencepiece data/pipeline data/shard train/model train/ckpt eval/decode eval/metrics eval/translate
room eval/score               share/... data/pipeline data/shard data/words train/model train/ckpt eval/decode eval/metrics eval/translate
room eval/server              share/... data/text data/words data/judge eval/document
room eval                     share/base share/guard share/conf share/help eval/import eval/export eval/report eval/verify eval/translate eval/evaluate eval/score eval/server

room tui/term                 share/base share/guard
room tui/plot                 share/base tui/term
room tui/run                  share/... data/text data/words data/subword data/sentencepiece data/pipeline data/judge data/inspect eval/metrics eval/report tui/term tui/plot
room tui/context              share/... data/text tui/term tui/run
room tui/overlay              share/... data/text tui/term tui/context
room tui/translate            share/base share/format share/workspace data/text tui/term tui/run tui/context
room tui/views                share/... data/text data/words data/subword data/sentencepiece data/pipeline data/inspect tui/term tui/plot tui/run tui/context tui/translate
room tui/app                  share/... data/text tui/term tui/run tui/context tui/overlay tui/translate tui/views
room tui/commands             share/... tui/run tui/context tui/app
room tui                      share/base share/guard share/conf share/help tui/commands
[ "$print" ] && exit

only curses     tui/term/term
only mpi.h      train/comm/comm_mpi.c
only nccl       train/comm/comm_nccl
only cuda       kernels/cuda/
only curl       data/source/fetch
only archive    data/source/archive.c
only zlib.h     data/source/gunzip.c eval/export/zip_write.c eval/import/import_argos.c eval/document/docfile_zip.c
only pcre2      data/text/rewrite.c
only openssl    share/base/hash.c
only seccomp    share/guard/sandbox_calls.c
only unicode    data/text/icu.c
only expat      data/bilingual/xml_reader.c

# never WORDS : functions that no file calls, because they are easy to misuse.
never() {
	if grep -rnE "(^|[^_[:alnum:]])($1)[[:space:]]*\\(" share kernels data train eval tui --include='*.[ch]' --include='*.cu'; then
		complain "banned: $1"
	fi
}
never 'strcpy|strcat|sprintf|vsprintf|strtok|gets|atoi|atol|atof|system'

# Every folder with code is a room of the table, and nobody includes tests.
for folder in $(find share kernels data train eval tui -name '*.[ch]' -o -name '*.cu' | sed 's|/[^/]*$||' | sort -u); do
	echo "$rooms" | grep -qx "$folder" || complain "$folder is no room of the table"
done

# A folder of tests is a room too. golden and runs hold recorded files.
for folder in tests/*/; do
	case $folder in tests/golden/ | tests/runs/) continue ;; esac
	[ -f "${folder}local.mk" ] || complain "$folder has no local.mk, so it is no room"
done

# A file that no local.mk names is missing from the distribution; only "make distcheck" would notice.
files=$(find share kernels data train eval tui tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' -o -name '*.def')
for file in $files; do
	if ! grep -qF "${file##*/}" "${file%%/*}/local.mk" "$(dirname "$file")/local.mk" Makefile.am 2>/dev/null; then
		complain "$file: no local.mk names it"
	fi
done
exit $status
