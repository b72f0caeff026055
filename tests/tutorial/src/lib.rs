//! Walks the tutorial of the book, `book/src/tutorial/`, as a reader does: in an empty folder it writes each listing, runs each command,
//! and compares what is printed with what the book shows. The quick start and "Your own project" are walked in the same way.
//!
//! The words after the three backquotes of a block say what the block is:
//!
//! | block | what the walk does |
//! | --- | --- |
//! | `rust,ignore file=src/main.rs` | writes the file, as the same with `yaml` and `toml` |
//! | `rust,ignore in=src/lib.rs` | puts the items into the file: an item of the same name is replaced, another one is added |
//! | `console` | runs the lines after `$ ` in a shell, and compares their output with the lines that follow |
//! | `console fails` | the same, and the last command has to fail |
//! | `console terminal=dev` | the same in another terminal, where a command goes on. Lines without `$ ` have to appear in this order; `^C` stops the command |
//! | `console elsewhere`, `sh`, `text` | nothing: what needs a cluster, a registry or much time, and excerpts |
//!
//! A line `…` of an output stands for any lines, and `…` in a line for any text. Times, ages, ports and random names may differ; [`output`] lists
//! them. A listing names its file in the text before it, so that readers see what the walk reads.

mod include;
pub mod output;
pub mod page;
pub mod record;
pub mod source;
pub mod terminal;
pub mod walk;
