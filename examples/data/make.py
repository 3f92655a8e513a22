"""Makes the sample corpus of the README: clean texts from `source/`, then the dirt of a real crawl.

Usage: python3 examples/data/make.py
Needs Python's standard library and the `zstd` command. The same script gives the same documents each time.
"""

import gzip
import json
import pathlib
import random
import subprocess

HERE = pathlib.Path(__file__).parent
RANDOM = random.Random(20240229)

COOKIES = [
    "We use cookies to improve your experience. By continuing to browse this site you agree to our use of cookies.",
    "This website uses cookies. Accept all | Reject all | Manage preferences",
    "We value your privacy. We and our 843 partners store and access information on a device.",
]
FOOTERS = [
    "Share this: Facebook | Twitter | Pinterest | Email",
    "Copyright 2024. All rights reserved. Terms of use | Privacy policy",
    "Subscribe to our newsletter and never miss an update!",
    "Posted in Uncategorized. Leave a comment",
]
MENU = (
    "Home About Contact Blog Shop Cart Checkout Login Register Search FAQ Support Careers Press Sitemap Men Women Kids "
    "Shoes Bags Sale New Brands Gifts Stores Shipping Returns Privacy Terms Cookies Imprint Newsletter Instagram "
    "Facebook Youtube English Deutsch Français Español"
).split()
STUBS = [
    "Page not found.",
    "404 Not Found",
    "Coming soon!",
    "This page has moved. Click here.",
    "You need to log in to see this page.",
    "No results were found for your search.",
    "Thank you for your order. You will receive a confirmation by email.",
    "Please enable cookies and reload the page.",
    "Image gallery (12 pictures)",
    "Read more...",
    "Closed on Mondays.",
    "Sorry, this item is no longer available.",
    "",
    "   \n\n  ",
    "Under construction, please come back later.",
    "Untitled document",
    "Test test 123",
    "See also: part 2",
]
STUFFED = [
    "cheap flights", "best price", "hotel deals", "last minute", "buy online", "car insurance quotes",
    "payday loans", "casino bonus", "free spins", "replica watches", "weight loss pills", "discount code",
    "SEO services", "web hosting", "followers cheap", "download free", "crypto profit", "online degree",
]
SHOUTS = [
    "AMAZING OFFER!!! CLICK HERE NOW AND GET THE BEST OF THE WEB WITH 70% OFF, TODAY ONLY!!!",
    "CONGRATULATIONS! YOU ARE THE VISITOR THAT WE HAVE BEEN WAITING FOR! CLAIM YOUR PRIZE NOW!",
    "WORK FROM HOME AND EARN THE MONEY YOU DESERVE - NO EXPERIENCE NEEDED!",
    "THE TRAVEL DEALS THAT YOU HAVE TO SEE - ORDER NOW - LIMITED STOCK!",
    "LOSE WEIGHT IN TEN DAYS WITH THIS ONE SIMPLE TRICK THAT DOCTORS HATE!",
]
LOREM = (
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore "
    "magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo "
    "consequat. Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur."
)
SCRIPTS = [
    "function track(e){{var i=document.createElement('img');i.src='/p.gif?id={n}&e='+e;document.body.appendChild(i);}}",
    "window.dataLayer=window.dataLayer||[];function gtag(){{dataLayer.push(arguments);}}gtag('config','UA-{n}-1');",
    "if(typeof jQuery==='undefined'){{var s=document.createElement('script');s.src='/js/jquery.min.js?v={n}';}}",
    "$(document).ready(function(){{$('#slider-{n}').carousel({{interval:4000,pause:'hover'}});}});",
]
LINKS = (
    "Welcome to the page that has all of the links you want to have with you when you plan the garden of your "
    "dreams and the house that goes with it"
)
GOODS = (
    "cotton shirt leather boots woollen scarf linen jacket winter gloves summer dress silver necklace canvas trousers"
).split()
NO_SCRIPT = (
    "Javascript is disabled in your browser. You need to enable Javascript to use this application. For the best "
    "experience please update to the latest version of one of the browsers that we support and then reload the page. "
    "If you have already done that and still see this message, contact the support team and have the number of your "
    "order with you, so that we can find out what went wrong."
)


def blocks(name):
    """The `@ header` blocks of a source file, as (header, body)."""
    text = (HERE / "source" / name).read_text(encoding="utf-8")
    for block in ("\n" + text).split("\n@ ")[1:]:
        header, _, body = block.partition("\n")
        yield header, body.strip()


def slug(words):
    return "-".join("".join(c for c in word.lower() if c.isalnum()) for word in words[:5])


def clean_documents():
    for header, body in blocks("pages.txt"):
        kind, address, title = header.split(" ", 2)
        yield {"url": f"https://{address}", "lang": "en", "title": title, "text": body, "meta": {"kind": kind}}
    for work, body in blocks("books.txt"):
        if work == "Jargon File":
            term = body.split(" (", 1)[0]
            address, meta = f"jargon.example.org/{slug(term.split())}", {"kind": "dictionary", "work": work}
        else:
            address = f"books.example.org/{slug(work.split())}/{slug(body.split())}"
            meta = {"kind": "book", "work": work}
        yield {"url": f"https://{address}", "lang": "en", "text": body, "meta": meta}


def foreign_documents():
    """Mostly labelled with their language; some are not, and some wrongly."""
    for n, (header, body) in enumerate(blocks("other_languages.txt")):
        language, address, title = header.split(" ", 2)
        labels = {0: {"lang": "en"}, 2: {}}.get(n % 4, {"lang": language})
        yield {"url": f"https://{address}", **labels, "title": title, "text": body, "meta": {"kind": "web"}}


def junk(kind, n, text, **fields):
    return {"url": f"http://{kind}.example/{n}", "lang": "en", "text": text, "meta": {"kind": kind}, **fields}


def junk_documents():
    """Each kind breaks one rule of the quickstart and keeps the others."""
    pick, sample, number = RANDOM.choice, RANDOM.sample, RANDOM.randrange
    for n in range(12):
        banner = [COOKIES[n % 3], "Strictly necessary", "Functional", "Analytics", "Advertising"]
        yield junk("cookies", n, "\n".join(banner + ["Accept all", "Save my choices"] * (1 + n % 2)))
    for n in range(22):
        yield junk("stub", n, STUBS[n % len(STUBS)])
    for n in range(16):
        items = sample(MENU, len(MENU))
        rest = ["About us", "My account", f"Page {n}", "Top"]
        yield junk("menu", n, "\n".join(items + rest) if n % 2 else " | ".join(items))
    for n in range(14):
        yield junk("stuffing", n, ", ".join(pick(STUFFED) for _ in range(60 + n)) + ".")
    for n in range(12):
        lines = [f"{pick(STUFFED).capitalize()} for you and your family, with the best of the web to have and to hold."]
        lines += [f"Click here to see all of the {pick(STUFFED)} that we have for you."]
        yield junk("repeats", n, "\n".join(lines * (6 + n)))
    for n in range(8):
        yield junk("caps", n, " ".join(sample(SHOUTS, len(SHOUTS))))
    for n in range(8):
        text = ""
        for word in (LINKS.split() * 3)[: 60 + n]:
            text += word + pick([" ", " ", " ... ", " # "])
        yield junk("symbols", n, text.strip())
    for n in range(8):
        intro = f"Welcome to the home of company {n}, to be replaced with the text that the client has to send to us."
        yield junk("lorem", n, intro + "\n\n" + " ".join([LOREM] * (1 + n % 2)))
    for n in range(7):
        script = pick(SCRIPTS).format(n=number(10_000, 99_999))
        yield junk("script", n, f"{NO_SCRIPT}\n{script}")
    for n in range(5):
        yield junk("noscript", n, NO_SCRIPT + f" Error number {n} in the log of the browser.")
    for n in range(9):
        intro = "The list of the prices that we have to offer with the date of the next delivery to the shop."
        rows = [f"{' '.join(sample(GOODS, 3))} {number(1000, 10_000)} {number(100, 1000)} EUR" for _ in range(16)]
        yield junk("pricelist", n, intro + "\n" + "\n".join(rows))
    for n in range(7):
        words = ["".join(sample(MENU, 4)) for _ in range(40)] + "the and to of that have with be".split() * 2
        yield junk("longwords", n, " ".join(sample(words, len(words))))
    for n in range(6):
        text = "".join(word + " " * pick([2, 3]) for word in (LINKS.split() * 4)[: 80 + n])
        yield junk("padding", n, text.strip())
    for n in range(7):
        cells = [f"+{'-' * number(8, 14)}+ {pick(GOODS)} |" for _ in range(24)]
        intro = "The table of the goods that we have to sell to you and with what."
        yield junk("asciiart", n, intro + "\n" + "\n".join(cells))


def dirty(documents):
    """Damage a crawl does to good documents: banners around them, CRLF, mojibake, copies and near copies."""
    good = list(documents)
    RANDOM.shuffle(good)
    out = []
    for n, document in enumerate(good):
        document = dict(document)
        if n % 12 == 3:
            document["text"] = RANDOM.choice(COOKIES) + "\n\n" + document["text"]
        if n % 10 == 4:
            document["text"] += "\n\n" + RANDOM.choice(FOOTERS)
        if n % 14 == 5:
            document["text"] = document["text"].replace("\n", "\r\n")
        if n % 29 == 6:
            typographic = document["text"].replace("'", "’").replace("—", "–")
            document["text"] = typographic.encode().decode("cp1252", "replace")
        if n % 9 == 7:
            del document["lang"]
        out.append(document)
    for document in good[:22]:
        out.append({**document, "url": document["url"] + "?utm_source=feed", "copy": True})
    for n, document in enumerate(good[24:38]):
        text = document["text"]
        near = [
            text.replace(" the ", " this ", 1), text + " Updated in May.", "Update: " + text,
            text.replace(",", "", 1), " ".join(text.split(" ")[:-6]) + " ...",
        ][n % 5]
        out.append({**document, "url": document["url"] + "/amp", "text": near, "copy": True})
    return out


def with_fields(n, document):
    """Fields that come and go and change their type, as they do when several crawlers wrote the files."""
    row = {"id": f"doc-{n:04}", **{k: v for k, v in document.items() if k not in ("meta", "copy")}}
    if n % 17 == 0:
        row["id"] = n
    if n % 3 == 0:
        row["date"] = f"2024-{1 + n % 12:02}-{1 + n % 28:02}"
    if n % 5 == 0:
        row["score"] = round(RANDOM.random(), 3) if n % 2 else RANDOM.randrange(5)
    meta = dict(document.get("meta", {}))
    if n % 4 == 0:
        meta["crawl"] = {"status": 200, "bytes": len(document["text"].encode())}
    if n % 7 == 0:
        meta["tags"] = RANDOM.sample(["read", "later", "old", "todo", "verified"], n % 4)
    if n % 11 != 0:
        row["meta"] = meta
    return row


def line(row):
    return json.dumps(row, ensure_ascii=RANDOM.random() < 0.2).encode()


def main():
    documents = dirty(clean_documents()) + list(foreign_documents()) + list(junk_documents())
    originals = [d for d in documents if not d.get("copy")]
    copies = [d for d in documents if d.get("copy")]
    RANDOM.shuffle(originals)
    RANDOM.shuffle(copies)
    rows = [with_fields(n, document) for n, document in enumerate(originals + copies)]
    rows[31]["text"] = 404
    rows[77]["text"] = None
    del rows[140]["text"]
    third = len(rows) // 3
    shards = [[line(row) for row in rows[i * third : (i + 1) * third if i < 2 else None]] for i in range(3)]

    broken = [
        b'{"id": "broken-1", "url": "http://cut.example/1", "text": "The connection was reset while the crawler',
        b'{"id": "broken-2", "url": "http://latin.example/2", "lang": "de", "text": "Gr\xfc\xdfe aus K\xf6ln"}',
        b'["id", "broken-3", "text"]',
        b'"just a string"',
        b'{"id": "broken-5" "url": "http://comma.example/5", "text": "A comma is missing before the address."}',
        b'<html><head><title>502 Bad Gateway</title></head></html>',
        b'{"id": "broken-7", "text": "bad escape \\x41"}',
    ]
    shards[0].insert(40, broken[0])
    shards[0].insert(90, broken[1])
    shards[1].insert(12, broken[2])
    shards[1].insert(70, broken[4])
    shards[1].insert(100, broken[5])
    shards[2].insert(5, broken[3])
    shards[2].insert(60, broken[6])
    for shard, places in zip(shards, [(17, 55), (33,), (0, 80)]):
        for place in places:
            shard.insert(place, b"")
    shards[2].append(b'{"id": "broken-8", "url": "http://cut.example/8", "text": "The last line of a shard that')

    # A BOM in the first shard; Windows line ends and two gzip members in the second; two frames in the third, whose last
    # line is cut.
    (HERE / "web-00.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(shards[0]) + b"\n")
    half = len(shards[1]) // 2
    members = [b"".join(l + b"\r\n" for l in part) for part in (shards[1][:half], shards[1][half:])]
    (HERE / "web-01.jsonl.gz").write_bytes(b"".join(gzip.compress(member, 9, mtime=0) for member in members))
    frames = [b"\n".join(shards[2][:half]) + b"\n", b"\n".join(shards[2][half:])]
    compress = ["zstd", "-19", "--no-progress", "-q", "-c"]
    compressed = [subprocess.run(compress, input=frame, stdout=subprocess.PIPE, check=True).stdout for frame in frames]
    (HERE / "web-02.jsonl.zst").write_bytes(b"".join(compressed))
    print(f"{len(rows)} documents in 3 shards, {len(broken) + 1} broken lines")


if __name__ == "__main__":
    main()
