//! The book in a browser: on a wide and on a narrow screen, light and dark.
//!
//! mdBook builds the book, `files.rs` serves it, and `pilothouse_tests::chromium` controls a browser without a window. mdBook is the program of
//! `PILOTHOUSE_MDBOOK` or of the PATH, and the browser that of `PILOTHOUSE_CHROMIUM`. If `PILOTHOUSE_PICTURES` names a folder, some pages are stored there
//! as pictures.

mod files;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::{OsStr, OsString},
    fs,
    path::Path,
    process::Command,
};

use pilothouse_tests::chromium::{Browser, chromium, program};
use serde::Deserialize;

use self::files::Files;
use super::top;

/// The widths of a desktop and of a telephone.
const WIDTHS: [u32; 2] = [1280, 400];
/// The pages that are also looked at in dark colours, and of which pictures are stored.
const SHOWN: [&str; 4] = [
    "introduction.html",
    "concepts.html",
    "tutorial/kind.html",
    "reference/metrics.html",
];

/// Tells what a page shows in a browser window of the present width.
const LOOK: &str = r"(() => {
    const place = element => element.tagName.toLowerCase() + ' `' + element.textContent.trim().slice(0, 60) + '`';
    const scrolls = element => {
        for (let up = element; up && up.tagName !== 'MAIN'; up = up.parentElement)
            if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(up).overflowX)) return true;
        return false;
    };
    const main = document.querySelector('main');
    const width = document.documentElement.clientWidth;
    const wide = [...main.querySelectorAll('*')].filter(one => one.getBoundingClientRect().right > width + 1 && !scrolls(one));
    // mdBook has each picture twice: the other one is shown large after a click.
    const shown = [...document.images].filter(one => one.complete && one.naturalWidth && one.getBoundingClientRect().width);
    const missing = [...document.images].filter(one => !shown.some(other => other.src === one.src));
    const links = [...document.querySelectorAll('a[href]')].map(one => one.href);
    const [red, green, blue] = getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).map(Number);
    return {
        wide: wide.map(place),
        page_width: document.documentElement.scrollWidth - width,
        missing: [...new Set(missing.map(one => one.src))],
        pictures: document.images.length,
        links: [...new Set(links)].filter(one => one.startsWith(location.origin)),
        ids: [...document.querySelectorAll('[id]')].map(one => one.id),
        dark: red + green + blue < 3 * 128,
    };
})()";

/// What [`LOOK`] returns.
#[derive(Deserialize)]
struct Look {
    /// The elements that reach over the edge of the window.
    wide: Vec<String>,
    /// By how many pixels the page is wider than the window.
    page_width: i64,
    /// The pictures that are not shown.
    missing: Vec<String>,
    pictures: usize,
    /// The links to pages of the book.
    links: Vec<String>,
    ids: BTreeSet<String>,
    dark: bool,
}

/// What the search finds for a word: the first result and its link.
const SEARCH: &str = r"(async () => {
    for (let tries = 0; tries < 100; tries++) {
        const results = [...document.querySelectorAll('#mdbook-searchresults li a')];
        if (results.length) return results.map(one => one.href);
        await new Promise(done => setTimeout(done, 50));
    }
    return [];
})()";

/// How many screens the text of a page takes.
const SCREENS: &str = "document.querySelector('main').getBoundingClientRect().bottom / innerHeight";

/// After how many screens the first program of a page begins.
const PROGRAM: &str =
    "document.querySelector('main pre').getBoundingClientRect().top / innerHeight";

/// The text of a page without tags and scripts.
const TEXT: &str = "document.querySelector('main').textContent.toLowerCase()";

/// What is wrong with a book.
async fn problems(browser: &mut Browser, book: &Path, words: &[&str]) -> Vec<String> {
    let files = Files::serve(book).await;
    let mut found = Vec::new();
    let mut ids = BTreeMap::new();
    let mut links = BTreeSet::new();
    let pages = pages(book, book);
    let mut pictures = 0;
    for dark in [false, true] {
        browser.prefer_dark(dark).await;
        // The layout does not depend on the colours.
        for page in pages
            .iter()
            .filter(|page| !dark || SHOWN.contains(&&***page))
        {
            for width in WIDTHS {
                // At its start a page decides whether it shows the table of contents.
                browser.set_width(width).await;
                browser.open(&files.url(page)).await;
                let look: Look = browser.evaluate(LOOK).await;
                let seen = format!("{page}, {width} pixels wide");
                found.extend(
                    look.wide
                        .iter()
                        .map(|what| format!("{seen}: {what} reaches over the edge")),
                );
                if look.page_width > 0 {
                    found.push(format!(
                        "{seen}: it is {} pixels wider than the window",
                        look.page_width
                    ));
                }
                found.extend(
                    look.missing
                        .iter()
                        .map(|what| format!("{seen}: the picture {what} is missing")),
                );
                if look.dark != dark {
                    found.push(format!(
                        "{seen}: it should be {}",
                        if dark { "dark" } else { "light" }
                    ));
                }
                pictures += look.pictures;
                links.extend(look.links.into_iter().map(|link| (page.clone(), link)));
                ids.insert(files.url(page), look.ids);
                if let Some(folder) =
                    env::var_os("PILOTHOUSE_PICTURES").filter(|_| SHOWN.contains(&&**page))
                {
                    let colour = if dark { "dark" } else { "light" };
                    let name = format!("book-{}-{width}-{colour}.png", page.replace('/', "-"));
                    fs::write(Path::new(&folder).join(name), browser.picture().await).unwrap();
                }
            }
            found.extend(
                browser
                    .complaints()
                    .into_iter()
                    .map(|text| format!("{page}: {text}")),
            );
        }
    }
    if pictures == 0 {
        found.push("the book has no pictures".into());
    }
    for (page, link) in links {
        let (target, id) = link.split_once('#').unwrap_or((&link, ""));
        let leads = match ids.get(target) {
            Some(ids) => id.is_empty() || ids.contains(id),
            None => files.has(target),
        };
        if !leads {
            found.push(format!("{page}: nothing is at {link}"));
        }
    }
    for word in words {
        browser
            .open(&format!("{}?search={word}", files.url("introduction.html")))
            .await;
        let results: Vec<String> = browser.evaluate(SEARCH).await;
        let Some(first) = results.first() else {
            found.push(format!("the search finds nothing for `{word}`"));
            continue;
        };
        browser.open(first).await;
        let text: String = browser.evaluate(TEXT).await;
        if !text.contains(word) {
            found.push(format!(
                "the search for `{word}` leads to {first}, which does not have it"
            ));
        }
    }
    found
}

/// The pages of a built book.
fn pages(folder: &Path, book: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .strip_prefix(book)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        if path.is_dir() {
            found.extend(pages(&path, book));
        } else if name.ends_with(".html")
            && !["404.html", "print.html", "toc.html"].contains(&&*name)
        {
            found.push(name);
        }
    }
    found.sort();
    found
}

/// mdBook and the browser, or `None` if one of them is not installed.
fn programs() -> Option<(OsString, OsString)> {
    Some((program("PILOTHOUSE_MDBOOK", "mdbook")?, chromium()?))
}

fn build(mdbook: &OsStr, book: &Path, to: &Path) {
    let built = Command::new(mdbook)
        .arg("build")
        .arg("-d")
        .arg(to)
        .arg(book)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
}

#[tokio::test]
async fn the_book_looks_right_in_a_browser() {
    let Some((mdbook, browser)) = programs() else {
        return;
    };
    let built = tempfile::tempdir().unwrap();
    build(&mdbook, &top().join("book"), built.path());
    let mut browser = Browser::start(&browser).await;
    let words = ["finalizer", "lease", "requeue_after"];
    assert_eq!(problems(&mut browser, built.path(), &words).await, [""; 0]);
}

/// What it is, why, one program and two commands: a reader sees it at once. On a telephone the same text is longer. Its first screen shows what it is, why,
/// and where the program begins; the rest takes half a screen more.
#[tokio::test]
async fn the_first_page_fits_one_screen_and_one_and_a_half_of_a_telephone() {
    let Some((mdbook, browser)) = programs() else {
        return;
    };
    let built = tempfile::tempdir().unwrap();
    build(&mdbook, &top().join("book"), built.path());
    let files = Files::serve(built.path()).await;
    let mut browser = Browser::start(&browser).await;
    for (width, allowed) in WIDTHS.into_iter().zip([1.0, 1.5]) {
        browser.set_width(width).await;
        browser.open(&files.url("introduction.html")).await;
        let screens: f64 = browser.evaluate(SCREENS).await;
        assert!(
            screens <= allowed,
            "{width} pixels wide, it takes {screens} screens: make it shorter"
        );
        let program: f64 = browser.evaluate(PROGRAM).await;
        assert!(
            program < 0.9,
            "{width} pixels wide, the first screen shows no program: make the text before it shorter"
        );
        browser.open(&files.url("concepts.html")).await;
        let screens: f64 = browser.evaluate(SCREENS).await;
        assert!(screens > allowed, "a long page is seen as one");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_book_is_found() {
    let Some((mdbook, browser)) = programs() else {
        return;
    };
    let book = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(book.path().join(name), text).unwrap();
    fs::create_dir(book.path().join("src")).unwrap();
    write("book.toml", "[book]\ntitle = \"One\"\n");
    write("src/SUMMARY.md", "# Summary\n\n[One](introduction.md)\n");
    write(
        "src/introduction.md",
        "# One\n\n<div style=\"width: 3000px\">aaaa</div>\n\n![none](none.svg) [a](gone.html) [b](#two)\n",
    );
    let built = book.path().join("built");
    build(&mdbook, book.path(), &built);
    let mut browser = Browser::start(&browser).await;
    let problems = problems(&mut browser, &built, &["lease"]).await.join("\n");
    for expected in [
        "introduction.html, 400 pixels wide: div `aaaa`",
        "the picture http://127.0.0.1:",
        "none.svg is missing",
        "gone.html",
        "introduction.html#two",
        "the search finds nothing for `lease`",
    ] {
        assert!(
            problems.contains(expected),
            "no `{expected}` in:\n{problems}"
        );
    }
}
