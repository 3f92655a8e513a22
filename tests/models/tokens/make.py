"""Makes the small tokenizers of this folder, and what the library says of some texts with each.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 && python make.py

They are trained on a few sentences below, and come out a little different each time. `expected.jsonl` has a line for each tokenizer and text: the number of tokens, the
number with special tokens, and where the first four tokens end.
"""

import json
import pathlib

import sentencepiece
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
CORPUS = [
    "A corpus is cleaned by rules: what is too short, too long or said again goes away.",
    "Documents are counted in tokens, since that is what a model reads and what a budget is made of.",
    "Ein Text wird gezählt, gefiltert und gekürzt; Wörter mit Umlauten bleiben ganz.",
    "Les données sont nettoyées, puis comptées en jetons.",
    "数据清洗之后，文档按词元计数。",
    "def count(text):\n    return len(text.split())\n",
] * 4
TEXTS = CORPUS[:6] + [
    "",
    " ",
    "  leading and trailing  ",
    "\n\n\tindented\n",
    "unseen wörds, 12345, and 🙂🚀 emoji é",
    "[CLS] special [SEP] tokens <|end|> in a text",
    "e\u0301 is two characters; ﬁ is one",
    "naïve " * 40,
    "wide\u3000and no-break\u00a0spaces, １ ☃☃☃ ▁ \u2581",
]


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    # As files of models do: what is longer than a model's input, or shorter, is not a text's business.
    tokenizer.enable_truncation(max_length=5)
    tokenizer.enable_padding(length=16)
    return tokenizer


def word_pieces():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=220, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer


def unigram():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=160, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


# Characters by a table as models have it, a small one here; a user-defined piece; spaces left as they are, or not.
RULES = "FB01\t66 69\n65 301\tE9\nA0\t20\n3000\t20\nFF11\t31\n9\t20\nA\t20\n"
PIECES = {
    "unigram": dict(model_type="unigram", vocab_size=95, user_defined_symbols=["<|end|>"]),
    "pairs": dict(model_type="bpe", vocab_size=400, byte_fallback=True, remove_extra_whitespaces=False),
}


def sentence_pieces(name, how):
    rules = HERE / "rules.tsv"
    rules.write_text(RULES)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(line for text in CORPUS for line in text.splitlines()),
        model_prefix=str(HERE / name),
        normalization_rule_tsv=str(rules),
        character_coverage=0.98,
        minloglevel=2,
        **how,
    )
    rules.unlink()
    (HERE / f"{name}.vocab").unlink()
    return sentencepiece.SentencePieceProcessor(model_file=str(HERE / f"{name}.model"))


def main():
    expected = []
    for name, how in PIECES.items():
        model = sentence_pieces(name, how)
        expected += [{"tokenizer": f"{name}.model", "text": text, "n": len(model.encode(text))} for text in TEXTS]
    for name, make in {"byte_level": byte_level, "word_pieces": word_pieces, "pieces": unigram}.items():
        tokenizer = make()
        tokenizer.save(str(HERE / f"{name}.json"), pretty=False)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        for text in TEXTS:
            plain = tokenizer.encode(text, add_special_tokens=False)
            places = plain.offsets
            first = text if len(places) <= 4 else text[: min(places[3][1], places[4][0])]
            expected.append({
                "tokenizer": f"{name}.json",
                "text": text,
                "n": len(plain.ids),
                "n_special": len(tokenizer.encode(text).ids),
                "first_four": first,
            })
    with open(HERE / "expected.jsonl", "w", encoding="utf-8") as file:
        for line in expected:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
