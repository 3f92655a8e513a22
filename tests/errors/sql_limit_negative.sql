-- expect: T003 4:7
-- expect: T003 4:22
SELECT id FROM (SELECT id FROM 'tests/corpus/data/docs.jsonl' ORDER BY id
LIMIT 1 - 2 OFFSET (-3)) AS t;
