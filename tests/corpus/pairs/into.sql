COPY (SELECT id, text FROM 'tests/corpus/data/docs.jsonl' WHERE lang = 'en') TO 'out/pairs/into.jsonl' OPTIONS (overwrite true);
