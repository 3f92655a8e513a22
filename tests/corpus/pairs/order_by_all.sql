SELECT lang, author, words(text) AS n
FROM 'tests/corpus/data/docs.jsonl'
ORDER BY ALL DESC
LIMIT 5;
