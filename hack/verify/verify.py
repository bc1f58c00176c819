#!/usr/bin/env python3
"""Verifies a HookPolicy audit log: a second reader, independent of the first.

usage: verify.py [--anchor FILE]... DIR | FILE | -

Standard library only. It checks what internal/audit/doc.go and docs/audit.md say:
records, chains, journal, tree, signed checkpoints, anchor files; not closure.
A finding is a line "REASON FILE:LINE record SEQ". Exit status: 0 good, 1 findings.
"""
import base64, hashlib, json, os, re, stat, sys, threading

from entry import MAX_LINE, check
from notes import checkpoint, push, root

ZERO = "0" * 64
findings = []  # (reason, file, line, record)

def find(reason, file, line=0, seq=0):
    findings.append((reason, file, line, seq))

class Chain:
    """The order of records: as a verifier that goes on after a finding."""
    def __init__(self, expect=(), same=None, partial=False):
        self.expect, self.same, self.partial, self.notes = sorted(expect), same or {}, partial, []
        self.next, self.heads, self.ts, self.lost, self.fault, self.fits = 0, set(), "", False, False, 0
        self.tenant, self.log, self.stack, self.records, self.first = "", "", [], 0, True

    def found(self, reason, file, line, seq):
        self.fault = True
        find(reason, file, line, seq)

    def line(self, file, n, line):
        bad, m, digest, stored = check(line)
        if bad:
            self.found(bad, file, n, self.next)
            self.next, self.lost = self.next + 1, stored is None
            self.heads = {digest, stored} if stored else set()
            self.first = self.first and stored is None
            return
        if self.first:
            self.first, self.tenant = False, m.get("tenant", "")
            self.log = m.get("log", "") if m["kind"] == "genesis" else ""
            if self.partial:
                self.next, self.heads = int(m["seq"]), {m["prev_hash"]}
            elif m["seq"] == "0":
                self.heads = {ZERO}
        want = str(self.next)
        if self.lost and m["seq"] != want:
            want = str(self.next - 1)
        bad = ("seq" if m["seq"] != want else
               "prev_hash" if self.heads and m["prev_hash"] not in self.heads else
               "genesis" if (m["kind"] == "genesis") != (m["seq"] == "0") else
               "ts" if m["ts"] < self.ts else
               "tenant" if m.get("tenant", self.tenant) != self.tenant and self.tenant else None)
        if bad:
            self.found(bad, file, n, self.next)
        if (m["seq"] != want or self.lost) and m["seq"].isdecimal():
            self.next = int(m["seq"])
        self.records += 1
        self.heads, self.lost, self.ts = {digest}, False, max(self.ts, m["ts"])
        if sum(size for size, _ in self.stack) == self.next:
            push(self.stack, bytes.fromhex(digest))
        self.next += 1
        if not bad:
            self.compare(file, n, m, digest)

    def compare(self, file, n, m, digest):
        if self.same.get(self.next - 1, digest) != digest:
            self.same = {}
            return self.found("journal", file, n, self.next - 1)
        if m["kind"] == "checkpoint":
            self.notes.append((file, n, self.next - 1, m.get("detail", {}).get("note", "")))
        while self.expect and self.expect[0][0] <= self.next:
            size, want = self.expect.pop(0)[:2]
            if size == self.next and not self.fault and sum(s for s, _ in self.stack) == size:
                if root(self.stack) != want:
                    return self.found("root", file, n, self.fits)
                self.fits = size

def regular(path):
    return stat.S_ISREG(os.lstat(path).st_mode) if os.path.lexists(path) else False

def lines_of(data):
    return [l for l in re.split(rb"(?<=\n)", data) if l]

def segments(directory):
    """[(first number, path)] and everything else in a directory."""
    names = sorted(os.listdir(directory))
    is_segment = lambda n: re.fullmatch(r"\d{20}\.jsonl", n, re.A) and regular(os.path.join(directory, n))
    return ([(int(n[:20]), os.path.join(directory, n)) for n in names if is_segment(n)], [n for n in names if not is_segment(n)])

def read_file(chain, path, data, tail=None):
    for n, line in enumerate(lines_of(data), 1):
        if not line.endswith(b"\n") and len(line) <= MAX_LINE:
            if not (tail and chain.next in tail and tail[chain.next][3].startswith(line)):
                chain.found("torn", path, n, chain.next)
                chain.next, chain.lost, chain.heads = chain.next + 1, True, set()
        else:
            chain.line(path, n, line)

class Log:
    """A directory: what is oldest is read first, so that a log in use verifies too."""
    def __init__(self, directory, anchors):
        self.dir, self.vkeys, self.log, self.signed, self.journal = directory, None, None, {}, {}
        at = lambda *names: os.path.join(directory, *names)
        tenants, anchor_id = at("t"), tenant_id("_anchor")
        for name in ("t", "journal", "anchor", "quarantine"):
            if os.path.lexists(at(name)) and not is_dir(at(name)):
                find("file", at(name))
        if os.path.lexists(at("FORMAT")) and (not regular(at("FORMAT")) or open(at("FORMAT")).read() not in ("hookpolicy audit v1\n", "hookpolicy audit v2\n")):
            find("file", at("FORMAT"))
        self.trust(at, anchors)
        self.read_journal(at("journal"))
        if is_dir(os.path.join(tenants, anchor_id)):
            covered = max((e[0] for e in self.signed.get(anchor_id, ("", []))[1]), default=0)
            for file, n, seq, note in self.chain(os.path.join(tenants, anchor_id)).notes:
                if self.vkeys:
                    self.state(note, file, n, seq >= covered)
        there = set(os.listdir(tenants)) if is_dir(tenants) else set()
        for name in sorted(there | set(self.journal)):
            if name in there and not is_dir(os.path.join(tenants, name)):
                find("file", os.path.join(tenants, name))
                there.discard(name)
            elif name != anchor_id:
                self.chain(os.path.join(tenants, name))
        for name, (_, expect) in self.signed.items():
            if name not in there | set(self.journal) and any(e[0] for e in expect):
                find("truncated", os.path.join(tenants, name))

    def trust(self, at, anchors):
        if regular(at("log.json")):
            try:
                info = json.load(open(at("log.json")))
                self.log, self.vkeys = info["log"], info["vkeys"]
            except (ValueError, KeyError):
                find("file", at("log.json"))
        elif os.path.lexists(at("log.json")) or is_dir(at("anchor")) or is_dir(at("t", tenant_id("_anchor"))):
            find("file", at("log.json"))
        pinned = False
        for path in anchors:
            for n, line in enumerate(lines_of(open(path, "rb").read()), 1):
                if not line.endswith(b"}\n"):
                    continue
                a = json.loads(line)
                if not pinned and self.vkeys and (a["log"], a["vkeys"]) != (self.log, self.vkeys):
                    find("replaced", at("log.json"))
                if not pinned:
                    pinned, self.log, self.vkeys = True, a["log"], a["vkeys"]
                if a["log"] != self.log:
                    find("replaced", path, n)
                    continue
                for note in [a["checkpoint"]] + a["tenants"]:
                    self.state(note, path, n, True)
        if not self.vkeys:
            return
        heads = {}
        if not regular(at("anchor", "heads.jsonl")):
            find("file", at("anchor", "heads.jsonl"))
        else:
            for n, line in enumerate(lines_of(open(at("anchor", "heads.jsonl"), "rb").read()), 1):
                if line.endswith(b"\n"):
                    h = json.loads(line)
                    heads[h["id"]] = (h["note"], n)
        for note, n in heads.values():
            self.state(note, at("anchor", "heads.jsonl"), n, True)
        if regular(at("anchor", "checkpoint")):
            self.state(open(at("anchor", "checkpoint")).read(), at("anchor", "checkpoint"), 0, True)

    def state(self, note, file, n, verify):
        c = checkpoint(note, self.vkeys if verify else None)
        parts = c[0].split("/") if c else []
        if len(parts) != 3:
            return find("signature", file, n)
        origin, expect = self.signed.setdefault(parts[1], (c[0], []))
        if origin != c[0]:
            return find("replaced", file, n)
        expect.append((c[1], c[2]))

    def read_journal(self, directory):
        if not is_dir(directory):
            return
        found, others = segments(directory)
        for name in others:
            if name != "next" or not regular(os.path.join(directory, name)):
                find("file", os.path.join(directory, name))
        for i, (first, path) in enumerate(found):
            count = found[i + 1][0] - first if i + 1 < len(found) else None
            lines = lines_of(open(path, "rb").read())
            for n, line in enumerate(lines[:count], 1):
                bad, m, digest, _ = check(line)
                if bad:
                    rest = any(not check(l)[0] for l in lines[n - 1:])
                    find(bad if rest else "torn", path, n)
                    break
                of = self.journal.setdefault(tenant_id(m.get("tenant", "")), {})
                if of and (last := list(of.values())[-1])[:2] != (int(m["seq"]) - 1, m["prev_hash"]):
                    find("journal", path, n)
                of[int(m["seq"])] = (int(m["seq"]), digest, path, line, n)
            else:
                if count and len(lines) < count:
                    find("segment", path, len(lines))

    def chain(self, directory):
        name, log = os.path.basename(directory), os.path.join(directory, "log")
        origin, expect = self.signed.get(name, (None, []))
        tail = self.journal.get(name, {})
        chain, before = Chain(expect, {s: r[1] for s, r in tail.items()}), len(findings)
        if os.path.lexists(log) and not is_dir(log):
            find("file", log)
        elif os.path.lexists(log):
            read_segments(chain, log, tail)
        for seq in sorted(tail):
            if seq >= chain.next:
                chain.line(tail[seq][2], tail[seq][4], tail[seq][3])
        if origin and chain.next and chain.log and chain.log != origin:
            find("replaced", log, 0, chain.next)
        elif max((e[0] for e in expect), default=0) > chain.next:
            find("truncated", log, 0, chain.next)
        elif not chain.records and not self.vkeys and len(findings) == before:
            find("empty", log, 0, 0)
        if chain.tenant and tenant_id(chain.tenant) != name:
            find("tenant", log, 0, chain.next)
        return chain

def read_segments(chain, directory, tail=None):
    found, others = segments(directory)
    for other in others:
        find("file", os.path.join(directory, other))
    for first, path in found:
        if first != chain.next:
            chain.found("segment", path, 1, chain.next)
            chain.next, chain.heads, chain.lost = first, set(), False
        read_file(chain, path, open(path, "rb").read(), tail)

def tenant_id(tenant):
    return base64.b32encode(hashlib.sha256(tenant.encode()).digest()[:10]).decode().lower()

def is_dir(path):
    return os.path.isdir(path) and not os.path.islink(path)

def main(args):
    anchors = [args[i + 1] for i, a in enumerate(args[:-1]) if a == "--anchor"]
    path = args[-1]
    if path == "-" or not os.path.isdir(path):
        name = re.fullmatch(r"(\d{20})\.jsonl", os.path.basename(path), re.A)
        chain = Chain(partial=bool(name) and int(name[1]) > 0)
        read_file(chain, path, sys.stdin.buffer.read() if path == "-" else open(path, "rb").read())
        if not chain.records and not findings:
            find("empty", path)
    elif os.path.lexists(os.path.join(path, "t")) or os.path.lexists(os.path.join(path, "FORMAT")):
        Log(path, anchors)
    else:
        read_segments(Chain(), os.path.join(path, "log") if is_dir(os.path.join(path, "log")) else path)
    for reason, file, line, seq in findings:
        print("%s %s:%d record %d" % (reason, file, line, seq))
    print("good" if not findings else "BAD", file=sys.stderr)
    return 1 if findings else 0

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.setrecursionlimit(1 << 20)
    threading.stack_size(1 << 29)  # for arguments that are nested as deep as an entry is long
    status = []
    thread = threading.Thread(target=lambda: status.append(main(sys.argv[1:])))
    thread.start()
    thread.join()
    sys.exit(status[0] if status else 2)
