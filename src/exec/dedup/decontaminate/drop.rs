//! `mode => 'drop'`: documents with an n-gram of a task go. Nothing is kept: rows go on as they come.

use super::evals::shingler;
use super::work::Work;
use crate::Result;
use crate::dedup::DropMatcher;
use crate::exec::dedup::apply::{Reason, kept_rows};
use crate::exec::dedup::documents::texts;
use crate::exec::dedup::work::{Feed, Outlet};
use arrow::array::Array;
use rayon::ThreadPool;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Reads the documents, gives those without a match.
pub(super) fn run(
    work: &Work,
    matcher: &DropMatcher,
    feed: &mut Feed,
    outlet: &Outlet<'_>,
    threads: &ThreadPool,
) -> Result<()> {
    let column = work.text()?;
    while let Some(batch) = feed.next()? {
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
            dropped.write(&batch, &work.request.label, None, &reasons)?;
        }
        let keep: Vec<bool> = tasks.iter().map(Option::is_none).collect();
        let kept = kept_rows(&batch, &keep, vec![], &work.layout, &work.output_schema)?;
        timer.done();
        outlet.send(kept)?;
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
