-- One folder a language: out/by_language/lang=de/…, out/by_language/lang=en/…
-- `FROM 'out/by_language/'` reads it back, with `lang` as a column.
COPY (
  SELECT id, lang, url, text
  FROM 'examples/data/*.jsonl*'
  WHERE lang IS NOT NULL AND words(text) > 0
)
TO 'out/by_language/' PARTITIONED BY (lang)
OPTIONS (format 'parquet', compression 'zstd', overwrite true);
