COPY (SELECT lang, id, text FROM 'tests/corpus/data/docs.jsonl' WHERE lang IS NOT NULL) TO 'out/pairs/by_lang/'
PARTITIONED BY (lang)
OPTIONS (format 'jsonl', compression 'gzip', overwrite true);
