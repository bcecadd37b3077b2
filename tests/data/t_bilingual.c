/* t_bilingual.c - TMX, XLIFF, PO and tables: the pairs that files give, in pieces of any size, and what is refused */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/bilingual/bilingual.h"
#include "data/bilingual/language_tag.h"
#include "share/base/buf.h"
#include "share/base/util.h"
#include "tests/test.h"

#define TMX(units)  "<tmx version=\"1.4\"><header/><body>" units "</body></tmx>"
#define TU(en, de)  "<tu>" TUV("en", en) TUV("de", de) "</tu>"
#define TUV(l, seg) "<tuv xml:lang=\"" l "\"><seg>" seg "</seg></tuv>"
#define UNIT_12(attributes, source, target)                                                        \
	"<trans-unit " attributes "><source>" source "</source>" target "</trans-unit>"
#define FILE_12(from, to, units)                                                                   \
	"<file source-language=\"" from "\" target-language=\"" to "\"><body>" units               \
	"</body></file>"

struct served_text {
	const char *text;
	size_t n, piece;
};

static int64_t serve_text(void *from, void *to, size_t room, struct err *e)
{
	struct served_text *s = from;
	const size_t n = MIN(MIN(s->piece, room), s->n);

	(void)e;
	memcpy(to, s->text, n);
	s->text += n;
	s->n -= n;
	return (int64_t)n;
}

/* "SOURCE|TARGET\n" a pair, and the sentence about the other units. The code of the failure. */
static int read_served(struct bilingual_options o, struct served_text s, struct buf *pairs,
		       struct buf *note, struct err *e)
{
	struct bilingual *b;
	struct buf sides[2] = { { 0 }, { 0 } };
	const char *at[2];
	int got;

	o.source_language = o.source_language ? o.source_language : "en";
	o.target_language = o.target_language ? o.target_language : "de";
	o.name = o.name ? o.name : "file";
	b = bilingual_open(&o, serve_text, &s, e);
	got = b ? 1 : e->code;
	while (got > 0)
		got = bilingual_read(b, 10, &sides[0], &sides[1], e);
	at[0] = buf_text(&sides[0]);
	at[1] = buf_text(&sides[1]);
	while (*at[0]) {
		for (int i = 0; i < 2; i++) {
			const size_t n = strcspn(at[i], "\n");

			buf_add(pairs, at[i], n);
			buf_add_char(pairs, i ? '\n' : '|');
			at[i] += n + 1;
		}
	}
	if (b)
		bilingual_describe(b, note);
	bilingual_close(b);
	buf_free(&sides[0]);
	buf_free(&sides[1]);
	return got;
}

static void check_bytes(struct bilingual_options o, const char *text, size_t n, const char *want,
			const char *note)
{
	static const size_t pieces[] = { 1, 7, 1000000 };

	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		struct buf pairs = { 0 }, said = { 0 };
		struct err e = { 0 };

		if (read_served(o, (struct served_text){ text, n, pieces[i] }, &pairs, &said, &e))
			test_fail(__FILE__, __LINE__, "%s", e.text);
		check_str(buf_text(&pairs), want);
		check_str(buf_text(&said), note);
		buf_free(&pairs);
		buf_free(&said);
	}
}

static void check_pairs(const char *text, const char *want, const char *note)
{
	check_bytes((struct bilingual_options){ 0 }, text, strlen(text), want, note);
}

static void check_refused(struct bilingual_options o, const char *text, int code, const char *words)
{
	struct buf pairs = { 0 }, said = { 0 };
	struct err e = { 0 };

	check_err(
		read_served(o, (struct served_text){ text, strlen(text), 1000 }, &pairs, &said, &e),
		code);
	if (!strstr(e.text, words))
		test_fail(__FILE__, __LINE__, "'%s' is not in '%s'", words, e.text);
	buf_free(&pairs);
	buf_free(&said);
}

static const struct bilingual_options plain;

TEST(bilingual_language_tags)
{
	check_int(language_tag_fit("en", "EN"), 3);
	check_int(language_tag_fit("en", "en_US"), 2);
	check_int(language_tag_fit("pt-BR", "pt"), 1);
	check_int(language_tag_fit("pt-BR", "pt-PT"), 0);
	check_int(language_tag_fit("en", "eng"), 0);
	check_int(language_tag_fit("en", ""), 0);
}

/* false: this build has no expat, and says so. */
static bool reads_xml(void)
{
#ifdef HAVE_EXPAT
	return true;
#else
	check_refused(plain, TMX(TU("a", "b")), ERR_UNAVAILABLE, "was built without expat");
	return false;
#endif
}

TEST(bilingual_tmx)
{
	if (!reads_xml())
		return;
	check_pairs(TMX(TU("a  b\n c", "\xC3\xA4&amp;&#x2014;<![CDATA[<x>]]>")),
		    "a b c|\xC3\xA4&\xE2\x80\x94<x>\n", "");
	/* codes and their contents are left out, marked text stays, a line break is a blank */
	check_pairs(TMX(TU("<bpt i=\"1\">{b}</bpt>a<ept i=\"1\">{/b}</ept> "
			   "<hi>b<ph>x<sub>s</sub></ph></hi>",
			   "a<ph type=\"lb\"/>b<it pos=\"begin\">c</it><ut>d</ut>")),
		    "a b|a b\n", "");
	/* the language that fits best, then the first */
	check_pairs(TMX("<tu>" TUV("en-US", "us") TUV("en", "plain") TUV("en-GB", "gb")
				TUV("de-AT", "at") TUV("DE_CH", "ch") "</tu>"),
		    "plain|at\n", "");
	check_pairs(TMX("<tu><tuv lang=\"de\"><seg>alt</seg></tuv>" TUV("en", "old") "</tu>"),
		    "old|alt\n", "");
	check_pairs(TMX(TU("a", "b") "<tu>" TUV("en", "c") "</tu>" TU("d", " ") TU("", "e")),
		    "a|b\n",
		    "file: 1 of 4 units are pairs of en and de; not used: 1 without text in en, 2 "
		    "without text in de");
	check_pairs("\xEF\xBB\xBF<?xml version=\"1.0\"?><!DOCTYPE tmx SYSTEM \"tmx14.dtd\">" TMX(
			    TU("a", "b")),
		    "a|b\n", "");
}

TEST(bilingual_numbers_of_units_stay)
{
	const struct bilingual_options o = { .keep_numbers = true };
	const char *text = TMX("<tu>" TUV("en", "c") "</tu>" TU("a", "b"));

	if (!reads_xml())
		return;
	check_bytes(o, text, strlen(text), "|\na|b\n",
		    "file: 1 of 2 units are pairs of en and de; not used: 1 without text in de");
}

TEST(bilingual_encodings_of_xml)
{
	static const char utf16[] =
		"\xFF\xFE<\0t\0m\0x\0>\0<\0t\0u\0>\0<\0t\0u\0v\0 \0l\0a\0n\0g\0=\0"
		"'\0e\0n\0'\0>\0<\0s\0e\0g\0>\0a\0<\0/\0s\0e\0g\0>\0<\0/\0t\0u\0v\0>\0"
		"<\0t\0u\0v\0 \0l\0a\0n\0g\0=\0'\0d\0e\0'\0>\0<\0s\0e\0g\0>\0\xE4\0<\0/\0"
		"s\0e\0g\0>\0<\0/\0t\0u\0v\0>\0<\0/\0t\0u\0>\0<\0/\0t\0m\0x\0>";
	const char *latin = "<?xml version='1.0' encoding='ISO-8859-1'?>" TMX(TU("a", "\xE4"));

	if (!reads_xml())
		return;
	check_bytes(plain, utf16, sizeof(utf16), "a|\xC3\xA4\n", "");
	check_bytes(plain, latin, strlen(latin), "a|\xC3\xA4\n", "");
	check_refused(plain, "<?xml version='1.0' encoding='NO-SUCH'?>" TMX(""), ERR_CONFIG,
		      "file: encoding: no encoding is called NO-SUCH");
	check_refused(plain, TMX(TU("a", "\xE4")), ERR_DATA, "file:1: is no well-formed XML");
}

TEST(bilingual_repair)
{
	const struct bilingual_options o = { .repair = true };
	const char *xml = TMX(TU("a\x01"
				 "b\xF0\x9F\x98\x80",
				 "\xC3\xA4\xE4\xE2\x82"));

	check_bytes(o, "a,\xE4\n", 4, "a|\xEF\xBF\xBD\n", "");
	if (!reads_xml())
		return;
	check_bytes(o, xml, strlen(xml),
		    "a b\xF0\x9F\x98\x80|\xC3\xA4\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\n", "");
	check_refused(plain, xml, ERR_DATA, "(--repair replaces invalid UTF-8");
}

TEST(bilingual_xliff_1)
{
	if (!reads_xml())
		return;
	check_pairs("<xliff version=\"1.2\">" FILE_12(
			    "en-US", "de-DE",
			    UNIT_12("", "a<x ctype=\"lb\"/>b<g id=\"1\">c</g>",
				    "<target>d<ph>e</ph></target>"
				    "<alt-trans><source>x</source><target>y</target></alt-trans>")
				    UNIT_12("", "f", "<target state=\"new\">g</target>") UNIT_12(
					    "", "h", "<target/>") UNIT_12("", "i", "")
					    UNIT_12("translate=\"no\"", "j", "<target>j</target>"))
			    FILE_12("de", "en", UNIT_12("", "k", "<target>l</target>")) FILE_12(
				    "fr", "de", UNIT_12("", "m", "<target>n</target>")) "</xliff>",
		    "a bc|d\nl|k\n",
		    "file: 2 of 7 units are pairs of en and de; not used: 2 without text in de, 1 "
		    "in other "
		    "languages, 1 not translated yet, as their state says, 1 not to be translated");
	/* segments of a unit, by their mid */
	check_pairs(
		"<xliff>" FILE_12(
			"en", "de",
			UNIT_12("", "a. b. c.",
				"<seg-source><mrk mtype=\"seg\" mid=\"1\">a.</mrk> <mrk "
				"mtype=\"seg\" "
				"mid=\"2\">b.</mrk> <mrk mtype=\"seg\" "
				"mid=\"3\">c.</mrk></seg-source>"
				"<target><mrk mtype=\"seg\" mid=\"2\">B.</mrk><mrk mtype=\"seg\" "
				"mid=\"1\">A.</mrk></target>")) "</xliff>",
		"a.|A.\nb.|B.\n",
		"file: 2 of 3 units are pairs of en and de; not used: 1 without text in de");
}

TEST(bilingual_xliff_2)
{
	if (!reads_xml())
		return;
	check_pairs(
		"<xliff version=\"2.0\" srcLang=\"en\" trgLang=\"de\"><file id=\"f\"><unit "
		"id=\"u\">"
		"<segment><source>a<pc id=\"1\">b</pc><ph id=\"2\" subType=\"xlf:lb\"/>c</source>"
		"<target>d<cp hex=\"0007\"/></target></segment>"
		"<ignorable><source>x</source><target>y</target></ignorable>"
		"<segment state=\"initial\"><source>e</source><target>e</target></segment></unit>"
		"<unit id=\"v\" translate=\"no\"><segment><source>f</source><target>f</target>"
		"</segment></unit></file></xliff>",
		"ab c|d\n",
		"file: 1 of 3 units are pairs of en and de; not used: 1 not translated yet, as "
		"their state says, 1 not to be translated");
}

TEST(bilingual_xml_that_is_refused)
{
	struct buf b = { 0 };

	if (!reads_xml())
		return;
	check_refused(plain, TMX("<tu>" TUV("fr", "a") TUV("it-IT", "b") "</tu>"), ERR_DATA,
		      "file: none of its 1 unit is a pair of en and de: 1 without text in en; the "
		      "languages of the file are fr, it-IT (see --source-language and "
		      "--target-language)");
	check_refused(plain, TMX(""), ERR_DATA, "has no units, so no pairs of en and de");
	check_refused(plain, "<?xml version='1.0'?><html/>", ERR_DATA,
		      "its root element is <html>, but <tmx> or <xliff> was expected");
	check_refused(plain, "<tmx><body>\n<tu></body></tmx>", ERR_DATA,
		      "file:2: is no well-formed XML: mismatched tag");
	check_refused(plain, "<!DOCTYPE tmx [<!ENTITY a \"b\">]>" TMX(TU("&a;", "b")), ERR_DATA,
		      "the DOCTYPE declares entities");
	check_refused(plain, "<!DOCTYPE tmx SYSTEM \"/etc/passwd\">" TMX(TU("&nbsp;", "b")),
		      ERR_DATA, "the entity &nbsp; is unknown");
	buf_add_str(&b, "<tmx>");
	for (int i = 0; i < 200; i++)
		buf_add_str(&b, "<a>");
	check_refused(plain, buf_text(&b), ERR_DATA, "nested more than 100 deep");
	buf_clear(&b);
	buf_add_str(&b, "<tmx>");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, "<a%d/>", i);
	check_refused(plain, buf_text(&b), ERR_DATA, "more than 10000 different names");
	buf_clear(&b);
	buf_add_str(&b, "<tmx a=\"");
	while (b.len < 20u << 20)
		buf_add_str(&b, "0123456789abcdef0123456789abcdef0123456789abcdef");
	check_refused(plain, buf_text(&b), ERR_DATA, "a tag or comment is longer than 16 MiB");
	buf_clear(&b);
	buf_add_str(&b, "<tmx><body><tu><tuv lang=\"en\"><seg>");
	while (b.len < 20u << 20)
		buf_add_str(&b, "0123456789abcdef0123456789abcdef0123456789abcdef");
	check_refused(plain, buf_text(&b), ERR_DATA, "a segment has more than 16 MiB of text");
	buf_free(&b);
}

TEST(bilingual_po)
{
	static const char header[] = "msgid \"\"\nmsgstr \"\"\n\"Language: de_DE.UTF-8\\n\"\n";
	struct buf b = { 0 };
	const struct bilingual_options from_german = { .source_language = "de",
						       .target_language = "en" };
	const struct bilingual_options french = { .target_language = "fr" };

	check_pairs("# c\nmsgid \"_a\"\n\" b\\n\"\nmsgstr \"\"\n\"\\\"c\\\"\\x41\\102\"\n",
		    "_a b|\"c\"AB\n", "");
	buf_add_str(&b, header);
	buf_add_str(
		&b,
		"\n#, c-format\nmsgid \"f\"\nmsgid_plural \"fs\"\nmsgstr[0] \"d\"\nmsgstr[1] "
		"\"ds\"\nmsgid \"x\"\nmsgid_plural \"xs\"\nmsgstr[0] \"y\"\n\n#, fuzzy, "
		"c-format\n#| msgid "
		"\"old\"\nmsgctxt \"m\"\nmsgid \"g\"\nmsgstr \"h\"\n\nmsgid \"i\"\nmsgstr \"\"\n#~ "
		"msgid \"k\"\n#~ msgstr \"l\"\n");
	check_pairs(buf_text(&b), "f|d\nfs|ds\nxs|y\n",
		    "file: 3 of 6 units are pairs of en and de; not used: 1 without text in de, 1 "
		    "fuzzy, 1 obsolete");
	/* the other direction: msgid is the target */
	check_bytes(from_german, buf_text(&b), b.len, "d|f\nds|fs\ny|xs\n",
		    "file: 3 of 6 units are pairs of de and en; not used: 1 without text in de, 1 "
		    "fuzzy, 1 obsolete");
	check_refused(french, buf_text(&b), ERR_DATA, "file: its translations are in de_DE, but");
	buf_free(&b);
	check_pairs(
		"msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n\nmsgid "
		"\"a\"\nmsgstr \"\xE4\"\n",
		"a|\xC3\xA4\n", "");
}

TEST(bilingual_po_that_is_refused)
{
	check_refused(plain, "msgid \"a\"\nmsgstr \"b\n", ERR_DATA,
		      "file:2: a quote at the end of the text was expected in a PO file");
	check_refused(plain, "msgid \"a\"\nmsgstr[99] \"b\"\n", ERR_DATA,
		      "file:2: msgstr[0] to msgstr[15] was expected");
	check_refused(plain, "msgid \"a\"\nmsgfoo \"b\"\n", ERR_DATA,
		      "file:2: a text in quotes was expected");
}

TEST(bilingual_tables)
{
	const struct bilingual_options columns = { .columns = "3,1" };
	const struct bilingual_options names = { .columns = "English,Deutsch" };
	const struct bilingual_options latin = { .encoding = "ISO-8859-1" };
	static const char three[] = "a\tb\tc\n";
	static const char named[] = "id;Deutsch;English\r\n1;b;\"a;\"\"x\"\"\"\r\n";

	check_pairs("a,b\n\"c, \"\"d\"\"\",\"e\nf\"\n", "a|b\nc, \"d\"|e f\n", "");
	check_pairs("\xEF\xBB\xBFid;en-US;de\r\n1;a;b\r\n\r\n2;c\r\n", "a|b\n",
		    "file: 1 of 2 units are pairs of en and de; not used: 1 without text in de");
	check_pairs("\"a\nb\",\"c\nd\"\n", "a b|c d\n", "");
	check_pairs("a \"b, c\nd,e\n", "a \"b|c\nd|e\n", "");
	check_pairs("He said, \"x\ty\n\"a\tb\n", "He said, \"x|y\n\"a|b\n", "");
	check_pairs("sep=;\nTarget;Source\na,x;b\n", "b|a,x\n", "");
	check_pairs("Hello, world;Hallo Welt\na;b\n", "Hello, world|Hallo Welt\na|b\n", "");
	check_pairs("a, b\nc, d\n", "a|b\nc|d\n", "");
	check_pairs("German;English\nb;a\n", "a|b\n", "");
	/* between tabs, a quote is a character */
	check_pairs("\"a\" b\t\"c\n\"d\te\"\n", "\"a\" b|\"c\n\"d|e\"\n", "");
	check_bytes(columns, three, strlen(three), "c|a\n", "");
	check_bytes(names, named, strlen(named), "a;\"x\"|b\n", "");
	check_bytes(latin, "\xE4,b\n", 4, "\xC3\xA4|b\n", "");
	check_bytes(plain,
		    "\xFF\xFE"
		    "a\0,\0\xE4\0\n\0",
		    10, "a|\xC3\xA4\n", "");
}

TEST(bilingual_tables_that_are_refused)
{
	const struct bilingual_options four = { .columns = "1,4" };
	const struct bilingual_options name = { .columns = "1,Text" };
	const struct bilingual_options one = { .columns = "1" };

	check_refused(plain, "a\tb\tc\n", ERR_CONFIG,
		      "file: its first row has 3 columns and does not name the columns of en and "
		      "de: give pair_columns, for example 1,2");
	check_refused(plain, "hello\n", ERR_DATA, "its first row has no columns");
	check_refused(plain, "", ERR_DATA, "has no units");
	check_refused(plain, "a,b\nc,\"d\n", ERR_DATA, "file:2: a quote opens a cell in this row");
	check_refused(plain, "a,b;c\n", ERR_CONFIG, "as many , as ; so that the separator");
	check_refused(four, "a,b\n", ERR_CONFIG, "has no column 4 (pair_columns)");
	check_refused(name, "a,b\n", ERR_CONFIG, "is called Text (pair_columns)");
	check_refused(one, "a,b\n", ERR_CONFIG, "expected SOURCE,TARGET, such as 1,2");
	check_refused(plain, "a,\xE4\n", ERR_DATA, "file:1: ");
	check_bytes(plain, "a,b\n", 4, "a|b\n", "");
}
