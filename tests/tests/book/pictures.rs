//! Checks that each section of the concepts has a picture.

use super::{page, top};

/// The sections of a page without a picture, by their titles.
fn without_picture(text: &str) -> Vec<&str> {
    let sections = text.split("\n## ").skip(1);
    let lacks = sections.filter(|section| {
        let mut pictures = section.split("](pictures/").skip(1);
        !pictures.any(|rest| {
            let name = rest.split(')').next().unwrap_or_default();
            top().join("book/src/pictures").join(name).is_file()
        })
    });
    lacks
        .map(|section| section.lines().next().unwrap_or_default())
        .collect()
}

#[test]
fn each_section_of_the_concepts_has_a_picture() {
    let text = page("concepts.md");
    assert!(text.matches("\n## ").count() >= 7);
    assert_eq!(without_picture(&text), [""; 0]);
}

#[test]
fn a_section_without_a_picture_is_found() {
    let text = "# A\n\n## One\n\n![one](pictures/level.svg)\n\n## Two\n\n## Three\n\n![none](pictures/none.svg)\n";
    assert_eq!(without_picture(text), ["Two", "Three"]);
}
