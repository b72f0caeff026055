use std::{collections::BTreeMap, fmt, str::FromStr};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::{Labels, Operator, Requirement, SelectorError, parser::Parser};

/// Selects objects by their labels: all requirements must hold. The default selects all objects.
///
/// Parse it from the syntax of kubectl's `-l`, convert it from a `LabelSelector` of an object, or build it with the
/// methods below. Building never fails: [`check`](Self::check) reports a key or value that is not a valid label, and so
/// does a client's request with the selector, before it is sent.
///
/// ```
/// use pilothouse::resource::Selector;
///
/// let front = Selector::default().eq("app", "web").any_of("tier", ["front", "edge"]).absent("canary");
/// assert_eq!(front.to_string(), "app=web,tier in (edge,front),!canary");
/// assert_eq!(front, "app=web, tier in (front, edge), !canary".parse()?);
///
/// let labels = [("app", "web"), ("tier", "edge")].map(|(k, v)| (k.to_owned(), v.to_owned()));
/// assert!(front.matches(&labels.into()));
/// # Ok::<(), pilothouse::resource::SelectorError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    /// The requirements. All of them must hold.
    pub requirements: Vec<Requirement>,
}

impl Selector {
    /// Requires that the label exists with the value `value`.
    #[must_use]
    pub fn eq(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.and(key, Operator::In, [value])
    }

    /// Requires that the label is missing or has another value than `value`.
    #[must_use]
    pub fn not_eq(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.and(key, Operator::NotIn, [value])
    }

    /// Requires that the label exists with one of `values`.
    #[must_use]
    pub fn any_of<V: Into<String>>(
        self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.and(key, Operator::In, values)
    }

    /// Requires that the label is missing or has a value that is not in `values`.
    #[must_use]
    pub fn none_of<V: Into<String>>(
        self,
        key: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.and(key, Operator::NotIn, values)
    }

    /// Requires that the label exists.
    #[must_use]
    pub fn exists(self, key: impl Into<String>) -> Self {
        self.and(key, Operator::Exists, [""; 0])
    }

    /// Requires that the label is missing.
    #[must_use]
    pub fn absent(self, key: impl Into<String>) -> Self {
        self.and(key, Operator::DoesNotExist, [""; 0])
    }

    /// Requires that the label is an integer greater than `value`.
    #[must_use]
    pub fn greater_than(self, key: impl Into<String>, value: u64) -> Self {
        self.and(key, Operator::GreaterThan, [value.to_string()])
    }

    /// Requires that the label is an integer less than `value`.
    #[must_use]
    pub fn less_than(self, key: impl Into<String>, value: u64) -> Self {
        self.and(key, Operator::LessThan, [value.to_string()])
    }

    /// Whether the selector selects an object with these labels.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|one| one.matches(labels))
    }

    /// Checks that the API server would accept the selector.
    ///
    /// # Errors
    ///
    /// Returns a [`SelectorError`] for the first requirement whose key, values or number of values the API server would
    /// refuse.
    pub fn check(&self) -> Result<(), SelectorError> {
        self.requirements.iter().try_for_each(|one| {
            one.check()
                .map_err(|problem| SelectorError::new(one.to_string(), problem))
        })
    }

    fn and<V: Into<String>>(
        mut self,
        key: impl Into<String>,
        operator: Operator,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.requirements.push(Requirement {
            key: key.into(),
            operator,
            values: values.into_iter().map(Into::into).collect(),
        });
        self
    }
}

/// The syntax of kubectl's `-l`. A key or value that is not a valid label is in quotes, which the API server refuses.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

/// For the parameters of a list or a watch, which also accept text.
impl From<Selector> for String {
    fn from(selector: Selector) -> Self {
        selector.to_string()
    }
}

/// Selects the objects that have all of these labels.
impl From<&Labels> for Selector {
    fn from(labels: &Labels) -> Self {
        labels
            .map()
            .into_iter()
            .fold(Self::default(), |all, (key, value)| all.eq(key, value))
    }
}

/// Converts the selector in a Deployment, a NetworkPolicy or a custom resource. An empty one selects all objects.
impl TryFrom<&LabelSelector> for Selector {
    type Error = SelectorError;

    fn try_from(selector: &LabelSelector) -> Result<Self, SelectorError> {
        let labels = selector.match_labels.iter().flatten();
        let mut all = labels.fold(Self::default(), |all, (key, value)| all.eq(key, value));
        for expression in selector.match_expressions.iter().flatten() {
            let operator = match expression.operator.as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    return Err(SelectorError::new(
                        &expression.key,
                        format!("`{other}` is not one of In, NotIn, Exists, DoesNotExist"),
                    ));
                }
            };
            let values = expression.values.iter().flatten();
            all = all.and(&expression.key, operator, values);
        }
        all.check()?;
        Ok(all)
    }
}

/// Parses the syntax of kubectl's `-l`, as apimachinery's `labels.Parse` does.
impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let mut parser = Parser::new(text);
        let selector = parser
            .selector()
            .map_err(|problem| SelectorError::new(text, problem))?;
        let checked = selector
            .requirements
            .iter()
            .try_for_each(Requirement::check);
        checked.map_err(|problem| SelectorError::new(text, problem))?;
        Ok(selector)
    }
}
