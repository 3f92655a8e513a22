SELECT id, upper(title) AS title, meta.views AS views FROM 'tests/corpus/data/docs.jsonl';
