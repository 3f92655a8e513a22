LET both = FROM 'tests/corpus/data/docs.jsonl' |> UNION ALL 'tests/corpus/data/more.jsonl';
SELECT id, s
FROM dedup_fuzzy(both, text,
                 threshold => 0.6, similarity => 's', keep => 'LAST');
