use percent_encoding::percent_decode_str;

/// The query of a request to a health endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// `?verbose`: name every check even if all pass.
    pub verbose: bool,
    /// `?exclude=name`, which may be repeated: names of checks that do not count.
    pub exclude: Vec<String>,
}

impl Query {
    /// Parses the query part of a URL. Unknown parameters are ignored.
    pub fn parse(query: Option<&str>) -> Self {
        let mut parsed = Self::default();
        for pair in query.unwrap_or_default().split('&') {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("verbose", _) => parsed.verbose = true,
                ("exclude", name) => parsed.exclude.push(decoded(name)),
                _ => {}
            }
        }
        parsed
    }
}

/// The first value of a parameter of a query.
pub(crate) fn decoded_parameter(query: Option<&str>, name: &str) -> Option<String> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == name)?;
    Some(decoded(value))
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbose_and_repeated_exclude_are_read_and_the_rest_is_ignored() {
        let query = Query::parse(Some("verbose&exclude=a%2Fb&timeout=1s&exclude=c"));
        assert!(query.verbose);
        assert_eq!(query.exclude, ["a/b", "c"]);
        assert_eq!(Query::parse(None), Query::default());
    }

    #[test]
    fn a_parameter_is_decoded() {
        let query = Some("controller=web&key=a%2Fb%20c&key=d");
        assert_eq!(decoded_parameter(query, "key").as_deref(), Some("a/b c"));
        assert_eq!(decoded_parameter(query, "other"), None);
        assert_eq!(decoded_parameter(None, "key"), None);
    }
}
