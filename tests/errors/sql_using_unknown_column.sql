-- expect: N001 3:66
SELECT d.id FROM 'tests/corpus/data/docs.jsonl' AS d
RIGHT JOIN 'tests/corpus/data/authors.jsonl' AS a USING (author, title);
