SELECT id, author, name, country FROM 'tests/corpus/data/docs.jsonl' JOIN 'tests/corpus/data/authors.jsonl' USING (author) ORDER BY id;
