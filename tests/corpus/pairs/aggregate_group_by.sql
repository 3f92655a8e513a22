SELECT lang, count(*) AS documents, sum(meta.views) AS views
FROM 'tests/corpus/data/docs.jsonl' GROUP BY lang HAVING count(*) > 1
ORDER BY documents DESC, lang;
