//! The moving line under a run: bytes, rate, time left, rows kept. On a terminal only, and gone afterwards.

use super::terminal::stderr_can_animate;
use crate::exec::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Short queries show nothing: a display that flashes up is worse than none.
const DELAY: Duration = Duration::from_millis(400);
const TICK: Duration = Duration::from_millis(120);

// Short enough to leave room in 80 columns: a full line wraps when the terminal echoes `^C`, and stays behind.
const KNOWN_TOTAL: &str = "{bar:12} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta} left, {msg}";
const UNKNOWN_TOTAL: &str = "{spinner} {decimal_bytes} {decimal_bytes_per_sec} {elapsed}, {msg}";

/// A display under way. Dropping it clears the line.
pub struct ProgressLine {
    bar: ProgressBar,
    ticker: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ProgressLine {
    /// Shows what `read` says, several times a second, from a thread of its own: workers may all be busy.
    pub fn start(wanted: bool, read: impl Fn() -> Progress + Send + 'static) -> Self {
        if !wanted || !stderr_can_animate() {
            return Self { bar: ProgressBar::hidden(), ticker: None };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let (stop, stopped) = channel::<()>();
        let shown = bar.clone();
        let thread = std::thread::Builder::new().name("curator-progress".into()).spawn(move || {
            let mut wait = DELAY;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                if wait == DELAY {
                    shown.set_draw_target(ProgressDrawTarget::stderr());
                    wait = TICK;
                }
                show(&shown, read());
            }
        });
        Self { bar, ticker: thread.ok().map(|thread| (stop, thread)) }
    }

    /// Runs `print` with the line out of the way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.ticker.take() {
            drop(stop);
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

fn show(bar: &ProgressBar, progress: Progress) {
    let is_known = progress.bytes_total.is_some();
    if bar.length() != progress.bytes_total || bar.position() == 0 {
        match progress.bytes_total {
            Some(total) => bar.set_length(total),
            None => bar.unset_length(),
        }
        if let Ok(style) = ProgressStyle::with_template(if is_known { KNOWN_TOTAL } else { UNKNOWN_TOTAL }) {
            bar.set_style(style.progress_chars("=> "));
        }
    }
    bar.set_message(format!("kept {} of {}", short_count(progress.rows_kept), short_count(progress.rows_read)));
    bar.set_position(progress.bytes_read);
}

/// `950`, `1.2k`, `12.3M`: a count that keeps its width.
fn short_count(count: u64) -> String {
    const UNITS: [&str; 4] = ["", "k", "M", "G"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { count.to_string() } else { format!("{value:.1}{}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stay_short() {
        let shown: Vec<String> = [0, 999, 1000, 1_250_000, 3_000_000_000].map(short_count).into();
        assert_eq!(shown, ["0", "999", "1.0k", "1.2M", "3.0G"]);
    }
}
