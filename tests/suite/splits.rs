//! What a run writes does not depend on where its input is cut, on threads, or on memory.

use super::cli::Folder;
use std::collections::BTreeMap;
use std::io::Write;

/// Documents in several files, some of their lines broken, some files packed in several frames or members.
fn write_corpus(folder: &Folder) {
    let mut documents = String::new();
    for id in 0..400 {
        let text = "word ".repeat(id % 23) + if id % 3 == 0 { "\\nThe end." } else { "" };
        documents += &format!("{{\"id\":{id},\"text\":\"{text}\",\"lang\":\"{}\"}}\n", ["en", "de", "fr"][id % 3]);
        if id % 50 == 49 {
            documents += "{\"id\": broken\n";
        }
    }
    let bytes = documents.as_bytes();
    let gzip = |part: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    let path = |name: &str| folder.path().join("in").join(name);
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::write(path("a.jsonl"), bytes).unwrap();
    let frames: Vec<u8> = bytes.chunks(2500).flat_map(|part| zstd::bulk::compress(part, 1).unwrap()).collect();
    std::fs::write(path("b.jsonl.zst"), frames).unwrap();
    std::fs::write(path("c.jsonl.gz"), gzip(bytes)).unwrap();
    for number in 0..5 {
        let line = format!("{{\"id\":{number},\"text\":\"small {number}\",\"lang\":\"en\"}}\n");
        std::fs::write(path(&format!("d{number}.jsonl")), line).unwrap();
    }
}

/// Every file below the folder of outputs; manifests hold times.
fn outputs(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let root = folder.path().join("out");
    let files = walkdir::WalkDir::new(&root).into_iter().flatten().filter(|entry| entry.file_type().is_file());
    files
        .filter(|entry| entry.file_name() != "_manifest.json")
        .map(|entry| (entry.path().display().to_string(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn outputs_rejects_and_ledgers_are_the_same_bytes_with_any_splits_threads_and_memory() {
    let folder = Folder::new();
    write_corpus(&folder);
    let query = "
        LET kept = FROM 'in/' |> WHERE words(text) > 4 AND lang <> 'fr';
        FROM kept |> INTO 'out/a.parquet' WITH (rejects = 'out/rejects/');
        FROM kept |> DEDUP EXACT ON text |> INTO 'out/b.jsonl.gz';
        FROM kept |> DEDUP FUZZY ON text KEEP LAST |> INTO 'out/c/' WITH (max_file_size = '2kB');
        FROM kept |> INTO 'out/d/' WITH (partition_by = 'id', format = 'csv');
        FROM kept |> SELECT id, words(text) AS n |> ORDER BY n DESC, id |> LIMIT 70 |> INTO 'out/e.arrow';";
    folder.write("q.cql", query);
    let mut expected = None;
    for (blocksize, files_per_partition, threads, memory) in [
        ("1GB", "auto", "1", "8GB"),
        ("1GB", "1", "16", "256MB"),
        ("300", "auto", "2", "8GB"),
        ("2kB", "2", "64", "256MB"),
    ] {
        let script = format!(
            "SET blocksize = '{blocksize}'; SET files_per_partition = '{files_per_partition}'; \
             SET memory_limit = '{memory}'; {query}"
        );
        folder.write("q.cql", &script);
        let run = folder.run(&["query", "--quiet", "--threads", threads, "q.cql"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let found = outputs(&folder);
        assert!(found.len() > 100 && found.contains_key(&rejects(&folder)), "{:?}", found.keys());
        let expected = expected.get_or_insert_with(|| found.clone());
        let differ: Vec<&String> = found.keys().filter(|name| expected.get(*name) != found.get(*name)).collect();
        assert!(differ.is_empty() && found.len() == expected.len(), "{blocksize} {threads} {memory}: {differ:?}");
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
fn samples_and_shuffles_are_the_same_rows_with_any_threads_and_memory() {
    let folder = Folder::new();
    write_corpus(&folder);
    let query = "
        SET blocksize = '2kB';
        LET kept = FROM 'in/' |> WHERE words(text) > 4;
        FROM kept |> SAMPLE 50 PERCENT SEED 3 |> INTO 'out/a.jsonl';
        FROM kept |> DEDUP FUZZY ON text |> SAMPLE 40 ROWS |> EXTEND words(text) AS n |> INTO 'out/b.jsonl';
        FROM kept |> UNION ALL 'in/a.jsonl' |> SAMPLE 40 ROWS |> WHERE id > 3 |> INTO 'out/c.jsonl';
        FROM kept |> SHUFFLE SEED 3 |> DISTINCT ON (lang, id % 40) |> INTO 'out/d.jsonl';
        FROM kept |> UNION ALL 'in/a.jsonl' |> SHUFFLE |> INTO 'out/e.jsonl';";
    folder.write("q.cql", query);
    let mut expected = None;
    for (threads, memory) in [("1", "8GB"), ("2", "256MB"), ("16", "8GB")] {
        folder.run(&["query", "--quiet", "--threads", threads, "--memory", memory, "q.cql"]).ok();
        let mut found = outputs(&folder);
        found.retain(|name, _| !name.contains("manifest"));
        assert!(found.len() == 5 && found.values().all(|file| !file.is_empty()), "{:?}", found.keys());
        assert!(*expected.get_or_insert_with(|| found.clone()) == found, "{threads} {memory}");
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

fn rejects(folder: &Folder) -> String {
    folder.path().join("out/rejects/rejects.jsonl").display().to_string()
}
