-- expect: T001 4:1
SELECT id, text FROM 'tests/corpus/data/docs.jsonl'
EXCEPT ALL
SELECT id FROM 'tests/corpus/data/more.jsonl';
