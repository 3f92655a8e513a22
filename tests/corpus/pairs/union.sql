SELECT id, lang, text FROM 'tests/corpus/data/docs.jsonl'
UNION
SELECT id, lang, text FROM 'tests/corpus/data/more.jsonl'
ORDER BY id;
