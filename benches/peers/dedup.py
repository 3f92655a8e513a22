"""The work of `benches/dedup.rs` with other engines: python dedup.py ENGINE exact|fuzzy FILES…

Prints the number of documents that stay. Fuzzy: 128 permutations, 14 bands of 8 rows, 5-word shingles of the lower-cased
text, connected components.
"""

import gzip
import json
import sys

engine, method, files = sys.argv[1], sys.argv[2], sys.argv[3:]
BANDS, ROWS, PERMUTATIONS, WORDS = 14, 8, 128, 5


def documents():
    for file in files:
        with (gzip.open if file.endswith(".gz") else open)(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)["text"]


def n_components(n_documents, buckets):
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
    return sum(1 for node in range(n_documents) if root(node) == node)


def of_signatures(signatures):
    buckets = [{} for _ in range(BANDS)]
    n_documents = 0
    for number, signature in enumerate(signatures):
        n_documents += 1
        if signature is None:
            continue
        for band in range(BANDS):
            key = tuple(signature[band * ROWS : (band + 1) * ROWS])
            buckets[band].setdefault(key, []).append(number)
    return n_components(n_documents, (rows for bucket in buckets for rows in bucket.values() if len(rows) > 1))


def shingles(text):
    words = text.lower().split()
    return {" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}


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
elif (engine, method) == ("daft", "fuzzy"):
    import daft
    from daft import col

    frame = daft.read_json(files).select("text")
    normalized = col("text").normalize(lowercase=True, white_space=True) if hasattr(col("text"), "normalize") else col("text")
    frame = frame.with_column("text", normalized)
    hashes = col("text").minhash(num_hashes=PERMUTATIONS, ngram_size=WORDS, seed=42, hash_function="xxhash")
    print(of_signatures(frame.select(hashes.alias("hashes")).to_pydict()["hashes"]))
elif (engine, method) == ("rensa", "fuzzy"):
    import rensa

    def signature(text):
        found = shingles(text)
        if not found:
            return None
        sketch = rensa.RMinHash(num_perm=PERMUTATIONS, seed=42)
        sketch.update(list(found))
        return sketch.digest()

    print(of_signatures(signature(text) for text in documents()))
elif (engine, method) == ("datasketch", "fuzzy"):
    import datasketch

    def signature(text):
        found = shingles(text)
        if not found:
            return None
        sketch = datasketch.MinHash(num_perm=PERMUTATIONS, seed=42)
        sketch.update_batch([shingle.encode() for shingle in found])
        return sketch.hashvalues.tolist()

    print(of_signatures(signature(text) for text in documents()))
else:
    sys.exit(f"{engine} {method} is not one of the peers")
