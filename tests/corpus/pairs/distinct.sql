SELECT DISTINCT title, text FROM 'tests/corpus/data/docs.jsonl' ORDER BY title, text;
