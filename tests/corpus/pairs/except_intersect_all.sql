SELECT lang FROM 'tests/corpus/data/docs.jsonl'
EXCEPT ALL
SELECT lang FROM 'tests/corpus/data/more.jsonl';

SELECT lang FROM 'tests/corpus/data/docs.jsonl'
INTERSECT ALL
SELECT lang FROM 'tests/corpus/data/more.jsonl';
