LET both = FROM 'tests/corpus/data/docs.jsonl' |> UNION ALL 'tests/corpus/data/more.jsonl';
SELECT id, text
FROM dedup_sentences(both, text, span => 1, min_document_words => 0, min_document_units => 0);
