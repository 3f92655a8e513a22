-- The quickstart in SQL: the same plan, the same files. DEFINE and LET serve both languages.

SET memory_limit = '1GB';

DEFINE english_prose(t) AS
      stop_words(t) >= 3                                    -- the, be, to, of, and, that, have, with
  AND mean_word_length(t) BETWEEN 3 AND 10
  AND alpha_ratio(t) >= 0.55
  AND digit_ratio(t) <= 0.1
  AND whitespace_ratio(t) <= 0.3
  AND symbol_to_word_ratio(t) <= 0.1;

CREATE VIEW clean AS
WITH good AS (
  SELECT *
  FROM (
    SELECT * REPLACE (normalize_newlines(text) AS text)
    FROM 'examples/data/*.jsonl*'
    WHERE text IS NOT NULL AND coalesce(lang, 'en') = 'en'
  )
  WHERE words(text) BETWEEN 50 AND 5000
    AND text <> upper(text)
    AND english_prose(text)
    AND duplicate_line_ratio(text) < 0.3
    AND NOT has_lorem_ipsum(text)
    AND NOT contains_any(text, ['javascript', 'function('])
)
SELECT id, url, split_part(url, '/', 3) AS site, lang, words(text) AS n_words, text
FROM (SELECT DISTINCT ON (text) * FROM good);

COPY (SELECT * FROM clean) TO 'out/quickstart/'
OPTIONS (format 'jsonl', compression 'zstd', rejects 'out/rejects/', overwrite true);

SELECT coalesce(lang, 'not said') AS lang, site, count(*) AS documents, sum(n_words) AS words
FROM clean
GROUP BY coalesce(lang, 'not said'), site
ORDER BY documents DESC, words DESC, lang, site
LIMIT 10;
