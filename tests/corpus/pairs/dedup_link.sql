LET chain = FROM (VALUES (1, 'web', 'a b c d e f g h'), (2, 'web', 'b c d e f g h i'), (3, 'book', 'c d e f g h i j'), (4, 'book', 'a b c d e f g h'), (5, 'web', 'z y x')) AS t(id, source, text);
SELECT id, c, n, kept, round(s, 2) AS s
FROM dedup_fuzzy(chain, text,
                 threshold => 0.7, bands => 64, rows => 1, shingle => 'words:1', drop => false, cluster_id => 'c', cluster_size => 'n', kept_id => 'kept', similarity => 's');
SELECT id
FROM dedup_fuzzy(chain, text, threshold => 0.7, bands => 64, rows => 1, shingle => 'words:1', link => 'component');
SELECT id, source, kept
FROM dedup_fuzzy(chain, text, threshold => 0.7, bands => 64, rows => 1, shingle => 'words:1', kept_id => 'kept', drop => false, keep => 'LAST PER source BY length(text), id');
SELECT id, lang
FROM dedup_semantic('tests/corpus/data/docs.jsonl', [score, meta['views'] / 100.0], clusters => 2, eps => 0.01, link => 'kept', keep => 'ANY PER lang');
