SELECT * FROM (SELECT *, words(text) AS n_words, length(title) AS title_length FROM 'tests/corpus/data/docs.jsonl') WHERE n_words > 5;
