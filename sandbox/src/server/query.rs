use percent_encoding::percent_decode_str;

use crate::error::ApiError;

/// The parameters of a query.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(query: &str) -> Self {
        let decode = |text: &str| {
            let spaced = text.replace('+', " ");
            percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
        };
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (decode(name), decode(value)))
                .collect(),
        )
    }

    /// The first value of a parameter; empty if it is missing.
    pub(super) fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_default()
    }

    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Replaces the values of a parameter by one.
    pub(super) fn set(&mut self, name: &str, value: String) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value));
    }

    /// A boolean parameter as the API server reads it: true if it is present and neither `false` nor `0`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.find(name)
            .is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// The first value of a parameter as a number.
    ///
    /// # Errors
    /// 400 if it is not a number.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, ApiError> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                ApiError::bad_request(format!(
                    "strconv.ParseInt: parsing {text:?}: invalid syntax"
                ))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("labelSelector=a%3Db%2Cc+in+%28d%29&watch&limit=5&x=%ff&no=false");
        assert_eq!(query.get("labelSelector"), "a=b,c in (d)");
        assert!(query.flag("watch") && !query.flag("no") && !query.flag("other"));
        assert_eq!(query.number("limit"), Ok(Some(5)));
        assert!(Query::parse("limit=x").number::<u64>("limit").is_err());
    }
}
