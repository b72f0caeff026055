/// Where a redirection of a program leads when the client follows it through the proxy. `before` is the part of the path that leads
/// to the program, and `hosts` are the names under which it is known. Redirections to other hosts and relative ones stay.
pub(super) fn through_proxy(location: &str, before: &str, hosts: [&str; 2]) -> String {
    let (start, rest) = match location.find(['?', '#']) {
        Some(end) => location.split_at(end),
        None => (location, ""),
    };
    let (scheme, after) = match start.split_once("://") {
        Some((scheme, after)) if !scheme.contains('/') => (scheme, Some(after)),
        _ => ("", start.strip_prefix("//")),
    };
    let (host, path) = match after {
        Some(after) => after.split_at(after.find('/').unwrap_or(after.len())),
        None => ("", start),
    };
    if !path.starts_with('/') || !host.is_empty() && !hosts.contains(&host) {
        return location.to_owned();
    }
    // A real server names neither itself nor the scheme, but keeps the name under which the client knows it.
    let [_, asked] = hosts;
    let site = match host {
        "" => String::new(),
        host if host == asked && !scheme.is_empty() => format!("{scheme}://{host}"),
        host if host == asked => format!("//{host}"),
        _ => String::new(),
    };
    if path.starts_with(before) {
        return format!("{site}{path}{rest}");
    }
    let mut joined = clean(&format!("{before}{path}"));
    if path.ends_with('/') && !joined.ends_with('/') {
        joined.push('/');
    }
    format!("{site}{joined}{rest}")
}

/// A path without empty parts, `.` and `..`, as Go's `path.Clean` returns it. It begins with a slash.
pub(super) fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_leads_through_the_proxy_if_it_stays_at_its_host() {
        let before = "/api/v1/namespaces/a/pods/b/proxy";
        let hosts = ["10.1.0.1:80", "localhost:8001"];
        for (location, expected) in [
            ("/login", format!("{before}/login")),
            ("/", format!("{before}/")),
            ("/a/../b/?c=/d#e", format!("{before}/b/?c=/d#e")),
            ("http://10.1.0.1:80/x", format!("{before}/x")),
            ("//10.1.0.1:80/x", format!("{before}/x")),
            (
                "http://localhost:8001/x",
                format!("http://localhost:8001{before}/x"),
            ),
            ("relative/x", "relative/x".into()),
            ("?a=b", "?a=b".into()),
            ("", String::new()),
            ("http://example.com/x", "http://example.com/x".into()),
            ("http://10.1.0.1:80", "http://10.1.0.1:80".into()),
        ] {
            assert_eq!(
                through_proxy(location, before, hosts),
                expected,
                "{location}"
            );
        }
        let known = format!("{before}/x");
        assert_eq!(through_proxy(&known, before, hosts), known);
    }
}
