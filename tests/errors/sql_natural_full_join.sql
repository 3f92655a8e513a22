-- expect: Q002 3:56
SELECT d.id FROM 'tests/corpus/data/docs.jsonl' AS d
NATURAL FULL JOIN 'tests/corpus/data/authors.jsonl' AS a;
