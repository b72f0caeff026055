//! `cargo pilothouse`: from an empty folder to an operator that runs.
//!
//! | folder or file | subcommand, or what it holds |
//! | --- | --- |
//! | `new/` | `new`: writes an operator's folder |
//! | `add/` | `add kind`, `add webhook` and `add version`: write one more kind, the webhooks of a kind, or an older version of it, and change the operator's sources for it |
//! | `import/` | `import`: writes Rust types for kinds that others define |
//! | `dev/` | `dev`: rebuilds and restarts the operator when a source changes, while the API server stays |
//! | `check.rs` | `check`: lets the operator try itself |
//! | `build.rs` | a run of `cargo build` |
//! | `arguments.rs` | the command line |
//! | `names.rs` | names of operators and kinds, and what follows from them |
//! | `template.rs` | the texts of `templates/` with the names filled in |
//! | `package.rs` | what `cargo metadata` tells of the user's package |
//! | `manifest.rs` | changes of the user's `Cargo.toml` |
//! | `documents.rs` | the documents of a YAML file |
//! | `terminal.rs` | what the tool prints, and questions |

// `terminal.rs` prints: a `println!` panics when nobody reads it.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod add;
mod arguments;
mod build;
mod check;
mod dev;
mod documents;
mod error;
mod import;
mod manifest;
mod names;
mod new;
mod package;
mod template;
mod terminal;

use std::process::ExitCode;

use arguments::Arguments;

fn main() -> ExitCode {
    let done = match arguments::read() {
        Arguments::New(options) => new::run(&options),
        Arguments::AddKind(options) => add::run(&options),
        Arguments::AddWebhook(options) => add::run_webhook(&options),
        Arguments::Import(options) => import::run(&options),
        Arguments::AddVersion(options) => add::run_version(&options),
        Arguments::Check(options) => check::run(&options),
        Arguments::Dev(options) => dev::run(options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error::Error::Shown) => ExitCode::FAILURE,
        Err(error) => {
            terminal::warn(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
