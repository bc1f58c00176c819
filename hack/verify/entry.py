"""One line of an audit chain by itself: internal/audit/doc.go, "The format"."""
import hashlib, json, re

MAX_ENTRY, MAX_LINE = 60 << 10, 64 << 10
SEAL = re.compile(rb',"record_hash":"(.{64})"\}\n\Z', re.S)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.A)

# RFC 8785: an entry must be what canonical would write.

def number(text):
    """What RFC 8785 writes for the double nearest to a number."""
    f = float(text)
    if abs(f) == float("inf") or f != f:
        raise ValueError("no double")
    if f == 0:
        return "0"
    digits, _, exp = repr(abs(f)).partition("e")
    whole, _, frac = digits.partition(".")
    frac = "" if frac == "0" else frac
    point = len(whole) + int(exp or 0)
    all_digits = (whole + frac).lstrip("0")
    point -= len(whole + frac) - len(all_digits)
    all_digits, n = all_digits.rstrip("0"), len(all_digits.rstrip("0"))
    if n <= point <= 21:
        text = all_digits + "0" * (point - n)
    elif 0 < point <= 21:
        text = all_digits[:point] + "." + all_digits[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + all_digits
    else:
        text = all_digits[0] + ("." + all_digits[1:] if n > 1 else "") + "e%+d" % (point - 1)
    return ("-" if f < 0 else "") + text

class Number(str):
    """A number as it stands."""

def canonical(v):
    if isinstance(v, Number):
        return number(v)
    if isinstance(v, list):
        return "[" + ",".join(map(canonical, v)) + "]"
    if isinstance(v, dict):
        names = sorted(v, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + canonical(v[k]) for k in names) + "}"
    return json.dumps(v, ensure_ascii=False)

def unique(pairs):
    d = dict(pairs)
    if len(d) != len(pairs):
        raise ValueError("a member twice")
    return d

def parse(entry):
    v = json.loads(entry.decode(), object_pairs_hook=unique, parse_int=Number, parse_float=Number, parse_constant=Number)
    if not isinstance(v, dict) or not v or canonical(v).encode() != entry:
        raise ValueError("not canonical")
    return v

def is_time(ts):
    if not isinstance(ts, str) or not TIME.fullmatch(ts):
        return False
    y, mo, d, h, mi, s = (int(x) for x in re.findall(r"\d+", ts)[:6])
    leap = y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)
    days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return 1 <= mo <= 12 and 1 <= d <= days[mo - 1] and h < 24 and mi < 60 and s < 60

def check(line):
    """One line by itself: (what is wrong or None, its members, its hash, the hash that it names)."""
    seal = SEAL.search(line)
    if len(line) > MAX_LINE or seal and seal.start() >= MAX_ENTRY:
        return "too_long", None, None, None
    if not seal or seal.start() < 1:
        return "frame", None, None, None
    entry = line[:seal.start()] + b"}"
    digest = hashlib.sha256(b"\0" + entry).hexdigest()
    if digest.encode() != seal[1]:
        return "record_hash", None, digest, seal[1].decode("latin1")
    try:
        m = parse(entry)
    except (ValueError, OverflowError, RecursionError):
        return "canonical", None, digest, None
    text = lambda name: m[name] if isinstance(m.get(name), str) and not isinstance(m[name], Number) else ""
    if "v" not in m:
        return "member", None, digest, None
    if not isinstance(m["v"], Number) or m["v"] != "1":
        return "version", None, digest, None
    if not text("kind") or not text("prev_hash") or not 0 < len(text("seq")) <= 20 or not is_time(text("ts")):
        return "member", None, digest, None
    return None, m, digest, None
