use std::{
    cmp::Reverse,
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::resource::ObjectKey;

/// Writes the failures of a controller to the log: equal failures are one line with a count.
///
/// The first failure of a series has its own line. While the series goes on, a line shows the count after 10 s, after 1
/// min, and then every 10 min. The last line says that no object fails in this way any more. Failures are equal if their
/// texts differ only in names of the object and in words with digits. At most 64 series are kept; all other failures form
/// one more series.
#[derive(Default)]
pub(crate) struct FailureLog {
    series: Mutex<HashMap<String, Series>>,
    /// Notified when a series began, or when the last object of a series stopped failing.
    changed: Arc<Notify>,
}

struct Series {
    first: Instant,
    first_text: Box<str>,
    newest_text: Box<str>,
    total: u64,
    /// The failures since the last line.
    unlogged: u64,
    /// The time of the last line.
    logged_at: Instant,
    /// The number of lines with a count.
    lines: usize,
    objects: Arc<AtomicUsize>,
}

/// Counts an object in a series of failures, until it is dropped.
#[derive(Debug)]
pub(crate) struct FailingObject {
    objects: Arc<AtomicUsize>,
    changed: Arc<Notify>,
}

/// How a failure is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogDecision {
    /// It begins a series and has its own line.
    First,
    /// It is only counted.
    Counted,
    /// It is the first one beyond the limit of series: its line says that there are too many.
    TooMany,
}

/// Which of a controller's objects fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailureSummary {
    /// The number of objects that fail.
    pub(crate) objects: usize,
    /// The age of the series with the most objects.
    pub(crate) age: Duration,
    /// The newest failure of that series.
    pub(crate) text: Box<str>,
}

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    More {
        count: u64,
        within: Duration,
        objects: usize,
        newest: Box<str>,
    },
    Ended {
        total: u64,
        lasted: Duration,
        first: Box<str>,
    },
}

/// The largest number of series.
const SERIES: usize = 64;
/// The pauses between the lines of one series. The last pause is repeated.
const PAUSES: [Duration; 3] = [
    Duration::from_secs(10),
    Duration::from_secs(60),
    Duration::from_secs(600),
];
/// The longest text that is kept, in bytes.
const LONGEST_TEXT: usize = 1024;

impl FailureLog {
    /// Counts a failure of `key`. Returns how to log it, and a value to keep while the object fails in this way.
    pub(crate) fn note(
        &self,
        key: &ObjectKey,
        text: &str,
        now: Instant,
    ) -> (LogDecision, FailingObject) {
        let key = series_key(key, text);
        let mut all = self.series.lock();
        let fits = all.contains_key(&key) || all.len() < SERIES;
        let key = if fits { key } else { String::new() };
        let mut decision = LogDecision::Counted;
        let series = all.entry(key).or_insert_with(|| {
            decision = if fits {
                LogDecision::First
            } else {
                LogDecision::TooMany
            };
            Series::new(text, now)
        });
        series.total += 1;
        series.unlogged += u64::from(decision == LogDecision::Counted);
        series.newest_text = cut(text);
        series.objects.fetch_add(1, Ordering::Relaxed);
        let failing = FailingObject {
            objects: series.objects.clone(),
            changed: self.changed.clone(),
        };
        drop(all);
        if decision != LogDecision::Counted {
            self.changed.notify_one();
        }
        (decision, failing)
    }

    /// Which objects fail now. Returns `None` if no object fails.
    pub(crate) fn summary(&self, now: Instant) -> Option<FailureSummary> {
        let all = self.series.lock();
        let objects = all.values().map(Series::objects).sum();
        // Among equals the oldest, so that the text stays the same from one look to the next.
        let rank = |series: &Series| (series.objects(), Reverse(series.first));
        let most = all.values().max_by(|a, b| {
            let ranks = rank(a).cmp(&rank(b));
            ranks.then_with(|| a.newest_text.cmp(&b.newest_text))
        })?;
        (objects > 0).then(|| FailureSummary {
            objects,
            age: now.saturating_duration_since(most.first),
            text: most.newest_text.clone(),
        })
    }

    /// Writes the lines with counts and ends, as long as it is polled.
    pub(crate) async fn run(&self, controller: &str, kind: &str) {
        loop {
            let (lines, due) = self.due(Instant::now());
            for line in lines {
                line.write(controller, kind);
            }
            let wait = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            // Losing either branch is safe: both only wait, and the due lines are computed again.
            tokio::select! {
                () = self.changed.notified() => {}
                () = wait => {}
            }
        }
    }

    /// The lines that are due, and when the next line may be due.
    fn due(&self, now: Instant) -> (Vec<Line>, Option<Instant>) {
        let mut lines = Vec::new();
        let mut next: Option<Instant> = None;
        self.series.lock().retain(|_, series| {
            let due = series.due();
            let mut at = due;
            if now >= due {
                let line = series.line(now);
                let has_ended = matches!(line, Some(Line::Ended { .. }));
                lines.extend(line);
                if has_ended {
                    return false;
                }
                at = series.due();
            }
            next = Some(next.map_or(at, |next| next.min(at)));
            true
        });
        (lines, next)
    }

    // A panic cannot leave it half changed: no user code runs under the lock.
}

impl Series {
    fn new(text: &str, now: Instant) -> Self {
        Self {
            first: now,
            first_text: cut(text),
            newest_text: cut(text),
            total: 0,
            unlogged: 0,
            logged_at: now,
            lines: 0,
            objects: Arc::default(),
        }
    }

    fn objects(&self) -> usize {
        self.objects.load(Ordering::Relaxed)
    }

    /// When the next line may be due. The end is logged soon, but at least one pause after the line before: an object
    /// that fails and succeeds in turns does not fill the log.
    fn due(&self) -> Instant {
        let step = if self.objects() == 0 { 0 } else { self.lines };
        self.logged_at + PAUSES[step.min(PAUSES.len() - 1)]
    }

    fn line(&mut self, now: Instant) -> Option<Line> {
        let within = now.saturating_duration_since(self.logged_at);
        self.logged_at = now;
        let objects = self.objects();
        if objects == 0 {
            return Some(Line::Ended {
                total: self.total,
                lasted: now.saturating_duration_since(self.first),
                first: self.first_text.clone(),
            });
        }
        self.lines += 1;
        let count = std::mem::take(&mut self.unlogged);
        (count > 0).then(|| Line::More {
            count,
            within,
            objects,
            newest: self.newest_text.clone(),
        })
    }
}

impl Line {
    fn write(self, controller: &str, kind: &str) {
        match self {
            Self::More {
                count,
                within,
                objects,
                newest,
            } => tracing::warn!(
                controller,
                "{kind}: {count} more equal failures within {}; objects that fail now: {objects}; the newest failure: {newest}",
                Rounded(within)
            ),
            Self::Ended {
                total,
                lasted,
                first,
            } => tracing::info!(
                controller,
                "{kind}: no object fails in this way any more; failures in {}: {total}; the first failure: {first}",
                Rounded(lasted)
            ),
        }
    }
}

impl Drop for FailingObject {
    fn drop(&mut self) {
        if self.objects.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.changed.notify_one();
        }
    }
}

fn cut(text: &str) -> Box<str> {
    text[..text.floor_char_boundary(LONGEST_TEXT)].into()
}

/// The text that equal failures share: without names of the object and without words that have digits.
fn series_key(key: &ObjectKey, text: &str) -> String {
    let names = [Some(key.name()), key.namespace()];
    let is_name = |word: &str| {
        word.bytes().any(|byte| byte.is_ascii_digit())
            || names.into_iter().flatten().any(|name| {
                let rest = word.strip_prefix(name);
                let before = word.strip_suffix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
                    || before.is_some_and(|before| before.ends_with(['-', '.']))
            })
    };
    let text = &text[..text.floor_char_boundary(LONGEST_TEXT)];
    let mut common = String::with_capacity(text.len());
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(if end == 0 { c.len_utf8() } else { end });
        match end > 0 && is_name(word.trim_end_matches('.')) {
            true => common.push('#'),
            false => common.push_str(word),
        }
        rest = after;
    }
    common
}

/// Shows a duration as `20ms`, `1.3s` or `5m0s`.
pub(crate) struct Rounded(pub(crate) Duration);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        match self.0.as_secs() {
            0 => write!(f, "{}ms", self.0.as_millis()),
            1..60 => write!(f, "{}s", (seconds * 10.0).round() / 10.0),
            whole => write!(f, "{}m{}s", whole / 60, whole % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn key(name: &str) -> ObjectKey {
        ObjectKey::namespaced("shop", name)
    }

    #[test]
    fn texts_that_differ_only_in_names_and_numbers_belong_to_one_series() {
        let of = |name: &str, text: &str| series_key(&key(name), text);
        for (one, other) in [
            (
                of(
                    "web",
                    "apply ConfigMap shop/web-page: configmaps \"web-page\" is forbidden.",
                ),
                of(
                    "blog",
                    "apply ConfigMap shop/blog-page: configmaps \"blog-page\" is forbidden.",
                ),
            ),
            (of("a", "a bad page"), of("b", "b bad page")),
            (
                of("a", "version 17 of pod-x1b"),
                of("a", "version 4 of pod-y2"),
            ),
            (of("a", "ü: a."), of("b", "ü: b.")),
        ] {
            assert_eq!(one, other);
        }
        assert_ne!(of("a", "apply ConfigMap: no"), of("a", "apply Secret: no"));
        assert_eq!(of("a", ""), "");
    }

    #[test]
    fn equal_failures_are_logged_as_one_line_then_a_count_then_an_end() {
        let log = FailureLog::default();
        let start = Instant::now();
        let mut failing = Vec::new();
        for number in 0..1850 {
            let key = key(&format!("web-{number}"));
            let (told, one) = log.note(&key, &format!("apply shop/web-{number}: no"), start);
            assert_eq!(told == LogDecision::First, number == 0);
            failing.push(one);
        }
        let summary = log.summary(start + SECOND).unwrap();
        assert_eq!((summary.objects, summary.age), (1850, SECOND));
        assert_eq!(
            log.due(start + 9 * SECOND),
            (vec![], Some(start + 10 * SECOND))
        );
        let (lines, next) = log.due(start + 10 * SECOND);
        let more = |count, seconds, newest: &str| Line::More {
            count,
            within: seconds * SECOND,
            objects: 1850,
            newest: newest.into(),
        };
        assert_eq!(lines, [more(1849, 10, "apply shop/web-1849: no")]);
        assert_eq!(next, Some(start + 70 * SECOND));
        assert_eq!(log.due(start + 70 * SECOND).0, [], "nothing is new");

        failing.clear();
        assert_eq!(log.summary(start), None);
        assert_eq!(log.due(start + 75 * SECOND).1, Some(start + 80 * SECOND));
        let (lines, next) = log.due(start + 80 * SECOND);
        let first = "apply shop/web-0: no".into();
        let (total, lasted) = (1850, 80 * SECOND);
        assert_eq!(
            lines,
            [Line::Ended {
                total,
                lasted,
                first
            }]
        );
        assert_eq!((next, log.series.lock().len()), (None, 0));
    }

    #[test]
    fn the_summary_shows_the_oldest_of_series_with_equally_many_objects() {
        let log = FailureLog::default();
        let start = Instant::now();
        let texts = ["one", "two", "three", "four", "five", "six"];
        let notes = (0..).zip(texts);
        let failing: Vec<_> = notes
            .map(|(age, text)| log.note(&key("web"), text, start + age * SECOND))
            .collect();
        let summary = log.summary(start + 10 * SECOND).unwrap();
        let shown = (summary.objects, &*summary.text, summary.age);
        assert_eq!(shown, (failing.len(), "one", 10 * SECOND));
    }

    #[test]
    fn an_object_that_fails_and_succeeds_in_turns_does_not_fill_the_log() {
        let log = FailureLog::default();
        let start = Instant::now();
        let mut lines = 0;
        for tenth in 0..1000 {
            let now = start + SECOND * tenth / 10;
            let (told, failing) = log.note(&key("a"), "no", now);
            drop(failing);
            lines += usize::from(told != LogDecision::Counted) + log.due(now).0.len();
        }
        assert!(lines <= 20, "{lines}");
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let log = FailureLog::default();
        let start = Instant::now();
        let mut failing = Vec::new();
        let told: Vec<_> = (b'a'..=b'z')
            .flat_map(|one| (b'a'..=b'z').map(move |two| [one, two]))
            .map(|word| {
                let text = format!("no {}", String::from_utf8_lossy(&word));
                let (told, one) = log.note(&key("web"), &text, start);
                failing.push(one);
                told
            })
            .collect();
        let count = |kind| told.iter().filter(|told| **told == kind).count();
        assert_eq!(
            (count(LogDecision::First), count(LogDecision::TooMany)),
            (SERIES, 1)
        );
        assert_eq!(log.series.lock().len(), SERIES + 1);
        assert_eq!(log.summary(start).unwrap().objects, 26 * 26);
    }
}
