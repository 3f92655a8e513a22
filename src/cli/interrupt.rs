//! Ctrl-C: the first asks the work to stop, more end the process.
//!
//! Work that is asked to stop is dropped, and dropping removes half-written files. A thread stuck in a write to
//! a pager cannot be asked, so pressing again must always get out.

use crate::{Error, Result};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// Hears Ctrl-C and SIGTERM for as long as the runtime lives.
#[derive(Clone)]
pub struct Interrupt {
    presses: Arc<AtomicUsize>,
    pressed: Arc<Notify>,
}

impl Interrupt {
    /// For a command: Ctrl-C or SIGTERM stops it, a second one ends the process. Listens on the current runtime.
    pub fn of_command() -> Self {
        let interrupt = Self { presses: Arc::default(), pressed: Arc::default() };
        tokio::spawn(interrupt.clone().hear(SignalKind::interrupt(), 2));
        tokio::spawn(interrupt.clone().hear(SignalKind::terminate(), 2));
        interrupt
    }

    /// For a prompt: Ctrl-C stops the query; three that nobody answers end the process. SIGTERM always does.
    pub fn of_prompt() -> Self {
        let interrupt = Self { presses: Arc::default(), pressed: Arc::default() };
        tokio::spawn(interrupt.clone().hear(SignalKind::interrupt(), 3));
        interrupt
    }

    async fn hear(self, kind: SignalKind, patience: usize) {
        let Ok(mut signals) = signal(kind) else { return };
        while signals.recv().await.is_some() {
            if self.presses.fetch_add(1, Ordering::SeqCst) + 1 >= patience {
                std::process::exit(130);
            }
            self.pressed.notify_waiters();
        }
    }

    /// Awaits `work`, or drops it when the user interrupts.
    pub async fn or_stop<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let pressed = self.pressed.notified();
        tokio::pin!(pressed);
        // Registered before the count is read, so that no press falls between the two.
        pressed.as_mut().enable();
        if self.presses.load(Ordering::SeqCst) > 0 {
            return Err(Error::Interrupted);
        }
        tokio::select! {
            result = work => result,
            () = pressed => Err(Error::Interrupted),
        }
    }

    /// Forgets earlier presses: what they stopped has stopped.
    pub fn answered(&self) {
        self.presses.store(0, Ordering::SeqCst);
    }
}
