//! Model checks of the framework's synchronous cores.
//!
//! The files that are shipped are compiled here once more, beside a module `sync` that exports
//! loom's types where theirs exports the standard library's; loom then runs every interleaving of
//! each model below. No build flag is needed: `cargo test -p pilothouse-model`.

#[cfg(test)]
mod cache;
#[cfg(test)]
mod deltas;
#[cfg(test)]
mod part_waker;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod read_your_writes;

#[cfg(test)]
use pilothouse::resource;

/// Every interleaving with at most `preemptions` switches where none was needed; more find nothing
/// that three do not (loom's manual), and take hours.
#[cfg(test)]
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// What the files of the cache name beside what is modelled.
#[cfg(test)]
mod client {
    pub(crate) struct ObjectList<K> {
        pub(crate) items: Vec<K>,
        pub(crate) undecodable: Vec<super::resource::Undecodable>,
    }
}
