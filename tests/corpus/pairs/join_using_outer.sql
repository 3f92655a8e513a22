SELECT author, id, born FROM 'tests/corpus/data/docs.jsonl' AS d
RIGHT JOIN 'tests/corpus/data/authors.jsonl' AS a USING (author);

SELECT author, id, born FROM 'tests/corpus/data/docs.jsonl' AS d
FULL JOIN 'tests/corpus/data/authors.jsonl' AS a USING (author);
