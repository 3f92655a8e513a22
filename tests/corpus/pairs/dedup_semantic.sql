SELECT id
FROM dedup_semantic('tests/corpus/data/docs.jsonl', [score, meta['views'] / 100.0], clusters => 2, eps => 0.01);
