//! Requests from synchronous code: threads of their own that talk to stores, how many at a time, and trying again.
//!
//! Invariant: every failure that may pass is tried again, with pauses that grow and differ; a failure that stays is told
//! once. Who waits here blocks a thread, and the threads that answer are never among those that wait.

use super::trouble::Trouble;
use std::future::Future;
use std::io::{Error, Result};
use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// Requests under way at one time, over all stores.
const MAX_REQUESTS: usize = 64;
/// Attempts at a request, beside those that the stores' client makes itself.
const MAX_ATTEMPTS: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// No attempt begins later than this after the first.
pub(super) const MAX_TRYING: Duration = Duration::from_secs(180);

/// What becomes of a request.
pub(super) type Outcome<T> = std::result::Result<T, Trouble>;

/// How long a store may be silent. `CURATOR_STORE_TIMEOUT` sets it, in seconds.
pub(super) fn timeout() -> Duration {
    static TIMEOUT: OnceLock<Duration> = OnceLock::new();
    *TIMEOUT.get_or_init(|| {
        let asked = std::env::var("CURATOR_STORE_TIMEOUT").ok();
        let seconds = asked.and_then(|text| text.trim_end_matches('s').parse::<u64>().ok());
        Duration::from_secs(seconds.unwrap_or(30).max(1))
    })
}

/// The threads that talk to stores.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        let made = Builder::new_multi_thread().worker_threads(2).thread_name("curator-store").enable_all().build();
        made.map_err(|error| format!("cannot start threads to read with: {error}"))
    });
    made.as_ref().map_err(|error| Error::other(error.clone()))
}

/// Lets a request go on by itself.
pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<AbortHandle> {
    Ok(runtime()?.spawn(work).abort_handle())
}

/// Waits for a request. Never called on the threads that talk to stores.
pub(super) fn wait<T: Send + 'static>(work: impl Future<Output = Outcome<T>> + Send + 'static) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    spawn(async move {
        let _ = sender.send(work.await);
    })?;
    let answer = receiver.recv().map_err(|_| Error::other("a request to a store ended unexpectedly"))?;
    Ok(answer?)
}

/// Makes a request that may be made again, when there is room for one more.
pub(super) async fn attempts<T, F, R>(request: F) -> Outcome<T>
where
    F: Fn() -> R,
    R: Future<Output = Outcome<T>>,
{
    static ROOM: Semaphore = Semaphore::const_new(MAX_REQUESTS);
    let request = &request;
    apart(|| async move {
        let _permit = ROOM.acquire().await;
        request().await
    })
    .await
}

/// The same beside all others: for a request that others wait for.
pub(super) async fn apart<T, F, R>(request: F) -> Outcome<T>
where
    F: Fn() -> R,
    R: Future<Output = Outcome<T>>,
{
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        match request().await {
            Err(trouble) if trouble.is_transient && attempt < MAX_ATTEMPTS && began.elapsed() < MAX_TRYING => {
                tracing::info!("a store failed, attempt {attempt}: {}", trouble.text);
                tokio::time::sleep(jittered(pause)).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(trouble) if trouble.is_transient => {
                let text = format!("{}, {attempt} attempts in {:.0} s", trouble.text, began.elapsed().as_secs_f32());
                return Err(Trouble { text, ..trouble });
            }
            outcome => return outcome,
        }
    }
    Err(Trouble::transient("no attempt was made"))
}

/// Something between half of a pause and one and a half: who failed together does not come back together.
fn jittered(pause: Duration) -> Duration {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(Instant::now()) % 1000;
    pause.mul_f64(0.5 + random as f64 / 1000.0)
}
