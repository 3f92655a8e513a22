LET both = FROM 'tests/corpus/data/docs.jsonl' |> UNION ALL 'tests/corpus/data/more.jsonl';
SELECT id, text
FROM dedup_paragraphs(both, text, min_words => 2);
