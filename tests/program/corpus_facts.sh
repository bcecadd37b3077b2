#!/bin/sh
# corpus_facts.sh - the corpus says what its text is: each command uses the languages, tokenisation and pieces of the prepared
# corpus, and refuses what contradicts them. Every fact of text_facts.def; de-en, fr-en, and en-zh without blanks.
# Last line: the tally.
set -u
srcdir=${srcdir:-.}
top=$PWD
tmp=$(mktemp -d "${TMPDIR:-/tmp}/werkbank-facts-XXXXXX")
trap 'cd /; rm -rf "$tmp"' EXIT
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../helpers.sh"
unset WERKBANK_HOME WERKBANK_RUN
facts=$(cd "$srcdir/share/conf" && pwd)/text_facts.def
WERKBANK_SHARE=$(cd "$srcdir/share" && pwd); export WERKBANK_SHARE
PATH=$top:$PATH; export PATH
cd "$tmp" || exit 1
w=werkbank.d

# A tiny model and few steps: options of the recipe small that are no facts of text.
# The shape is the usual one: import guesses the shape of bare weights by their names.
cat >tiny.env <<'END'
WERKBANK_NORM=layer WERKBANK_POSITIONS=sinusoid WERKBANK_ACTIVATION=relu WERKBANK_GATED_FFN=no WERKBANK_FFN_BIAS=yes WERKBANK_DECODER_SELF=attention
WERKBANK_D_MODEL=16 WERKBANK_D_FF=32 WERKBANK_HEADS=2 WERKBANK_ENCODER_LAYERS=1 WERKBANK_DECODER_LAYERS=1 WERKBANK_STEPS=4
WERKBANK_EVAL_EVERY=2 WERKBANK_SAVE_EVERY=2 WERKBANK_THREADS=1 WERKBANK_BEAM=1 WERKBANK_MAX_LENGTH_FACTOR=1 WERKBANK_MAX_LENGTH_EXTRA=0
END
set -a
# shellcheck disable=SC1091 # just written
. ./tiny.env
set +a

# ---- texts: French is German with accents, Chinese is English without blanks in other characters ----
werkbank demo-corpus --demo-pairs 400 -q g.en g.de >/dev/null 2>&1 || not_ok "a text" "demo-corpus failed"
sed 's/e/\xc3\xa9/g; s/der /le /g' g.de >g.fr
tr -d ' ' <g.de | sed 's/[aeiou]/\xe4\xbd\xa0/g; s/[nrst]/\xe5\xa5\xbd/g' >g.zh
for l in en de fr zh; do
	head -n 370 g.$l >train.$l
	tail -n 30 g.$l | head -n 20 >dev.$l
	tail -n 10 g.$l >test.$l
done

# prepare NAME SOURCE TARGET OPTION... : with the recipe small, which names no text.
prepare() {
	name=$1 from=$2 to=$3
	shift 3
	werkbank prep small --corpus "$name" --source-language "$from" --target-language "$to" --train-source "train.$from" \
		--train-target "train.$to" --dev-source "dev.$from" --dev-target "dev.$to" --test-source "test.$from" \
		--test-target "test.$to" --merges 150 "$@"
}
without_blanks='--segmentation sentencepiece --no-tokenize --vocabulary-size 400 --max-words 100000 --max-ratio 100'
field() { sed -n "s/^$2 = \([^ ]*\).*/\1/p" "$1"; }
first_sample() { sed -n "1s/.*\"$2\":\"\([^\"]*\)\".*/\1/p" "$w/runs/$1/samples.jsonl"; }
references() { sed -n 's/.*reference \([0-9]*\)).*/\1/p' "$tmp/out"; }

# ---- every command after the corpus, without a word about its text ----
# knows FILE SOURCE TARGET PIECES TOKENIZE : the facts in a recipe.ini
knows() {
	same "$1: languages" "$(field "$1" source_language)-$(field "$1" target_language)" "$2-$3"
	same "$1: pieces" "$(field "$1" segmentation) $(field "$1" tokenize)" "$4 $5"
}
direction() { # NAME SOURCE TARGET PIECES TOKENIZE TOK
	run=$w/runs/$1
	says "$1: trains" 0 'finished: step 4' werkbank train small --corpus "$1" --run "$1"
	same "$1: evaluations of the training" "$(grep -c '"kind":"eval"' "$run/journal.jsonl")" 2
	same "$1: decodes the source" "$(first_sample "$1" source)" "$(head -n 1 "dev.$2" | sed 's/"/\\"/g')"
	same "$1: scores by the target" "$(first_sample "$1" reference)" "$(head -n 1 "dev.$3" | sed 's/"/\\"/g')"
	knows "$run/recipe.ini" "$2" "$3" "$4" "$5"
	knows "$run/checkpoints/4/recipe.ini" "$2" "$3" "$4" "$5"
	says "$1: eval" 0 '' werkbank eval --run "$1" --set test -q
	counted=$(references)
	holds "$1: eval's tokens" "^nrefs:1.*tok:$6" "$tmp/out"
	says "$1: the reference of eval" 0 '' werkbank bleu --tokenizer "$6" -r "test.$3" "test.$3" -q
	same "... is the target's test set" "$counted" "$(references)"
	says "$1: translate" 0 '' werkbank translate --run "$1" "test.$2" -q
	same "$1: lines of translate" "$(wc -l <"$tmp/out" | tr -d ' ')" 10
	says "$1: serve" 0 "\"source_language\":\"$2\",\"target_language\":\"$3\"" werkbank translate --run "$1" --serve
	says "$1: report" 0 '' werkbank report "$1"
	says "$1: compare" 0 '' werkbank compare --run "$1" :last -q --resamples 100
	holds "$1: tokens of compare" "^nrefs:1.*tok:$6" "$tmp/out"
	same "$1: tokens of the training" "$(sed -n 's/.*"kind":"eval".*"tok":"\([^"]*\)".*tok:\([^|]*\).*/\1 \2/p' "$run/journal.jsonl" | sort -u)" "$6 $6"
	says "$1: average" 0 '' werkbank average --run "$1" --output "average.$1" -q
	knows "average.$1/recipe.ini" "$2" "$3" "$4" "$5"
	says "$1: translate with the average" 0 '' werkbank translate -m "./average.$1" "test.$2" -q
	says "$1: export" 0 '' werkbank export --run "$1" --format csv --output "$1.csv" -q
	says "$1: import with the corpus" 0 '' werkbank import --corpus "$1" --output "import.$1" "average.$1/model.safetensors" -q
	knows "import.$1/recipe.ini" "$2" "$3" "$4" "$5"
	says "$1: resume" 0 'finished: step 6' werkbank train small --corpus "$1" --run "$1" --steps 6
	says "$1: resume by the run's recipe" 0 'finished: step 8' werkbank train "$run/recipe.ini" --run "$1" --steps 8
	says "$1: another run from it" 0 'finished: step 4' werkbank train small --corpus "$1" --run "$1-2" --start-from "$1"
	says "$1: job" 0 '' werkbank job slurm --walltime 10 small --corpus "$1"
	says "$1: home proposes" 0 "werkbank train small --corpus" werkbank --dump 40x200 --view home
}
says "prep de-en" 0 'next: werkbank train small --corpus rev --run rev$' prepare rev de en
direction rev de en bpe yes 13a
says "prep fr-en" 0 '' prepare fr fr en --max-words 70
direction fr fr en bpe yes 13a
# shellcheck disable=SC2086 # a list of words
says "prep en-zh" 0 '' prepare zh en zh $without_blanks
direction zh en zh sentencepiece no zh

# ---- other tokens on request ----
says "eval --tokenizer" 0 '' werkbank eval --run zh --tokenizer char -q
holds "... counts characters" '^nrefs:1.*tok:char' "$tmp/out"
says "eval --tokenize, as sacreBLEU calls it" 0 '' werkbank eval --run zh --tokenize 13a -q
holds "... is the same" '^nrefs:1.*tok:13a' "$tmp/out"
says "compare --tokenizer" 0 '' werkbank compare --run zh :last --tokenizer char -q --resamples 10
holds "... counts characters, too" '^nrefs:1.*tok:char' "$tmp/out"
says "compare of files: sacreBLEU's tokens" 0 '' werkbank compare -r test.zh test.zh test.zh -q --resamples 10
holds "... are 13a" '^nrefs:1.*tok:13a' "$tmp/out"
says "bleu of a file: sacreBLEU's tokens" 0 '' werkbank bleu -r test.zh test.zh
holds "... are 13a, too" '^nrefs:1.*tok:13a' "$tmp/out"
printf '[recipe]\ninclude = small\n[train]\ntokenizer = intl\n' >intl.ini
says "a recipe's tokenizer" 0 'dev BLEU .*tok:intl' werkbank train intl.ini --corpus zh --run intl
says "... belongs to the run" 0 '' werkbank eval --run intl -q
holds "... and its signature" '^nrefs:1.*tok:intl' "$tmp/out"
says "prep, a second time" 0 'next: werkbank train small --corpus rev --run rev$' prepare rev de en
sh -c "$(sed -n 's/^next: \(.*\)/\1/p' "$tmp/err") --run hint" >"$tmp/out" 2>&1
same "prep's next command trains" "$(tail -n 1 "$tmp/out")" 'finished: step 4 of 4'

# ---- variables that prep had ----
cat >captions.ini <<'END'
[recipe]
include = small
[data]
train_source = ${CAPTIONS}/train.en
train_target = ${CAPTIONS}/train.de
dev_source = ${CAPTIONS}/dev.en
dev_target = ${CAPTIONS}/dev.de
merges = 150
END
says "prep without its variable" 78 'CAPTIONS: the environment variable is not set' werkbank prep captions.ini
says "train before prep" 66 'the corpus captions is not prepared in .*: type: werkbank prep .* captions.ini; or name' werkbank train captions.ini
says "prep with its variable" 0 'next: werkbank train captions.ini$' env CAPTIONS="$tmp" werkbank prep captions.ini
says "train without it" 0 'finished: step 4' werkbank train captions.ini
holds "... remembers the files" "^train_source = $tmp/train.en  *# corpus captions\$" $w/runs/captions/recipe.ini
says "train with another value" 78 "the corpus captions has train_source = $tmp/train.en, but captions.ini:4 ..CAPTIONS. says /else/train.en" \
	env CAPTIONS=/else werkbank train captions.ini

# ---- the table: commands by facts ----
# Another value of each fact than rev and zh have.
other() {
	case $1 in
	*_source | *_target) echo elsewhere.txt ;;
	*_language) echo xx ;;
	manifest) echo wmt16-en-de ;;
	vocabularies) echo separate ;;
	source_tokenize) echo yes ;;
	source_segmentation) echo bpe ;;
	segmentation) if [ "$2" = zh ]; then echo bpe; else echo sentencepiece; fi ;;
	tokenize) if [ "$2" = zh ]; then echo yes; else echo no; fi ;;
	escape) echo no ;;
	normalize | aggressive | drop_* | repair) echo yes ;;
	overlap) echo drop ;;
	pieces_from) echo nothing ;;
	max_foreign | general_share) echo 0.5 ;;
	*) echo 17 ;;
	esac
}
# counts CONDITION CORPUS : the fact, or another value of it (A!VALUE), says something about this corpus
counts() {
	case $1 in '' | *!*) return 0 ;; esac
	for either in $(echo "$1" | tr '|' ' '); do
		[ "$(field "$w/corpora/$2/recipe.ini" "${either%=*}")" != "${either#*=}" ] || return 0
	done
	return 1
}

# prepare_again CORPUS OPTION : as it was prepared, and an option more
prepare_again() {
	# shellcheck disable=SC2086 # a list of words
	case $1 in rev) prepare rev de en "$2" ;; *) prepare zh en zh $without_blanks "$2" ;; esac
}

sed -n 's/^TEXT_FACT(\([a-z_]*\), \([A-Z]*\), "[a-z]*", "\([^"]*\)")$/\1 \2 \3/p' "$facts" >rows
same "rows of the table" "$(wc -l <rows | tr -d ' ')" "$(grep -c '^TEXT_FACT' "$facts")"
for corpus in rev zh; do
	while read -r fact use condition; do
		value=$(other "$fact" $corpus) code=78 text="corpus $corpus has $fact = .* but .*$value"
		if [ "$use" = INPUT ] || ! counts "$condition" $corpus; then code=0 text=; fi
		option=--$(echo "$fact" | tr _ -)=$value
		variable=WERKBANK_$(echo "$fact" | tr a-z A-Z)=$value
		printf '[recipe]\ninclude = small\n[data]\n%s = %s\n' "$fact" "$value" >own.ini
		says "$corpus, $fact: train $option" $code "$text" werkbank train small --corpus $corpus --run t --show "$option"
		says "$corpus, $fact: train with $variable" $code "$text" env "$variable" werkbank train small --corpus $corpus --run t --show
		says "$corpus, $fact: train own.ini" $code "$text" werkbank train own.ini --corpus $corpus --run t --show
		says "$corpus, $fact: job $option" $code "$text" werkbank job slurm --walltime 10 small --corpus $corpus "$option"
		was="was prepared with $fact = "
		case $condition in source_first_token!*) ;; source_*!*) was='both sides share one subword model' ;; esac
		says "$corpus, $fact: prep $option" $code "$([ $code = 0 ] && echo 'is ready in .* already' || echo "$was")" \
			prepare_again $corpus "$option"
		rm -rf imported
		case $use in SIDE | FORM) ;; *) code=64 text='import takes no option' ;; esac
		says "$corpus, $fact: import $option" $code "$text" werkbank import --corpus $corpus --output imported "average.$corpus/model.safetensors" -q "$option"
		for command in eval translate compare report average export; do
			says "$corpus, $fact: $command $option" "$([ "$use$command" = INPUTtranslate ] || [ "$use$command" = INPUTcompare ] && echo 0 || echo 64)" '' \
				sh -c "werkbank $command $(case $command in report) ;; *) echo --run $corpus ;; esac) $(case $command in
					compare) echo :last -q --resamples 10 ;; translate) echo "test.$(field $w/corpora/$corpus/recipe.ini source_language) -q" ;; esac) $option"
		done
		# these take no fact: they read the corpus, the run or the model as it is
		for command in "plan --run $corpus" "model --run $corpus" "verify $corpus" "shortlist $corpus" \
			"data stats $corpus" "hosts list localhost --corpus $corpus"; do
			# shellcheck disable=SC2086 # a list of words
			says "$corpus, $fact: ${command%% *} $option" 64 "takes no option ${option%=*}" werkbank $command "$option"
		done
	done <rows
done
absent "refused runs leave nothing" $w/runs/t

# ---- models of one vocabulary, but of other text ----
prepare back en de -q
prepare form de en --normalize -q
for name in back form; do werkbank train small --corpus $name --run $name -q >"$tmp/out" 2>&1; done
for name in back form; do
	same "one vocabulary" "$(sha256sum <$w/corpora/$name/vocab.tsv)" "$(sha256sum <$w/corpora/rev/vocab.tsv)"
done
last=checkpoints/4
says "an ensemble of two directions" 65 "runs/back/.* has source_language = en, but .*runs/rev/.* has de" \
	werkbank translate --run rev --ensemble $w/runs/back/$last test.de -q
says "an ensemble of two forms" 65 'has normalize = yes, but .* has no' \
	werkbank translate --run rev --ensemble $w/runs/form/$last test.de -q
says "an average of two directions" 65 'cannot average .* has source_language = en, but .* has de' \
	werkbank average $w/runs/rev/checkpoints/8 $w/runs/back/$last --output mixed -q
absent "... is not written" mixed
says "an average of two forms" 65 'cannot average .* has normalize = yes, but .* has no' \
	werkbank average $w/runs/rev/checkpoints/8 $w/runs/form/$last --output mixed -q
says "an ensemble of one direction" 0 '' werkbank translate --run rev --ensemble $w/runs/rev-2/$last test.de -q
says "an average of one direction" 0 '' werkbank average $w/runs/rev/checkpoints/8 $w/runs/rev-2/$last --output same -q

# ---- a variable for a command that takes no facts, and a recipe of another text ----
says "eval ignores the environment" 0 '' env WERKBANK_SOURCE_LANGUAGE=en WERKBANK_TARGET_LANGUAGE=xx WERKBANK_TOKENIZE=no \
	werkbank eval --run rev -q
says "a shipped recipe of another text" 0 'finished: step 4' werkbank train demo --corpus rev --run other

# ---- runs of an older release, which repeated the facts wrongly or not at all ----
# forget NAME SED : as that release wrote recipe.ini of run and checkpoints
forget() {
	for folder in $w/runs/"$1" $w/runs/"$1"/checkpoints/[0-9]*; do
		sed "s/# corpus .*/# default/; $2" "$folder/recipe.ini" >changed && cat changed >"$folder/recipe.ini"
		# shellcheck disable=SC2046 # a list of names
		[ ! -e "$folder/SHA256SUMS" ] || (cd "$folder" && sha256sum $(cut -d ' ' -f 3 SHA256SUMS) >sums && mv sums SHA256SUMS)
	done
}
wrongly='s/^source_language = .*/source_language = en  # default/; s/^target_language = .*/target_language = de  # default/
	s/^segmentation = .*/segmentation = bpe  # default/; s/^tokenize = .*/tokenize = yes  # default/'
not_at_all='/^source_language/d; /^target_language/d; /^segmentation/d; /^tokenize/d; /^train_/d'
for run in rev zh; do
	for how in wrongly not_at_all; do
		case $how in wrongly) forget $run "$wrongly" ;; *) forget $run "$not_at_all" ;; esac
		steps=$((${steps:-8} + 2))
		says "$run, $how: eval" 0 '' werkbank eval --run $run --set test -q
		says "$run, $how: translate" 0 '' werkbank translate --run $run "test.$(field $w/corpora/$run/recipe.ini source_language)" -q
		says "$run, $how: resume" 0 "finished: step $steps" werkbank train small --corpus $run --run $run --steps $steps
		case $run in rev) knows $w/runs/rev/recipe.ini de en bpe yes ;; zh) knows $w/runs/zh/recipe.ini en zh sentencepiece no ;; esac
	done
	unset steps
done

# ---- a corpus that was prepared again ----
says "unchanged: eval has no remark" 0 '' werkbank eval --run fr
same "... indeed" "$(grep -c 'prepared again' "$tmp/err")" 0
werkbank prep small --corpus fr --force --source-language fr --target-language en --train-source train.fr --train-target train.en \
	--dev-source dev.fr --dev-target dev.en --merges 150 --max-words 70 -q
says "without its test set: eval names it" 0 'note: the corpus fr was prepared again since .*: test_source was test.fr, is \(none\)' \
	werkbank eval --run fr
changed='The corpus fr was prepared again since the training began: test_source was test.fr, is \(none\)\. The report leaves out'
says "without its test set: report" 0 "$changed" werkbank report fr
same "... without pairs of the new corpus" "$(grep -c 'training pairs' "$tmp/out")" 0
for question in data-size dev-in-train vocabulary-small; do
	says "without its test set: report $question" 0 "$changed" werkbank report fr $question
done
says "without its test set: the run goes on" 0 'finished: step 10' werkbank train small --corpus fr --run fr --steps 10
prepare fr fr en --max-words 60 --force -q
says "with other limits: resume" 78 "this run began when the corpus fr had max_words '70'; .* again with '60'" \
	werkbank train small --corpus fr --run fr --steps 12
prepare fr en fr --max-words 70 --force -q
says "with sides exchanged: resume" 78 "this run began when the corpus fr had source_language 'fr'" werkbank train small --corpus fr --run fr --steps 12
printf '[recipe]\ninclude = small\n' >"$tmp/rev.ini"
says "another recipe, whose corpus has its name: resume" 78 'this run is trained on the corpus fr and cannot continue with the corpus rev' \
	werkbank train "$tmp/rev.ini" --run fr --steps 12
says "with sides exchanged: eval" 65 'corpus fr has source_language = en, but the model was trained with fr' werkbank eval --run fr -q
says "with sides exchanged: translate" 0 '' werkbank translate --run fr test.fr -q
says "with sides exchanged: report" 0 'The corpus fr has source_language = en, but the model was trained with fr: .* The report leaves out' \
	werkbank report fr
rm -rf $w/corpora/fr
says "no corpus: translate" 0 '' werkbank translate --run fr test.fr -q
says "no corpus: serve" 0 '"source_language":"fr","target_language":"en"' werkbank translate --run fr --serve
says "no corpus: eval" 66 'no held-out set' werkbank eval --run fr -q
mkdir $w/corpora/failed
says "no corpus: train" 66 'names no text, and .* has no corpus fr: type: werkbank prep .* or name another --corpus: back, captions, form, rev, zh' \
	werkbank train small --corpus fr --run fr
says "no corpus named" 66 'names no text, and .* has no corpus small: .*--corpus NAME .*or name another --corpus: back, captions, form, rev, zh' werkbank train small
tally
