"""The work of `benches/dedup.rs` with other engines: python dedup.py ENGINE exact|fuzzy FILES…

Prints the number of documents that stay. Fuzzy: 128 permutations, 14 bands of 8 rows, 5-word shingles of the lower-cased
text, connected components.

python dedup.py ENGINE recall PAIRS FILES… prints the share of the near-duplicates in PAIRS (JSON Lines of id_a, id_b and
their Jaccard similarity j_word5, 0.8 or more counts) that fuzzy deduplication puts into one cluster. The engine
`curator` is the program that the environment variable CURATOR names.
"""

import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile

engine, method, files = sys.argv[1], sys.argv[2], sys.argv[3:]
pairs = files.pop(0) if method == "recall" else None
BANDS, ROWS, PERMUTATIONS, WORDS = 14, 8, 128, 5
MIN_JACCARD = 0.8


def rows(file):
    with (gzip.open if file.endswith(".gz") else open)(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def documents():
    return (row["text"] for file in files for row in rows(file))


def ids():
    return (row["id"] for file in files for row in rows(file))


def components(n_documents, buckets):
    """The first document of each one's component."""
    parents = list(range(n_documents))

    def root(node):
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    for members in buckets:
        first = root(members[0])
        for member in members[1:]:
            other = root(member)
            if other != first:
                parents[max(first, other)] = min(first, other)
                first = min(first, other)
    return [root(node) for node in range(n_documents)]


def of_signatures(signatures):
    """The clusters of documents that share a band: the first document of each one's."""
    buckets = [{} for _ in range(BANDS)]
    n_documents = 0
    for number, signature in enumerate(signatures):
        n_documents += 1
        if signature is None:
            continue
        for band in range(BANDS):
            key = tuple(signature[band * ROWS : (band + 1) * ROWS])
            buckets[band].setdefault(key, []).append(number)
    return components(n_documents, (members for bucket in buckets for members in bucket.values() if len(members) > 1))


def shingles(text):
    words = text.lower().split()
    return {" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}


def daft_clusters():
    import daft
    from daft import col

    frame = daft.read_json(files).select("text")
    normalized = col("text").normalize(lowercase=True, white_space=True) if hasattr(col("text"), "normalize") else col("text")
    frame = frame.with_column("text", normalized)
    hashes = col("text").minhash(num_hashes=PERMUTATIONS, ngram_size=WORDS, seed=42, hash_function="xxhash")
    return of_signatures(frame.select(hashes.alias("hashes")).to_pydict()["hashes"])


def rensa_clusters():
    import rensa

    def signature(text):
        found = shingles(text)
        if not found:
            return None
        sketch = rensa.RMinHash(num_perm=PERMUTATIONS, seed=42)
        sketch.update(list(found))
        return sketch.digest()

    return of_signatures(signature(text) for text in documents())


def datasketch_clusters():
    import datasketch

    def signature(text):
        found = shingles(text)
        if not found:
            return None
        sketch = datasketch.MinHash(num_perm=PERMUTATIONS, seed=42)
        sketch.update_batch([shingle.encode() for shingle in found])
        return sketch.hashvalues.tolist()

    return of_signatures(signature(text) for text in documents())


def curator_clusters():
    """The drop ledger names the document that stayed for each that did not."""

    def query(text):
        command = [os.environ["CURATOR"], "query", "--quiet", "--output-format", "csv", "-e", text]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        sources = " UNION ALL ".join(f"SELECT id, text FROM '{file}'" for file in files)
        verb = f"DEDUP FUZZY ON text WITH (bands = {BANDS}, rows = {ROWS})"
        query(f"FROM ({sources}) |> {verb} |> INTO '{folder}/out.jsonl' WITH (rejects = '{folder}/rejects')")
        ledger = query(f"FROM '{folder}/rejects/dropped' |> SELECT id, _kept")
    kept = {row["id"]: row["_kept"] for row in csv.DictReader(ledger.splitlines())}
    return [kept.get(document, document) for document in ids()]


CLUSTERS = {
    "curator": curator_clusters,
    "daft": daft_clusters,
    "rensa": rensa_clusters,
    "datasketch": datasketch_clusters,
}

if (engine, method) == ("duckdb", "exact"):
    import duckdb

    names = ", ".join(f"'{file}'" for file in files)
    query = f"SELECT count(*) FROM (SELECT DISTINCT text FROM read_json([{names}], format='newline_delimited'))"
    print(duckdb.sql(query).fetchall()[0][0])
elif (engine, method) == ("polars", "exact"):
    import polars

    frames = [polars.scan_ndjson(file) for file in files]
    print(polars.concat(frames).select("text").unique(subset="text").select(polars.len()).collect(engine="streaming").item())
elif (engine, method) == ("daft", "exact"):
    import daft

    print(daft.read_json(files).select("text").distinct().count_rows())
elif method == "fuzzy" and engine in CLUSTERS:
    print(len(set(CLUSTERS[engine]())))
elif method == "recall" and engine in CLUSTERS:
    cluster = dict(zip(ids(), CLUSTERS[engine]()))
    near = [(pair["id_a"], pair["id_b"]) for pair in rows(pairs) if pair["j_word5"] >= MIN_JACCARD]
    n_found = sum(1 for one, other in near if cluster[one] == cluster[other])
    print(f"{n_found / len(near):.3f} ({n_found} of {len(near)})")
else:
    sys.exit(f"{engine} {method} is not one of the peers")
