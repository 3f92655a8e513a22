"""Makes langid.zst from the model of langid.py as the crate langid-rs 1.1.0 carries it (src/model.bin).

    curl -L https://static.crates.io/crates/langid-rs/langid-rs-1.1.0.crate | tar xz
    pip install numpy && python make.py langid-rs-1.1.0/src/model.bin && zstd -19 --ultra langid

What `langid.rs` reads: the numbers of n-grams, languages and states; the names of the languages, each with a zero behind it; their
priors; the weights in half precision, language by language, since that packs better; the next state for each state and byte; and
for each state how many n-grams end there, and which.
"""

import struct
import sys

import numpy


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def count(self):
        return int(self.array("<u4", 1)[0])

    def array(self, kind, n):
        found = numpy.frombuffer(self.data, kind, n, self.at)
        self.at += found.nbytes
        return found


def main(path):
    reader = Reader(open(path, "rb").read())
    n_ngrams, n_languages = reader.count(), reader.count()
    weights = reader.array("<f4", n_ngrams * n_languages).reshape(n_ngrams, n_languages)
    priors = reader.array("<f4", reader.count())
    states = reader.array("<u2", reader.count())
    names = [reader.array("u1", reader.count()).tobytes() for _ in range(reader.count())]
    found = {reader.count(): reader.array("<i4", reader.count()) for _ in range(reader.count())}
    assert reader.at == len(reader.data)

    out = struct.pack("<III", n_ngrams, n_languages, len(states) // 256)
    out += b"".join(name + b"\0" for name in names) + priors.tobytes()
    out += weights.T.astype("<f2").tobytes() + states.tobytes()
    for state in range(len(states) // 256):
        ngrams = found.get(state, [])
        out += bytes([len(ngrams)]) + struct.pack(f"<{len(ngrams)}H", *ngrams)
    open("langid", "wb").write(out)


if __name__ == "__main__":
    main(sys.argv[1])
