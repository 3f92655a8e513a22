SELECT DISTINCT lang, author FROM 'tests/corpus/data/docs.jsonl' ORDER BY lang, author;
