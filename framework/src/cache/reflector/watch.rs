//! How a [`Reflector`] follows the changes of a collection.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::{
    ListerWatcher, Reflector,
    backoff::FailureKind,
    convert::delta,
    open_watch::{NextEvent, OpenWatch},
    pause::Pause,
    reopen_backoff::ReopenBackoff,
};
use crate::{
    cache::{DeltaQueue, InformerMode},
    client::{Error, ErrorKind, WatchEvent, WatchParams},
    resource::Object,
};

/// Why a watch ended.
enum WatchEnd {
    /// Continue from the last version after this minimum time.
    Reopen(&'static str, Duration),
    /// Continue from the last version after a pause.
    Retry(Pause),
    /// List after a pause.
    Relist(Pause),
}

impl<L> Reflector<L> {
    /// A stream that is silent for this long is replaced; a server sends bookmarks about every minute.
    const SILENCE_TIMEOUT: Duration = Duration::from_secs(150);
    /// If a watch sends this many events in a row without a new version, it would go on forever.
    const MAX_REPEATED_EVENTS: u32 = 1000;

    /// Watches, again and again, until only a list helps. `watch` is the stream that brought the list, if there is
    /// one.
    pub(super) async fn watch_until_list<K>(
        &mut self,
        mut watch: Option<OpenWatch<L::Watch>>,
        queue: &DeltaQueue<K>,
    ) -> Pause
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        let mut reason = "listed";
        loop {
            let ended = match watch.take() {
                Some(watch) => self.follow(watch, queue).await,
                None => {
                    self.progress.connecting(reason);
                    self.begin_request();
                    match self.open(false, Self::SILENCE_TIMEOUT).await {
                        Ok(watch) => self.follow(watch, queue).await,
                        Err(_) if self.source.has_list(self.position.list_version()) => {
                            WatchEnd::Relist(Pause::new("expired", FailureKind::Expired))
                        }
                        Err(error) => self.watch_not_opened(error.as_ref()),
                    }
                }
            };
            match ended {
                WatchEnd::Reopen(why, pause) => {
                    reason = why;
                    if !pause.is_zero() {
                        self.progress.enter(InformerMode::BackingOff);
                        sleep(pause).await;
                    }
                }
                WatchEnd::Retry(pause) => {
                    reason = pause.why;
                    self.pause(pause).await;
                }
                WatchEnd::Relist(pause) => return pause,
            }
        }
    }

    /// Opens a watch at the position, or one that begins with the present state.
    ///
    /// # Errors
    /// The error of the request, or `None` if there was no answer within `limit`.
    pub(super) async fn open<K>(
        &mut self,
        with_initial_events: bool,
        limit: Duration,
    ) -> Result<OpenWatch<L::Watch>, Option<Error>>
    where
        L: ListerWatcher<K>,
    {
        // A random time, so that watches do not all end together.
        let time = self.jitter.between(self.scope.watch_timeouts());
        let version = if with_initial_events {
            self.position.stream_version()
        } else {
            self.position.watch_version()
        };
        let params = WatchParams {
            label_selector: self.scope.label_selector.clone(),
            field_selector: self.scope.field_selector.clone(),
            shard_selector: self.scope.shard_selector.clone(),
            resource_version: version.map(str::to_owned),
            timeout: Some(time),
            send_initial_events: with_initial_events,
            ..WatchParams::default()
        };
        let asked = Instant::now();
        match timeout(limit, self.source.watch(&params)).await {
            Ok(Ok(stream)) => {
                let open = self.progress.open_watch();
                Ok(OpenWatch::new(stream, asked, time, open))
            }
            Ok(Err(error)) => Err(Some(error)),
            Err(_) => Err(None),
        }
    }

    async fn follow<K>(&mut self, mut watch: OpenWatch<L::Watch>, queue: &DeltaQueue<K>) -> WatchEnd
    where
        K: Object,
        L: ListerWatcher<K>,
    {
        self.progress.received();
        self.progress.enter(InformerMode::Watching);
        // After a watch that ended soon, the next one must last before the informer counts as healthy again.
        let mut is_proven = self.reopen_backoff.last_watch_lasted();
        if is_proven {
            self.progress.recovered("watch");
        }
        let (mut has_progressed, mut repeated) = (false, 0);
        let ended = loop {
            let now = Instant::now();
            let lasts_at = watch.opened() + ReopenBackoff::LASTED;
            if !is_proven && lasts_at <= now {
                is_proven = true;
                self.reopen_backoff.lasted();
                self.progress.recovered("watch");
            }
            if watch.is_overdue(now) {
                break WatchEnd::reopen("late");
            }
            if repeated >= Self::MAX_REPEATED_EVENTS {
                self.progress.failed_because(
                    "watch",
                    "the server repeats one resource version without end",
                );
                break WatchEnd::reopen("repeated");
            }
            // While this reflector waits for room in the queue, the server is not silent: the time counts from the
            // moment at which the stream is read again.
            let due = match is_proven {
                true => now + Self::SILENCE_TIMEOUT,
                false => lasts_at,
            };
            match watch.next(due).await {
                NextEvent::Event(event) => {
                    self.progress.watched(&event);
                    let is_added = matches!(event, WatchEvent::Added(_));
                    let Some(delta) = delta(event) else {
                        self.progress.unnamed_objects(1);
                        repeated += 1;
                        continue;
                    };
                    if self.position.is_before(delta.resource_version()) {
                        self.progress.failed_because(
                            "watch",
                            "the server's resource versions went backwards",
                        );
                        self.position.went_back();
                        break WatchEnd::Relist(Pause::new("backwards", FailureKind::Server));
                    }
                    if self.position.followed(delta.resource_version(), is_added) {
                        (has_progressed, repeated) = (true, 0);
                    } else if !self.position.is_unknown() {
                        repeated += 1;
                    }
                    self.push(delta, queue).await;
                }
                NextEvent::Error(error) => break self.watch_broken(&error, watch.was_short()),
                NextEvent::Closed if watch.was_short() => {
                    self.progress
                        .failed_because("watch", "the server ended the watch at once");
                    break WatchEnd::Relist(Pause::new("short", FailureKind::Server));
                }
                NextEvent::Closed => break WatchEnd::reopen("closed"),
                NextEvent::Silent if !is_proven => {}
                NextEvent::Silent => break WatchEnd::reopen("silent"),
            }
        };
        self.worked_for(watch.age());
        if matches!(ended, WatchEnd::Relist(_))
            && self.source.has_list(self.position.list_version())
        {
            // The watch did not fail.
            return ended;
        }
        let pause = self.reopen_backoff.ended(watch.age(), has_progressed);
        match ended {
            WatchEnd::Reopen(why, _) => {
                self.tell_if_failing(why != "repeated");
                WatchEnd::Reopen(why, pause)
            }
            WatchEnd::Relist(pause) => {
                self.tell_if_failing(pause.failure == FailureKind::Expired);
                WatchEnd::Relist(pause)
            }
            again => again,
        }
    }

    /// Reports that watches do not last, unless another failure was reported.
    fn tell_if_failing(&self, is_untold: bool) {
        if is_untold && self.reopen_backoff.is_failing() {
            self.progress
                .failed_because("watch", "the server ends each watch after less than 5 s");
        }
    }

    /// Reports that requests worked for `time`.
    fn worked_for(&mut self, time: Duration) {
        if self.backoff.worked_for(time)
            && let Some(reconnections) = &mut self.reconnections
        {
            reconnections.held();
        }
    }

    fn watch_not_opened(&mut self, error: Option<&Error>) -> WatchEnd {
        let Some(error) = error else {
            self.progress
                .failed_because("watch", "the server did not answer");
            return WatchEnd::Retry(Pause::new("silent", FailureKind::Connection));
        };
        let pause = Pause::after(error);
        if pause.failure == FailureKind::Expired {
            // This happens now and then in normal operation.
            self.reopen_backoff.expired();
            if self.reopen_backoff.is_failing() {
                self.progress.failed("watch", error);
            }
            return WatchEnd::Relist(pause);
        }
        self.progress.failed("watch", error);
        match pause.failure {
            // Lists keep the collection fresh meanwhile; or the kind is not served any more.
            FailureKind::Refused => WatchEnd::Relist(pause),
            FailureKind::Server if error.status().is_none_or(|status| status.code < 500) => {
                // The server does not understand the resource version.
                WatchEnd::Relist(pause)
            }
            _ => WatchEnd::Retry(pause),
        }
    }

    fn watch_broken(&self, error: &Error, short: bool) -> WatchEnd {
        let pause = Pause::after(error);
        match pause.failure {
            FailureKind::Expired => WatchEnd::Relist(pause),
            FailureKind::Throttled => {
                self.progress.failed("watch", error);
                WatchEnd::Retry(pause)
            }
            FailureKind::Connection if short => {
                self.progress.failed("watch", error);
                WatchEnd::Retry(pause)
            }
            FailureKind::Connection => WatchEnd::reopen("broken"),
            _ if matches!(error.kind(), ErrorKind::Lagged { .. }) => WatchEnd::reopen("lagged"),
            _ => {
                self.progress.failed("watch", error);
                WatchEnd::Relist(pause)
            }
        }
    }
}

impl WatchEnd {
    fn reopen(why: &'static str) -> Self {
        Self::Reopen(why, Duration::ZERO)
    }
}
