use std::cmp::Ordering;

use crate::cache::resource_version::compare;

/// How far a reflector has come, and what follows for its next request.
///
/// client-go's rules for resource versions and page sizes, without I/O.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// The last resource version that the reflector handed on; `""` at the start.
    version: String,
    /// The resource version of a list that failed between two pages. Some of its objects were handed on, so that the
    /// next list must not be older.
    partial: String,
    /// A streamed list failed. Some of its objects were handed on, and their resource version is unknown, so that
    /// only the newest state is certain not to be older.
    partly_streamed: bool,
    /// The server's resource versions went backwards, and no list was complete since.
    restored: bool,
    /// The server no longer has `version`, or does not have it yet.
    unavailable: bool,
    /// The server pages lists that it could answer from memory: it has no watch cache.
    paginated: bool,
}

impl Position {
    /// The page size of client-go's pager.
    pub(super) const PAGE: u32 = 500;

    /// The resource version to list at: `"0"` (any version) at first; later nothing older than what was seen; and
    /// `""` (the newest) if that version is not available.
    pub(super) fn list_version(&self) -> &str {
        match (self.needs_newest(), &*self.version, &*self.partial) {
            (true, _, _) => "",
            (false, "", "") => "0",
            (false, version, "") => version,
            (false, _, partial) => partial,
        }
    }

    /// The resource version to stream a list at, nothing older than what was seen; `None` for the newest.
    pub(super) fn stream_version(&self) -> Option<&str> {
        Some(self.list_version()).filter(|version| !matches!(*version, "" | "0"))
    }

    fn needs_newest(&self) -> bool {
        self.unavailable || self.partly_streamed
    }

    /// The page size of the next list. `None` requests all objects at once; a server answers that from its watch
    /// cache if a resource version is given.
    pub(super) fn page_size(&self) -> Option<u32> {
        let from_cache = !matches!(self.list_version(), "" | "0");
        (self.paginated || !from_cache).then_some(Self::PAGE)
    }

    /// The resource version to watch from; `None` if the list had none.
    pub(super) fn watch_version(&self) -> Option<&str> {
        Some(&*self.version).filter(|version| !version.is_empty())
    }

    /// Reports that the first page of a list arrived.
    pub(super) fn page_taken(&mut self, version: &str, asked: &str, has_more: bool) {
        self.paginated |= asked == "0" && has_more;
        self.partial.clear();
        self.partial.push_str(version);
    }

    /// Reports that objects of a streamed list are handed on; they come in any order of versions.
    pub(super) fn streaming(&mut self) {
        self.partly_streamed = true;
    }

    /// Reports that a list is complete.
    pub(super) fn listed(&mut self, version: &str) {
        self.unavailable = false;
        self.restored = false;
        self.partly_streamed = false;
        self.partial.clear();
        self.version.clear();
        self.version.push_str(version);
    }

    /// Reports that an event or a bookmark was handed on. A watch without a resource version begins with the present
    /// state as added objects, in the order of their names: those do not move the position. Returns whether the
    /// position moved.
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

    /// Whether a watch begins without a definite resource version.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(&*self.version, "" | "0")
    }

    /// Whether `version` is older than the position. That is impossible as long as the server still has its state.
    pub(super) fn is_before(&self, version: Option<&str>) -> bool {
        version.and_then(|version| compare(version, &self.version)) == Some(Ordering::Less)
    }

    /// Reports that the server's resource versions went backwards: nothing from before is reliable. Returns whether
    /// this is new.
    pub(super) fn went_back(&mut self) -> bool {
        self.unavailable = true;
        !std::mem::replace(&mut self.restored, true)
    }

    /// Whether the server's resource versions went backwards, and no list was complete since.
    pub(super) fn is_restored(&self) -> bool {
        self.restored
    }

    /// Requests the newest state with the next list, whatever was seen.
    pub(super) fn restart(&mut self) {
        self.unavailable = true;
    }

    /// Reports that the server does not have the requested version. Returns whether a request for the newest one is
    /// worth a try.
    pub(super) fn unavailable(&mut self) -> bool {
        !std::mem::replace(&mut self.unavailable, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_list_accepts_any_version_and_later_lists_nothing_older() {
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
    fn an_unavailable_version_is_replaced_by_the_newest_until_a_list_succeeds() {
        let mut position = Position::default();
        position.listed("10");
        assert!(position.unavailable());
        assert_eq!(
            (position.list_version(), position.page_size()),
            ("", Some(500))
        );
        assert!(!position.unavailable(), "only the first report is new");
        position.listed("30");
        assert_eq!(position.list_version(), "30");
    }

    #[test]
    fn a_server_that_pages_from_memory_is_always_read_in_pages() {
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
    fn after_a_list_that_failed_halfway_nothing_older_is_requested() {
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
    fn a_list_is_streamed_at_no_older_version_and_at_the_newest_after_a_failed_stream() {
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
