//! Model checks of the framework's synchronous cores.
//!
//! The shipped files are compiled here once more, beside a module `sync` that exports loom's types where theirs
//! exports those of `parking_lot` and the standard library. loom then runs every interleaving of each model below. No build flag is
//! needed: `cargo test -p pilothouse-model`.

#[cfg(test)]
mod cache;
#[cfg(test)]
mod deltas;
#[cfg(test)]
mod lock;
#[cfg(test)]
mod part_waker;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod read_your_writes;

#[cfg(test)]
use pilothouse::resource;

/// Checks every interleaving with at most `preemptions` switches that were not necessary. More than three find
/// nothing new (according to loom's manual) and take hours.
#[cfg(test)]
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// What the files of the cache use from other layers. A panic ends a model.
#[cfg(test)]
mod health {
    #[derive(Debug)]
    pub(crate) enum CaughtPanic {}

    impl std::fmt::Display for CaughtPanic {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match *self {}
        }
    }

    pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, CaughtPanic> {
        Ok(work())
    }
}

#[cfg(test)]
mod client {
    pub(crate) struct ObjectList<K> {
        pub(crate) items: Vec<K>,
        pub(crate) undecodable: Vec<super::resource::Undecodable>,
    }
}
