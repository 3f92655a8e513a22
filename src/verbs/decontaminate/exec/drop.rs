//! `mode => 'drop'`: documents with an n-gram of a task go. Nothing is kept: rows go on as they come, each partition by
//! itself.

use super::evals::shingler;
use super::work::DecontaminateWork;
use crate::dedup::DropMatcher;
use crate::verbs::dedup::exec::apply::{Reason, kept_rows};
use crate::verbs::documents::texts;
use crate::verbs::working::{Input, Output, Working, in_parallel};
use crate::{Error, Result};
use arrow::array::Array;
use rayon::ThreadPool;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Reads the documents, gives those without a match.
pub(super) fn run(
    work: &DecontaminateWork,
    matcher: &DropMatcher,
    working: Working,
    threads: &ThreadPool,
) -> Result<()> {
    let partitions = working.rows.into_iter().zip(working.outputs).collect();
    in_parallel(&working.stop, partitions, |partition, (mut input, output)| {
        match run_partition(work, matcher, partition, &mut input, &output, threads) {
            // Nobody reads this partition; the others may be read.
            Err(Error::Interrupted) if !output.is_read() => {}
            other => other?,
        }
        work.dropped.as_ref().map_or(Ok(()), |dropped| dropped.end(partition))?;
        output.end();
        Ok(())
    })?;
    Ok(())
}

fn run_partition(
    work: &DecontaminateWork,
    matcher: &DropMatcher,
    partition: usize,
    input: &mut Input,
    output: &Output,
    threads: &ThreadPool,
) -> Result<()> {
    let column = work.text()?;
    while let Some(batch) = input.next()? {
        let timer = work.elapsed.timer();
        let texts = texts(&batch, column)?;
        let tasks: Vec<Option<&str>> = threads.install(|| {
            let places = (0..texts.len()).into_par_iter();
            let tools = || (shingler(work), Vec::new());
            let task = |(shingler, hashes): &mut (_, Vec<u64>), place: usize| {
                let text = if texts.is_valid(place) { texts.value(place) } else { return None };
                search(matcher, shingler, hashes, text)
            };
            places.map_init(tools, task).collect()
        });
        let hits = tasks.iter().enumerate().filter_map(|(place, task)| Some((place, (*task)?)));
        let reasons: Vec<Reason> = hits
            .map(|(place, task)| Reason { place: place as u32, value: None, kept: Some(task.to_string()) })
            .collect();
        work.counts.hit.add(reasons.len());
        work.counts.dropped.add(reasons.len());
        if let Some(dropped) = &work.dropped {
            dropped.write((partition, &batch), &work.request.label, None, &reasons)?;
        }
        let keep: Vec<bool> = tasks.iter().map(Option::is_none).collect();
        let kept = kept_rows(&batch, &keep, vec![], &work.columns, &work.output_schema)?;
        timer.done();
        output.send(kept)?;
    }
    Ok(())
}

fn search<'a>(
    matcher: &'a DropMatcher,
    shingler: &mut crate::ops::dedup::Shingler,
    hashes: &mut Vec<u64>,
    text: &str,
) -> Option<&'a str> {
    shingler.hashes(text, hashes);
    matcher.find(hashes).map(|hit| hit.task)
}
