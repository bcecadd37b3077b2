#!/usr/bin/env python3
"""readers.py - read mutants of valid files with our readers and with others. usage: readers.py [-n MUTANTS] [-s SEED] [READER...]

Run it in the build folder, after "make tests/read_back". A row of READERS is a reader, its valid files, and its peer:

json           Python's json, from strictly decoded UTF-8, without its extensions NaN and Infinity
utf8           Python's strict decoder: the length of the valid beginning
tar            libarchive by ctypes, the library that bsdtar is made of: all entries and their contents
safetensors    the library "safetensors" (pip)
sentencepiece  the library "protobuf" (pip) with the messages and field numbers of sentencepiece_model.proto
sgm            Expat, after these changes from SGM to XML: one root element, & as &amp;, tags in small letters, values
               in quotes. Mutants of SGM are made from words, tags and line ends, because SGM is no XML: our reader
               takes what Moses takes

For each mutant one of: same (both read the same), both refuse, stricter (only we refuse), LOOSER (only the peer refuses),
OTHER (both read, but not the same). The last two are findings, except for the reasons in EXPLAINED; a finding is printed
and makes the exit status 1. A peer that is not installed is skipped, with a line that says so.
"""
import argparse
import ctypes
import ctypes.util
import hashlib
import json
import os
import random
import re
import struct
import subprocess
import sys
import xml.parsers.expat

SOURCE = os.environ.get("srcdir", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MEMBERS = ["corpus.en", "deep/corpus.de"]


class Refused(Exception):
    pass


# ---- our reader ----

class Ours:
    def __init__(self, reader, members):
        self.process = subprocess.Popen(["tests/read_back", reader, *members], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, data):
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        size = self.process.stdout.read(4)
        if len(size) < 4:
            sys.exit(f"tests/read_back ended with status {self.process.wait()} at {data!r}")
        answer = json.loads(self.process.stdout.read(struct.unpack("<I", size)[0]))
        if "refused" in answer:
            raise Refused(answer["refused"])
        return answer["read"]


# ---- peers: each returns what read_back.c prints, or raises ----

def peer_json(data):
    def no_constant(name):
        raise ValueError(name)

    def tree(x):
        return {"n": repr(float(x))} if isinstance(x, (int, float)) and not isinstance(x, bool) else x

    def walk(x):
        if isinstance(x, Pairs):
            return {"o": [[k, walk(v)] for k, v in x.pairs]}
        return [walk(v) for v in x] if isinstance(x, list) else tree(x)

    class Pairs:
        def __init__(self, pairs):
            self.pairs = pairs

    return walk(json.loads(data.decode("utf-8"), object_pairs_hook=Pairs, parse_constant=no_constant, parse_int=float))


def same_json(ours, theirs):
    """Numbers are compared as numbers, everything else as it is."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and "n" in ours and "n" in theirs:
        return float(ours["n"]) == float(theirs["n"])
    if isinstance(ours, dict) and isinstance(theirs, dict) and "o" in ours and "o" in theirs:
        return same_json(ours["o"], theirs["o"])
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(same_json(a, b) for a, b in zip(ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


def peer_utf8(data):
    try:
        data.decode("utf-8")
        return len(data)
    except UnicodeDecodeError as e:
        return e.start


def open_libarchive():
    name = ctypes.util.find_library("archive")
    if not name:
        raise ImportError("libarchive")
    lib = ctypes.CDLL(name)
    lib.archive_read_new.restype = lib.archive_entry_pathname.restype = ctypes.c_void_p
    lib.archive_read_data_block.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t),
                                            ctypes.POINTER(ctypes.c_int64)]
    lib.archive_read_open_memory.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    lib.archive_read_next_header.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
    for call in ("archive_read_support_format_all", "archive_read_support_filter_all", "archive_read_free", "archive_entry_pathname"):
        getattr(lib, call).argtypes = [ctypes.c_void_p]
    return lib


def peer_tar(data, kept=[]):
    """All members that MEMBERS name: by their path or the end of it."""
    if not kept:
        kept.append(open_libarchive())
    lib = kept[0]
    archive = lib.archive_read_new()
    found, entry, block, size, offset = [], ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_int64()
    try:
        lib.archive_read_support_format_all(archive)
        lib.archive_read_support_filter_all(archive)
        if lib.archive_read_open_memory(archive, data, len(data)) < 0:
            raise Refused("open")
        while (rc := lib.archive_read_next_header(archive, ctypes.byref(entry))) != 1:
            if rc < -20:  # a warning is none
                raise Refused("header")
            pointer = lib.archive_entry_pathname(entry)
            path = ctypes.string_at(pointer) if pointer else b""
            path = re.sub(rb"^(\./+)+", b"", path)
            name = next((m for m in MEMBERS if path == m.encode() or path.endswith(b"/" + m.encode())), None)
            content = bytearray()
            while name and (rc := lib.archive_read_data_block(archive, ctypes.byref(block), ctypes.byref(size), ctypes.byref(offset))) != 1:
                if rc < -20:
                    raise Refused("data")
                content += bytes(max(0, offset.value - len(content))) + (ctypes.string_at(block, size.value) if size.value else b"")
            if name:  # at the end the offset is the size: bsdtar makes a hole up to it
                content += bytes(max(0, offset.value - len(content)))
                found.append([name, hashlib.sha256(content).hexdigest()])
        return found
    finally:
        lib.archive_read_free(archive)


def peer_safetensors(data):
    import safetensors
    tensors = safetensors.deserialize(data)
    return sorted([name, t["dtype"], list(t["shape"]), hashlib.sha256(bytes(t["data"])).hexdigest()] for name, t in tensors)


def same_sorted(ours, theirs):
    return sorted(ours) == sorted(theirs)


def peer_sentencepiece(data, kept=[]):
    if not kept:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        f = descriptor_pb2.FileDescriptorProto(name="m.proto", syntax="proto2")
        kind = descriptor_pb2.FieldDescriptorProto
        piece = f.message_type.add(name="Piece")
        for number, name, of in ((1, "piece", kind.TYPE_BYTES), (2, "score", kind.TYPE_FLOAT), (3, "type", kind.TYPE_INT32)):
            piece.field.add(name=name, number=number, type=of, label=kind.LABEL_OPTIONAL)
        model = f.message_type.add(name="Model")
        model.field.add(name="pieces", number=1, type=kind.TYPE_MESSAGE, type_name="Piece", label=kind.LABEL_REPEATED)
        pool = descriptor_pool.DescriptorPool()
        pool.Add(f)
        descriptor = pool.FindMessageTypeByName("Model")
        make = getattr(message_factory, "GetMessageClass", None)
        kept.append(make(descriptor) if make else message_factory.MessageFactory(pool).GetPrototype(descriptor))
    m = kept[0]()
    m.ParseFromString(data)
    return [[p.piece.hex(), p.score, p.type if p.HasField("type") else 1] for p in m.pieces]


def same_pieces(ours, theirs):
    return len(ours) == len(theirs) and all(a[0] == b[0] and float(a[1]) == float("%.9g" % b[1]) and a[2] == b[2]
                                            for a, b in zip(ours, theirs))


def sgm_to_xml(data):
    text = data.decode("utf-8").replace("&", "&amp;")

    def tag(match):
        name, rest = match.group(1).lower(), match.group(2)
        return "<" + name + re.sub(r'=\s*([^\s">]+)', r'="\1"', rest) + ">"

    return "<root>" + re.sub(r"<(/?[A-Za-z]+)([^>]*)>", tag, text) + "</root>"


def peer_sgm(data):
    segments, inside = [], [None]

    def start(name, attributes):
        if name == "seg" and attributes:
            inside[0] = []

    def end(name):
        if name == "seg" and inside[0] is not None:
            # we join the lines of a segment without a blank; runs of blanks become one
            segments.append(re.sub(r"[ \t\r\v\f]+", " ", "".join(inside[0]).replace("\n", "")).strip(" "))
            inside[0] = None

    def text(t):
        if inside[0] is not None:
            inside[0].append(t)

    parser = xml.parsers.expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.Parse(sgm_to_xml(data), True)
    return segments


# ---- mutants ----

BYTES = b"\0\xff\x7f\x80\n\r \t\"\\/.,:;#<>&[]{}=-+019eE\xc2\xe2\xf4"


def mutate_bytes(dice, seeds):
    data = bytearray(dice.choice(seeds))
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3, 5))):
        at = dice.randrange(len(data) + 1)
        way = dice.randrange(7)
        if way == 0 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif way == 1 and at < len(data):
            data[at] = dice.choice(BYTES)
        elif way == 2:
            del data[at:at + dice.randrange(1, 9)]
        elif way == 3:
            data[at:at] = bytes([dice.choice(BYTES)])
        elif way == 4:
            data[at:at] = data[at:at + dice.randrange(1, 33)]
        elif way == 5:
            other = dice.choice(seeds)
            begin = dice.randrange(len(other) + 1)
            data[at:at + 4] = other[begin:begin + dice.randrange(1, 17)]
        elif dice.randrange(4) == 0:
            del data[at:]
    return bytes(data)


def repair_tar(data):
    """The checksums of the headers, as a program writes them that made these bytes."""
    data = bytearray(data)
    for at in range(0, len(data) - 511, 512):
        if data[at + 257:at + 262] == b"ustar":
            data[at + 148:at + 156] = b" " * 8
            data[at + 148:at + 155] = b"%06o\0" % (sum(data[at:at + 512]) & 0o777777)
    return bytes(data)


def mutate_tar(dice, seeds):
    data = mutate_bytes(dice, seeds)
    return repair_tar(data) if dice.randrange(8) else data


def mutate_utf8(dice, seeds):
    pieces = [b"a", b"\xc3\xa4", b"\xe2\x82\xac", b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80",
              b"\xc0\x80", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xef\xbf\xbf", b"\x00", b"\x80", b"\xfe"]
    if dice.randrange(2):
        return mutate_bytes(dice, seeds)
    good = b"".join(dice.choice(pieces[:7]) for _ in range(dice.randrange(40)))
    return good[:dice.randrange(len(good) + 1)] + dice.choice(pieces) + bytes(dice.randrange(256) for _ in range(dice.randrange(5)))


JSON_WORDS = ['{', '}', '[', ']', ',', ':', '"a"', '"b\\n"', '"\\u00e4"', '"\\ud83d\\ude00"', '0', '-0', '1.5e3', '1e400', '123456789012345678901',
              'true', 'false', 'null', ' ', '\n', '01', '1.', '.5', '+1', 'NaN', '"\\x"', "'a'", '\t', '"\t"', '\ufeff']


def mutate_json(dice, seeds):
    if dice.randrange(3):
        return mutate_bytes(dice, seeds)

    def value(depth):
        way = dice.randrange(4 if depth < 4 else 1)
        if way == 0 or depth > 3:
            return dice.choice(JSON_WORDS[6:18])
        if way == 1:
            return "[" + ",".join(value(depth + 1) for _ in range(dice.randrange(4))) + "]"
        return "{" + ",".join(dice.choice(('"a"', '"b"', '"\\u0041"')) + ":" + value(depth + 1) for _ in range(dice.randrange(4))) + "}"

    text = value(0)
    for _ in range(dice.randrange(3)):
        at = dice.randrange(len(text) + 1)
        text = text[:at] + dice.choice(JSON_WORDS) + text[at + dice.randrange(2):]
    return text.encode("utf-8")


def mutate_sgm(dice, _):
    words = ["Haus", "the", "&amp;", "&#228;", "&", "\u00e4\u00f6", "\u65e5\u672c", "1.5", "'", '"', "a=b", "]]", "\u00a0", "&lt;seg&gt;"]
    out = ["<refset setid=x srclang=any>\n" if dice.randrange(2) else '<srcset setid="x" srclang="any">\n', '<doc docid="d">\n']
    for number in range(dice.randrange(5)):
        seg, attribute = dice.choice(("seg", "SEG", "Seg")), dice.choice(('id="%d"', "id=%d", 'id="%d" x="y"')) % number
        text = "".join(dice.choice(words) + dice.choice((" ", " ", "  ", "\t", "\n", "\n ", "")) for _ in range(dice.randrange(1, 8)))
        fault = dice.randrange(40)
        out.append(dice.choice(("", "  ", "<p>\n")) if fault else "<hl>\n")
        paragraph = out[-1].startswith("<p>"), out[-1].startswith("<hl>")
        out.append(f"<{seg} {attribute}>{text}" + ("" if fault == 1 else f"</{seg}>") + "\n")
        out.append("</p>\n" if paragraph[0] else "</hl>\n" if paragraph[1] else "")
    return "".join([*out, "</doc>\n", "</refset>\n" if "ref" in out[0] else "</srcset>\n"]).encode("utf-8")


# ---- the table ----

def files_of(target, pattern="", cut=None):
    folder = os.path.join(SOURCE, "tests", "fuzz", "corpus", target)
    found = [open(os.path.join(folder, f), "rb").read() for f in sorted(os.listdir(folder)) if re.search(pattern, f)]
    return [cut(data) if cut else data for data in found]


READERS = {
    # name: (valid files, mutate, peer, compare)
    "json": (lambda: files_of("json") + files_of("receipt") + files_of("serve"), mutate_json, peer_json, same_json),
    "utf8": (lambda: files_of("lines"), mutate_utf8, peer_utf8, lambda a, b: a == b),
    "tar": (lambda: files_of("archive", r"^(gnu|long|pax|sparse).*tar$|tgz$"), mutate_tar, peer_tar, lambda a, b: a == b),
    "safetensors": (lambda: files_of("safetensors"), mutate_bytes, peer_safetensors, same_sorted),
    "sentencepiece": (lambda: files_of("sp", cut=lambda d: d[2 + d[0] + 256 * d[1]:]), mutate_bytes, peer_sentencepiece, same_pieces),
    "sgm": (lambda: [b""], mutate_sgm, peer_sgm, lambda a, b: a == b),
}
# name: [(function of (data, ours, theirs), why it is no finding)...]; theirs is None if the peer refuses
EXPLAINED = {
    "json": [(lambda data, ours, theirs: same_json(ours, as_utf8(theirs)),
              "our texts are UTF-8 without NUL: \\u0000 and half a surrogate pair become U+FFFD, which Python keeps")],
    "sgm": [(lambda data, ours, theirs: theirs is None and "<seg" in "".join(ours).lower(),
             "a segment without </seg> ends at the next </seg>, as with Moses: the set has too few segments, which prep refuses")],
}


def as_utf8(x):
    if isinstance(x, str):
        return re.sub("[\0\ud800-\udfff]", "\ufffd", x)
    if isinstance(x, dict):
        return {k: as_utf8(v) for k, v in x.items()}
    return [as_utf8(v) for v in x] if isinstance(x, list) else x


def explained(name, data, ours, theirs):
    return any(is_so(data, ours, theirs) for is_so, _ in EXPLAINED.get(name, ()))


def compare(name, n, seed):
    make_seeds, mutate, peer, same = READERS[name]
    seeds, dice = make_seeds(), random.Random(f"{name}-{seed}")
    ours_of = Ours(name, MEMBERS if name == "tar" else [])
    counts = dict.fromkeys(("same", "both refuse", "stricter", "explained", "LOOSER", "OTHER"), 0)
    for number in range(n):
        data = mutate(dice, seeds)
        ours = theirs = None
        try:
            ours = ours_of.read(data)
        except Refused as e:
            why_ours = e
        try:
            theirs, is_refused = peer(data), False
        except ImportError as e:
            print(f"skipped  {name}: the peer is not installed: {e}")
            return 0
        except Exception as e:
            is_refused, why = True, e
        if ours is None and "why_ours" in locals():
            result = "both refuse" if is_refused else "stricter"
            del why_ours
        elif not is_refused and same(ours, theirs):
            result = "same"
        elif explained(name, data, ours, None if is_refused else theirs):
            result = "explained"
        else:
            result = "LOOSER" if is_refused else "OTHER"
        counts[result] += 1
        if result in ("LOOSER", "OTHER") and counts[result] <= 5:
            print(f"{result:8s} {name} {number}: {data[:300]!r}\n\tours   {str(ours)[:300]}\n\ttheirs {str(why if is_refused else theirs)[:300]}")
    bad = counts["LOOSER"] + counts["OTHER"]
    print(f"{'FAILED' if bad else 'ok':8s} {name}: {n} mutants, seed {seed}: " + ", ".join(f"{v} {k}" for k, v in counts.items()), flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=10000)
    parser.add_argument("-s", type=int, default=random.randrange(1 << 31))
    parser.add_argument("readers", nargs="*", default=list(READERS))
    asked = parser.parse_args()
    sys.setrecursionlimit(10000)
    sys.stdout.reconfigure(errors="backslashreplace")
    bad = [compare(name, asked.n, asked.s) for name in asked.readers or READERS]
    sys.exit(1 if any(bad) else 0)


main()
