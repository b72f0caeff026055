use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::{
    backoff::{Growth, Jitter},
    client::Error,
};

/// Whether a server answers, according to the requests of all its clients.
#[derive(Debug, Default)]
pub(crate) struct Reachability {
    failing: AtomicBool,
    /// Counts how often the server began to answer again.
    returns: watch::Sender<u64>,
}

impl Reachability {
    /// Records the outcome of a request.
    pub(crate) fn note<T>(&self, outcome: &Result<T, Error>) {
        match outcome {
            Ok(_) => self.answered(),
            Err(error) if error.is_connection_failure() => {
                self.failing.store(true, Ordering::Relaxed);
            }
            Err(_) => {}
        }
    }

    fn answered(&self) {
        // Most requests only read this.
        if self.failing.load(Ordering::Relaxed) && self.failing.swap(false, Ordering::Relaxed) {
            self.returns.send_modify(|returns| *returns += 1);
        }
    }

    pub(crate) fn reconnections(&self) -> Reconnections {
        Reconnections {
            returns: self.returns.subscribe(),
            shortened: 0,
        }
    }
}

/// Shortens the pauses after failed connections. A pause ends within a second after the server answers another request
/// of the same client, or of a client made of it.
///
/// All waiting callers continue at a random moment of that second. If a shortened pause did not help, the next ones
/// last at least 2 s, then 4 s, and so on. So one path that stays broken is not tried each time another one works.
///
/// [`Client::reconnections`](crate::client::Client::reconnections) returns one.
pub struct Reconnections {
    returns: watch::Receiver<u64>,
    /// The number of shortened pauses in a row.
    shortened: u32,
}

impl Reconnections {
    /// Waiting callers continue at random moments of this time.
    const SPREAD: Duration = Duration::from_secs(1);
    /// The shortest pauses, after the first one.
    const LEAST: Growth = Growth::doubling(Self::SPREAD, Duration::MAX);

    /// Must be called before a request is sent. Only an answer after this call shortens the pause after the request.
    pub fn begin(&mut self) {
        self.returns.mark_unchanged();
    }

    /// Waits for `pause`, or less if the server answers another request.
    pub async fn pause(&mut self, pause: Duration) {
        let start = Instant::now();
        let end = start + pause;
        tokio::select! {
            // Losing either branch is safe, because both only wait.
            () = sleep_until(end) => return,
            returned = self.returns.changed() => {
                if returned.is_err() {
                    return sleep_until(end).await;
                }
            }
        }
        let least = match self.shortened {
            0 => Duration::ZERO,
            before => Self::LEAST.least(before),
        };
        self.shortened = self.shortened.saturating_add(1);
        let soon = Instant::now() + Jitter::random().between(Duration::ZERO..Self::SPREAD);
        sleep_until(soon.max(start + least.min(pause)).min(end)).await;
    }

    /// Must be called after a connection worked for a while. The next pause may then be short again.
    pub fn held(&mut self) {
        self.shortened = 0;
    }
}

impl fmt::Debug for Reconnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconnections")
            .field("shortened", &self.shortened)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{ConnectError, ConnectProblem, ErrorKind};

    const MINUTE: Duration = Duration::from_secs(60);

    fn refused() -> Result<(), Error> {
        Err(Error::new(
            "list",
            "configmaps",
            ErrorKind::Connect(ConnectError::new("there", ConnectProblem::Refused)),
        ))
    }

    /// How long a pause of a minute takes if requests have these outcomes after 10 s.
    async fn paused(
        reachability: &Reachability,
        reconnections: &mut Reconnections,
        outcomes: &[Result<(), Error>],
    ) -> Duration {
        let start = Instant::now();
        let others = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            outcomes
                .iter()
                .for_each(|outcome| reachability.note(outcome));
            std::future::pending().await
        };
        reconnections.begin();
        tokio::select! {
            () = reconnections.pause(MINUTE) => start.elapsed(),
            () = others => Duration::MAX,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_ends_within_a_second_after_the_server_answers_again() {
        let reachability = Reachability::default();
        for outcomes in [
            vec![refused(), Ok(())],
            vec![refused(), refused(), Ok(()), Ok(())],
        ] {
            let mut reconnections = reachability.reconnections();
            let time = paused(&reachability, &mut reconnections, &outcomes).await;
            assert!((10..12).contains(&time.as_secs()), "{time:?}");
        }
        let busy = || {
            Error::api(
                "list",
                "configmaps",
                crate::resource::Status::from_code(503, ""),
            )
        };
        for outcomes in [
            vec![],
            vec![Ok(())],
            vec![refused()],
            vec![Err(busy()), Ok(())],
        ] {
            let reachability = Reachability::default();
            let mut reconnections = reachability.reconnections();
            let time = paused(&reachability, &mut reconnections, &outcomes).await;
            assert_eq!(time, MINUTE, "{outcomes:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_between_request_and_pause_shortens_the_pause() {
        let reachability = Reachability::default();
        let mut reconnections = reachability.reconnections();
        reconnections.begin();
        reachability.note(&refused());
        reachability.note(&Ok(()));
        let start = Instant::now();
        reconnections.pause(MINUTE).await;
        assert!(start.elapsed() <= Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_of_a_path_that_stays_broken_grow_while_others_work() {
        let reachability = Reachability::default();
        let mut reconnections = reachability.reconnections();
        let mut times = Vec::new();
        for _ in 0..6 {
            reconnections.begin();
            reachability.note(&refused());
            reachability.note(&Ok(()));
            let start = Instant::now();
            reconnections.pause(MINUTE).await;
            times.push(start.elapsed().as_secs());
        }
        assert_eq!(times[1..], [2, 4, 8, 16, 32]);
        reconnections.held();
        reachability.note(&refused());
        reachability.note(&Ok(()));
        let start = Instant::now();
        reconnections.pause(MINUTE).await;
        assert!(start.elapsed() <= Duration::from_secs(1));
    }
}
