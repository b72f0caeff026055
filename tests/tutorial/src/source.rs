//! Items of Rust that are put into a file.
//!
//! The listings are formatted by rustfmt, so that an item begins at the beginning of a line and ends with the first line that begins with a
//! closing bracket. Nothing here reads Rust beyond that.

/// An item with its attributes and comments.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    /// By what an item is found, such as `fn main` or `impl Reconciler for A`.
    name: String,
    text: String,
}

/// Puts items into a source: an item of the same name is replaced, and another one is added. `use` and `mod` are added before the other items,
/// everything else at the end.
///
/// # Errors
/// A text that does not consist of items, or a source with two items of a name of the listing.
pub fn put(source: &str, listing: &str) -> Result<String, String> {
    let (head, mut items) = split(source)?;
    let (listing_head, listed) = split(listing)?;
    if !listing_head.is_empty() {
        return Err(format!("no item: {listing_head}"));
    }
    for item in listed {
        let mut same = items.iter_mut().filter(|one| one.name == item.name);
        match (same.next(), same.next()) {
            (Some(_), Some(_)) => return Err(format!("several items `{}`", item.name)),
            (Some(one), None) => *one = item,
            (None, _) if is_import(&item) => {
                let place = items.iter().position(|one| !is_import(one));
                items.insert(place.unwrap_or(items.len()), item);
            }
            (None, _) => items.push(item),
        }
    }
    let mut text = head;
    let mut before: Option<&Item> = None;
    for item in &items {
        let together = before.is_some_and(|before| kind(before) == kind(item) && is_import(item));
        if !text.is_empty() && !together {
            text.push('\n');
        }
        text.push_str(&item.text);
        before = Some(item);
    }
    Ok(text)
}

fn is_import(item: &Item) -> bool {
    item.name.starts_with("use ") || item.name.starts_with("mod ")
}

/// Imports of one kind stand together: `mod`, `use`, `pub use`.
fn kind(item: &Item) -> (&str, bool) {
    let word = item.name.split(' ').next().unwrap_or_default();
    (word, item.text.starts_with("pub "))
}

/// The lines before the first item, and the items.
fn split(source: &str) -> Result<(String, Vec<Item>), String> {
    let (mut head, mut items, mut text) = (String::new(), Vec::new(), String::new());
    let (mut name, mut in_attribute) = (None::<String>, false);
    for line in source.lines() {
        if text.is_empty() && line.trim().is_empty() {
            continue;
        }
        let starts = |letters: &[char]| line.starts_with(letters);
        if items.is_empty()
            && text.is_empty()
            && (line.starts_with("//!") || line.starts_with("#!"))
        {
            head.push_str(line);
            head.push('\n');
            continue;
        }
        text.push_str(line);
        text.push('\n');
        let is_end = match &name {
            // Arguments on several lines end with `) {`.
            Some(_) => starts(&['}']) || (starts(&[')', ']']) && line.ends_with(';')),
            None if in_attribute => {
                in_attribute = !starts(&[')', ']']);
                false
            }
            None if line.starts_with("//") => false,
            None if line.starts_with('#') => {
                in_attribute = !line.ends_with(']');
                false
            }
            None if line.is_empty() || starts(&[' ', '}', ')', ']']) => {
                return Err(format!("no item begins with `{line}`"));
            }
            None => {
                name = Some(named(line));
                line.ends_with(';') || line.ends_with('}')
            }
        };
        if let Some(name) = name.take_if(|_| is_end) {
            let text = std::mem::take(&mut text);
            items.push(Item { name, text });
        }
    }
    match text.trim() {
        "" => Ok((head, items)),
        rest => Err(format!("the item has no end: {rest}")),
    }
}

/// The name of the item with this first line.
fn named(line: &str) -> String {
    let mut rest = line;
    for word in ["pub(crate) ", "pub ", "async "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    // `struct A` and `enum A` are the same name.
    let rest = rest.replacen("enum ", "struct ", 1);
    let end = match rest.starts_with("use ") {
        true => rest.find("::").or_else(|| rest.find(';')),
        false => rest.find([':', '(', '{', ';', '=']),
    };
    rest[..end.unwrap_or(rest.len())].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! A file.\n\nmod a;\n\nuse std::fmt;\n\n/// A.\n#[derive(Clone)]\npub struct A {\n    one: u8,\n}\n\nimpl A {}\n\nfn b(\n    one: u8,\n) {\n    todo(one);\n}\n";

    #[test]
    fn an_item_of_the_same_name_is_replaced_and_another_one_is_added() {
        let listing = "use other::{\n    one,\n    two,\n};\n\npub struct A;\n\nfn c() {}\n\nasync fn b() {\n    nothing();\n}\n";
        let expected = "//! A file.\n\nmod a;\n\nuse std::fmt;\nuse other::{\n    one,\n    two,\n};\n\npub struct A;\n\nimpl A {}\n\nasync fn b() {\n    nothing();\n}\n\nfn c() {}\n";
        assert_eq!(put(SOURCE, listing).unwrap(), expected);
        assert_eq!(put(SOURCE, "").unwrap(), SOURCE);
        assert_eq!(put("", "fn c() {}\n").unwrap(), "fn c() {}\n");
    }

    #[test]
    fn what_is_no_item_is_refused() {
        for listing in [
            "    one: u8,\n",
            "fn a() {\n    b();\n",
            "// A comment.\n",
            "}\n",
        ] {
            assert!(put(SOURCE, listing).is_err(), "{listing}");
        }
        let twice = "fn a() {}\n\nfn a() {}\n";
        assert!(put(twice, "fn a() {}\n").is_err());
    }
}
