use crate::change::Change;

/// The files that are mutated, and the tests that should notice the mutants.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// As cargo-mutants takes them.
    pub(crate) files: &'static [&'static str],
    /// Parts of the names of unit tests.
    pub(crate) tests: &'static [&'static str],
}

/// What is tried: a subject's mutants, or the changes in a folder.
pub(crate) struct Work {
    pub(crate) name: String,
    pub(crate) package: String,
    pub(crate) tests: Vec<String>,
    pub(crate) changes: Vec<Change>,
}

pub(crate) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "queue",
        package: "pilothouse",
        files: &["framework/src/queue/**"],
        tests: &["queue::"],
    },
    Subject {
        name: "read-your-writes",
        package: "pilothouse",
        files: &[
            "framework/src/controller/read_your_writes/core.rs",
            "framework/src/controller/read_your_writes/demand.rs",
            "framework/src/controller/read_your_writes/locked_core.rs",
            "framework/src/controller/read_your_writes/pending.rs",
            "framework/src/controller/read_your_writes/questions.rs",
            "framework/src/controller/read_your_writes/demand_index.rs",
        ],
        tests: &["controller::read_your_writes::"],
    },
    Subject {
        name: "store",
        package: "pilothouse",
        files: &[
            "framework/src/cache/store/store.rs",
            "framework/src/cache/store/published.rs",
            "framework/src/cache/store/snapshot.rs",
            "framework/src/cache/index/**",
        ],
        tests: &[
            "cache::store::store_test::",
            "cache::tests::indexes::",
            "cache::tests::model::",
            "cache::tests::packed::",
            "cache::tests::reading::",
        ],
    },
    Subject {
        name: "fifo",
        package: "pilothouse",
        files: &[
            "framework/src/cache/fifo/delta.rs",
            "framework/src/cache/fifo/delta_fifo.rs",
            "framework/src/cache/fifo/real_fifo.rs",
            "framework/src/cache/fifo/delta_queue.rs",
            "framework/src/cache/listener/coalesced.rs",
        ],
        tests: &[
            "cache::fifo::",
            "cache::listener::coalesced::",
            "cache::tests::model::",
        ],
    },
    Subject {
        name: "election",
        package: "pilothouse",
        files: &["framework/src/election/**"],
        tests: &["election::"],
    },
    Subject {
        name: "apply",
        package: "pilothouse-sandbox",
        files: &["sandbox/src/apply/**"],
        tests: &["apply::"],
    },
];
