SELECT * FROM split('tests/corpus/data/docs.jsonl', author, parts => 'train 3, valid 1', name => 'part', seed => 2);
SELECT id, copy FROM repeat('tests/corpus/data/docs.jsonl', 2, name => 'copy');
SELECT id FROM assert('tests/corpus/data/docs.jsonl', count(*) > 10, max(id) < 100);
