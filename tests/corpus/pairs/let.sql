LET english = FROM 'tests/corpus/data/docs.jsonl' |> WHERE lang = 'en';

SELECT meta.site AS site, count(*) AS documents FROM english GROUP BY meta.site ORDER BY site;
