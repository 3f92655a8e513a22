SELECT lang, place, id FROM (
  SELECT *, row_number() OVER (PARTITION BY lang ORDER BY score DESC NULLS LAST, id) AS place FROM 'tests/corpus/data/docs.jsonl'
)
WHERE place <= 2
ORDER BY lang, place;
