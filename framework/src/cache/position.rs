use std::cmp::Ordering;

use super::processor::compare;

/// How far a reflector has come, and what follows for its next request.
///
/// client-go's rules for resource versions and page sizes, without I/O.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// The last version known to be taken in; `""` at the start.
    version: String,
    /// The version of a list that broke off between its pages: what was delivered of it must not go
    /// backwards.
    partial: String,
    /// A streamed list broke off: what was delivered of it is of no version that is known, so that
    /// only the newest state cannot be older.
    partly_streamed: bool,
    /// The server's versions went backwards, and no list was complete since.
    restored: bool,
    /// The server no longer has, or does not yet have, `version`.
    unavailable: bool,
    /// The server pages lists that it was allowed to answer from memory: it has no watch cache.
    paginated: bool,
}

impl Position {
    /// As client-go's pager.
    pub(super) const PAGE: u32 = 500;

    /// The version to list at: anything at hand at first, later nothing older than what was seen,
    /// and what is newest (`""`) when that version cannot be had.
    pub(super) fn list_version(&self) -> &str {
        match (self.needs_newest(), &*self.version, &*self.partial) {
            (true, _, _) => "",
            (false, "", "") => "0",
            (false, version, "") => version,
            (false, _, partial) => partial,
        }
    }

    /// The version to stream a list at, nothing older than what was seen; `None` for what is newest.
    pub(super) fn stream_version(&self) -> Option<&str> {
        Some(self.list_version()).filter(|version| !matches!(*version, "" | "0"))
    }

    fn needs_newest(&self) -> bool {
        self.unavailable || self.partly_streamed
    }

    /// The size of a list's pages; `None` asks for all at once, which a server answers from its
    /// watch cache when a version is given.
    pub(super) fn page_size(&self) -> Option<u32> {
        let from_cache = !matches!(self.list_version(), "" | "0");
        (self.paginated || !from_cache).then_some(Self::PAGE)
    }

    /// The version to watch from; `None` if the list had none.
    pub(super) fn watch_version(&self) -> Option<&str> {
        Some(&*self.version).filter(|version| !version.is_empty())
    }

    /// The first page of a list is there.
    pub(super) fn page_taken(&mut self, version: &str, asked: &str, has_more: bool) {
        self.paginated |= asked == "0" && has_more;
        self.partial.clear();
        self.partial.push_str(version);
    }

    /// Objects of a streamed list are handed on, in whatever order of versions.
    pub(super) fn streaming(&mut self) {
        self.partly_streamed = true;
    }

    /// A list is complete.
    pub(super) fn listed(&mut self, version: &str) {
        self.unavailable = false;
        self.restored = false;
        self.partly_streamed = false;
        self.partial.clear();
        self.version.clear();
        self.version.push_str(version);
    }

    /// An event or a bookmark was taken in. A watch from no version in particular begins with the
    /// present state as added objects, in the order of names: those do not move the position. Answers whether it
    /// moved.
    pub(super) fn followed(&mut self, version: Option<&str>, is_added: bool) -> bool {
        let is_synthetic = is_added && self.is_unknown();
        let version = version.filter(|version| !version.is_empty() && !is_synthetic);
        let Some(version) = version.filter(|version| *version != self.version) else {
            return false;
        };
        self.version.clear();
        self.version.push_str(version);
        true
    }

    /// Whether a watch begins at no version in particular.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(&*self.version, "" | "0")
    }

    /// Whether `version` is older than what was taken in, which cannot be if the server still has the
    /// state that it had.
    pub(super) fn is_before(&self, version: Option<&str>) -> bool {
        version.and_then(|version| compare(version, &self.version)) == Some(Ordering::Less)
    }

    /// The server's versions went backwards: nothing of before can be relied on. Answers whether this is new.
    pub(super) fn went_back(&mut self) -> bool {
        self.unavailable = true;
        !std::mem::replace(&mut self.restored, true)
    }

    /// Whether the server's versions went backwards, and no list was complete since.
    pub(super) fn is_restored(&self) -> bool {
        self.restored
    }

    /// The next list is to be of the newest state, whatever was seen.
    pub(super) fn restart(&mut self) {
        self.unavailable = true;
    }

    /// The server answered that it does not have the version; answers whether asking for the
    /// newest one is worth a try.
    pub(super) fn unavailable(&mut self) -> bool {
        !std::mem::replace(&mut self.unavailable, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_list_takes_what_is_at_hand_and_later_ones_nothing_older() {
        let mut position = Position::default();
        assert_eq!(
            (position.list_version(), position.page_size()),
            ("0", Some(500))
        );
        position.listed("10");
        assert_eq!(
            (position.list_version(), position.page_size()),
            ("10", None)
        );
        position.followed(Some("12"), true);
        assert_eq!(
            (position.list_version(), position.watch_version()),
            ("12", Some("12"))
        );
    }

    #[test]
    fn a_version_that_cannot_be_had_is_given_up_for_the_newest_until_a_list_works() {
        let mut position = Position::default();
        position.listed("10");
        assert!(position.unavailable());
        assert_eq!(
            (position.list_version(), position.page_size()),
            ("", Some(500))
        );
        assert!(!position.unavailable(), "once is enough");
        position.listed("30");
        assert_eq!(position.list_version(), "30");
    }

    #[test]
    fn a_server_that_pages_from_memory_is_paged_for_ever() {
        let mut position = Position::default();
        position.page_taken("7", "0", true);
        position.listed("7");
        assert_eq!(position.page_size(), Some(500));
    }

    #[test]
    fn synthetic_events_do_not_move_the_position() {
        let mut position = Position::default();
        position.listed("0");
        position.followed(Some("9"), true);
        assert_eq!(position.watch_version(), Some("0"));
        position.followed(Some("12"), false);
        assert_eq!(position.watch_version(), Some("12"));
    }

    #[test]
    fn after_a_list_that_broke_off_nothing_older_is_asked_for() {
        let mut position = Position::default();
        position.page_taken("7", "0", true);
        assert_eq!(
            (position.list_version(), position.watch_version()),
            ("7", None)
        );
        position.listed("7");
        position.page_taken("9", "7", true);
        assert_eq!(position.list_version(), "9");
        position.listed("10");
        assert_eq!(position.list_version(), "10");
    }

    #[test]
    fn a_list_is_streamed_at_nothing_older_than_what_was_seen_and_newest_after_it_broke_off() {
        let mut position = Position::default();
        assert_eq!(position.stream_version(), None);
        position.listed("7");
        assert_eq!(position.stream_version(), Some("7"));
        position.streaming();
        assert_eq!(
            (position.stream_version(), position.list_version()),
            (None, "")
        );
        position.listed("9");
        assert_eq!(position.stream_version(), Some("9"));
    }
}
