-- param: language=de
-- param: least=0.6
SELECT id, title, $language AS asked_for FROM 'tests/corpus/data/docs.jsonl' WHERE lang = $language AND score >= $least;
