//! The reference of an image.

/// What a reference looks like.
const EXAMPLE: &str = "write one like registry.example.com/website:1.0";

/// Checks the reference of an image as container engines read it: `[REGISTRY/]PATH[:TAG][@DIGEST]`. Returns it without
/// surrounding spaces. A reference that is only spaces is empty: the command says what is missing then.
///
/// # Errors
/// The part that is wrong, the rule for it, and an example.
pub(super) fn parse(text: &str) -> Result<String, String> {
    let reference = text.trim();
    match reference.is_empty() {
        true => Ok(String::new()),
        false => check(reference)
            .map(|()| reference.to_owned())
            .map_err(|problem| format!("{problem}: {EXAMPLE}")),
    }
}

fn check(reference: &str) -> Result<(), String> {
    let (name, digest) = match reference.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (reference, None),
    };
    if let Some(digest) = digest.filter(|digest| !is_digest(digest)) {
        return Err(format!(
            "the digest `{digest}` has to be `sha256:` and 64 hexadecimal digits in lower case"
        ));
    }
    // A colon before the last slash belongs to the port of the registry.
    let (name, tag) = match name.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((name, tag)) => (name, Some(tag)),
        None => (name, None),
    };
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(format!(
            "the tag `{tag}` has to have 1 to 128 letters, digits, `_`, `.` and `-`, and to begin with a letter, a digit or `_`"
        ));
    }
    let path = match name.split_once('/') {
        Some((registry, path)) if is_registry(registry) => {
            if !is_address(registry) {
                return Err(format!("`{registry}` is no address of a registry"));
            }
            path
        }
        _ => name,
    };
    match path.split('/').find(|part| !is_component(part)) {
        Some("") => Err("a part of the path is empty".into()),
        Some(part) => Err(format!(
            "`{part}` may have lower case letters and digits only, with `.`, `_`, `__` or `-` between them"
        )),
        None => Ok(()),
    }
}

/// Whether the part before the first slash names a registry.
fn is_registry(first: &str) -> bool {
    let names_host = first.contains(['.', ':']) || first == "localhost";
    names_host || first.contains(|letter: char| letter.is_ascii_uppercase())
}

fn is_address(registry: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((address, port)) = registry
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return is_port && address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let (host, port) = match registry.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (registry, None),
    };
    let is_label = |label: &str| {
        let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_outside = !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
        is_outside && label.bytes().all(is_inside)
    };
    port.is_none_or(is_port) && host.split('.').all(is_label)
}

fn is_component(part: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let mut separators = part.split(is_plain).filter(|between| !between.is_empty());
    part.starts_with(is_plain)
        && part.ends_with(is_plain)
        && separators.all(|between| {
            [".", "_", "__"].contains(&between) || between.bytes().all(|byte| byte == b'-')
        })
}

fn is_tag(tag: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    tag.len() <= 128
        && tag.starts_with(is_word)
        && tag
            .chars()
            .all(|letter| is_word(letter) || ".-".contains(letter))
}

fn is_digest(digest: &str) -> bool {
    let is_hexadecimal = |text: &str| {
        text.bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    match digest.split_once(':') {
        Some(("sha256", digits)) => digits.len() == 64 && is_hexadecimal(digits),
        Some(("sha512", digits)) => digits.len() == 128 && is_hexadecimal(digits),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_of_an_image_is_taken_as_container_engines_take_it() {
        let digest = format!("web@sha256:{}", "0f".repeat(32));
        for reference in [
            "website",
            "library/web_site:1.0",
            "a--b/c__d.e:_x",
            "localhost/web",
            "localhost:5000/web:1",
            "R.example.com:5000/web/site:1.0-rc.1",
            "[::1]:5000/web",
            &digest,
        ] {
            assert_eq!(parse(&format!(" {reference} ")).as_deref(), Ok(reference));
        }
    }

    #[test]
    fn a_reference_that_no_engine_takes_is_refused_with_the_wrong_part() {
        for (reference, problem) in [
            ("a b", "`a b` may have lower case letters"),
            ("R.example/Web:1", "`Web` may have lower case letters"),
            ("Web", "`Web` may have"),
            ("website@sha256:12", "the digest `sha256:12` has to be"),
            ("website@", "the digest `` has to be"),
            (":1", "a part of the path is empty"),
            ("web:", "the tag `` has to have"),
            ("web:-1", "the tag `-1` has to have"),
            ("web//site", "a part of the path is empty"),
            ("example.com/", "a part of the path is empty"),
            ("example.com:x/web", "`example.com:x` is no address"),
            ("-a.b/web", "`-a.b` is no address"),
            ("a___b", "`a___b` may have"),
            ("https://example.com/web", "`https:` is no address"),
        ] {
            let error = parse(reference).unwrap_err();
            assert!(error.starts_with(problem), "{reference}: {error}");
            assert!(error.ends_with(EXAMPLE), "{error}");
        }
    }
}
