SELECT id FROM 'tests/corpus/data/docs.jsonl' TABLESAMPLE (50 PERCENT) REPEATABLE (1);
