LET both = FROM 'tests/corpus/data/docs.jsonl' |> UNION ALL 'tests/corpus/data/more.jsonl';
SELECT id, lang FROM dedup_exact(both, text, keep => 'FIRST PER lang');
SELECT id, author, n, kept
FROM dedup_exact(both, text, drop => false, cluster_size => 'n', kept_id => 'kept', keep => 'LAST PER lower(author), lang BY score DESC NULLS LAST, id');
