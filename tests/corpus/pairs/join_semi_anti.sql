SELECT d.id, d.author FROM 'tests/corpus/data/docs.jsonl' AS d LEFT SEMI JOIN 'tests/corpus/data/authors.jsonl' AS a ON d.author = a.author ORDER BY d.id;

SELECT d.id, d.author FROM 'tests/corpus/data/docs.jsonl' AS d LEFT ANTI JOIN 'tests/corpus/data/authors.jsonl' AS a ON d.author = a.author ORDER BY d.id;
