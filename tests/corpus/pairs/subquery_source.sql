SELECT id FROM (SELECT * FROM 'tests/corpus/data/docs.jsonl' WHERE lang = 'en' LIMIT 6) AS few WHERE few.score > 0.7;
