SELECT lang, meta.verified AS verified FROM 'tests/corpus/data/docs.jsonl' GROUP BY lang, meta.verified ORDER BY lang, verified;
