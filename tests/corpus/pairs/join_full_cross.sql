SELECT d.id, a.name
FROM 'tests/corpus/data/docs.jsonl' AS d FULL JOIN 'tests/corpus/data/authors.jsonl' AS a ON d.author = a.author
ORDER BY id NULLS LAST, name;

SELECT a.name AS older, b.name AS younger
FROM 'tests/corpus/data/authors.jsonl' AS a CROSS JOIN 'tests/corpus/data/authors.jsonl' AS b
WHERE a.born < b.born
ORDER BY older, younger;
