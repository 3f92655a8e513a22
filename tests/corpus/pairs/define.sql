DEFINE between_words(t, low => 3, high => 8) AS words(t) BETWEEN low AND high;

SELECT id, text FROM 'tests/corpus/data/docs.jsonl' WHERE between_words(text, high => 6);
