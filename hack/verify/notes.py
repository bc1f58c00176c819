"""The tree of RFC 6962, and checkpoints: signed notes (c2sp.org/signed-note)."""
import base64, hashlib, re

def root(stack):
    if not stack:
        return hashlib.sha256(b"").digest()
    r = stack[-1][1]
    for _, h in reversed(stack[:-1]):
        r = hashlib.sha256(b"\1" + h + r).digest()
    return r

def push(stack, leaf):
    """stack holds the perfect subtrees, the largest first, as (size, root)."""
    size = 1
    while stack and stack[-1][0] == size:
        leaf, size = hashlib.sha256(b"\1" + stack.pop()[1] + leaf).digest(), 2 * size
    stack.append((size, leaf))

P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P

def recover(y, sign):
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - x2) % P or x == 0 and sign:
        raise ValueError("no point")
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P

def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P

def times(n, p):
    q = (0, 1, 1, 0)
    while n:
        q, p, n = add(q, p) if n & 1 else q, add(p, p), n >> 1
    return q

def point(b):
    y = int.from_bytes(b, "little")
    return recover(y & (2**255 - 1), y >> 255)

B = recover(4 * pow(5, P - 2, P) % P, 0)
checked = {}  # notes stand in several places

def ed25519(key, message, sig):
    """RFC 8032, 5.1.7, in plain arithmetic: slow, and on public data only."""
    order = 2**252 + 27742317777372353535851937790883648493
    s = int.from_bytes(sig[32:], "little")
    try:
        a, r = point(key), point(sig[:32])
    except ValueError:
        return False
    h = int.from_bytes(hashlib.sha512(sig[:32] + key + message).digest(), "little") % order
    p, q = times(s, B), add(r, times(h, a))
    return s < order and (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0

def checkpoint(note, vkeys):
    """What a signed note says: (origin, size, root), None if no key of vkeys signed it."""
    text, sep, sigs = note.rpartition("\n\n")
    lines = text.split("\n")
    if not sep or len(lines) != 3 or not sigs.endswith("\n") or not re.fullmatch(r"0|[1-9]\d*", lines[1], re.A):
        return None
    good = vkeys is None
    for line in sigs.split("\n")[:-1]:
        m = re.fullmatch("\u2014 ([^ +]+) ([A-Za-z0-9+/=]+)", line)
        if not m:
            return None
        sig = base64.b64decode(m[2])
        for vkey in vkeys or []:
            name, key_id, key = vkey.split("+", 2)
            if name == m[1] and bytes.fromhex(key_id) == sig[:4]:
                args = base64.b64decode(key)[1:], (text + "\n").encode(), sig[4:]
                if args not in checked:
                    checked[args] = ed25519(*args)
                if not checked[args]:
                    return None
                good = True
    return (lines[0], int(lines[1]), base64.b64decode(lines[2])) if good else None
