SELECT * FROM 'tests/corpus/data/docs.jsonl'
WHERE lang = 'en' AND words(text) >= 4 AND score > 0.5;
