SELECT * EXCEPT (tags, meta) FROM 'tests/corpus/data/docs.jsonl';
