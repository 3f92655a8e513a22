SELECT id, lang, n
FROM dedup_exact('tests/corpus/data/docs.jsonl', lang, author, keep => 'FIRST BY score DESC, id', cluster_size => 'n')
WHERE lang = 'en';
