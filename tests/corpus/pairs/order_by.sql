SELECT id, score FROM 'tests/corpus/data/docs.jsonl' ORDER BY score DESC NULLS LAST, id;
