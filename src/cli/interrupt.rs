//! Ctrl-C and its like: the first asks the work to stop, more end the process.
//!
//! Work that is asked to stop is dropped, and dropping removes half-written files. A thread that is stuck, in a
//! write to a pager or in one long step of a join, cannot be asked: a command then ends by itself soon, and
//! pressing again always gets out.

use super::terminal::{say, wake_blocked_writers};
use crate::{Error, Result, store};
use rustix::process::Signal;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// Hears Ctrl-C, SIGTERM and SIGHUP for as long as the process lives.
#[derive(Clone)]
pub struct Interrupt {
    presses: Arc<AtomicUsize>,
    pressed: Arc<Notify>,
    has_stopped: Arc<AtomicBool>,
}

/// How long the work of a command may take to notice that it is to stop.
const GRACE: Duration = Duration::from_secs(2);

impl Interrupt {
    /// For a command: Ctrl-C, SIGTERM or a terminal that goes away stops it, a second one ends the process.
    pub fn of_command() -> Self {
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        if !ignores_hangups() {
            kinds.push(SignalKind::hangup());
        }
        Self::of(&kinds, 2, Some(GRACE))
    }

    /// For a prompt: Ctrl-C stops the query; three that nobody answers end the process. SIGTERM always does.
    pub fn of_prompt() -> Self {
        Self::of(&[SignalKind::interrupt()], 3, None)
    }

    fn of(kinds: &[SignalKind], patience: usize, grace: Option<Duration>) -> Self {
        let interrupt = Self { presses: Arc::default(), pressed: Arc::default(), has_stopped: Arc::default() };
        let heard = kinds.iter().map(|kind| interrupt.clone().hear(*kind, patience, grace));
        let all = futures::future::join_all(heard.collect::<Vec<_>>());
        // On a thread of its own: the workers may all be busy with what is to be stopped. If there is no thread,
        // signals end the process, as they do by default.
        let listen = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => drop(runtime.block_on(async {
                // A file that may not grow is an error where it is written, and does not end the process without a word.
                let _heard = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
                all.await
            })),
            Err(error) => tracing::warn!("Ctrl-C will not be heard: {error}"),
        };
        let _ = std::thread::Builder::new().name("curator-signals".into()).spawn(listen);
        interrupt
    }

    async fn hear(self, kind: SignalKind, patience: usize, grace: Option<Duration>) {
        let Ok(mut signals) = signal(kind) else { return };
        while signals.recv().await.is_some() {
            if self.presses.fetch_add(1, Ordering::SeqCst) + 1 >= patience {
                end();
            }
            self.pressed.notify_waiters();
            tokio::spawn(wake_writers());
            if let Some(grace) = grace {
                let pressed_again = tokio::time::timeout(grace, signals.recv()).await.is_ok();
                if pressed_again || !self.has_stopped.load(Ordering::SeqCst) {
                    end();
                }
            }
        }
    }

    /// Awaits `work`, or drops it when the user interrupts.
    pub async fn or_stop<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let pressed = self.pressed.notified();
        tokio::pin!(pressed);
        // Registered before the count is read, so that no press falls between the two.
        pressed.as_mut().enable();
        if self.presses.load(Ordering::SeqCst) > 0 {
            self.has_stopped.store(true, Ordering::SeqCst);
            return Err(Error::Interrupted);
        }
        tokio::select! {
            result = work => result,
            () = pressed => {
                self.has_stopped.store(true, Ordering::SeqCst);
                Err(Error::Interrupted)
            }
        }
    }

    /// Forgets earlier presses: what they stopped has stopped.
    pub fn answered(&self) {
        self.presses.store(0, Ordering::SeqCst);
    }
}

/// Whether the process was started to outlive its terminal (`nohup`), or nobody can tell.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The least bit is the first signal, which is SIGHUP.
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask & 1 == 1)
}

/// Wakes a thread that Ctrl-C left waiting for its terminal (see [`wake_blocked_writers`]). The terminal throws output
/// away some time after it sent the signal, so once is not enough.
async fn wake_writers() {
    for _ in 0..20 {
        wake_blocked_writers();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Ends the process without waiting for its threads.
fn end() -> ! {
    store::remove_unfinished();
    say("interrupted");
    std::process::exit(130)
}
