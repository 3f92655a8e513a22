-- How much text is there in each language?
SELECT
  coalesce(lang, 'not said') AS language,
  count(*) AS documents,
  sum(words(text)) AS words,
  round(avg(words(text)), 1) AS mean_words,
  max(words(text)) AS most_words
FROM 'examples/data/*.jsonl*'
WHERE text IS NOT NULL
GROUP BY coalesce(lang, 'not said')
ORDER BY documents DESC, language;
