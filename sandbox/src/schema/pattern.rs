/// Translates a pattern from Go's syntax to that of the `regex` crate: apart from `\z` and `\C` they are the same.
pub(super) fn go_pattern(pattern: &str) -> String {
    // Go has `\Q…\E`. Both refuse everything else that differs.
    let mut rest = pattern;
    let mut out = String::with_capacity(pattern.len());
    while let Some((before, after)) = rest.split_once(r"\Q") {
        let (literal, tail) = after.split_once(r"\E").unwrap_or((after, ""));
        out.push_str(before);
        out.push_str(&regex::escape(literal));
        rest = tail;
    }
    out.push_str(rest);
    out
}
