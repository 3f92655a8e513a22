SELECT * REPLACE (collapse_whitespace(text) AS text, coalesce(score, 0.0) AS score) FROM 'tests/corpus/data/docs.jsonl';
