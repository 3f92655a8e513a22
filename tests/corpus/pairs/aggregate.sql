SELECT count(*) AS documents, avg(score) AS mean_score, max(words(text)) AS longest
FROM 'tests/corpus/data/docs.jsonl' WHERE score IS NOT NULL;
