LET both = FROM 'tests/corpus/data/docs.jsonl' |> UNION ALL 'tests/corpus/data/more.jsonl';
SELECT id, text
FROM dedup_substring(both, text, min_length => 'bytes:20');
