//! Checks that each link of the book to another page, a heading or a picture leads to something, and that the table of contents lists
//! each page.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::top;

/// The lines of a page outside of code blocks.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    page.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    })
}

/// The targets of the links and pictures of a page, without those to other sites.
fn targets(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(page) {
        // Text in backquotes holds no links.
        let text: String = line.split('`').step_by(2).collect();
        let after = text.split("](").skip(1);
        found.extend(after.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
    }
    found.retain(|target| !target.contains("://"));
    found
}

/// The anchors of the headings of a page, as mdBook makes them.
fn anchors(page: &str) -> Vec<String> {
    let headings = prose(page).filter(|line| line.starts_with('#'));
    let mut seen = BTreeMap::new();
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            other => other.is_alphanumeric().then_some(other),
        });
        let id: String = kept.collect();
        let count = seen.entry(id.clone()).or_insert(0);
        *count += 1;
        match *count {
            1 => id,
            again => format!("{id}-{}", again - 1),
        }
    };
    headings.map(anchor).collect()
}

/// The pages of a folder and of the folders in it, with their paths in `top`.
fn pages(folder: &Path, top: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path, top));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let name = path.strip_prefix(top).unwrap().to_str().unwrap();
            found.push((name.to_owned(), path));
        }
    }
    found
}

/// What is wrong with the links of the pages of a folder.
fn problems(folder: &Path) -> Vec<String> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let mut found = Vec::new();
    let contents = read(&folder.join("SUMMARY.md")).unwrap();
    for (name, path) in pages(folder, folder) {
        if name != "SUMMARY.md" && !contents.contains(&format!("]({name})")) {
            found.push(format!("{name}: the table of contents does not list it"));
        }
        let text = read(&path).unwrap();
        for target in targets(&text) {
            let (file, heading) = match target.split_once('#') {
                Some((file, heading)) => (file, Some(heading)),
                None => (&*target, None),
            };
            let linked = match file {
                "" => path.clone(),
                file => path.with_file_name("").join(file),
            };
            let leads = match heading {
                None => linked.exists(),
                Some(heading) => read(&linked)
                    .is_some_and(|page| anchors(&page).iter().any(|one| one == heading)),
            };
            if !leads {
                found.push(format!("{name}: nothing is at `{target}`"));
            }
        }
    }
    found
}

#[test]
fn each_link_leads_to_a_page_and_a_heading() {
    assert_eq!(problems(&top().join("book/src")), [""; 0]);
}

#[test]
fn a_link_to_nothing_and_an_unlisted_page_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("SUMMARY.md", "# Summary\n\n- [One](one.md)\n");
    let links = "# One `a_b`: two, three\n# Same\n# Same\n[a](#one-a_b-two-three) [b](#same-1) [c](https://example.com/#x)\n";
    write("one.md", links);
    assert_eq!(problems(folder.path()), [""; 0]);

    write(
        "one.md",
        "[a](two.md) [b](#none) `[c](gone.md)`\n```\n[d](gone.md)\n```\n",
    );
    write("three.md", "");
    fs::create_dir(folder.path().join("part")).unwrap();
    write("part/four.md", "[a](../one.md) [b](one.md)");
    let mut found = problems(folder.path());
    found.sort();
    let expected = [
        "one.md: nothing is at `#none`",
        "one.md: nothing is at `two.md`",
        "part/four.md: nothing is at `one.md`",
        "part/four.md: the table of contents does not list it",
        "three.md: the table of contents does not list it",
    ];
    assert_eq!(found, expected);
}
