SELECT * FROM (
  SELECT id, lang, text FROM 'tests/corpus/data/docs.jsonl'
  UNION ALL
  SELECT id, lang, text FROM 'tests/corpus/data/more.jsonl'
)
WHERE lang <> 'en';
