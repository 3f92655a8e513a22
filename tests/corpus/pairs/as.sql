SELECT good.id, good.title FROM (SELECT * FROM 'tests/corpus/data/docs.jsonl' WHERE score > 0.6) AS good;
