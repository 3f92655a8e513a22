SELECT count(*) AS documents, round(avg(score), 6) AS mean_score, max(words(text)) AS longest
FROM 'tests/corpus/data/docs.jsonl' WHERE score IS NOT NULL;
