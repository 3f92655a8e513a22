-- Each document of the sample corpus once: copies go, then near-duplicates, of which the longest stays.

COPY (
  SELECT id, url, text
  FROM dedup_fuzzy(
    (SELECT * FROM dedup_exact('examples/data/*.jsonl*', text)),
    text, threshold => 0.7, keep => 'FIRST BY length(text) DESC'
  )
) TO 'out/dedup/' OPTIONS (format 'jsonl', rejects 'out/dedup-rejects/', overwrite true);
