-- Look at a corpus before you clean it: ten documents, the same ten each time, with the place each came from.
SELECT _file AS file, _row AS line, lang, words(text) AS n_words, substr(text, 1, 60) AS beginning
FROM 'examples/data/*.jsonl*' TABLESAMPLE (10 ROWS) REPEATABLE (42);
