"""terminal_picture.py - runs a program on a pseudo-terminal and draws its screen as a picture, for screen_pictures.py.

	session = Session(["htop"], environment, 120, 40, "101216", folder)
	session.follow(longest=5, quiet=1)
	draw_screen(session.screen, "101216", "htop.png")
	session.close()

pyte keeps the screen. Lines, blocks and braille are drawn as shapes, so that no font decides about them. The letters are
those of DejaVu Sans Mono, from the folder that the variable FONTS names, or that of Debian.
"""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unicodedata

try:
    import pyte
    import pyte.graphics
    from PIL import Image, ImageDraw, ImageFont
except ImportError as failure:
    sys.exit(f"The pictures need the Python modules pyte and Pillow: {failure}.")

# ---- the terminal ----
class Terminal(pyte.Screen):
    """pyte's screen, and what it lacks: dim text (kept as strikethrough, which no program here uses), repeated characters,
    scrolling, and answers to questions about the background."""

    def __init__(self, cols, rows):
        super().__init__(cols, rows)
        self.answers, self.last = b"", " "

    def write_process_input(self, data):
        self.answers += data.encode()

    def draw(self, data):
        super().draw(data)
        self.last = data[-1]

    def repeat(self, count=1):
        super().draw(self.last * (count or 1))

    def scroll_up(self, count=1):
        self._scroll(count, self.margins.bottom if self.margins else self.lines - 1, self.index)

    def scroll_down(self, count=1):
        self._scroll(count, self.margins.top if self.margins else 0, self.reverse_index)

    def _scroll(self, count, row, move):
        saved, self.cursor.y = self.cursor.y, row
        for _ in range(count or 1):
            move()
        self.cursor.y = saved

    def select_graphic_rendition(self, *attributes, private=False):
        left, out = list(attributes), []
        while left and not private:
            n = left.pop(0)
            colour = {5: 2, 2: 4}.get(left[0], 0) if n in (38, 48) and left else 0
            out += [n] + left[:colour] + ([29] if n == 22 else [])
            del left[:colour]
        if not private:
            super().select_graphic_rendition(*out)


pyte.graphics.TEXT[2] = "+strikethrough"
pyte.Stream.csi = dict(pyte.Stream.csi, b="repeat", S="scroll_up", T="scroll_down")
pyte.Stream.events = pyte.Stream.events | {"repeat", "scroll_up", "scroll_down"}
# sequences that pyte takes for others: keyboard and key modes, requests with "=", ">" or "<", strings (DCS, APC)
UNKNOWN = re.compile(rb"\033\[[=><][0-9;:]*[ -/]*[@-~]|\033\[\?[0-9;]*\$p|\033[P_^X][^\033]*\033\\|\033\[[0-9;]*[ !\"'][a-zA-Z]")
COLON = re.compile(rb"[345]8:[0-9:]+")  # colours as 38:2::RED:GREEN:BLUE


class Session:
    """A program on a pseudo-terminal."""

    def __init__(self, command, environment, cols, rows, ground, folder):
        self.screen, self.ground = Terminal(cols, rows), ground
        self.stream, self.rest = pyte.Stream(self.screen), b""
        self.stream.use_utf8 = False  # line drawing of the alternate character set works in UTF-8 too
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            os.chdir(folder)
            os.execvpe(command[0], command, environment)

    def feed(self, data):
        data = self.rest + data
        cut = data.rfind(b"\033") if b"\033" in data[-64:] else len(data)
        data, self.rest = data[:cut] if cut else data, data[cut:] if cut else b""
        if b"\033]11;?" in data:
            self.screen.answers += b"\033]11;rgb:%b/%b/%b\033\\" % tuple(2 * self.ground[i : i + 2].encode() for i in (0, 2, 4))
        self.show(data)
        if self.screen.answers:
            os.write(self.fd, self.screen.answers)
            self.screen.answers = b""

    def show(self, data):
        data = COLON.sub(lambda m: m[0].replace(b"::", b";").replace(b":", b";"), UNKNOWN.sub(b"", data))
        self.stream.feed(self.decoder.decode(data))

    def follow(self, longest, quiet, first=False):
        """Draw until the program was quiet for that many seconds, at most for the longest time; first: until it writes.
        False: it has ended."""
        end = time.monotonic() + longest
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], min(quiet, left))[0]:
                break
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            if not data:
                return False
            self.feed(data)
            if first:
                break
        if self.rest:
            rest, self.rest = self.rest, b""
            self.show(rest)
        return True

    def close(self):
        for fatal in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(self.pid, fatal)
                self.follow(1, 1)
            except OSError:
                pass
        os.waitpid(self.pid, 0)
        os.close(self.fd)


# ---- the picture ----
CELL_W, CELL_H, FONT_SIZE = 9, 18, 15
BASE16 = "000000 cd3131 0dbc79 c5a332 3b78d8 bc3fbc 11a8cd cccccc 767676 f14c4c 23d18b f5f543 6ca8ff d670d6 29b8db ffffff".split()
NAMES = "black red green brown blue magenta cyan white".split()
COLOURS = dict(zip(NAMES + ["bright" + n for n in NAMES], BASE16), bfightmagenta="d670d6")  # so spelled in pyte
# pyte gives the first 16 of 256 colours as these values
FIRST_16 = dict(zip(pyte.graphics.FG_BG_256[:16], BASE16))


def load_fonts():
    folder = os.environ.get("FONTS", "/usr/share/fonts/truetype/dejavu")
    try:
        return [ImageFont.truetype(f"{folder}/DejaVuSansMono{s}.ttf", FONT_SIZE) for s in ("", "-Bold")]
    except OSError:
        sys.exit(f"The pictures need DejaVuSansMono.ttf and DejaVuSansMono-Bold.ttf in {folder}. FONTS=FOLDER names another folder.")


def rgb(text):
    return tuple(int(text[i : i + 2], 16) for i in (0, 2, 4))


def mix(a, b, share):
    return tuple(round(x + (y - x) * share) for x, y in zip(a, b))


def cell_colours(cell, ground):
    """Foreground and background of a cell, after reverse and dim."""
    plain = {"fg": rgb("d4d4d4" if sum(rgb(ground)) < 384 else "202020"), "bg": rgb(ground)}
    fg, bg = (plain[side] if name == "default" else rgb(COLOURS.get(name) or FIRST_16.get(name, name))
              for side, name in (("fg", cell.fg), ("bg", cell.bg)))
    if cell.strikethrough:
        fg = mix(fg, bg, 0.4)
    return (bg, fg) if cell.reverse else (fg, bg)


def draw_box(draw, name, x, y, colour):
    """A character of U+2500 to U+257F, by the words of its Unicode name: which arms it has and how heavy they are."""
    cx, cy, arms = x + CELL_W // 2, y + CELL_H // 2, {}
    weights = [w for w in ("LIGHT", "HEAVY", "DOUBLE", "SINGLE") if w in name]
    for part in name.split(" AND "):
        weight = next((w for w in weights if w in part), weights[0] if weights else "LIGHT")
        for side, of in (("UP", "UP VERTICAL"), ("DOWN", "DOWN VERTICAL"), ("LEFT", "LEFT HORIZONTAL"), ("RIGHT", "RIGHT HORIZONTAL")):
            if any(re.search(rf"\b{word}\b", part) for word in of.split()):
                arms[side] = weight
    bend = 3 if "ARC" in name else 0
    ends = {"UP": (cx, y), "DOWN": (cx, y + CELL_H - 1), "LEFT": (x, cy), "RIGHT": (x + CELL_W - 1, cy)}
    inner = {"UP": (cx, cy - bend), "DOWN": (cx, cy + bend), "LEFT": (cx - bend, cy), "RIGHT": (cx + bend, cy)}
    for side, weight in arms.items():
        for offset in (-1, 1) if weight == "DOUBLE" else (0,):
            dx, dy = (offset, 0) if side in ("UP", "DOWN") else (0, offset)
            (ax, ay), (bx, by) = inner[side], ends[side]
            if "DASH" in name:
                bx, by = (ax + bx) // 2, (ay + by) // 2
            draw.line((ax + dx, ay + dy, bx + dx, by + dy), colour, 3 if weight == "HEAVY" else 1)
    if bend and len(arms) == 2:
        draw.line([inner[s] for s in arms], colour, 1)


def draw_block(draw, code, x, y, fg, bg):
    """A character of U+2580 to U+259F."""
    def fill(left, top, right, bottom, colour=fg):  # in eighths of the cell
        a, b = x + round(left * CELL_W / 8), y + round(top * CELL_H / 8)
        c, d = x + round(right * CELL_W / 8) - 1, y + round(bottom * CELL_H / 8) - 1
        draw.rectangle((a, b, max(a, c), max(b, d)), colour)

    if code <= 0x2588:
        fill(0, *((0, 8, 4) if code == 0x2580 else (8 - (code - 0x2580), 8, 8)))
    elif code <= 0x258F:
        fill(0, 0, 0x2590 - code, 8)
    elif 0x2591 <= code <= 0x2593:
        fill(0, 0, 8, 8, mix(bg, fg, (code - 0x2590) / 4))
    elif code in (0x2590, 0x2594, 0x2595):
        fill(*{0x2590: (4, 0, 8, 8), 0x2594: (0, 0, 8, 1), 0x2595: (7, 0, 8, 8)}[code])
    else:
        quarters = {0x2596: "c", 0x2597: "d", 0x2598: "a", 0x2599: "acd", 0x259A: "ad", 0x259B: "abc", 0x259C: "abd",
                    0x259D: "b", 0x259E: "bc", 0x259F: "bcd"}[code]
        for q in quarters:
            left, top = 4 * ("abcd".index(q) % 2), 4 * ("abcd".index(q) // 2)
            fill(left, top, left + 4, top + 4)


def draw_glyph(draw, cell, x, y, fg, bg, fonts):
    code = ord(cell.data[0])
    if 0x2800 <= code <= 0x28FF:
        for bit, (column, row) in enumerate(((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))):
            if code - 0x2800 >> bit & 1:
                px, py = x + 1 + 4 * column + column, y + 1 + round(row * CELL_H / 4)
                draw.rectangle((px, py, px + 2, py + 2), fg)
    elif 0x2580 <= code <= 0x259F:
        draw_block(draw, code, x, y, fg, bg)
    elif 0x2500 <= code <= 0x257F and "DIAGONAL" not in unicodedata.name(chr(code)):
        draw_box(draw, unicodedata.name(chr(code)), x, y, fg)
    else:
        draw.text((x, y), cell.data, fg, fonts[cell.bold])
    if cell.underscore:
        draw.line((x, y + CELL_H - 2, x + CELL_W - 1, y + CELL_H - 2), fg)


def contrast(a, b):
    """The ratio of WCAG 2: from 1 to 21."""
    def light(c):
        linear = [v / 255 / 12.92 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in c]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05
    return max(light(a), light(b)) / min(light(a), light(b))


def draw_screen(screen, ground, path):
    """The picture, and its figures: the share of cells that are not empty; of letters, the share with poor contrast."""
    fonts, used, letters, poor = load_fonts(), 0, 0, 0
    image = Image.new("RGB", (screen.columns * CELL_W, screen.lines * CELL_H), rgb(ground))
    draw = ImageDraw.Draw(image)
    for row in range(screen.lines):
        for column in range(screen.columns):
            cell = screen.buffer[row][column]
            fg, bg = cell_colours(cell, ground)
            x, y = column * CELL_W, row * CELL_H
            if bg != rgb(ground):
                draw.rectangle((x, y, x + CELL_W - 1, y + CELL_H - 1), bg)
            if cell.data.strip() and cell.data != "\u2800":
                draw_glyph(draw, cell, x, y, fg, bg, fonts)
            used += bg != rgb(ground) or (cell.data.strip(" \u2800") != "")
            if cell.data.isalnum():
                letters, poor = letters + 1, poor + (contrast(fg, bg) < 4.5)
    image.save(path)
    return used / (screen.lines * screen.columns), poor / max(letters, 1)
