SELECT s['rule'] AS rule, s['threshold'] AS threshold, s['documents'] AS documents, s['share'] AS share,
       s['bytes'] AS bytes, s['bytes_share'] AS bytes_share
FROM (
  SELECT unnest(array_concat(s0, s1)) AS s
  FROM (
    SELECT sweep(words(text), 'words(text) >=', 0, 8, 2, octet_length(text)) AS s0,
           sweep(score, 'score <=', 0.5, 0.9, 0.2, octet_length(text)) AS s1
    FROM 'tests/corpus/data/docs.jsonl'
  )
);
