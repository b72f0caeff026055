/// The versions of one object that this controller wrote, to tell the events of its own writes from changes by others.
///
/// The controller applies a status with the resource version that the object must still have. If the apply succeeds, no
/// other client changed the object between that version and the version in the answer. So an event that leads from one of
/// these versions to another one is an echo of our own write, even if versions between them are missing.
///
/// The watch is often faster than the answer. While a write is under way, events are parked; they are judged when the
/// answer is known.
#[derive(Debug, Default)]
pub(crate) struct OwnWrites {
    under_way: usize,
    /// Oldest first. Each was written by us on top of the one before; somebody else wrote the first.
    versions: Vec<String>,
    parked: Vec<(String, String)>,
    /// More events came than are parked. Then the parked events count as a change by others.
    overflow: bool,
}

/// Whether an event shows a change by this controller or by another client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Another client changed something.
    Foreign,
    /// Only what this controller wrote.
    Echo,
    /// The event is judged when the write ends.
    Parked,
}

/// The largest number of parked events per key and write. More than a few mean that others write too.
const PARKED: usize = 16;
/// The largest number of own versions that are remembered.
const VERSIONS: usize = 8;

impl OwnWrites {
    /// Judges an event from version `old` to version `new`.
    pub(crate) fn judge(&mut self, old: &str, new: &str) -> Verdict {
        if self.under_way == 0 {
            return match self.is_echo(old, new) {
                true => Verdict::Echo,
                false => Verdict::Foreign,
            };
        }
        if self.parked.len() < PARKED {
            self.parked.push((old.to_owned(), new.to_owned()));
        } else {
            self.overflow = true;
        }
        Verdict::Parked
    }

    /// A write begins.
    pub(crate) fn begin(&mut self) {
        self.under_way += 1;
    }

    /// The version to write on: `seen`, or our newest version if `seen` is one of our older versions.
    pub(crate) fn newest(&self, seen: &str) -> String {
        let ours = self.versions.iter().any(|version| version == seen);
        let newest = self.versions.last().filter(|_| ours);
        newest.map_or(seen, String::as_str).to_owned()
    }

    /// The server answered our write on version `old` with version `new`.
    pub(crate) fn wrote(&mut self, old: String, new: String) {
        if self.versions.last() != Some(&old) {
            self.versions = vec![old];
        }
        if self.versions.last() != Some(&new) {
            self.versions.push(new);
        }
        if self.versions.len() > VERSIONS {
            self.versions.remove(0);
        }
    }

    /// A write ended. Returns the number of parked events that were echoes, and whether another event was not.
    pub(crate) fn end(&mut self) -> (usize, bool) {
        self.under_way -= 1;
        if self.under_way > 0 {
            return (0, false);
        }
        let parked = std::mem::take(&mut self.parked);
        let echoes = parked.iter().filter(|(old, new)| self.is_echo(old, new));
        let echoes = echoes.count();
        let foreign = std::mem::take(&mut self.overflow) || echoes < parked.len();
        (echoes, foreign)
    }

    fn is_echo(&self, old: &str, new: &str) -> bool {
        let mut versions = self.versions.iter();
        versions.any(|version| version == old) && versions.any(|version| version == new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(steps: &[(&str, &str)]) -> OwnWrites {
        let mut writes = OwnWrites::default();
        for (old, new) in steps {
            writes.wrote((*old).into(), (*new).into());
        }
        writes
    }

    #[test]
    fn only_a_change_between_our_own_versions_is_an_echo() {
        let mut writes = wrote(&[("5", "6"), ("6", "8")]);
        for (old, new, expected) in [
            ("5", "6", Verdict::Echo),
            ("6", "8", Verdict::Echo),
            ("5", "8", Verdict::Echo),
            ("4", "6", Verdict::Foreign),
            ("5", "7", Verdict::Foreign),
            ("8", "9", Verdict::Foreign),
        ] {
            assert_eq!(writes.judge(old, new), expected, "{old} to {new}");
        }
    }

    #[test]
    fn an_event_that_overtakes_the_answer_waits_for_it() {
        let mut writes = OwnWrites::default();
        writes.begin();
        assert_eq!(writes.judge("5", "6"), Verdict::Parked);
        writes.wrote("5".into(), "6".into());
        assert_eq!(writes.end(), (1, false));
    }

    #[test]
    fn a_foreign_change_that_was_parked_is_not_lost() {
        let mut writes = OwnWrites::default();
        writes.begin();
        writes.judge("5", "6");
        writes.judge("6", "7");
        writes.wrote("6".into(), "7".into());
        assert_eq!(writes.end(), (1, true));

        writes.begin();
        for _ in 0..100 {
            writes.judge("6", "7");
        }
        assert!(writes.end().1);
    }

    #[test]
    fn a_write_starts_from_our_newest_version_only_if_ours_was_seen() {
        let writes = wrote(&[("5", "6"), ("6", "8")]);
        assert_eq!(
            (writes.newest("6"), writes.newest("9")),
            ("8".into(), "9".into())
        );
    }
}
