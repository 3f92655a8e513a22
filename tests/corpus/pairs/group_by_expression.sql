SELECT substr(date, 1, 7) AS month, count(*) AS documents
FROM 'tests/corpus/data/docs.jsonl' GROUP BY substr(date, 1, 7) ORDER BY month;
