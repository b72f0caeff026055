//! Model checks of the framework's synchronous cores.
//!
//! The files that are shipped are compiled here once more, beside a module `sync` that exports
//! loom's types where theirs exports the standard library's; loom then runs every interleaving of
//! each model below. No build flag is needed: `cargo test -p pilothouse-model`.

#[cfg(test)]
mod queue;
