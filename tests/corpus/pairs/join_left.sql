SELECT d.id, a.name
FROM 'tests/corpus/data/docs.jsonl' AS d LEFT JOIN 'tests/corpus/data/authors.jsonl' AS a ON d.author = a.author AND a.born < 1990
ORDER BY id;
