//! The kubectl programs of the tests.

use std::{env, path::PathBuf};

/// Returns each kubectl in `PILOTHOUSE_KUBECTL`, a list like `PATH`, or the one on the `PATH`.
pub fn programs() -> Vec<PathBuf> {
    if let Some(named) = env::var_os("PILOTHOUSE_KUBECTL").filter(|named| !named.is_empty()) {
        return env::split_paths(&named).collect();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).map(|folder| folder.join("kubectl"));
    found.filter(|kubectl| kubectl.is_file()).take(1).collect()
}
