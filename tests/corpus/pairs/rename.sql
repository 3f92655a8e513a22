SELECT id AS doc_id, author, lang, title, text AS body, score, date, tags, meta FROM 'tests/corpus/data/docs.jsonl';
