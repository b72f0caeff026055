use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use crate::resource::ObjectKey;

/// The failures of a controller as its log shows them: equal failures are one line with a count.
///
/// The first failure of a series is a line of its own. While the series goes on, a line tells the count after 10 s, after 1
/// min, and then every 10 min. Another line tells when no object fails so any more. Failures are equal if their texts differ
/// only in names of the object and in words with digits. At most 64 series are kept; what exceeds them is one more series.
#[derive(Default)]
pub(super) struct FailureLog {
    series: Mutex<HashMap<String, Series>>,
    /// A series began, or the last object of one does not fail any more.
    changed: Arc<Notify>,
}

struct Series {
    first: Instant,
    first_text: Box<str>,
    newest_text: Box<str>,
    total: u64,
    /// Since the last line.
    untold: u64,
    told: Instant,
    lines: usize,
    objects: Arc<AtomicUsize>,
}

/// An object that fails as a series says, until this is dropped.
#[derive(Debug)]
pub(super) struct Failing {
    objects: Arc<AtomicUsize>,
    changed: Arc<Notify>,
}

/// Which line a failure is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It begins a series.
    First,
    /// It is counted.
    Counted,
    /// It is counted, and the line tells that there are too many series.
    TooMany,
}

/// What of a controller's objects fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// How many objects.
    pub(super) objects: usize,
    /// For how long the series with the most objects goes on.
    pub(super) lasts: Duration,
    /// The newest failure of that series.
    pub(super) text: Box<str>,
}

/// A line that is due.
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

/// So many series are told apart.
const SERIES: usize = 64;
/// The pauses between the lines of one series; the last one is repeated.
const PAUSES: [Duration; 3] = [
    Duration::from_secs(10),
    Duration::from_secs(60),
    Duration::from_secs(600),
];
/// So much of a text is kept, in bytes.
const LONGEST_TEXT: usize = 1024;

impl FailureLog {
    /// Counts a failure of `key`: which line it is worth, and what to keep while the object fails so.
    pub(super) fn note(&self, key: &ObjectKey, text: &str, now: Instant) -> (Told, Failing) {
        let alike = alike(key, text);
        let mut all = self.series();
        let fits = all.contains_key(&alike) || all.len() < SERIES;
        let alike = if fits { alike } else { String::new() };
        let mut told = Told::Counted;
        let series = all.entry(alike).or_insert_with(|| {
            told = if fits { Told::First } else { Told::TooMany };
            Series::new(text, now)
        });
        series.total += 1;
        series.untold += u64::from(told == Told::Counted);
        series.newest_text = cut(text);
        series.objects.fetch_add(1, Ordering::Relaxed);
        let failing = Failing {
            objects: series.objects.clone(),
            changed: self.changed.clone(),
        };
        drop(all);
        if told != Told::Counted {
            self.changed.notify_one();
        }
        (told, failing)
    }

    /// What fails now; `None` if no object does.
    pub(super) fn trouble(&self, now: Instant) -> Option<Trouble> {
        let all = self.series();
        let objects = all.values().map(Series::objects).sum();
        let most = all.values().max_by_key(|series| series.objects())?;
        (objects > 0).then(|| Trouble {
            objects,
            lasts: now.saturating_duration_since(most.first),
            text: most.newest_text.clone(),
        })
    }

    /// Writes the lines that tell counts and ends, for as long as it is polled.
    pub(super) async fn run(&self, controller: &str, kind: &str) {
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
            // Both branches only wait: what is due is computed anew.
            tokio::select! {
                () = self.changed.notified() => {}
                () = wait => {}
            }
        }
    }

    /// The lines that are due, and when the next one may be.
    fn due(&self, now: Instant) -> (Vec<Line>, Option<Instant>) {
        let mut lines = Vec::new();
        let mut next: Option<Instant> = None;
        self.series().retain(|_, series| {
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

    // What a panic leaves is whole: no foreign code runs under it.
    fn series(&self) -> MutexGuard<'_, HashMap<String, Series>> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Series {
    fn new(text: &str, now: Instant) -> Self {
        Self {
            first: now,
            first_text: cut(text),
            newest_text: cut(text),
            total: 0,
            untold: 0,
            told: now,
            lines: 0,
            objects: Arc::default(),
        }
    }

    fn objects(&self) -> usize {
        self.objects.load(Ordering::Relaxed)
    }

    /// When its next line may be due. An end is told soon, but not within one pause of the line before: what fails and
    /// succeeds in turns does not fill the log.
    fn due(&self) -> Instant {
        let step = if self.objects() == 0 { 0 } else { self.lines };
        self.told + PAUSES[step.min(PAUSES.len() - 1)]
    }

    fn line(&mut self, now: Instant) -> Option<Line> {
        let within = now.saturating_duration_since(self.told);
        self.told = now;
        let objects = self.objects();
        if objects == 0 {
            return Some(Line::Ended {
                total: self.total,
                lasted: now.saturating_duration_since(self.first),
                first: self.first_text.clone(),
            });
        }
        self.lines += 1;
        let count = std::mem::take(&mut self.untold);
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
                "{kind}: {count} more failures like this within {}; objects that fail so now: {objects}; the newest: {newest}",
                Rounded(within)
            ),
            Self::Ended {
                total,
                lasted,
                first,
            } => tracing::info!(
                controller,
                "{kind}: no object fails so any more; failures in {}: {total}; the first: {first}",
                Rounded(lasted)
            ),
        }
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        if self.objects.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.changed.notify_one();
        }
    }
}

fn cut(text: &str) -> Box<str> {
    text[..text.floor_char_boundary(LONGEST_TEXT)].into()
}

/// What equal failures have in common: the text without names of the object, and without words that have digits.
fn alike(key: &ObjectKey, text: &str) -> String {
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
    let mut alike = String::with_capacity(text.len());
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(if end == 0 { c.len_utf8() } else { end });
        match end > 0 && is_name(word.trim_end_matches('.')) {
            true => alike.push('#'),
            false => alike.push_str(word),
        }
        rest = after;
    }
    alike
}

/// `20ms`, `1.3s`, `5m0s`: as precise as a reader needs.
pub(super) struct Rounded(pub(super) Duration);

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
    fn texts_that_differ_in_names_and_numbers_are_alike() {
        let of = |name: &str, text: &str| alike(&key(name), text);
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
    fn equal_failures_are_one_line_and_then_a_count_and_an_end() {
        let log = FailureLog::default();
        let start = Instant::now();
        let mut failing = Vec::new();
        for number in 0..1850 {
            let key = key(&format!("web-{number}"));
            let (told, one) = log.note(&key, &format!("apply shop/web-{number}: no"), start);
            assert_eq!(told == Told::First, number == 0);
            failing.push(one);
        }
        let trouble = log.trouble(start + SECOND).unwrap();
        assert_eq!((trouble.objects, trouble.lasts), (1850, SECOND));
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
        assert_eq!(log.trouble(start), None);
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
        assert_eq!((next, log.series().len()), (None, 0));
    }

    #[test]
    fn what_fails_and_succeeds_in_turns_does_not_fill_the_log() {
        let log = FailureLog::default();
        let start = Instant::now();
        let mut lines = 0;
        for tenth in 0..1000 {
            let now = start + SECOND * tenth / 10;
            let (told, failing) = log.note(&key("a"), "no", now);
            drop(failing);
            lines += usize::from(told != Told::Counted) + log.due(now).0.len();
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
        assert_eq!((count(Told::First), count(Told::TooMany)), (SERIES, 1));
        assert_eq!(log.series().len(), SERIES + 1);
        assert_eq!(log.trouble(start).unwrap().objects, 26 * 26);
    }
}
