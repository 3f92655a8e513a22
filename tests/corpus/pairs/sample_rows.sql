SELECT * FROM 'tests/corpus/data/docs.jsonl' TABLESAMPLE (5 ROWS) REPEATABLE (7);
