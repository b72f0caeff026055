use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{Error, verbs::random_fraction};

/// Whether a server answers, as the requests of all clients of it show.
#[derive(Debug, Default)]
pub(crate) struct Reachability {
    failing: AtomicBool,
    /// Counts how often the server answered again.
    returns: watch::Sender<u64>,
}

impl Reachability {
    /// A request came to this end.
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
        // Nearly all requests only read it.
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

/// Shortens the pauses after connections that failed: when another request of the same client, or of one made of it,
/// is answered again, the pause ends within a second.
///
/// All that wait do so at a random moment of that second. A pause that was shortened in vain makes the next ones last
/// 2 s, then 4 s and so on at least, so that one path that stays broken is not tried each time another one works.
///
/// [`Client::reconnections`](super::Client::reconnections) gives one.
pub struct Reconnections {
    returns: watch::Receiver<u64>,
    /// How many pauses in a row were shortened.
    shortened: u32,
}

impl Reconnections {
    /// Those that wait come back spread over this time.
    const SPREAD: Duration = Duration::from_secs(1);

    /// A request is about to be sent: only an answer that comes later than this shortens the pause after it.
    pub fn begin(&mut self) {
        self.returns.mark_unchanged();
    }

    /// Waits for `pause`, or less if the server answers again.
    pub async fn pause(&mut self, pause: Duration) {
        let start = Instant::now();
        let end = start + pause;
        tokio::select! {
            // Losing either branch is safe: they only wait.
            () = sleep_until(end) => return,
            returned = self.returns.changed() => {
                if returned.is_err() {
                    return sleep_until(end).await;
                }
            }
        }
        let least = match self.shortened {
            0 => Duration::ZERO,
            before => Self::SPREAD.saturating_mul(2u32.saturating_pow(before)),
        };
        self.shortened = self.shortened.saturating_add(1);
        let soon = Instant::now() + Self::SPREAD.mul_f64(random_fraction());
        sleep_until(soon.max(start + least.min(pause)).min(end)).await;
    }

    /// The connection worked for a while.
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
    use crate::client::{ConnectError, ConnectProblem};

    const MINUTE: Duration = Duration::from_secs(60);

    fn refused() -> Result<(), Error> {
        Err(Error::Connect {
            verb: "list",
            target: "configmaps".into(),
            source: ConnectError::new("there", ConnectProblem::Refused),
        })
    }

    /// How long a pause of a minute takes when requests come to these ends after 10 s of it.
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
    async fn an_answer_that_came_before_the_pause_but_after_the_request_counts() {
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
    async fn a_path_that_stays_broken_is_tried_ever_more_slowly_while_others_work() {
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
