SELECT id, text FROM (SELECT DISTINCT ON (text) * FROM 'tests/corpus/data/docs.jsonl');
