SELECT * FROM 'tests/corpus/data/docs.jsonl';
