//! A gallery of mistakes that authors of operators make at run time, and what they see.
//!
//! The page `SEEN.md` shows the text of each mistake. After a change of a text, run
//! `UPDATE_MISTAKES=1 cargo test -p pilothouse-tests --test end_to_end mistakes` and read the changed page: each text has to
//! name the place, the reason and what to write instead. Mistakes that do not compile are in `framework/tests/ui`.

mod context;
mod definitions;
mod manifests;
mod program;
mod server;
mod start;

use std::{
    env,
    fmt::{Display, Write},
    fs,
    path::Path,
};

/// A mistake, and the text that its author sees.
pub(crate) struct Mistake {
    /// What the author did.
    did: &'static str,
    /// The text, as the author sees it.
    sees: String,
}

fn mistake(did: &'static str, sees: impl ToString) -> Mistake {
    Mistake {
        did,
        sees: sees.to_string(),
    }
}

const NOT_REFUSED: &str = "(nothing: it is not refused)";

/// The error, as the author sees it.
fn error<T, E: Display>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => NOT_REFUSED.to_owned(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test(start_paused = true)]
async fn every_author_of_a_mistake_sees_what_the_page_shows() {
    let chapters = [
        ("The definition of a kind", definitions::all()),
        ("The start of an operator", start::all().await),
        ("The command line and the settings", program::all()),
        ("The methods of a context", context::all().await),
        ("Requests that the server refuses", server::all().await),
        ("Manifests and selectors", manifests::all()),
    ];
    let mut page = "# Mistakes, and what their authors see\n\n\
        A test writes this page and compares it: see `mod.rs` in this folder.\n"
        .to_owned();
    let mut number = 0;
    for (chapter, mistakes) in chapters {
        let _ = write!(page, "\n## {chapter}\n");
        for Mistake { did, sees } in mistakes {
            assert!(!sees.is_empty(), "the author sees nothing: {did}");
            number += 1;
            let _ = write!(page, "\n{number}. {did}\n\n   ```text\n");
            for line in sees.trim_end().lines() {
                let _ = writeln!(page, "   {line}");
            }
            page.push_str("   ```\n");
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes/SEEN.md");
    if env::var_os("UPDATE_MISTAKES").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert!(!page.contains(NOT_REFUSED), "{page}");
    assert!(number >= 60, "only {number} mistakes");
    let shown = fs::read_to_string(&path).unwrap_or_default();
    for (shown, page) in shown.lines().zip(page.lines()) {
        assert_eq!(shown, page);
    }
    assert_eq!(shown.lines().count(), page.lines().count());
}
