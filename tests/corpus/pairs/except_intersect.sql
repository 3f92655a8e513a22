SELECT id, text FROM 'tests/corpus/data/docs.jsonl'
EXCEPT
SELECT id, text FROM 'tests/corpus/data/more.jsonl'
ORDER BY id;

SELECT id, text FROM 'tests/corpus/data/docs.jsonl'
INTERSECT
SELECT id, text FROM 'tests/corpus/data/more.jsonl'
ORDER BY id;
