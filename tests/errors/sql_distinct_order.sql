-- expect: Q004 2:1
SELECT DISTINCT upper(author) FROM 'tests/corpus/data/docs.jsonl' ORDER BY lower(author);
