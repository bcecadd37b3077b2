#!/bin/sh
# dictionary.sh SOURCE TARGET - print the words that the reader of a target looks for, in the format of libFuzzer and AFL.
# They are the texts without blanks of the reader's own code and tables, so a new key of a file is here at once.
set -eu
cd "$1"
# shellcheck disable=SC2016 # ${ is a word
# target	files of its reader	further words: \x.. is a byte
table='lines		\xEF\xBB\xBF \x0D\x0A \xE2\x80\xA8 \xF4\x90\x80\x80
json	share/format/json_read.c	{ } [ ] : , true false null 1e308 -0.0 \x5Cu0000 \x5CuD800 \x5CuDC00
recipe	share/conf/conf_recipe.c share/conf/options.def	[data] [model] [train] [decode] [recipe] include ${ }
journal	share/workspace/journal.c tui/run/run_history_records.c	"kind": "t": "v":1
tail	share/workspace/journal.c	"kind": "t": "v":1 \x0A
moses	data/text/normalize.c data/text/tokenize_rules.c data/text/detokenize.c	&amp; @-@ ... \xC2\xA0 \xE2\x80\x99
protect		<2de> <num> @@ </s> \xEE\x80\x80 \xE2\x96\x81 &amp; . ( \x0A \x00
manifest	data/source/manifest.c	[archive train.en train.de sha256: bytes: file:/// =
sgm	data/text/sgm.c	<seg </seg> <doc <refset &amp; &#x </
bilingual	data/bilingual/tmx.c data/bilingual/xliff.c data/bilingual/xml_pairs.c data/bilingual/po.c	<tu> </tu> <tuv <seg> xml:lang="de" <!DOCTYPE <!ENTITY &amp; <![CDATA[ <ph> <sub> <mrk mid= state= msgstr[0] msgid_plural #~ #, fuzzy \x5C" ,"" \xEF\xBB\xBF \xFF\xFE sep=;
encoding		\xFF\xFE \xFE\xFF \x00 \xD8\x00 \x1B$B \x1B(B \x81\x30\x81\x30 ~{
codes	data/subword/bpe_codes.c	</w> #version: 0.2
vocabulary	data/words/vocab.c	<pad> <s> </s> <unk> \x09
shard	data/shard/shard.c	
shortlist	data/shard/shortlist.c	
side	data/prep/token_column.c	
words	data/words/intern.c	
archive	data/source/archive.c	ustar \x1F\x8B\x08 BZh91AY \xFD7zXZ PK\x03\x04 path= size= GNU.sparse.
sp	data/sentencepiece/sp_model.c	\xE2\x96\x81 <unk> \x0A\x0B \x12 \x18\x02
safetensors	train/ckpt/safetensors.c	F32 F16 BF16 I64 U8 __metadata__ "data_offsets":[0,4]
weights	eval/weights/ct2_read.c eval/weights/weight_map.def eval/weights/ct2.def train/ckpt/safetensors.c	TransformerSpec
argos	eval/import/import_argos.c eval/weights/ct2.def	PK\x05\x06 PK\x01\x02
npz	eval/weights/npz_read.c eval/weights/weight_map.def	\x93NUMPY PK\x05\x06 PK\x01\x02
torch	eval/weights/torch_read.c eval/weights/pickle.c	PK\x05\x06 PK\x01\x02
fairseq	eval/import/import_fairseq.c eval/weights/torch_read.c	PK\x05\x06 PK\x01\x02
import	eval/import/import_hugging_face.c eval/import/import_multilingual.c eval/import/import_opennmt.c eval/import/import_eole.c eval/import/import_fairseq.c eval/import/import_marian.c eval/import/import_pieces.c eval/weights/pickle.c	"\x0A== config.json\x0A" M2M100Tokenizer NllbTokenizer MBart50Tokenizer
pickle	eval/weights/pickle.c	\x80\x02 collections\x0AOrderedDict\x0A
yaml	eval/import/import_marian.c	"\x22" ? - [
tokens	eval/import/import_vocabulary.c	</s> <s> <unk> {" ":
nohup	train/record/openseq2seq.c	
host	train/host/host_cpu.c train/host/host_disk.c train/host/host_net.c train/host/host_ib.c	MemTotal: MemAvailable:
pulse	train/watch/heartbeat_message.c	
answer	tui/translate/service_answer.c	
edit		
state	tui/run/status.c	
checkpoint	train/ckpt/ckpt.c train/ckpt/ckpt_save.c train/ckpt/safetensors.c	== SHA256SUMS state.json optimizer.safetensors F32 "data_offsets":[0,4]
links	train/common/linkfile.c	
receipt	data/source/receipt.c	
part	data/source/fetch_part.c	
http	data/source/fetch_transfer.c	HTTP/1.1 \x0D\x0A\x0D\x0A Location: Content-Length: Transfer-Encoding: chunked Content-Encoding: gzip Retry-After: \x00\x00
record	data/prep/prep_record.c	
hosts	train/launch/remote/hosts.c	slots= max_slots= [1-3] node[01-
aws	train/launch/remote/hosts_aws.c	
theme	tui/term/theme.c	
keymap	tui/term/keys.c tui/term/actions.def	<Space> <C- <A-
serve	eval/translate/serve.c eval/translate/suggest.c	{"id":1,"text":
terms	eval/translate/terms.c	\x09
document	eval/document/format_html.c eval/document/format_text.c eval/document/format_xml.c eval/document/format_po.c eval/document/format_subtitles.c	<p> </p> <pre> <source> <target/> <seg> <tu> --> ``` --- WEBVTT msgid msgstr PK\x05\x06
markup	eval/document/markup_rules.c eval/document/markup_runs.c	<b> </b> <br/> <!-- --> <code> </code> &amp; &#x translate="no" <bpt </bpt> <ept <w:r> </w:r> <w:t> </w:t> %1$s --> \x0A
request	eval/server/http_request.c	GET POST / HTTP/1.1 HTTP/1.0 \x0D\x0A \x0D\x0A\x0D\x0A Host: Content-Length: Transfer-Encoding: chunked close \x00 \x09
form	eval/server/form_json.c	& = + %00 %C3%A4 %
multipart	eval/server/form_json.c	"; boundary=X" "\x0D\x0A--X\x0D\x0A" "\x0D\x0A--X--" "; name=" "; filename="
history	tui/run/run_history_records.c tui/run/fleet.c	"kind": "t": "v":1
follow	train/launch/follow/follow_files.c train/launch/follow/follow_copy.c	-rw-r--r-- alive runs/ corpora/'
row=$(printf '%s\n' "$table" | grep "^$2	") || { echo "dictionary.sh: there is no target '$2'" >&2; exit 64; }
files=$(printf '%s' "$row" | cut -f 2)
words=$(printf '%s' "$row" | cut -f 3)

# shellcheck disable=SC2086 # lists of words
{
	set -f
	for word in $words; do printf '%s\n' "$word" | sed 's/"/\\"/g'; done
	[ -z "$files" ] || {
		cat $files | grep -v '^#include' | grep -oE '"([^"\\% ]|\\x[0-9A-Fa-f]{2}|\\"){2,32}"' | sed 's/^"//; s/"$//'
		# the first two columns of tables
		cat $files | sed -n 's/^[A-Z_]* *(\([a-z_0-9]*\), *\([a-z_0-9]*\),.*/\1\n\2/p'
	}
} | LC_ALL=C grep -v '[^ -~]' | grep . | sort -u | sed 's/.*/"&"/'
