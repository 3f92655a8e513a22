SELECT * FROM 'tests/corpus/data/docs.jsonl' ORDER BY id DESC LIMIT 5 OFFSET 2;
