SELECT _file, _row, id FROM 'tests/corpus/data/[dm]*.jsonl';
