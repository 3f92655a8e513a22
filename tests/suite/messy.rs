//! A folder with every mess that JSON Lines come in: right rows, right rejects, no other field changed.

use super::harness::{Outcome, block_on, run};
use curator::diag::SourceText;
use curator::{Config, Error, Language, Session};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// One file of the folder: its bytes, unpacked, and what becomes of its lines.
struct Mess {
    path: &'static str,
    packed: Option<Vec<u8>>,
    lines: Vec<u8>,
    /// The line numbers that must become rows.
    kept: Vec<u64>,
    /// The line number and a part of the reason of each reject.
    rejected: Vec<(u64, &'static str)>,
}

impl Mess {
    fn new(path: &'static str, lines: impl AsRef<[u8]>) -> Self {
        Self { path, packed: None, lines: lines.as_ref().to_vec(), kept: vec![], rejected: vec![] }
    }

    fn kept(mut self, lines: impl IntoIterator<Item = u64>) -> Self {
        self.kept = lines.into_iter().collect();
        self
    }

    fn rejected(mut self, line: u64, reason: &'static str) -> Self {
        self.rejected.push((line, reason));
        self
    }

    fn packed(mut self, bytes: Vec<u8>) -> Self {
        self.packed = Some(bytes);
        self
    }

    /// Each line's number, offset and bytes.
    fn numbered(&self) -> Vec<(u64, u64, &[u8])> {
        let bom = if self.lines.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut offset = bom as u64;
        let mut numbered = Vec::new();
        for (number, line) in (1..).zip(self.lines[bom..].split(|byte| *byte == b'\n')) {
            numbered.push((number, offset, line.strip_suffix(b"\r").unwrap_or(line)));
            offset += line.len() as u64 + 1;
        }
        numbered
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// Every file also has the fields `id` and `text`, which no mess of another file may touch.
fn messes() -> Vec<Mess> {
    let mut messes = vec![
        Mess::new(
            "fields.jsonl",
            "{\"id\":\"f1\",\"text\":\"a\",\"comes\":1}\n{\"id\":\"f2\",\"goes\":[1,2]}\n{\"text\":\"c\",\"comes\":3}\n{}\n",
        )
        .kept(1..=4),
        Mess::new(
            "types.jsonl",
            "{\"id\":\"t1\",\"text\":\"a\",\"mixed\":\"seven\",\"either\":true,\"shape\":{\"a\":1},\"list\":[1,\"x\"]}\n\
             {\"id\":\"t2\",\"text\":\"b\",\"mixed\":7.50,\"either\":0,\"shape\":[1, 2],\"list\":[]}\n\
             {\"id\":\"t3\",\"text\":\"c\",\"mixed\":null,\"either\":\"no\",\"shape\":\"round\",\"list\":[null,2.5]}\n",
        )
        .kept(1..=3),
        Mess::new(
            "nested.jsonl",
            "{\"id\":\"n1\",\"text\":\"a\",\"meta\":{\"url\":\"http://x/?a=\\u00e9\",\"score\":0.5,\"deep\":{\"er\":[{\"k\":1},{\"l\":\"m\"}]}}}\n\
             {\"id\":\"n2\",\"text\":\"b\",\"meta\":{\"url\":null,\"more\":{}}}\n\
             {\"id\":\"n3\",\"text\":\"c\",\"meta\":null}\n{\"id\":\"n4\",\"meta\":{}}\n",
        )
        .kept(1..=4),
        Mess::new("nulls.jsonl", "{\"id\":\"u1\",\"text\":null,\"void\":null}\n{\"id\":null,\"text\":\"\"}\n").kept(1..=2),
        Mess::new("bom.jsonl", "\u{feff}{\"id\":\"b1\",\"text\":\"after the mark\"}\n[\"not\"]\n{\"id\":\"b2\"}")
            .kept([1, 3])
            .rejected(2, "an array, not a JSON object"),
        Mess::new(
            "crlf.jsonl",
            "{\"id\":\"c1\",\"text\":\"a\\r\\nb\"}\r\n\r\n{\"id\":\"c2\",\"text\":\"b\"}\r\nnonsense\r\n{\"id\":\"c3\"}\r\n",
        )
        .kept([1, 3, 5])
        .rejected(4, "not JSON"),
        Mess::new("blank.jsonl", "\n\n{\"id\":\"k1\",\"text\":\"a\"}\n   \n\t\n{\"id\":\"k2\",\"text\":\"b\"}\n\n").kept([3, 6]),
        Mess::new("truncated.jsonl", "{\"id\":\"r1\",\"text\":\"whole\"}\n{\"id\":\"r2\",\"text\":\"cut o")
            .kept([1])
            .rejected(2, "ends inside a string"),
        Mess::new("truncated_nested.jsonl", "{\"id\":\"r3\",\"text\":\"whole\"}\n{\"id\":\"r4\",\"meta\":{\"url\":\"x\"")
            .kept([1])
            .rejected(2, "ends inside an object"),
        Mess::new("utf8.jsonl", b"{\"id\":\"i1\",\"text\":\"caf\xe9\"}\n{\"id\":\"i2\",\"text\":\"caf\xc3\xa9\"}\n")
            .kept([2])
            .rejected(1, "not UTF-8: byte 23"),
        Mess::new(
            "surrogates.jsonl",
            "{\"id\":\"s1\",\"text\":\"half \\ud83d\"}\n{\"id\":\"s2\",\"text\":\"whole \\ud83d\\ude00\"}\n{\"id\":\"s3\",\"other\":\"\\udc00\"}\n",
        )
        .kept([2])
        .rejected(1, "half of a surrogate pair")
        .rejected(3, "half of a surrogate pair"),
        Mess::new("no_objects.jsonl", "17\n\"text\"\nnull\n[{\"id\":\"o1\"}]\n{\"id\":\"o2\"}\n{\"id\":\"o3\"} {\"id\":\"o4\"}\n")
            .kept([5])
            .rejected(1, "a number, not a JSON object")
            .rejected(2, "a string, not a JSON object")
            .rejected(3, "null, not a JSON object")
            .rejected(4, "an array, not a JSON object")
            .rejected(6, "more on the line"),
        Mess::new("duplicates.jsonl", "{\"id\":\"first\",\"text\":\"x\",\"id\":\"d1\"}\n{\"id\":\"d2\",\"twice\":1,\"twice\":2}\n").kept(1..=2),
        Mess::new(
            "numbers.jsonl",
            "{\"id\":\"m1\",\"u64\":18446744073709551615,\"huge\":123456789012345678901234567890,\"exact\":9007199254740993,\"float\":1.5}\n\
             {\"id\":\"m2\",\"u64\":1,\"huge\":1e999,\"exact\":-9223372036854775808,\"float\":2}\n\
             {\"id\":\"m3\",\"float\":-0.0,\"exact\":0}\n{\"id\":\"m4\",\"float\":1e-7}\n",
        )
        .kept(1..=4),
        Mess::new("empty.jsonl", ""),
        Mess::new("empty.jsonl.gz", "").packed(vec![]),
        Mess::new("lang=en/year=2024/part.jsonl", "{\"id\":\"h1\",\"text\":\"in a folder\"}\n").kept([1]),
        Mess::new("lang=de/year=2023/part.jsonl", "{\"id\":\"h2\",\"text\":\"im Ordner\"}\nkaputt\n")
            .kept([1])
            .rejected(2, "not JSON"),
        Mess::new("controls.jsonl", "{\"id\":\"x1\",\"text\":\"a\\u0000\\u001f\\\"\\\\\\/\\b\\f\\t\u{2028}\u{7f}\"}\n{\"id\":\"x2\",\"text\":\"raw\ttab\"}\n")
            .kept([1])
            .rejected(2, "byte"),
        Mess::new("deep.jsonl", format!("{{\"id\":\"e1\",\"text\":\"a\"}}\n{{\"a\":{}1{}}}\n", "[".repeat(5_000), "]".repeat(5_000)))
            .kept([1])
            .rejected(2, "levels deep"),
    ];
    let long =
        format!("{{\"id\":\"l1\",\"text\":\"{}\"}}\n{{\"id\":\"l2\",\"text\":\"short\"}}\n", "long ".repeat(4 << 20));
    messes.push(Mess::new("long.jsonl", long).kept(1..=2));
    let parts = [
        "{\"id\":\"p1\",\"text\":\"one\"}\n{\"id\":\"p2\",\"te",
        "xt\":\"two\"}\n",
        "{\"id\":\"p3\",\"text\":\"three\"}\nbroken\n",
    ];
    type Pack = fn(&[u8]) -> Vec<u8>;
    let packers: [(&str, Pack); 4] = [
        ("frames.jsonl.zst", zstd),
        ("members.jsonl.gz", gzip),
        ("streams.jsonl.bz2", bzip2),
        ("streams.jsonl.xz", xz),
    ];
    for (path, pack) in packers {
        let packed = parts.iter().flat_map(|part| pack(part.as_bytes())).collect();
        messes.push(Mess::new(path, parts.concat()).packed(packed).kept(1..=3).rejected(4, "not JSON"));
    }
    messes.sort_by_key(|mess| PathBuf::from(mess.path));
    messes
}

struct Folder {
    folder: TempDir,
}

impl Folder {
    fn new(messes: &[Mess]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for mess in messes {
            let path = folder.path().join("in").join(mess.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, mess.packed.as_ref().unwrap_or(&mess.lines)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    /// Runs a query in which `{x}` stands for a path in this folder.
    fn run(&self, query: &str, config: Config) -> Result<Vec<Outcome>, Error> {
        let mut text = String::new();
        for (i, part) in query.split(['{', '}']).enumerate() {
            if i % 2 == 0 { text.push_str(part) } else { text.push_str(&self.path(part)) }
        }
        block_on(run(&mut Session::new(config).unwrap(), &SourceText::new("query", text), Language::Cql))
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        let mut text = String::new();
        let root = self.folder.path().join(name);
        let mut files: Vec<PathBuf> = if root.is_dir() {
            fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect()
        } else {
            vec![root]
        };
        files.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with(['_', '.']));
        files.sort();
        for file in files {
            text.push_str(&fs::read_to_string(file).unwrap());
        }
        // Numbers that no machine number holds are compared as they are written.
        for number in [":123456789012345678901234567890", ":1e999"] {
            text = text.replace(number, &format!(":\"{}\"", &number[1..]));
        }
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Whether the output says what the input said. Fields that other documents have are null; where documents disagree
/// about a type, the column is text and holds the value as it was written.
fn same(input: &Value, output: &Value) -> bool {
    match (input, output) {
        (Value::Object(input), Value::Object(output)) => {
            let all_there =
                input.iter().all(|(name, value)| output.get(name).map_or(value.is_null(), |out| same(value, out)));
            all_there && output.iter().all(|(name, value)| value.is_null() || input.contains_key(name))
        }
        (Value::Array(input), Value::Array(output)) => {
            input.len() == output.len() && input.iter().zip(output).all(|(input, output)| same(input, output))
        }
        (Value::Number(input), Value::Number(output)) => {
            input == output || input.as_f64() == output.as_f64() && input.is_f64() != output.is_f64()
        }
        (Value::String(input), Value::String(output)) => input == output,
        (Value::Null, Value::String(_)) => false,
        (input, Value::String(output)) => {
            serde_json::from_str::<Value>(output).is_ok_and(|output| same(input, &output))
        }
        // An object with no field that any document fills is nothing.
        (Value::Object(input), Value::Null) => input.is_empty(),
        (input, output) => input == output,
    }
}

/// The rows that must come out, in order: where each is from, and its document.
fn expected_rows(messes: &[Mess], root: &str) -> Vec<(String, u64, Value)> {
    let mut rows = Vec::new();
    for mess in messes {
        for (number, _, line) in mess.numbered().into_iter().filter(|(number, ..)| mess.kept.contains(number)) {
            let text = std::str::from_utf8(line).unwrap();
            // Numbers that no machine number holds are compared as they are written.
            let text = text
                .replace("123456789012345678901234567890", "\"123456789012345678901234567890\"")
                .replace("1e999", "\"1e999\"");
            rows.push((format!("{root}/{}", mess.path), number, serde_json::from_str(&text).unwrap()));
        }
    }
    rows
}

fn check_rejects(messes: &[Mess], root: &str, rejects: &[Value]) {
    let mut expected = Vec::new();
    for mess in messes {
        for (line, reason) in &mess.rejected {
            let (_, offset, bytes) = mess.numbered()[*line as usize - 1];
            expected.push((format!("{root}/{}", mess.path), *line, offset, *reason, bytes));
        }
    }
    expected.sort();
    assert_eq!(rejects.len(), expected.len(), "{rejects:#?}");
    for (reject, (file, line, offset, reason, bytes)) in rejects.iter().zip(expected) {
        assert_eq!(
            (reject["file"].as_str(), reject["line"].as_u64(), reject["byte_offset"].as_u64()),
            (Some(file.as_str()), Some(line), Some(offset))
        );
        let found = reject["reason"].as_str().unwrap();
        assert!(found.contains(reason), "{file}:{line}: {found:?} is not about {reason:?}");
        assert_eq!(reject["raw"].as_str().unwrap(), String::from_utf8_lossy(bytes), "{file}:{line}");
    }
}

fn check_rows(name: &str, found: &[Value], expected: &[(String, u64, Value)]) {
    for (i, (found, (file, line, document))) in found.iter().zip(expected).enumerate() {
        let mut document = document.clone();
        document["_file"] = json!(file);
        document["_row"] = json!(line);
        for (key, value) in file.split('/').filter_map(|part| part.split_once('=')) {
            document[key] = value.parse::<i64>().map_or(json!(value), Value::from);
        }
        let short = |value: &Value| value.to_string().chars().take(500).collect::<String>();
        assert!(
            same(&document, found),
            "{name}, row {i}, {file}:{line}\n in: {}\nout: {}",
            short(&document),
            short(found)
        );
    }
    assert_eq!(found.len(), expected.len(), "{name}");
}

#[test]
fn every_mess_gives_the_right_rows_and_rejects_and_changes_no_other_field() {
    let messes = messes();
    let folder = Folder::new(&messes);
    let expected = expected_rows(&messes, &folder.path("in"));
    let count = |n| NonZeroUsize::new(n).unwrap();
    for (name, config) in [
        ("default", Config::default()),
        (
            "small blocks",
            Config { batch_bytes: count(50), batch_rows: count(3), threads: count(4), ..Config::default() },
        ),
    ] {
        let outcomes = folder
            .run("FROM '{in}/' |> WHERE _file <> '' AND _row > 0 |> INTO '{out}/' WITH (format = 'jsonl', compression = 'none', rejects = '{rejects}', overwrite = true)", config)
            .unwrap();
        check_rows(name, &folder.lines("out"), &expected);
        let rejects = folder.lines("rejects/rejects.jsonl");
        check_rejects(&messes, &folder.path("in"), &rejects);
        let report = &outcomes[0].report;
        assert_eq!(report.rows_out, expected.len() as u64);
        assert_eq!(report.rejected.iter().map(|(_, n)| n).sum::<u64>(), rejects.len() as u64);
        fs::remove_dir_all(folder.path("rejects")).unwrap();
    }
}

#[test]
fn documents_survive_parquet_and_arrow_and_scalars_survive_csv() {
    let messes = messes();
    let folder = Folder::new(&messes);
    let expected = expected_rows(&messes, &folder.path("in"));
    for ending in ["parquet", "arrow"] {
        let query = format!(
            "FROM '{{in}}/' |> WHERE _file <> '' AND _row > 0 |> INTO '{{mid.{ending}}}';\n\
             FROM '{{mid.{ending}}}' |> INTO '{{back-{ending}.jsonl}}'"
        );
        folder.run(&query, Config::default()).unwrap();
        check_rows(ending, &folder.lines(&format!("back-{ending}.jsonl")), &expected);
    }
    folder
        .run(
            "FROM '{in}/' |> SELECT id, text, mixed, exact, _file, _row |> INTO '{mid.csv}';\n\
             FROM '{mid.csv}' WITH (columns = 'id text, text text, mixed text, exact bigint, _file text, _row bigint') |> INTO '{back.jsonl}'",
            Config::default(),
        )
        .unwrap();
    for (found, (file, line, document)) in folder.lines("back.jsonl").iter().zip(&expected) {
        for field in ["id", "text", "mixed", "exact"] {
            let fits = same(&document[field], &found[field]);
            assert!(fits, "{file}:{line} {field}: {} {}", document[field], found[field]);
        }
        assert_eq!((&found["_file"], &found["_row"]), (&json!(file), &json!(line)));
    }
}

#[test]
fn what_the_sample_did_not_show_is_kept_and_written_back() {
    let lines: Vec<String> = (0..200)
        .map(|i| match i {
            150 => json!({"id": 150, "n": 1.5, "tags": ["a"], "meta": {"k": 1}}),
            160 => json!({"id": "text now", "n": 160, "late": {"x": [1, 2]}, "meta": {"k": 2, "new": true}}),
            170 => json!({"id": 170, "n": 18446744073709551615u64, "tags": [1], "meta": "flat"}),
            180 => json!({"id": 180, "n": null, "_extra": "own", "tags": null}),
            _ => json!({"id": i, "n": i, "tags": ["t"], "meta": {"k": i}}),
        })
        .map(|document| document.to_string())
        .collect();
    let folder = Folder::new(&[Mess::new("late.jsonl", lines.join("\n"))]);
    let config = Config { sample_bytes: 500, ..Config::default() };
    let outcomes = folder.run("FROM '{in}/late.jsonl' |> INTO '{out.jsonl}'", config.clone()).unwrap();
    assert!(outcomes[0].report.rejected.is_empty(), "{:?}", outcomes[0].report.rejected_examples);
    let found = folder.lines("out.jsonl");
    assert_eq!(found.len(), lines.len());
    for (line, found) in lines.iter().zip(&found) {
        let document: Value = serde_json::from_str(line).unwrap();
        assert!(same(&document, found), "\n in: {document}\nout: {found}");
    }
    // A query sees typed columns all the way, and the misfits beside them.
    let query = "FROM '{in}/late.jsonl' |> WHERE _extra IS NOT NULL |> SELECT id, n, _extra";
    let rows = folder.run(query, config).unwrap()[0].rows();
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        rows.iter().map(|row| row["id"].clone()).collect::<Vec<_>>(),
        [json!(150), Value::Null, json!(170), json!(180)]
    );
    let extra: Value = serde_json::from_str(rows[1]["_extra"].as_str().unwrap()).unwrap();
    assert_eq!(extra, json!({"id": "text now", "meta": {"new": true}, "late": {"x": [1, 2]}}));
}

#[test]
fn a_file_that_breaks_off_gives_its_rows_and_one_reject_for_the_rest() {
    let text: String =
        (0..20_000u64).map(|i| format!("{{\"id\":{i},\"text\":\"{}\"}}\n", i * i * 7919 % 1_000_003)).collect();
    let mut packed = gzip(text.as_bytes());
    packed.truncate(packed.len() / 2);
    let folder = Folder::new(&[
        Mess::new("a.jsonl.gz", "").packed(packed),
        Mess::new("b.jsonl", "{\"id\":-1,\"text\":\"after\"}\n"),
    ]);
    let query = "FROM '{in}/' |> INTO '{out.jsonl}' WITH (rejects = '{rejects}')";
    folder.run(query, Config::default()).unwrap();
    let rows = folder.lines("out.jsonl");
    let rejects = folder.lines("rejects/rejects.jsonl");
    assert_eq!(rejects.len(), 1);
    let n_read = rows.len() as u64 - 1;
    assert!(n_read > 5_000, "{n_read}");
    assert_eq!(
        (rejects[0]["line"].as_u64(), rejects[0]["file"].as_str()),
        (Some(n_read + 1), Some(folder.path("in/a.jsonl.gz").as_str()))
    );
    assert!(rejects[0]["reason"].as_str().unwrap().contains("cannot read the file from here on"));
    // Where it broke off is where the next line would have begun.
    let offset = rejects[0]["byte_offset"].as_u64().unwrap() as usize;
    assert_eq!(text[..offset].matches('\n').count() as u64, n_read);
    assert_eq!(rows.last().unwrap()["id"], -1);
    for (i, row) in rows.iter().take(n_read as usize).enumerate() {
        assert_eq!(row["id"], i as u64);
    }
}

#[test]
fn rejects_stand_in_the_order_of_sources_and_files() {
    // By text, `a-b/` comes before `a/`; a source has it behind.
    let bad = |id: usize| format!("{{\"id\":{id}}}\n{{\"id\":\n");
    let files = ["z/x.jsonl", "b/a/x.jsonl", "b/a-b/x.jsonl"].map(|path| Mess::new(path, "").packed(bad(1).into()));
    let folder = Folder::new(&files);
    let query = "FROM '{in/z/}' |> UNION ALL (FROM '{in/b/}') |> UNION ALL (FROM '{in/z/}') \
                 |> INTO '{out.jsonl}' WITH (rejects = '{rejects}')";
    let outcomes = folder.run(query, Config::default()).unwrap();
    let rejects = folder.lines("rejects/rejects.jsonl");
    let found: Vec<&str> = rejects.iter().map(|reject| reject["file"].as_str().unwrap()).collect();
    let expected = ["z/x.jsonl", "b/a/x.jsonl", "b/a-b/x.jsonl"].map(|name| folder.path(&format!("in/{name}")));
    assert_eq!(found, expected, "each line once, though one source is read twice");
    let shown = &outcomes[0].report.rejected_examples;
    assert!(shown.iter().zip(&expected).all(|(shown, file)| shown.starts_with(file)), "{shown:?}");
}

#[test]
fn strict_runs_stop_at_the_first_line_and_leave_nothing_behind() {
    let messes = messes();
    for mess in messes.iter().filter(|mess| !mess.rejected.is_empty()) {
        let folder = Folder::new(std::slice::from_ref(mess));
        let config = Config { strict: true, ..Config::default() };
        let query = "FROM '{in}/' |> INTO '{out}/' WITH (rejects = '{rejects}')";
        let Err(error) = folder.run(query, config) else { panic!("{} passed", mess.path) };
        let (line, reason) = mess.rejected[0];
        let message = error.to_string();
        assert!(message.contains(&format!("{}:{line}: ", mess.path)) && message.contains(reason), "{message}");
        let left: BTreeMap<PathBuf, u64> = leftovers(folder.folder.path());
        assert!(left.keys().all(|path| path.starts_with(folder.path("in"))), "{left:?}");
    }
}

fn leftovers(root: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            found.extend(leftovers(&entry.path()));
        } else {
            found.insert(entry.path(), entry.metadata().unwrap().len());
        }
    }
    found
}
