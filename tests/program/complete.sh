#!/bin/sh
# complete.sh - completion, asked of the shells themselves: bash, zsh and fish, those that are here.
# Last line: the tally, which tests/tally.sh counts.
# shellcheck disable=SC2034 # said is for helpers.sh
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-complete-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN
PATH=$top:$PATH; export PATH
WERKBANK_SHARE=$(cd "$srcdir/share" && pwd); export WERKBANK_SHARE
mkdir -p "$tmp/werkbank.d/runs/first-run" "$tmp/werkbank.d/runs/second.run" "$tmp/werkbank.d/runs/.hidden" \
	"$tmp/werkbank.d/corpora/news" "$tmp/other/runs/elsewhere" "$tmp/werkbank.d/runs/a b\$(touch oops)"
echo >"$tmp/mine.ini"
cd "$tmp" || exit 1

# ---- what there is ----------------------------------------------------------
said="$tmp/out"
says "names of runs" 0 '' werkbank _names runs
same "no odd ones among them" "$(tr '\n' ' ' <"$tmp/out")" "first-run second.run "
mkdir "$tmp/werkbank.d/corpora/failed"
echo '{}' >"$tmp/werkbank.d/corpora/news/manifest.json"
says "names of corpora" 0 '^news$' werkbank _names corpora
says "names of recipes" 0 '^wmt16-en-de$' werkbank _names recipes
says "names of manifests" 0 '^wmt14-full$' werkbank _names manifests
says "names of another workspace" 0 '^elsewhere$' werkbank _names -C other runs
says "a workspace that is not there has none" 0 '' werkbank _names -C nowhere runs
said="$tmp/err"
says "no such kind" 64 'is not runs, corpora' werkbank _names things

# ---- the shells, each with: ask LINE, the cursor at its end; answers one a line ----
# cases: LINE|what must be among the answers|what must not
cat >cases <<'END'
werkbank tra|train translate|watch _rank
werkbank |prep watch hosts|_probe
werkbank train --warm|--warmup|--beam
werkbank train --no-o|--no-overlap-reduce|
werkbank train --precision |fp32 bf16 auto|demo
werkbank train --precision b|bf16|fp32
werkbank translate --run |first-run second.run|elsewhere
werkbank translate --run f|first-run|second.run
werkbank translate -C other --run |elsewhere|first-run
werkbank watch |first-run second.run|elsewhere
werkbank watch s|second.run|first-run
werkbank prep |demo multi30k wmt16-en-de|first-run
werkbank prep --threads 2 mul|multi30k|demo
werkbank fetch wmt14|wmt14 wmt14-full|wmt13
werkbank data |stats show why|news
werkbank data show |news|stats
werkbank job |slurm pbs k8s|demo
werkbank job slurm open|openseq2seq-en-de|demo
werkbank hosts |list check sync|first-run
werkbank help trans|translate|train
werkbank bleu --tokenizer in|intl|13a
werkbank prep --pieces-from f|first-run|second.run
werkbank translate --beam m||mine.ini
END

judge() {
	shell=$1
	while IFS='|' read -r line wanted unwanted; do
		ask "$line" >answers 2>&1
		bad=
		for word in $wanted; do grep -qx -- "$word" answers || bad="$bad no $word;"; done
		for word in $unwanted; do ! grep -qx -- "$word" answers || bad="$bad $word is there;"; done
		if [ -z "$bad" ]; then ok "$shell: $line"; else not_ok "$shell: '$line'" "$bad answers: $(head -n 8 answers | tr '\n' ' ')"; fi
	done <cases
}

if command -v bash >/dev/null 2>&1; then
	werkbank _completion bash >werkbank.bash
	# the words as bash cuts them: = and : are words of their own
	cat >ask.bash <<'END'
. ./werkbank.bash
line=${1//=/ = }
read -ra COMP_WORDS <<<"$line"
[[ $line != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_werkbank
printf '%s\n' "${COMPREPLY[@]}"
END
	ask() { bash ask.bash "$1"; }
	judge bash
	ask 'werkbank train --precision=b' >answers
	same "bash: --precision=b" "$(cat answers)" bf16
	ask 'werkbank prep mi' >answers
	same "bash: a recipe of one's own" "$(cat answers)" mine.ini
	if command -v shellcheck >/dev/null 2>&1; then
		if shellcheck -S style werkbank.bash >out; then ok "shellcheck"; else not_ok shellcheck "$(head -n 4 out)"; fi
	else
		skip shellcheck "no shellcheck"
	fi
else
	skip bash "no bash"
fi

# a real one at a terminal, with the Tab key
if command -v bash >/dev/null 2>&1 && command -v tmux >/dev/null 2>&1; then
	tmux="tmux -f /dev/null -S $tmp/socket"
	unset TMUX
	echo "PS1='> '; . ./werkbank.bash" >rc
	$tmux new-session -d -x 100 -y 20 "bash --noprofile --rcfile rc -i"
	shown() {
		n=0
		until $tmux capture-pane -p | grep -qE -- "$1" || [ $n -ge 100 ]; do n=$((n + 1)); sleep 0.1; done
		$tmux capture-pane -p | grep -qE -- "$1"
	}
	shown '^> *$' || echo "no prompt came"
	typed() {
		$tmux send-keys C-u "$2" Tab
		if shown "$3"; then ok "$1"; else not_ok "$1" "$($tmux capture-pane -p | head -n 6)"; fi
	}
	typed "Tab: a command" 'werkbank stat' '^> werkbank status'
	typed "Tab: an option" 'werkbank train --warm' '^> werkbank train --warmup'
	typed "Tab: a choice" 'werkbank train --precision=b' '^> werkbank train --precision=bf16'
	typed "Tab: a run" 'werkbank translate --run fi' '^> werkbank translate --run first-run'
	typed "Tab: a file" 'werkbank tokenize mi' '^> werkbank tokenize mine.ini'
	typed "Tab: an option that names a file" 'werkbank translate --terms mi' '^> werkbank translate --terms mine.ini'
	typed "Tab: an option that names a folder" 'werkbank translate --ensemble oth' '^> werkbank translate --ensemble other/'
	typed "Tab: a number" 'werkbank translate --beam mi' '^> werkbank translate --beam mi *$'
	$tmux kill-server 2>/dev/null
else
	skip "Tab in bash" "no bash or no tmux"
fi

if command -v fish >/dev/null 2>&1; then
	werkbank _completion fish >werkbank.fish
	HOME=$tmp; export HOME
	# in the C locale fish finds no command in a folder with a letter like Ü in its name
	ask() { LC_ALL=C.UTF-8 fish --no-config -c 'source werkbank.fish; complete -C $argv[1]' "$1" | cut -f 1; }
	judge fish
else
	skip fish "no fish"
fi

if command -v zsh >/dev/null 2>&1; then
	mkdir functions
	werkbank _completion zsh >functions/_werkbank
	# what is added to the matches is written down
	cat >.zshrc <<'END'
fpath=($ZDOTDIR/functions $fpath)
autoload -Uz compinit && compinit -u -D
PS1='> '
compadd() {
	local -a found
	builtin compadd -O found "$@"
	print -rl -- "${found[@]}" >>$ZDOTDIR/answers.zsh
	builtin compadd "$@"
}
bindkey '^I' complete-word
END
	# a line is read once the one before it is done: Tab, then the mark
	cat >ask.zsh <<'END'
zmodload zsh/zpty
zpty shell "ZDOTDIR=$PWD zsh -i"
zpty -r -m shell out '*> *'
zpty -w -n shell "$1"$'\t'$'\C-u echo finis""hed\n'
zpty -r -m shell out '*finished*'
zpty -d shell
END
	ask() { rm -f answers.zsh; timeout 30 zsh -f ask.zsh "$1"; sort -u answers.zsh; }
	judge zsh
else
	skip zsh "no zsh"
fi
absent "nothing of a name was run" oops
tally
