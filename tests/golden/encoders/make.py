#!/usr/bin/env python3
"""Makes the tiny models of tests/golden/encoders/ and what transformers computes with them.

    python3 -m venv venv && venv/bin/pip install torch transformers sentence-transformers
    venv/bin/python tests/golden/encoders/make.py tests/golden/encoders

Weights are random and large, so that every part of a model shows in its numbers. A test tool: nothing of it is needed to build
curator or to run its tests.
"""

import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoModel, AutoModelForSequenceClassification, BertConfig, DebertaV2Config, DistilBertConfig, ModernBertConfig,
    MPNetConfig, PreTrainedTokenizerFast, RobertaConfig, XLMRobertaConfig,
)

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    "a",
    "",
    "Größe, naïve café – 東京 and 😀 emoji; numbers 3.14159 and 2,718.",
    "def main():\n    return 42  # the answer\n",
    "Water boils at one hundred degrees. " * 3,
    "Click here to buy now!!! " * 12,
    "Photosynthesis turns light into sugar, and plants store what they do not need at once in roots, stems and seeds.",
]
CORPUS = TEXTS + ["in the beginning there was nothing but words and numbers 0 1 2 3 4 5 6 7 8 9 of all the things that are"] * 4


def wordpiece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special))
    return finished(tokenizer, "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")


def byte_level(cls="<s>", sep="</s>", pad="<pad>", unk="<unk>", mask="<mask>"):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(set("".join(tokenizer.pre_tokenizer.pre_tokenize_str(text)[i][0] for text in TEXTS
                                  for i in range(len(tokenizer.pre_tokenizer.pre_tokenize_str(text))))))
    trainer = trainers.BpeTrainer(vocab_size=200, special_tokens=[cls, pad, sep, unk, mask], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return finished(tokenizer, cls, sep, pad, unk, mask)


def unigram(cls="[CLS]", sep="[SEP]", pad="[PAD]", unk="[UNK]", mask="[MASK]"):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" {2,}", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=[pad, cls, sep, unk, mask], unk_token=unk)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return finished(tokenizer, cls, sep, pad, unk, mask)


def finished(tokenizer, cls, sep, pad, unk, mask):
    ids = [(token, tokenizer.token_to_id(token)) for token in (cls, sep)]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{cls} $A {sep}", special_tokens=ids)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, cls_token=cls, sep_token=sep, pad_token=pad, unk_token=unk,
                                   mask_token=mask, model_max_length=48)


def randomize(model, seed):
    """Every number matters: wide weights, norms off one, biases off zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if "norm" in name.lower() and parameter.dim() == 1:
                parameter.copy_(1 + 0.2 * noise if name.endswith("weight") else 0.2 * noise)
            elif parameter.dim() == 1:
                parameter.copy_(0.2 * noise)
            else:
                parameter.copy_(0.4 * noise)
    return model.eval()


def expected(folder, tokenizer, compute):
    inputs = tokenizer(TEXTS, padding=True, truncation=True, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        numbers = compute(**inputs)
    write(folder, tokenizer, inputs, numbers)


def write(folder, tokenizer, inputs, numbers):
    whole = [len(tokenizer(text)["input_ids"]) for text in TEXTS]
    rows = [{"text": text, "n_tokens": int(mask.sum()), "truncated": length > 48, "numbers": [round(x, 7) for x in row]}
            for text, mask, length, row in zip(TEXTS, inputs["attention_mask"], whole, numbers.tolist())]
    (folder / "expected.json").write_text(json.dumps(rows, ensure_ascii=False, indent=0) + "\n")


def save(folder, model, tokenizer, dtype=torch.float32):
    """Saves the model; with 16-bit numbers it goes on with what was stored."""
    shutil.rmtree(folder, ignore_errors=True)
    model.to(dtype).save_pretrained(folder)
    model.float()
    save_tokenizer(folder, tokenizer)


def save_tokenizer(folder, tokenizer):
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 48}) + "\n")


def sizes(tokenizer, **more):
    return dict(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                max_position_embeddings=64, pad_token_id=tokenizer.pad_token_id, **more)


def classifier(root, name, config, tokenizer, seed, dtype=torch.float32):
    model = randomize(AutoModelForSequenceClassification.from_config(config, attn_implementation="eager"), seed)
    save(root / name, model, tokenizer, dtype)
    expected(root / name, tokenizer, lambda **inputs: model(**inputs).logits)


def embedder(root, name, config, tokenizer, seed, modules, dtype=torch.float32, dense=None):
    """A folder of sentence-transformers; what it gives is computed by sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    folder = root / name
    model = randomize(AutoModel.from_config(config, attn_implementation="eager"), seed)
    save(folder, model, tokenizer, dtype)
    kinds = {"Pooling": "1_Pooling", "Dense": "2_Dense", "Normalize": "3_Normalize"}
    listed = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for kind, setting in modules.items():
        listed.append({"idx": len(listed), "name": kind, "path": kinds[kind], "type": f"sentence_transformers.models.{kind}"})
        (folder / kinds[kind]).mkdir()
        (folder / kinds[kind] / "config.json").write_text(json.dumps(setting) + "\n")
    if dense:
        generator = torch.Generator().manual_seed(seed)
        tensors = {"linear.weight": 0.4 * torch.randn(dense[1], dense[0], generator=generator),
                   "linear.bias": 0.2 * torch.randn(dense[1], generator=generator)}
        save_file(tensors, folder / "2_Dense" / "model.safetensors")
    (folder / "modules.json").write_text(json.dumps(listed, indent=1) + "\n")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 48, "do_lower_case": False}) + "\n")
    tokenizer.save_pretrained(folder)
    reference = SentenceTransformer(str(folder), device="cpu")
    reference.max_seq_length = 48
    numbers = torch.tensor(reference.encode(TEXTS))
    save_tokenizer(folder, tokenizer)
    for extra in ("special_tokens_map.json", "tokenizer_config.json"):
        (folder / extra).unlink(missing_ok=True)
    inputs = tokenizer(TEXTS, padding=True, truncation=True, return_tensors="pt")
    write(folder, tokenizer, inputs, numbers)


def wrapped(root, name, config, tokenizer, seed, own, compute, layers, prefix):
    """NVIDIA's classifiers: the backbone under a prefix, linear layers beside it, the configuration of the base elsewhere."""
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "base").mkdir(parents=True)
    backbone = AutoModel.from_config(config, attn_implementation="eager")
    heads = torch.nn.ModuleDict({key.replace(".", "_"): torch.nn.Linear(config.hidden_size, n) for key, n in layers.items()})
    randomize(backbone, seed)
    randomize(heads, seed + 1)
    tensors = {f"{prefix}{key}": value.contiguous() for key, value in backbone.state_dict().items()}
    for key in layers:
        for part, value in heads[key.replace(".", "_")].state_dict().items():
            tensors[f"{key}.{part}"] = value
    save_file(tensors, folder / "model.safetensors")
    (folder / "base" / "config.json").write_text(json.dumps(config.to_diff_dict() | {"model_type": config.model_type}) + "\n")
    (folder / "config.json").write_text(json.dumps({"base_model": "base", **own}, indent=1) + "\n")
    save_tokenizer(folder, tokenizer)
    expected(folder, tokenizer, lambda **inputs: compute(backbone(**inputs).last_hidden_state, inputs["attention_mask"], heads))


def answers(folder, targets, tasks, weighted, divisors):
    """What a model of prompts makes of its logits, in the words of its card."""
    rows = json.loads((folder / "expected.json").read_text())
    for row in rows:
        parts = dict(zip(targets, torch.tensor(row["numbers"], dtype=torch.float64).split(list(targets.values()))))
        found = {}
        for name, logits in parts.items():
            shares = torch.softmax(logits, 0).tolist()
            if name == "task_type":
                (first, second) = sorted(range(len(shares)), key=lambda task: -shares[task])[:2]
                found["task_type_1"] = tasks[str(first)]
                found["task_type_2"] = tasks[str(second)] if round(shares[second], 3) >= 0.1 else "NA"
                found["task_type_prob"] = round(shares[first], 3)
            else:
                found[name] = round(sum(share * weight for share, weight in zip(shares, weighted[name])) / divisors[name], 4)
        if found["number_of_few_shots"] < 0.05:
            found["number_of_few_shots"] = 0.0
        found["prompt_complexity_score"] = round(
            0.35 * found["creativity_scope"] + 0.25 * found["reasoning"] + 0.15 * found["constraint_ct"]
            + 0.15 * found["domain_knowledge"] + 0.05 * found["contextual_knowledge"] + 0.05 * found["number_of_few_shots"], 5)
        row["answers"] = found
    (folder / "expected.json").write_text(json.dumps(rows, ensure_ascii=False, indent=0) + "\n")


def mean(states, mask):
    mask = mask.unsqueeze(-1).float()
    return (states * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


def main(root):
    torch.manual_seed(1)
    pieces, byte_pairs, grams = wordpiece(), byte_level(), unigram()
    marks = dict(id2label={0: "ads", 1: "news", 2: "prose"}, label2id={"ads": 0, "news": 1, "prose": 2})

    pooled = {"Pooling": {"word_embedding_dimension": 16, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}}
    first = {"Pooling": {"word_embedding_dimension": 16, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}}
    largest = {"Pooling": {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": False, "pooling_mode_max_tokens": True}}
    tanh = {"Dense": {"in_features": 16, "out_features": 8, "bias": True,
                      "activation_function": "torch.nn.modules.activation.Tanh"}}
    unit = {"Normalize": {}}

    embedder(root, "bert-embed", BertConfig(**sizes(pieces)), pieces, 1, pooled | unit)
    embedder(root, "bert-dense", BertConfig(**sizes(pieces)), pieces, 2, largest | tanh, dense=(16, 8))
    classifier(root, "bert-labels", BertConfig(**sizes(pieces), **marks), pieces, 3)
    classifier(root, "bert-number", BertConfig(**sizes(pieces), num_labels=1), pieces, 4, torch.bfloat16)
    classifier(root, "distilbert-labels", DistilBertConfig(
        vocab_size=len(pieces), dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=64, **marks),
        pieces, 5, torch.float16)
    classifier(root, "roberta-any", RobertaConfig(
        **sizes(byte_pairs, problem_type="multi_label_classification"), type_vocab_size=1, **marks), byte_pairs, 6)
    embedder(root, "xlm-roberta-embed", XLMRobertaConfig(**sizes(grams), type_vocab_size=1), grams, 7, first | unit)
    deberta = dict(relative_attention=True, position_buckets=8, max_relative_positions=-1, pos_att_type=["p2c", "c2p"],
                   share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False, type_vocab_size=0)
    classifier(root, "deberta-labels", DebertaV2Config(**sizes(grams), **deberta, **marks), grams, 8)
    embedder(root, "deberta-v2-embed", DebertaV2Config(
        **sizes(grams), relative_attention=True, pos_att_type=["c2p"], position_biased_input=True, type_vocab_size=2),
        grams, 9, pooled)
    modern = sizes(byte_pairs) | dict(num_hidden_layers=4, local_attention=8, global_attn_every_n_layers=3,
                                      cls_token_id=0, sep_token_id=2, bos_token_id=0, eos_token_id=2)
    classifier(root, "modernbert-labels", ModernBertConfig(**modern, **marks, classifier_pooling="mean"), byte_pairs, 10)
    embedder(root, "modernbert-embed", ModernBertConfig(**modern), byte_pairs, 11, first | unit)
    embedder(root, "mpnet-embed", MPNetConfig(**sizes(byte_pairs)), byte_pairs, 12, pooled | unit)
    classifier(root, "mpnet-labels", MPNetConfig(**sizes(byte_pairs), **marks), byte_pairs, 13)
    base = DebertaV2Config(**sizes(grams), **deberta)
    wrapped(root, "wrapped-labels", base, grams, 14, {"id2label": {"0": "High", "1": "Low", "2": "Medium"}},
            lambda states, mask, heads: heads["fc"](states[:, 0]), {"fc": 3}, "model.")
    targets = {"task_type": 4, "creativity_scope": 3, "reasoning": 2, "contextual_knowledge": 2, "number_of_few_shots": 6,
               "domain_knowledge": 4, "no_label_reason": 1, "constraint_ct": 2}
    weighted = {"creativity_scope": [2, 0, 1], "reasoning": [0, 1], "contextual_knowledge": [0, 1],
                "number_of_few_shots": [0, 1, 2, 3, 4, 5], "domain_knowledge": [3, 1, 2, 0], "no_label_reason": [0],
                "constraint_ct": [1, 0]}
    divisors = {"creativity_scope": 2, "reasoning": 1, "contextual_knowledge": 1, "number_of_few_shots": 1,
                "domain_knowledge": 3, "no_label_reason": 1, "constraint_ct": 1}
    tasks = {"0": "Open QA", "1": "Code Generation", "2": "Chatbot", "3": "Other"}
    own = {"target_sizes": targets, "task_type_map": tasks, "weights_map": weighted, "divisor_map": divisors}
    layers = {f"head_{place}.fc": n for place, n in enumerate(targets.values())}
    wrapped(root, "wrapped-prompts", base, grams, 15, own, lambda states, mask, heads: torch.cat(
        [heads[key.replace(".", "_")](mean(states, mask)) for key in layers], 1), layers, "backbone.")
    answers(root / "wrapped-prompts", targets, tasks, weighted, divisors)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
