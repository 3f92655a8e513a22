"""Makes the tiny fastText models of this folder, and what the reference says of some lines with each.

    pip install fasttext-wheel==0.9.2 && python make.py

The models are trained on invented words, with one thread and fixed seeds. `expected.jsonl` has a line for each model and line of
text: its four most probable labels.
"""

import json
import pathlib
import random

import fasttext

HERE = pathlib.Path(__file__).parent
SYLLABLES = {
    "latin": ["ka", "ro", "mi", "tel", "os", "en", "dra", "vi"],
    "accents": ["né", "ça", "über", "øy", "ła", "žu", "ñi", "è"],
    "greek": ["αλ", "ρο", "πι", "θε", "ων", "κα", "μή"],
    "cyrillic": ["ко", "ми", "ста", "при", "ую", "ща", "ёл"],
    "han": ["文", "章", "数", "据", "清", "洗", "語"],
    "kana": ["こ", "れ", "は", "デー", "タ", "です"],
    "emoji": ["🙂", "🚀", "é🙂", "z"],
}


def words(syllables, n, random):
    return ["".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(n)]


def training_lines(n_labels, n_lines):
    chance = random.Random(7)
    kinds = list(SYLLABLES.values())
    vocabularies = [words(kinds[label % len(kinds)], 6 + label % 5, chance) for label in range(n_labels)]
    for _ in range(n_lines):
        label = min(int(chance.expovariate(0.35) * n_labels / 8), n_labels - 1)
        text = " ".join(chance.choices(vocabularies[label], k=chance.randint(3, 9)))
        yield f"__label__{kinds.index(kinds[label % len(kinds)])}_{label} {text}"


LINES = [
    "karomi tel os",
    "karo karo mi mi unknownword",
    "néça überøy ła",
    "αλρο πιθε καμή ων",
    "коми стапри ую щаёл",
    "文章数据 清洗語 数据",
    "これは データ です",
    "🙂🚀 é🙂 z",
    "a",
    "",
    "   \t \r \v \f ",
    "tabs\tand\vother\fspaces\rand\0zeros",
    "no\u00a0break\u3000wide",
    "a __label__0_0 label in a text __label__none",
    "an end </s> in a text is its end",
    "karo " * 300 + "néça",
    "averyveryverylongwordthatnocachekeeps" * 5,
    "x y z x y z karomi, TEL OS! 123 45.6",
]

MODELS = {
    "softmax.bin": dict(loss="softmax", minn=2, maxn=4, wordNgrams=2, bucket=211, n_labels=9),
    "tree.bin": dict(loss="hs", minn=1, maxn=3, wordNgrams=1, bucket=97, n_labels=23),
    "one_vs_all.bin": dict(loss="ova", minn=0, maxn=0, wordNgrams=1, bucket=0, n_labels=11),
    "negatives.bin": dict(loss="ns", minn=0, maxn=0, wordNgrams=3, bucket=149, n_labels=7),
    "softmax_pruned.ftz": dict(loss="softmax", minn=2, maxn=3, wordNgrams=2, bucket=900, n_labels=9,
                               quantize=dict(cutoff=300, qnorm=True, dsub=2)),
    "tree.ftz": dict(loss="hs", minn=2, maxn=4, wordNgrams=1, bucket=400, n_labels=23, dim=5,
                     quantize=dict(cutoff=0, qnorm=False, dsub=2)),
    "output_too.ftz": dict(loss="softmax", minn=0, maxn=0, wordNgrams=2, bucket=300, n_labels=260,
                           quantize=dict(cutoff=0, qnorm=True, dsub=2, qout=True)),
}


def main():
    expected = []
    for name, how in MODELS.items():
        how = dict(how)
        quantize = how.pop("quantize", None)
        n_labels = how.pop("n_labels")
        training = HERE / "training.txt"
        training.write_text("\n".join(training_lines(n_labels, 600 if n_labels < 100 else 2400)) + "\n", encoding="utf-8")
        how = dict(dim=4, epoch=5, lr=0.5, thread=1, seed=3, minCount=1, verbose=0) | how
        model = fasttext.train_supervised(str(training), **how)
        if quantize:
            model.quantize(input=None, retrain=False, verbose=0, **quantize)
        model.save_model(str(HERE / name))
        model = fasttext.load_model(str(HERE / name))
        for line in LINES:
            # As the package's `predict` does, without the arrays that it makes of the numbers.
            found = model.f.predict(line + "\n", 4, 0.0, "strict")
            top = [[label.removeprefix("__label__"), score] for score, label in found]
            expected.append({"model": name, "line": line, "top": top})
        training.unlink()
    with open(HERE / "expected.jsonl", "w", encoding="utf-8") as file:
        for line in expected:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
