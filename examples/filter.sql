-- The shortest useful query: keep the long English documents, write two fields.
COPY (
  SELECT id, text
  FROM 'examples/data/*.jsonl*'
  WHERE lang = 'en' AND words(text) >= 50
)
TO 'out/filter.jsonl' OPTIONS (overwrite true);
