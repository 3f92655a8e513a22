SELECT d.id, a.name, d.title
FROM 'tests/corpus/data/docs.jsonl' AS d JOIN 'tests/corpus/data/authors.jsonl' AS a ON d.author = a.author
ORDER BY id;
